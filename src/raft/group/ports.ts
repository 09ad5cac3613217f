/**
 * What a group needs from its neighbours, as small ports: log, rows, checkpoints, machine, dispatcher.
 * The group imports no storage, WAL or machine code; the wiring (`src/raft/*.ts`) adapts the real ones
 * and the tests bring doubles. Failures of a port reject or throw and poison the group.
 */
import type { LogIndex, NodeId, PartitionId, QueueId, Term } from '../../common/ids.js';
import type { GrantOutcome, PopTicket } from '../../machine/commands/catalogue.js';
import type { AppliedEntry, IdIndexPort, Machine, MachineEvents } from '../../machine/machine.js';
import type { Tables } from '../../machine/tables/tables.js';
import type { CallOptions, GroupView, PopRequest, StoredMessage } from './group.js';

/** One entry on its way to the log or read back from it; the payload is the parts in order. */
export interface LogEntry extends AppliedEntry {
  /** Sum of the parts' lengths. */
  readonly sizeBytes: number;
  /** Commands inside; 0 for the empty entry of a new term. Unknown (-1) when read back. */
  readonly commandCount: number;
}

/** A range inside one entry's payload. */
export interface PayloadRange {
  readonly index: LogIndex;
  readonly start: number;
  readonly length: number;
}

export interface WalPort {
  /** First index the log still holds; lastIndex + 1 when it holds none. */
  readonly firstIndex: LogIndex;
  readonly lastIndex: LogIndex;
  readonly lastTerm: Term;
  readonly term: Term;
  /** Makes the entries durable (one sync); in order; one call at a time. */
  append(entries: readonly LogEntry[]): Promise<void>;
  /** Entries were written and synced past this port, in so many ms: they count too. Absent in doubles. */
  wrote?(entries: readonly LogEntry[], tookMs: number): void;
  /** Starts a new term and votes for this node; durable when it resolves. */
  startTerm(term: Term, self: NodeId): Promise<void>;
  /** Entries from `from` on, at least one unless the log ends there, at most about `maxBytes`. */
  read(from: LogIndex, maxBytes: number): Promise<readonly LogEntry[]>;
  /** Bytes of one range, also from segments purged from the raft log while their messages live. */
  readRange(range: PayloadRange): Promise<Uint8Array>;
  /**
   * Whether the log holds the entry whole but for bytes that it let go of, so that a range that does not
   * match is no damage. Absent in doubles: it never lets go.
   */
  letGoIn?(index: LogIndex): Promise<boolean>;
  /** Where the bytes of an entry lie, for damage reports: `file` and byte of the range. */
  describe(range: PayloadRange): Promise<string>;
  /** Lets the raft log forget entries up to and including `index`. */
  purge(index: LogIndex): Promise<void>;
  /** An entry that is followed by so many bytes of the raft log; 0: there is none. Absent in doubles. */
  indexBefore?(bytes: number): number;
  /** What is kept only for the messages in it; absent in doubles. */
  readonly retired?: RetiredLog;
  close(): Promise<void>;
}

/** Segments the raft log has let go of. Calls that name one that is gone do nothing. */
export interface RetiredLog {
  segments(): readonly RetiredSegment[];
  /** Visits every entry, in order; false when there is no such segment. */
  read(
    sequence: number,
    work: {
      readonly visit: (index: number, payload: Uint8Array) => void;
      readonly breathe: Breathe;
    },
  ): Promise<boolean>;
  /**
   * Leaves the wanted entries only; answers the bytes won. `settled` is asked after the last `keep`:
   * only when it says true the rest is gone.
   */
  rewrite(
    sequence: number,
    work: {
      readonly keep: (index: number, payload: Uint8Array) => KeptBytes;
      readonly settled: () => Promise<boolean>;
      readonly breathe: Breathe;
    },
  ): Promise<number>;
  remove(sequences: readonly number[]): Promise<void>;
}

/** Of an entry's payload: all, nothing, or these ranges, the rest of it turns into zeros. */
export type KeptBytes = boolean | readonly ByteRange[];

export interface ByteRange {
  readonly start: number;
  readonly length: number;
}

export type Breathe = () => Promise<void>;

export interface RetiredSegment {
  readonly sequence: number;
  readonly revision: number;
  /** First and last entry that count. */
  readonly first: number;
  readonly last: number;
  readonly sizeBytes: number;
}

/** What in an entry may be kept for: told by whoever knows the commands. */
export interface EntryContents {
  /** Tells what the entry holds, in any order. */
  visit(payload: Uint8Array, holder: ContentHolder): void;
  /**
   * Bytes that rows name by themselves, whatever became of their partition (dead letters, timers):
   * at least those of entries [first, last], in any order, perhaps more than once.
   */
  pinned(view: GroupView, first: number, last: number): AsyncIterable<PinnedRange>;
}

