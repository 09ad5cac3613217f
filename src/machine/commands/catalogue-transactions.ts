/**
 * Transactions in the catalogue (spec messages.md §8): a command of several sections, each the work of
 * one part, and what came of it. A part that is added brings its section number here, its check in
 * transaction.ts beside this file, its machine part (apply/transaction-part.ts) and its plug
 * (http/transaction-plugs.ts).
 */
import type { Micros } from '../../common/ids.js';
import type { KvCallOutcome } from './kv.js';
import type { TimerResult } from './timers.js';
import type { AckTarget, CommandKind, PushGroupOutcome, StartMode } from './catalogue.js';

/** Order of judging and of execution. Never renumber. */
export enum TransactionSection {
  Acks = 1,
  Pushes = 2,
  Positions = 3,
  KeyValue = 4,
  Timers = 5,
}

/** One (group, partition, lease) with its items; as in an ack, but each names its group. */
export interface TransactionAck {
  readonly group: string;
  readonly target: AckTarget;
}

/** Where a group reads on in a partition. */
export interface TransactionPosition {
  readonly queue: string;
  readonly partition: string;
  readonly group: string;
  /** Next offset to read; null = forget the cursor. */
  readonly offset: number | null;
  readonly metadata: string | null;
  /** Start policy when this registers the group. */
  readonly mode: StartMode;
  readonly instant: Micros;
}

/** Why nothing was done. */
export interface TransactionRollback {
  readonly section: TransactionSection;
  /** A reason of §8.5, or `reprepare`: queue options changed under the command; prepare it again. */
  readonly reason: string;
  readonly text: string;
  /** What the plug of the part renders from; parts of this file leave it null. */
  readonly detail: unknown;
}

export interface TransactionAckOutcome {
  /** Offsets of the messages that became dead letters, ascending. */
  readonly filed: readonly number[];
  readonly leaseReleased: boolean;
}

/** Per section that the command had; missing after a rollback. */
export interface TransactionOutcomes {
  acks?: readonly TransactionAckOutcome[];
  pushes?: readonly PushGroupOutcome[];
  /** True where something changed. */
  positions?: readonly boolean[];
  keyValue?: KvCallOutcome;
  timers?: readonly TimerResult[];
}

export interface TransactionOutcome {
  readonly kind: CommandKind.Transaction;
  readonly rollback: TransactionRollback | null;
  readonly outcomes: Readonly<TransactionOutcomes>;
}
