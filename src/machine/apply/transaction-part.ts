/**
 * The parts of a transaction inside the machine (spec messages.md §8.3). A transaction is one command of
 * several sections. All parts judge first, in section order, against the state as it is before the
 * command; the first one that objects rolls everything back: nothing was changed. Then all execute.
 *
 *   prefetch p1 p2 p3 …   │   judge p1 → p2 → p3 → … first rollback wins   │   execute p1, p2, p3, …
 *
 * To plug in a part: a section number (catalogue-transactions.ts) and the type of its outcome in
 * `TransactionOutcomes`, its check (`checkSection` in commands/transaction.ts), a class like the ones
 * in transaction-acks.ts, and its line in `partsOf` of transaction.ts. `judge` may keep what it found
 * for the `execute` that follows at once, and must neither write nor fold into the digest.
 */
import type {
  TransactionOutcomes,
  TransactionRollback,
  TransactionSection,
} from '../commands/catalogue-transactions.js';
import type { PrefetchSink } from '../machine.js';

/** A section inside its entry; a push body for those who hold one. */
export interface PartBody {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** Offset of `bytes[0]` in the whole entry's payload. */
  readonly entryOffset: number;
}

/** What earlier parts of the same transaction will have done when a later one executes. */
export interface TransactionDraft {
  /** Names of queues that spring into being. */
  readonly newQueues: Set<string>;
}

export interface TransactionPart {
  readonly section: TransactionSection;
  /** Names every row and id that `judge` and `execute` can read outside the columns. */
  prefetch(body: PartBody, sink: PrefetchSink): void;
  /** Null = no objection. */
  judge(body: PartBody, draft: TransactionDraft): TransactionRollback | null;
  /** Called right after all parts were judged; adds its own field. */
  execute(body: PartBody, outcomes: TransactionOutcomes): void;
}
