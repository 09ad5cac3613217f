/**
 * The catalogue of commands: everything that can stand in the replicated log, as plain typed data.
 * Codecs live beside this file, one per family. A command carries immutable facts (resolved before the
 * log) plus every limit that can change a verdict; the machine judges only mutable state.
 *
 * Entry payload (one WAL entry = one batch of commands, stamped once with the log clock):
 *
 *   u8 entryVersion=1 | u8 machineVersion | u64 now(µs) | u32 commandCount | command*
 *
 * Command (contiguous, starts with its own length so that it is one part of the entry, never copied):
 *
 *   u32 length(bytes after this field) | u8 kind | u8 bodyVersion | u48 session | u48 sequence
 *   | u48 floor | 16B tenant uuid | body
 *
 * session, sequence and floor are patched in place by the group at submit (fixed positions).
 */
import type { ConsumerGroupId, Micros, Offset, PartitionId, QueueId } from '../../common/ids.js';
import type { TransactionOutcome } from './catalogue-transactions.js';
import type { AppendTraceOutcome, SweepTracesOutcome } from './traces.js';
import type { DeclareEphemeralOutcome, DropEphemeralOutcome } from './ephemeral-catalogue.js';
import type { RegisterStreamOutcome, StreamCycleOutcome } from './streams.js';
import type { FailTimersOutcome, FireTimersOutcome, TimersOutcome } from './timers.js';
import type {
  AckOutcome,
  ClaimOutcome,
  ConfigureOutcome,
  DeleteCursorsOutcome,
  DeleteQueueOutcome,
  ExtendOutcome,
  ForgetNodeOutcome,
  IgnoredOutcome,
  PushOutcome,
  RaiseVersionOutcome,
  RefusedOutcome,
  RegisterOutcome,
  RemoveDeadLettersOutcome,
  ReplayDeadLetterOutcome,
  SeekCursorsOutcome,
  SessionOutcome,
  UnclaimOutcome,
  UpdateSubscriptionOutcome,
} from './outcomes.js';
import type { BindEncryptionKeyOutcome } from './encryption.js';
import type {
  DropPartitionsOutcome,
  SealCursorsOutcome,
  TrimPartitionsOutcome,
} from './retention.js';

export * from './outcomes.js';
import type { PurgeTenantOutcome, SetQuotaOutcome, SetSwitchesOutcome } from './controls.js';
import type { KvCallOutcome, KvSweepOutcome } from './kv.js';

/** Never renumber. New kinds raise the machine (cluster) version that may write them. */
export enum CommandKind {
  OpenSession = 1,
  Push = 2,
  Register = 3,
  Claim = 4,
  Unclaim = 5,
  Ack = 6,
  Extend = 7,
  Configure = 8,
  DeleteQueue = 9,
  RaiseVersion = 10,
  SeekCursors = 11,
  DeleteCursors = 12,
  UpdateSubscription = 13,
  RemoveDeadLetters = 14,
  ReplayDeadLetter = 15,
  Transaction = 20,
  AppendTrace = 22,
  SweepTraces = 23,
  DeclareEphemeral = 60,
  DropEphemeral = 61,
  /** timers.ts */
  Timers = 50,
  FireTimers = 51,
  FailTimers = 52,
  /** streams.ts */
  RegisterStream = 55,
  StreamCycle = 56,
  TrimPartitions = 25,
  DropPartitions = 26,
  SealCursors = 27,
  BindEncryptionKey = 30,
  KvCall = 40,
  KvSweep = 41,
  SetSwitches = 42,
  SetQuota = 43,
  PurgeTenant = 44,
  ForgetNode = 35,
}

/** Byte positions of the patched header fields, relative to the start of the command buffer. */
export const COMMAND_HEADER = {
  length: 0,
  kind: 4,
  bodyVersion: 5,
  session: 6,
  sequence: 12,
  floor: 18,
  tenant: 24,
  body: 40,
} as const;

export interface CommandHeader {
  readonly kind: CommandKind;
  /** Index of the entry that opened the session; 0 = leader-internal (claims, sweeps). */
  readonly session: number;
  readonly sequence: number;
  readonly floor: number;
  readonly tenant: Uint8Array;
}

/** Opens a session for a node's boot; ends the node's older session. Always alone in its entry. */
export interface OpenSessionCommand {
  readonly nodeId: number;
  readonly directoryId: Uint8Array;
  readonly bootCount: number;
}

/** Options of queues that spring into being, carried by whoever may create one. */
export interface ImplicitDefaults {
  readonly leaseTime: number;
  readonly retryLimit: number;
  readonly dedupWindowSeconds: number;
}

