/** A thousand crashes: what was acknowledged is there, nothing is invented, planted bugs are seen. */
import { runSeed, type Decorate } from './crash-run.js';
import { withEarlyAnswer, withoutFdatasync, withoutFsyncDir } from './planted-bugs.js';

const SEEDS = Number(process.env['WAL_SEEDS'] ?? 1000);
const FIRST_SEED = Number(process.env['WAL_FIRST_SEED'] ?? 1);
const PLANTED_SEEDS = 200;

async function failures(seeds: number, decorate: Decorate): Promise<number> {
  let failed = 0;
  for (let seed = 1; seed <= seeds; seed += 1) {
    await runSeed(seed, decorate).catch(() => {
      failed += 1;
    });
  }
  return failed;
}

describe('write-ahead log under kill and power loss', () => {
  it(`keeps its promises over ${SEEDS} seeds`, async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
      try {
        await runSeed(seed);
      } catch (error) {
        throw new Error(`seed ${seed}: ${(error as Error).stack}`);
      }
    }
  }, 300_000);

  it.each([
    ['fdatasync does nothing', withoutFdatasync],
    ['directories are not synced', withoutFsyncDir],
    ['answers come before the sync', withEarlyAnswer],
  ])('sees a planted bug: %s', async (_name, decorate) => {
    expect(await failures(PLANTED_SEEDS, decorate)).toBeGreaterThan(0);
  });
});
