/**
 * Nothing the dispatcher does per append may grow with partitions or parked pops. A small turn runs
 * always, with room for a busy machine; QUEEN_BENCH=1 runs 1,000,000 partitions and 5,000 parked pops
 * and holds it to 20 %. Outside Jest, whose sandbox slows every access to a global.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const FULL = process.env['QUEEN_BENCH'] === '1';
const SMALL_TURN = { PARTITIONS: '20000', PARKED: '1000', APPENDS: '5000', ROUNDS: '5' };

interface Figures {
  readonly smallMicros: number;
  readonly largeMicros: number;
  readonly growth: number;
  readonly scanHold: string;
  readonly serveHold: string;
}

const holdMs = (text: string): number => Number(/hold (\d+) ms cpu/.exec(text)?.[1]);

describe('cost of an append', () => {
  it('does not grow with partitions and parked pops', async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--expose-gc', 'test/bench/run-typescript.mjs', 'test/bench/dispatcher-cost.ts'],
      { env: { ...process.env, ...(FULL ? {} : SMALL_TURN) } },
    );
    const figures = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Figures;
    if (FULL) console.info(stdout);
    expect(figures.growth).toBeLessThan(FULL ? 0.2 : 1);
    expect(holdMs(figures.scanHold)).toBeLessThan(FULL ? 10 : 50);
    // A turn serves 20 appends, 0.2 ms: what is longer is garbage collection.
    expect(holdMs(figures.serveHold)).toBeLessThan(FULL ? 20 : 50);
  }, 300_000);
});
