/**
 * Planted differences: the contract with one rule changed, as a careless author of a broker might read
 * it. Each must be noticed within the sequences that `npm test` runs. Imports nothing from the broker.
 */
import { SPEC, type Rules } from './rules.js';

export interface WrongRule {
  readonly name: string;
  readonly change: Partial<Rules>;
  /** Sequences of the shard to pass over: what shows the rule is rare. */
  readonly skip?: number;
}

export const WRONG_RULES: readonly WrongRule[] = [
  {
    name: 'one redelivery more than retryLimit',
    change: { budgetLeft: (spent, limit) => spent <= Math.max(limit, 0) },
  },
  { name: 'lease expiry spends retry budget', change: { expiryCharges: true } },
  { name: 'retry spends retry budget', change: { retryCharges: true }, skip: 4_000 },
  { name: 'completed above a failed item is settled', change: { settleAboveFailed: true } },
  { name: 'dead letters need both flags', change: { dlqOn: (one, other) => one && other } },
  { name: 'queue mode starts at new messages', change: { queueModeStartsNew: true } },
  { name: 'latest means new', change: { modeIsNew: (mode) => !/^(all|from)/.test(mode.trim()) } },
  { name: 'an extension may shorten a lease', change: { extended: (_current, wanted) => wanted } },
  { name: 'attempts are not counted', change: { attempt: () => 1 } },
  { name: 'ids are recognised for ever', change: { duplicate: () => true } },
  { name: 'a seek keeps the lease', change: { seekDropsLease: false } },
  { name: 'a rollback keeps what was done before it', change: { rollbackRestores: false } },
  { name: 'a settled batch is forgotten', change: { settledLeaseRemembered: false } },
  {
    name: 'a release frees every partition of the lease',
    change: { releaseSpansPartitions: true },
  },
  { name: 'batch counts per partition', change: { batchPerCall: false } },
  { name: 'a dead letter stays before the cursor', change: { letterPassesHead: false } },
  { name: 'delays are not kept', change: { due: () => true } },
  { name: 'a replay keeps the dead letter', change: { replayRemoves: false } },
  { name: 'an ack without a lease id is fenced off', change: { unfencedNeedsNoLease: false } },
  { name: 'the start of a pinned pop is not kept', change: { keepsStart: false } },
  {
    name: 'a signal names any message of a span',
    change: { signalsNameDelivered: false },
    skip: 900,
  },
  {
    name: 'an id without a batch means the newest',
    change: { freeMeansFirst: false },
    skip: 3_300,
  },
  { name: 'a queue made by a push leases for 300 s', change: { implicitLeaseTime: 300 } },
];

export function withRule({ change }: WrongRule): Rules {
  return { ...SPEC, ...change };
}