export interface PinnedRange extends ByteRange {
  readonly entryIndex: number;
}

export interface ContentHolder {
  /** Messages of a partition: live while its first retained append lies at or before the entry. */
  messages(partitionId: number, sizeBytes: number): void;
}

/** What identifies a checkpoint. */
export interface CheckpointMeta {
  readonly appliedIndex: LogIndex;
  readonly appliedTerm: Term;
  readonly digest: Uint8Array;
  readonly header: Uint8Array;
}

/** Rows as the group drives them; the machine writes through its own RowPort onto the same overlay. */
export interface RowsPort {
  /** Loads keys into the read set of the entry applied next; undefined when nothing is to load. */
  load(keys: readonly Uint8Array[]): Promise<void> | undefined;
  /** Forgets the read set; called after each entry. */
  clearReadSet(): void;
  put(key: Uint8Array, value: Uint8Array): void;
  delete(key: Uint8Array): void;
  view(appliedIndex: LogIndex): Promise<GroupView>;
}

export interface StorePort {
  /** Last checkpoint found at open, undefined for a fresh store. */
  readonly meta: CheckpointMeta | undefined;
  /** Applied index of the last durable checkpoint, 0 before the first. */
  readonly durableIndex: LogIndex;
  /** The overlay holds as many bytes as it may: apply waits, growing writes are refused. */
  readonly isFull: boolean;
  /** Whether a checkpoint is to be written now (interval or bytes reached, none under way). */
  due(nowMs: number, appliedIndex: LogIndex): boolean;
  /**
   * Freezes the overlay synchronously, then writes it with the meta in one synced batch. One call at
   * a time. The returned promise resolves when the batch is durable.
   */
  checkpoint(nowMs: number, meta: CheckpointMeta): Promise<void>;
  /** Rows in key order, page by page, for the restart. */
  pages(range: RowRange): AsyncIterable<RowPage>;
  /** After the walk of a restart: gives back the memory that reading every row has taken. */
  remap(): Promise<void>;
  close(): Promise<void>;
}

export interface RowRange {
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
}

export type RowPage = readonly (readonly [Uint8Array, Uint8Array])[];

/** The id index as the group drives it (the machine uses its IdIndexPort side). */
export interface IdIndexDriver extends Pick<IdIndexPort, 'add'> {
  /** Starts the lookups of the next entry. */
  beginEntry(): void;
  announce(partition: PartitionId, bytes: Uint8Array, at: number): void;
  /** Loads what the announced lookups may need; undefined when nothing is to load. */
  load(): Promise<void> | undefined;
  /** Puts the adds since the last call into rows, deletes journal rows that runs cover. */
  journal(rows: Pick<RowsPort, 'put' | 'delete'>): void;
  /** Keys of the journal rows. */
  readonly journalRange: RowRange;
  /** Places of one id, newest first, on the applied state; for reads outside of apply. */
  lookup(partition: number, bytes: Uint8Array, at: number): Promise<readonly IdPlace[]>;
  /** Restart: a journal row as it comes from the store. */
  loadJournalRow(key: Uint8Array, value: Uint8Array): void;
  /** Known once the journal is loaded: parts are lost, all ids of the append rows are to be added. */
  readonly needsRebuild: boolean;
  /** Unlinks what is older than the window. */
  expire(nowMicros: number, windowMicros: number): void;
  close(): Promise<void>;
}

/** Where an id may stand: a message's offset and the first offset of its append. */
export interface IdPlace {
  readonly offset: number;
  readonly base: number;
}

/** The machine with what the wiring knows about it. */
export interface MachineParts {
  readonly machine: Machine;
  readonly tables: Tables;
  /** Key ranges of the rows `loadRow` takes, in load order. */
  readonly columnRanges: readonly RowRange[];
  /** Key of the row that tells the members, and the range of just it. */
  readonly membersKey: Uint8Array;
  readonly membersRange: RowRange;
  /** All append index rows, to rebuild the id index. */
  readonly appendRange: RowRange;
  /** Encoders of the commands the group itself proposes. */
  readonly commands: GroupCommands;
  readonly appends: AppendRows;
  readonly garbage: Garbage;
  /** Largest recognition window in use, µs. */
  recognitionWindowMicros(): number;
  /** For how long rows of trimmed appends of a queue are needed, µs; Infinity: they stay. */
  rowWindowMicros(queueId: QueueId): number;
  readonly dropped: DroppedPartitions;
  readonly contents: EntryContents;
}

