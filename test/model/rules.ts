/**
 * The rules of the contract that the model consults, one member each, with the section they come from.
 * `SPEC` is the contract; the planted differences of `wrong-rules.ts` replace one member, so that the
 * suite proves it notices each of them. Imports nothing from the broker.
 */
export interface Rules {
  /** §3: lease time of a queue that a push created, in seconds. */
  readonly implicitLeaseTime: number;
  /** §2.6: a `failed` ack may still be redelivered. */
  budgetLeft(spent: number, retryLimit: number): boolean;
  /** §2.6: only an explicit `failed` spends budget. */
  readonly expiryCharges: boolean;
  readonly retryCharges: boolean;
  /** §6.3: completed items above a `failed` head with budget left are not settled. */
  readonly settleAboveFailed: boolean;
  /** §2.6: either flag turns dead letters on. */
  dlqOn(deadLetterQueue: boolean, dlqAfterMaxRetries: boolean): boolean;
  /** §2.3: queue mode always starts at the beginning. */
  readonly queueModeStartsNew: boolean;
  /** §2.3: names that mean `new`; everything else means `all`. */
  modeIsNew(mode: string): boolean;
  /** §7: an extension never shortens. */
  extended(current: number, wanted: number): number;
  /** §2.5: a delivery that starts where the one before did counts one more. */
  attempt(sameStart: boolean, count: number): number;
  /** §2.10: a stored id is a duplicate this long. */
  duplicate(ageMs: number, windowSeconds: number): boolean;
  /** §10: a seek drops the lease. */
  readonly seekDropsLease: boolean;
  /** §8: a rollback leaves nothing behind. */
  readonly rollbackRestores: boolean;
  /** §6.4: the ack that settled a whole batch may be repeated. */
  readonly settledLeaseRemembered: boolean;
  /** §6.3: a release concerns its partition alone. */
  readonly releaseSpansPartitions: boolean;
  /** §5.1: `batch` is the budget of the call, not of each partition. */
  readonly batchPerCall: boolean;
  /** §6.3: the cursor ends at the head that became a dead letter. */
  readonly letterPassesHead: boolean;
  /** §2.8: an append is due this long after it was written. */
  due(ageMs: number, delaySeconds: number): boolean;
  /** §11.4: a replay removes the dead letter. */
  readonly replayRemoves: boolean;
  /** §2.3: the first pinned pop of an unregistered group says where it starts. */
  readonly keepsStart: boolean;
  /** §2.7: under a conflated lease a signal can name the delivered message alone. */
  readonly signalsNameDelivered: boolean;
  /** §6.3: without a batch an id that stands twice means its first place. */
  readonly freeMeansFirst: boolean;
  /** §6.2: an ack without a lease id is not fenced. */
  readonly unfencedNeedsNoLease: boolean;
}

const NEW_MODES: ReadonlySet<string> = new Set(['new', 'new-only', 'new_only', 'newonly']);

export const SPEC: Rules = {
  implicitLeaseTime: 60,
  budgetLeft: (spent, retryLimit) => spent < Math.max(retryLimit, 0),
  expiryCharges: false,
  retryCharges: false,
  settleAboveFailed: false,
  dlqOn: (deadLetterQueue, afterMaxRetries) => deadLetterQueue || afterMaxRetries,
  queueModeStartsNew: false,
  modeIsNew: (mode) => NEW_MODES.has(mode.trim().toLowerCase()),
  extended: (current, wanted) => Math.max(current, wanted),
  attempt: (sameStart, count) => (sameStart ? count + 1 : 1),
  duplicate: (ageMs, windowSeconds) => windowSeconds > 0 && ageMs <= windowSeconds * 1000,
  seekDropsLease: true,
  rollbackRestores: true,
  settledLeaseRemembered: true,
  releaseSpansPartitions: false,
  batchPerCall: true,
  letterPassesHead: true,
  due: (ageMs, delaySeconds) => ageMs >= delaySeconds * 1000,
  replayRemoves: true,
  keepsStart: true,
  signalsNameDelivered: true,
  freeMeansFirst: true,
  unfencedNeedsNoLease: true,
};