/**
 * Push: one append group per (queue, partition), first-seen order. The messages' bytes are not decoded
 * to objects; `PushBodyView` (codec) walks them by position. Layout of one append group:
 *
 *   str queue | str partition | u32 optionsVersion | u8 flags(bit0 encrypted) | varint count
 *   | count x { 16B id | 16B txnHash | u32 start | u32 length | u32 crc | u8 flags }   (45 B each)
 *   | u32 blockLength | block
 *
 * start is relative to the block; record = block[start .. start+length) =
 *   u8 flags | varint n + n bytes transactionId | [flags&2: varint n + n bytes producerSub]
 *   | [flags&4: 16B traceId] | payload bytes to the end.
 * crc = CRC-32 (zlib) of the record. Message flag bits: 1 client-supplied transactionId (dedup applies),
 * 2 producerSub present, 4 traceId present, 8 payload encrypted.
 */
export interface PushCommandLimits {
  readonly defaults: ImplicitDefaults;
  /** Recognition floor in seconds (QUEEN_RAFT_TXN_WINDOW_MIN_S). */
  readonly windowMinSeconds: number;
}

export enum StartMode {
  All = 0,
  New = 1,
  Timestamp = 2,
}

/**
 * Registers a consumer group on a queue (and creates the queue when asked to). Idempotent. An empty
 * queue name registers nothing: it only gives the group name its number (pinned pop of a group that
 * never registered); the outcome then has queueId null.
 */
export interface RegisterCommand {
  readonly queue: string;
  readonly group: string;
  readonly createQueue: boolean;
  readonly defaults: ImplicitDefaults;
  readonly mode: StartMode;
  /** Instant of a Timestamp policy; ignored otherwise (New uses the apply time). */
  readonly instant: Micros;
  readonly conflation: boolean;
  readonly namespace: string;
  readonly task: string;
  /**
   * A partition: nothing is registered, only this partition's start is kept, as a plain pinned pop of
   * an unregistered group asks for it. Null: a registration.
   */
  readonly contact: string | null;
}

/** A pop request as the leader knows it: the node's session and a number unique within that session. */
export interface PopTicket {
  readonly session: number;
  readonly sequence: number;
}

export interface ClaimRange {
  readonly queueId: QueueId;
  readonly partitionId: PartitionId;
  readonly groupId: ConsumerGroupId;
  /** Version of the cursor the dispatcher saw; 0 = no cursor yet, create it at `seedCommitted`. */
  readonly cursorVersion: number;
  readonly seedCommitted: number;
  readonly firstOffset: Offset;
  readonly lastOffset: Offset;
  readonly conflated: boolean;
}

/** Grants of one pop: what the dispatcher proposes. The machine re-checks cursor, lease and range. */
export interface ClaimGrant {
  readonly ticket: PopTicket;
  readonly leaseId: Uint8Array;
  /** Duration in µs added to the entry's time; 0 with commitOnDelivery. */
  readonly leaseMicros: number;
  readonly commitOnDelivery: boolean;
  readonly ranges: readonly ClaimRange[];
}

export interface ClaimCommand {
  readonly skewMicros: number;
  readonly grants: readonly ClaimGrant[];
}

/** Hands a claim back that nobody received; restores the attempt (or an unmoved auto-commit cursor). */
export interface UnclaimCommand {
  readonly leaseId: Uint8Array;
  readonly ranges: readonly {
    readonly partitionId: PartitionId;
    readonly groupId: ConsumerGroupId;
    /** Version the cursor had right after the claim. */
    readonly cursorVersion: number;
    /** `firstOffset - 1` of a commit-on-delivery claim to be restored, or -2 for a leased claim. */
    readonly restoreCommitted: number;
  }[];
}

export enum AckStatus {
  Completed = 0,
  Failed = 1,
  Dlq = 2,
  Retry = 3,
}

/** One signal item. `baseOffset` = first offset of the append holding it (to find its index row). */
export interface AckSignal {
  readonly offset: Offset;
  readonly baseOffset: Offset;
  readonly status: AckStatus.Failed | AckStatus.Dlq | AckStatus.Retry;
  readonly error: string | null;
  /** Minted id for the dead letter this signal may become. */
  readonly deadLetterId: Uint8Array;
}

export interface AckTarget {
  readonly partitionId: PartitionId;
  /** Empty (length 0) = unfenced. */
  readonly leaseId: Uint8Array;
  /** Ascending, disjoint, inclusive ranges of completed offsets: [first0, last0, first1, last1, …]. */
  readonly completed: readonly number[];
  readonly signals: readonly AckSignal[];
  /** Text of any non-completed item of the call, used when the head has none. */
  readonly fallbackError: string | null;
}

