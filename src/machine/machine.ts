/**
 * The contract between the deterministic state machine and the group that drives it.
 * Apply has two steps: `prefetch` names what an entry can read outside the columns, `execute` runs
 * synchronously on columns, overlay and read set. The machine never reads a clock, randomness, the
 * environment, the network or a file, and never throws on an entry that decodes.
 */
import type { LogIndex, Micros, Offset, PartitionId, Term } from '../common/ids.js';
import type { GrantOutcome, Outcome } from './commands/catalogue.js';
import type { TrimRule } from './commands/retention.js';
import type { QuotaKind, SwitchName } from './commands/controls.js';

/** Highest machine version (= cluster version) this build writes and reads. */
export const MACHINE_VERSION = 6;

/** Rows the machine reads and writes by exact key. Reads see overlay, read set, then the checkpoint. */
export interface RowPort {
  get(key: Uint8Array): Uint8Array | undefined;
  put(key: Uint8Array, value: Uint8Array): void;
  delete(key: Uint8Array): void;
}

/**
 * Node-local index from a client-supplied transactionId hash to the places that may carry it.
 * A superset is fine (the machine verifies against the append index row); missing one is not,
 * within the recognition window. Written by execute, rebuilt from rows at restart.
 */
export interface IdIndexPort {
  /**
   * Calls back for each candidate of (partition, 16 bytes of `hashes` at `at`), newest first, with
   * the message's offset and the first offset of its append; stops when the callback returns true.
   */
  candidates(
    partition: PartitionId,
    hash: { readonly bytes: Uint8Array; readonly at: number },
    visit: (offset: Offset, baseOffset: Offset) => boolean,
  ): void;
  /** The arguments are read before it returns; the caller uses them again. */
  add(
    partition: PartitionId,
    hash: { readonly bytes: Uint8Array; readonly at: number },
    place: { readonly offset: Offset; readonly baseOffset: Offset; readonly createdAt: Micros },
  ): void;
}

/** What the entry can read: exact row keys, and id lookups (16-byte hash per partition). */
export interface PrefetchSink {
  row(key: Uint8Array): void;
  id(partition: PartitionId, bytes: Uint8Array, at: number): void;
}

export interface AppliedEntry {
  readonly index: LogIndex;
  readonly term: Term;
  /** The entry's payload as parts in order; offsets of message blocks count over their concatenation. */
  readonly parts: readonly Uint8Array[];
}

/**
 * Events for coordinators and local waiters, raised after the whole entry is applied. Volatile: a
 * listener that attaches late rebuilds from the tables.
 */
export interface MachineEvents {
  queueCreated(queueId: number): void;
  queueConfigured(queueId: number): void;
  queueDeleted(queueId: number): void;
  /** The registration came, changed or went, or cursors were deleted: derived starts are void. */
  registered(queueId: number, groupId: number): void;
  appended(partitionSlot: number): void;
  /** A cursor changed: claimed, released, acked, extended, sought. */
  cursorChanged(cursorSlot: number): void;
  granted(grant: GrantOutcome): void;
  /** A timer was put that is due at this instant (µs of the log clock). */
  timerDue(due: number): void;
  /** Retention moved the start of the partition's log. */
  trimmed(partitionSlot: number, cut: Cut): void;
  /** The partition is gone with its cursors; its slot may name another one by now. */
  partitionDropped(queueId: number, partitionSlot: number): void;
  /** An operator's switch flipped. */
  switched(name: SwitchName, on: boolean): void;
  /** A tenant's quota of this kind was set. */
  quotaSet(kind: QuotaKind): void;
  /** Everything of the tenant number is gone. */
  tenantPurged(tenantId: number): void;
}

/** What retention cut off a partition, and why. */
export interface Cut {
  readonly messages: number;
  readonly rule: TrimRule;
}

/** Receives what one entry did, command by command, in log order; called after the entry is applied. */
export interface OutcomeSink {
  outcome(session: number, sequence: number, outcome: Outcome): void;
}

export interface Machine {
  readonly appliedIndex: LogIndex;
  readonly appliedTerm: Term;
  /** Running 64-bit digest of everything entries changed, node-local fields excluded (8 bytes). */
  digest(): Uint8Array;
  /** Replicated version the cluster writes. */
  clusterVersion(): number;
  /** Last stamp given out, µs; the log clock never goes below it. */
  lastStamp(): Micros;

  prefetch(entry: AppliedEntry, sink: PrefetchSink): void;
  /** Applies the entry; then calls `outcomes` and `events` in order. */
  execute(entry: AppliedEntry, outcomes: OutcomeSink, events: MachineEvents): void;

  /** About how many rows `flushDirtyRows` would encode now. */
  readonly dirtyRows: number;
  /** Encodes every row that changed in the columns since the last call into the row port. */
  flushDirtyRows(): void;
  /** Bytes of the machine header row (applied index, counters, digest …) for the checkpoint's meta. */
  encodeHeader(): Uint8Array;

  /** Restart: header first, then pages of rows of `columnKeyspaces` in key order. */
  loadHeader(header: Uint8Array): void;
  loadRow(key: Uint8Array, value: Uint8Array): void;
  /** After the last row: builds what is derived (chains, counters). */
  finishLoad(): void;

  /** Frees columns of deleted queues, node-local, at most `budget` slots; true when more remains. */
  purgeStep(budget: number): boolean;
}
