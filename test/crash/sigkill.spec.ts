/**
 * A real broker is killed with SIGKILL under load a few times; every promise it gave must hold. The
 * long form is `npm run crash`. Loopback only; only its own child is signalled, by its pid.
 */
import { CrashRun, outcomeText } from './crash-run.js';

const KILLS = 6;

it(`keeps every acknowledged push and ack over ${KILLS} kills`, async () => {
  const seed = Date.now() % 1_000_000;
  const outcome = await new CrashRun({ kills: KILLS, seed, maxLoadMs: 700 }).run();
  const { ledger, kills } = outcome;
  process.stdout.write(`seed ${seed}: ${outcomeText(outcome)}\n`);
  expect(ledger.violations.kept).toEqual([]);
  expect(ledger.violations.count).toBe(0);
  expect(kills).toBe(KILLS);
  expect(ledger.acknowledgedMessages).toBeGreaterThan(0);
  expect(ledger.counts.acks).toBeGreaterThan(0);
  expect(outcome.brief.ledger.acknowledgedMessages).toBeGreaterThan(0);
}, 180_000);
