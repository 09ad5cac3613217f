/** Passed-over messages are shown from the last full bucket, as a rate per minute. */
import { micros, offset, partitionId, queueId } from '../common/ids.js';
import type { GrantOutcome } from '../machine/commands/catalogue.js';
import { ConflationMinutes } from './conflation-minutes.js';

function grant(conflated: boolean, first: number, last: number): GrantOutcome {
  const range = {
    queueId: queueId(3),
    partitionId: partitionId(1),
    groupId: 1 as GrantOutcome['ranges'][number]['groupId'],
    firstOffset: offset(first),
    lastOffset: offset(last),
    deliveryAttempt: 1,
    cursorVersion: 1,
    conflated,
  };
  return {
    ticket: { session: 1, sequence: 1 },
    leaseId: new Uint8Array(16),
    expiresAt: micros(0),
    commitOnDelivery: false,
    ranges: [range],
  };
}

it('counts only what a conflating grant passed over, bucket by bucket', () => {
  let now = 0;
  const minutes = new ConflationMinutes(30_000, () => now);
  minutes.granted(0, grant(true, 10, 19));
  minutes.granted(0, grant(false, 20, 29));
  minutes.granted(0, grant(true, 30, 30));
  expect(minutes.perMinute(0, 3)).toBe(0);
  now = 30_000;
  expect(minutes.perMinute(0, 3)).toBe(18);
  expect(minutes.perMinute(0, 4)).toBe(0);
  expect(minutes.perMinute(1, 3)).toBe(0);
  now = 90_000;
  expect(minutes.perMinute(0, 3)).toBe(0);
});
