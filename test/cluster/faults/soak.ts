/**
 * `npm run soak -- --minutes 10 --seed 7`: the full list of faults round by round, until the time is
 * over and at least once. Prints the table of outages for docs/evidence. Exit 1 on a violation.
 */
import { parseArgs } from 'node:util';
import { ALL_FAULTS, faultsNamed } from './fault-list.js';
import { FaultRun, outageTable } from './fault-run.js';

const MINUTE_MS = 60_000;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    /** Beginnings of names, separated by commas; all faults when absent. */
    only: { type: 'string' },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function soak(): Promise<boolean> {
  const seed = Number(values.seed);
  const faults = values.only === undefined ? ALL_FAULTS : faultsNamed(values.only.split(','));
  const from = performance.now();
  const elapsed = (): number => (performance.now() - from) / MINUTE_MS;
  say(`seed ${seed}, ${faults.length} faults, ${values.minutes} minutes`);
  const run = await FaultRun.start({ seed, say });
  try {
    let rounds = 0;
    do {
      for (const fault of faults) {
        if (rounds > 0 && elapsed() >= Number(values.minutes)) break;
        await run.one(fault);
      }
      rounds += 1;
    } while (elapsed() < Number(values.minutes));
    await run.finish();
  } catch (error) {
    say(run.logs());
    throw error;
  } finally {
    say(`\n${outageTable(run.outages)}\n`);
    say(
      `${elapsed().toFixed(1)} minutes, ${run.ledger.acknowledgedMessages} messages acknowledged`,
    );
    say(JSON.stringify(run.ledger.counts));
    say(`${run.ledger.violations.count} violations`);
    for (const violation of run.ledger.violations.kept) say(violation);
    await run.stop();
  }
  return run.ledger.violations.count === 0;
}

if (!(await soak())) process.exitCode = 1;