/** Deleted queues and purged tenants whose rows outside the columns are still in the store. */
/** Rows that remember dropped partitions until their append rows are gone. */
export interface DroppedPartitions {
  readonly range: RowRange;
  /** The append rows of the partition that such a row names. */
  appendsOf(key: Uint8Array): RowRange;
}

export interface Garbage {
  /** Those whose columns are freed already. */
  purgeable(): readonly GarbagePile[];
}

export interface GarbagePile {
  readonly ranges: readonly RowRange[];
  /** Keys of other rows that go with this one. */
  companions?(key: Uint8Array, value: Uint8Array): readonly Uint8Array[];
  /** Nothing of it is left. */
  finish(): void;
}

export interface GroupCommands {
  openSession(nodeId: NodeId, directoryId: Uint8Array, bootCount: number): Uint8Array;
  unclaim(grant: GrantOutcome): Uint8Array;
  forgetNode(nodeId: NodeId, session: number): Uint8Array;
  raiseVersion(version: number): Uint8Array;
  /** Why the bytes of a command from a peer could not be applied; null when they can. */
  check(bytes: Uint8Array): string | null;
}

/** Reads keys and values of append index rows; the layout is the machine's. */
export interface AppendRows {
  baseOf(key: Uint8Array): number;
  partitionOf(key: Uint8Array): number;
  /** Range of the rows of a partition with first <= base < limit. */
  range(place: AppendPlace, first: number, limit: number): RowRange;
  decode(baseOffset: number, value: Uint8Array): AppendRow;
  /** Takes a record apart; slices of `record`. */
  message(row: AppendRow, item: number, record: Uint8Array): StoredMessage;
}

export interface AppendPlace {
  readonly queueId: number;
  readonly partitionId: number;
}

/** A partition with the first offset it retains. */
export interface PartitionPlace extends AppendPlace {
  readonly logStart: number;
}

/** One append as its index row tells it: where the messages lie and what they must hash to. */
export interface AppendRow {
  readonly baseOffset: number;
  readonly count: number;
  readonly createdAt: number;
  readonly entryIndex: LogIndex;
  /** Position of a record inside the entry's payload, its length and the CRC-32 of its bytes. */
  start(item: number): number;
  length(item: number): number;
  crc(item: number): number;
  copyId(item: number): Uint8Array;
  copyHash(item: number): Uint8Array;
  /** The transactionId came from the client: dedup and the id index know it. */
  isClientId(item: number): boolean;
  hashPlace(item: number): { readonly bytes: Uint8Array; readonly at: number };
  /** First 4 bytes of the transactionId hash, little-endian. */
  hashWord(item: number): number;
  hashEquals(item: number, bytes: Uint8Array, at: number): boolean;
  /** Item whose transactionId hash equals bytes[at … at+16), -1 when none. */
  findHash(bytes: Uint8Array, at: number): number;
}

/** What the dispatcher tells about a pop; the grant itself comes through apply. */
export interface DispatchAnswer {
  readonly granted: boolean;
  readonly conflation: boolean;
  readonly conflationConflict: boolean;
  readonly autopilot: { readonly partitions: number; readonly batch: number } | null;
}

/** A leader-only worker: started when the group serves as leader, stopped on step-down; both repeat safely. */
export interface CoordinatorPort {
  start(): void;
  stop(): void;
}

/** The leader's dispatcher as the group sees it; it proposes claims through `Group.propose`. */
export interface DispatcherPort extends CoordinatorPort {
  pop(request: PopRequest, ticket: PopTicket, options: CallOptions): Promise<DispatchAnswer>;
  /** Numbers for the metrics; absent in doubles. */
  figures?(): DispatcherFigures;
}

export interface DispatcherFigures {
  /** Pops parked now. */
  readonly parked: number;
  /** (queue, group) pairs being consumed, and partitions they hold as claimable. */
  readonly lanes: number;
  readonly readyPartitions: number;
  /** Lanes taken up and dropped since the start. */
  readonly lanesLoaded: number;
  readonly lanesUnloaded: number;
  /** Partitions that were read from the store before they could be claimed. */
  readonly coldClaims: number;
  /** Pops that asked for another delivery than their group's registration says. */
  readonly conflationConflicts: number;
}

/** Structured log of the group; names are constants of the caller. */
export interface GroupLog {
  info(event: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(event: string, fields?: Readonly<Record<string, unknown>>): void;
  error(event: string, fields?: Readonly<Record<string, unknown>>): void;
}

export type { MachineEvents };