export interface AckCommand {
  readonly group: string;
  readonly skewMicros: number;
  readonly targets: readonly AckTarget[];
}

export interface ExtendCommand {
  readonly leaseId: Uint8Array;
  readonly seconds: number;
}

/** Raw option values are validated and clamped before the log; `replace` starts from the defaults. */
export interface ConfigureCommand {
  readonly queue: string;
  readonly replace: boolean;
  /** Complete set of configure defaults at the time of preparing (limits travel in the command). */
  readonly defaults: QueueOptions;
  /** Only the named options; merged over the stored ones or over the defaults. */
  readonly options: Partial<QueueOptions>;
}

export interface DeleteQueueCommand {
  readonly queue: string;
}

/**
 * Releases a node id that left the cluster from its data directory: the node may come back with an
 * empty one. No effect when the node has opened a newer session since.
 */
export interface ForgetNodeCommand {
  readonly nodeId: number;
  readonly session: number;
}

export interface RaiseVersionCommand {
  readonly version: number;
}

/** Most cursors, queues or dead letters one command names. */
export const MAX_NAMED_ROWS = 4096;

/** Where one cursor goes: the offset before the next message; clamped to the log at apply. */
export interface CursorMove {
  readonly partitionId: PartitionId;
  readonly committed: number;
}

/** Moves cursors, creating missing ones; live leases of these cursors end. Does not register. */
export interface SeekCursorsCommand {
  readonly group: string;
  readonly moves: readonly CursorMove[];
}

/** Deletes the group's cursors on the named partitions of one queue, and its registration there. */
export interface DeleteCursorsCommand {
  readonly group: string;
  readonly queueId: QueueId;
  readonly dropRegistration: boolean;
  readonly partitions: readonly PartitionId[];
}

/** Registrations of the group on these queues start at `instant` from now on; cursors stay. */
export interface UpdateSubscriptionCommand {
  readonly group: string;
  readonly instant: Micros;
  readonly queues: readonly QueueId[];
}

/** Names one dead letter: its row's key. */
export interface DeadLetterName {
  readonly queueId: QueueId;
  readonly failedAt: Micros;
  readonly deadLetterId: Uint8Array;
}

export interface RemoveDeadLettersCommand {
  readonly letters: readonly DeadLetterName[];
}

/**
 * Pushes a copy of a dead letter and removes it, both or neither. The copy is the body of a push
 * command with one group of one message; see push-builder.ts.
 */
export interface ReplayDeadLetterCommand {
  readonly letter: DeadLetterName;
}

export interface QueueOptions {
  readonly leaseTime: number;
  readonly retryLimit: number;
  readonly deadLetterQueue: boolean;
  readonly dlqAfterMaxRetries: boolean;
  readonly dedupWindowSeconds: number;
  readonly delayedProcessing: number;
  readonly windowBuffer: number;
  readonly retentionEnabled: boolean;
  readonly retentionSeconds: number;
  readonly completedRetentionSeconds: number;
  readonly maxWaitTimeSeconds: number;
  readonly encryptionEnabled: boolean;
  readonly retentionSinkHold: string;
  readonly retentionSinkHoldMaxSeconds: number;
  readonly namespace: string;
  readonly task: string;
  readonly priority: number;
  readonly retryDelay: number;
  readonly ttl: number;
  readonly maxSize: number;
  readonly minPopWaitTime: number;
}

export type Outcome =
  | PushOutcome
  | RegisterOutcome
  | ClaimOutcome
  | UnclaimOutcome
  | AckOutcome
  | ExtendOutcome
  | ConfigureOutcome
  | DeleteQueueOutcome
  | SessionOutcome
  | RaiseVersionOutcome
  | ForgetNodeOutcome
  | SeekCursorsOutcome
  | DeleteCursorsOutcome
  | UpdateSubscriptionOutcome
  | RemoveDeadLettersOutcome
  | ReplayDeadLetterOutcome
  | TransactionOutcome
  | AppendTraceOutcome
  | SweepTracesOutcome
  | DeclareEphemeralOutcome
  | DropEphemeralOutcome
  | TimersOutcome
  | FireTimersOutcome
  | FailTimersOutcome
  | RegisterStreamOutcome
  | StreamCycleOutcome
  | TrimPartitionsOutcome
  | DropPartitionsOutcome
  | SealCursorsOutcome
  | BindEncryptionKeyOutcome
  | KvCallOutcome
  | KvSweepOutcome
  | SetSwitchesOutcome
  | SetQuotaOutcome
  | PurgeTenantOutcome
  | IgnoredOutcome
  | RefusedOutcome;
