/**
 * About 90 s of faults on three real processes with a ledger of every promise. `npm run soak` runs the
 * full list for ten minutes.
 */
import { faultsNamed } from './faults/fault-list.js';
import { FaultRun, outageTable } from './faults/fault-run.js';

jest.setTimeout(480_000);

const CHOSEN = faultsNamed([
  'kill -9 leader',
  'kill -9 follower',
  'SIGTERM leader',
  'SIGSTOP leader 5 s',
  'leader deaf',
  'bridge',
  'minority: leader',
  'slow links',
  'both followers',
]);

describe('faults of a three-node cluster under load', () => {
  const seed = Date.now() % 1_000_000;
  let run: FaultRun | null = null;

  function started(): FaultRun {
    if (run === null) throw new Error('the cluster did not start');
    return run;
  }

  beforeAll(async () => {
    run = await FaultRun.start({ seed });
  });

  afterAll(async () => {
    process.stdout.write(`seed ${seed}\n${outageTable(run?.outages ?? [])}\n`);
    await run?.stop();
  });

  it.each(CHOSEN.map((fault) => [fault.name, fault] as const))('%s', async (_name, fault) => {
    const { ledger, outages } = started();
    await started().one(fault);
    expect(ledger.violations.kept).toEqual([]);
    const [quiet, outage] = [outages[0], outages.at(-1)];
    // What this machine takes without a fault is no outage of the broker.
    expect(outage?.ms).toBeLessThanOrEqual(fault.limitMs + (quiet?.ms ?? 0));
  });

  it('delivers everything exactly once in the end', async () => {
    const { ledger } = started();
    await started().finish();
    expect(ledger.violations.kept).toEqual([]);
    expect(ledger.acknowledgedMessages).toBeGreaterThan(0);
    expect(ledger.counts.acks).toBeGreaterThan(0);
  });
});
