/** `queen backup` under load, small: the full size is `npm run backup-load`. */
import { backupUnderLoad } from './backup-run.js';

jest.setTimeout(480_000);

/** A machine that is busy with other things gets more. */
const SLOWEST_MS = 10_000;

it('gives the state of one moment, and nobody who writes waits for it', async () => {
  const report = await backupUnderLoad({ perSecond: 1_000, batch: 50, seconds: 2 });
  expect(report.sourceDigest).toMatch(/^[0-9a-f]{16}$/);
  expect(report.backupDigest).toBe(report.sourceDigest);
  expect(report.restoredDigest).toBe(report.sourceDigest);
  expect(report.slowestDuringMs).toBeLessThan(Math.max(SLOWEST_MS, 3 * report.slowestBeforeMs));
  expect(report.pushed).toBeGreaterThan(2_000);
});
