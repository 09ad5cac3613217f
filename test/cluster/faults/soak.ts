/**
 * `npm run soak -- --minutes 10 --seed 7`: the full list of faults round by round, until the time is
 * over and at least once. Prints the table of outages; `--evidence` writes it to docs/evidence.
 * `--explain MS` prints what the nodes logged during longer outages. Exit 1 on a violation, on a run that
 * could not be finished, and with `--strict` on an outage beyond its limit.
 */
import { parseArgs } from 'node:util';
import { writeEvidence } from '../../support/evidence.js';
import { ALL_FAULTS, faultsNamed } from './fault-list.js';
import { FaultRun, outageTable } from './fault-run.js';

const MINUTE_MS = 60_000;
const PAGE = 'docs/evidence/cluster-faults.md';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    /** Beginnings of names, separated by commas; all faults when absent. */
    only: { type: 'string' },
    explain: { type: 'string' },
    evidence: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const from = performance.now();
const elapsed = (): number => (performance.now() - from) / MINUTE_MS;

/** The list of faults again and again; the last round may be a part of it. */
async function allRounds(run: FaultRun): Promise<void> {
  const faults = values.only === undefined ? ALL_FAULTS : faultsNamed(values.only.split(','));
  const isOver = (): boolean => elapsed() >= Number(values.minutes);
  say(`seed ${values.seed}, ${faults.length} faults, ${values.minutes} minutes`);
  for (let round = 0; round === 0 || !isOver(); round += 1) {
    for (const fault of faults) {
      if (round > 0 && isOver()) break;
      await run.one(fault);
    }
  }
  await run.finish();
}

const ABOUT = [
  'Three real processes behind fault proxies on loopback under mixed load: two producers, four consumers in',
  'two groups, one probe per node. After every fault the ledger is checked: acknowledged pushes exactly once',
  'and in order, settled messages never again, live leases alone. The outage is the longest gap between two',
  'successes of a client that retries on the next URL.',
].join('\n');

function reportOf({ ledger, outages }: FaultRun): string {
  const { counts, violations } = ledger;
  return [
    outageTable(outages),
    '',
    `${elapsed().toFixed(1)} minutes, ${ledger.acknowledgedMessages} messages acknowledged.`,
    '',
    '| Counted | |',
    '|---|---|',
    ...Object.entries(counts).map(([name, count]) => `| ${name} | ${count} |`),
    `| violations | ${violations.count} |`,
    ...violations.kept.map((violation) => `\n- ${violation}`),
  ].join('\n');
}

async function soak(): Promise<boolean> {
  const explainMs = values.explain === undefined ? Infinity : Number(values.explain);
  const run = await FaultRun.start({ seed: Number(values.seed), say, explainMs });
  try {
    await allRounds(run);
  } catch (error) {
    say(run.logs());
    throw error;
  } finally {
    say(`\n${reportOf(run)}\n`);
    await run.stop();
  }
  const isLate = run.outages.some(({ ms, limitMs }) => ms > limitMs);
  const passed = run.ledger.violations.count === 0 && !(values.strict && isLate);
  if (values.evidence) {
    writeEvidence({
      ...{ path: PAGE, title: 'Faults of a three-node cluster', about: ABOUT },
      command: `npm run soak -- --minutes ${values.minutes} --seed ${values.seed}`,
      ...{ table: reportOf(run), passed },
    });
    say(`written: ${PAGE}`);
  }
  return passed;
}

if (!(await soak())) process.exitCode = 1;
