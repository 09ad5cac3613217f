/**
 * Runs seeds and prints one JSON line: what was met, which seeds failed and why. Plain Node runs it,
 * started by run.mjs, the spec and the mutants.
 *
 *   main.js <seed>,<seed>,… [--bail]
 */
import { runSeed, type LifeReport } from './life.js';

export interface PowerLossReport {
  readonly seeds: number;
  readonly answers: number;
  readonly crashes: number;
  readonly powerLosses: number;
  readonly crashesInStart: number;
  readonly replayed: number;
  readonly cutTails: number;
  readonly newLogs: number;
  readonly trimmed: number;
  readonly unlinked: number;
  readonly rewritten: number;
  readonly failures: readonly { readonly seed: number; readonly why: string }[];
}

async function main(): Promise<void> {
  const seeds = (process.argv[2] ?? '').split(',').map(Number);
  const bail = process.argv.includes('--bail');
  const totals = {
    ...{ seeds: 0, answers: 0, crashes: 0, powerLosses: 0, crashesInStart: 0 },
    ...{ replayed: 0, cutTails: 0, newLogs: 0, trimmed: 0, unlinked: 0, rewritten: 0 },
  };
  const failures: { seed: number; why: string }[] = [];
  for (const seed of seeds) {
    totals.seeds += 1;
    try {
      add(totals, await runSeed(seed));
    } catch (error) {
      failures.push({ seed, why: error instanceof Error ? (error.stack ?? '') : String(error) });
      if (bail) break;
    }
  }
  process.stdout.write(`${JSON.stringify({ ...totals, failures } satisfies PowerLossReport)}\n`);
  process.exit(failures.length === 0 ? 0 : 1);
}

function add(totals: Record<string, number>, report: LifeReport): void {
  for (const [name, value] of Object.entries(report)) {
    if (name !== 'seed') totals[name] = (totals[name] ?? 0) + (value as number);
  }
}

void main();
