/** Command line of the group simulator: seeds in, one line each out; see test/sim/run.mjs. */
import { writeEvidence } from '../../support/evidence.js';
import { numberOption } from '../number-option.js';
import { runSeed, type SimReport } from './simulation.js';

const ABOUT = `Whole nodes of a cluster in one process from one seed: the production driver, log, store writer and state machine over a
simulated network, clock and disk (docs/evidence/sim-coverage.md). Faults for a while, then healing; at every step are checked election
safety, log matching, leader completeness, equality of states, linearizable reads, acknowledged writes present exactly once,
exclusive leases and time that never goes back. Even seeds change the membership meanwhile.`;

export async function main(args: readonly string[]): Promise<number> {
  const option = (name: string, fallback: number): number => numberOption(args, name) ?? fallback;
  const one = option('--seed', -1);
  const first = one >= 0 ? one : option('--first', 1);
  const count = one >= 0 ? 1 : option('--seeds', 20);
  const stormSeconds = option('--storm', 20);
  const totals = {
    ...{ runs: 0, failed: 0, hours: 0, events: 0, elections: 0, crashes: 0, entries: 0 },
    reloads: 0,
  };
  const changes: Record<string, number> = { runs: 0 };
  for (let seed = first; seed < first + count; seed += 1) {
    try {
      const report = await runSeed({ seed, stormSeconds });
      add(totals, report);
      addChanges(changes, report);
      process.stdout.write(`${line(report)}\n`);
    } catch (error) {
      totals.failed += 1;
      process.stdout.write(`FAILED ${error instanceof Error ? error.message : String(error)}\n`);
      process.stdout.write(`replay: npm run sim -- --seed ${seed} --storm ${stormSeconds}\n`);
    }
    totals.runs += 1;
  }
  const { hours, ...rest } = totals;
  process.stdout.write(
    `group-sim: ${JSON.stringify({ ...rest, hours: Number(hours.toFixed(3)) })}\n`,
  );
  process.stdout.write(`membership under faults: ${JSON.stringify(changes)}\n`);
  const passed = totals.failed === 0;
  if (args.includes('--evidence') && !args.includes('--coverage')) {
    const seeds = `--first ${first} --seeds ${count} --storm ${stormSeconds}`;
    writeEvidence({
      ...{ path: 'docs/evidence/simulation.md', title: 'Simulated clusters', about: ABOUT },
      command: `npm run sim -- ${seeds}`,
      table: tableOf({ ...totals, hours: Number(hours.toFixed(2)) }, changes),
      passed: passed && totals.runs > 0,
    });
  }
  return passed ? 0 : 1;
}

function tableOf(totals: Record<string, number>, changes: Record<string, number>): string {
  const rows = [
    ...Object.entries(totals).map(([name, value]) => [
      name === 'runs' ? 'seeds' : name === 'hours' ? 'simulated hours' : name,
      value,
    ]),
    ...Object.entries(changes).map(([name, value]) => [`membership under faults: ${name}`, value]),
  ];
  const lines = rows.map(([name, value]) => `| ${name} | ${JSON.stringify(value)} |`);
  return ['| what | number |', '| --- | --- |', ...lines].join('\n');
}

function addChanges(sums: Record<string, number>, { changes }: SimReport): void {
  if (changes === null) return;
  for (const [name, value] of Object.entries({ runs: 1, ...changes })) {
    sums[name] = (sums[name] ?? 0) + value;
  }
}

function add(totals: Record<string, number>, report: SimReport): void {
  const { events, elections, crashes, entries, reloads, simulatedSeconds } = report;
  const more = { reloads, events, elections, crashes, entries, hours: simulatedSeconds / 3600 };
  for (const [name, value] of Object.entries(more)) totals[name] = (totals[name] ?? 0) + value;
}

function line({
  seed,
  hash,
  simulatedSeconds,
  events,
  elections,
  crashes,
  counts,
  changes,
}: SimReport): string {
  const { pushes, grants, acks, reads, transactions, rollbacks } = counts;
  const { locks, renewals, guarded, fenced } = counts;
  const more = { transactions, rollbacks, locks, renewals, guarded, fenced };
  const work = { pushes, grants, acks, reads, ...more };
  const done = JSON.stringify({
    ...{ elections, crashes, ...work },
    ...(changes === null ? {} : { changes: changes.done }),
  });
  return `seed ${seed} ${hash.slice(0, 12)} ${simulatedSeconds.toFixed(1)} s ${events} events ${done}`;
}
