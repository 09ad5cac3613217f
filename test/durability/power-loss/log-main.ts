/**
 * The crash suite of the write-ahead log alone, for mutants of code no group reaches yet: same output as
 * main.ts, first failure only.
 *
 *   log-main.js <number of seeds>
 */
import { runSeed } from '../../storage/wal/crash-run.js';

async function main(): Promise<void> {
  const failures: { seed: number; why: string }[] = [];
  for (let seed = 1; seed <= Number(process.argv[2]) && failures.length === 0; seed += 1) {
    try {
      await runSeed(seed);
    } catch (error) {
      failures.push({ seed, why: error instanceof Error ? error.message : String(error) });
    }
  }
  process.stdout.write(`${JSON.stringify({ failures })}\n`);
  process.exit(failures.length);
}

void main();
