/**
 * Outcomes: what execute hands to the origin node (by session and sequence), as plain typed data. Never
 * stored. Families with files of their own keep theirs beside their commands; the union of all stands
 * in the catalogue.
 */
import type {
  ConsumerGroupId,
  LogIndex,
  Micros,
  Offset,
  PartitionId,
  QueueId,
} from '../../common/ids.js';
import type { CommandKind, PopTicket } from './catalogue.js';

export enum PushItemStatus {
  Queued = 0,
  Duplicate = 1,
}

/** Outcome of one append group; arrays are parallel to the group's messages. */
export interface PushGroupOutcome {
  /** 'reprepare' = encryption of the queue changed since the command was prepared; nothing written. */
  readonly verdict: 'applied' | 'reprepare' | 'refused';
  readonly refusal: string | null;
  readonly partitionId: PartitionId;
  readonly statuses: Uint8Array;
  readonly offsets: Float64Array;
  /** 16 B per message where the status is Duplicate: the original id (all zero when unreadable). */
  readonly duplicateIds: Uint8Array | null;
}

export interface PushOutcome {
  readonly kind: CommandKind.Push;
  readonly groups: readonly PushGroupOutcome[];
}

export interface RegisterOutcome {
  readonly kind: CommandKind.Register;
  readonly queueId: QueueId | null;
  readonly groupId: ConsumerGroupId | null;
}

export interface GrantedRange {
  readonly queueId: QueueId;
  readonly partitionId: PartitionId;
  readonly groupId: ConsumerGroupId;
  readonly firstOffset: Offset;
  readonly lastOffset: Offset;
  readonly deliveryAttempt: number;
  readonly cursorVersion: number;
  readonly conflated: boolean;
}

/** One per grant of a claim; goes to the node that owns the ticket's session. */
export interface GrantOutcome {
  readonly ticket: PopTicket;
  readonly leaseId: Uint8Array;
  readonly expiresAt: Micros;
  readonly commitOnDelivery: boolean;
  readonly ranges: readonly GrantedRange[];
}

export interface ClaimOutcome {
  readonly kind: CommandKind.Claim;
  readonly grants: readonly GrantOutcome[];
}

/** 'stale': a dead letter's append row is missing or does not hold the offset; nothing changed. */
export type AckVerdict = 'applied' | 'repeat' | 'fenced' | 'stale' | 'no_cursor' | 'no_partition';

/** The origin renders every item from these numbers and the item's own offset and status. */
export interface AckTargetOutcome {
  readonly verdict: AckVerdict;
  /** Cursor before the call: completed items at or below it are no-ops, signals there fail. */
  readonly committedBefore: number;
  /** Last offset an item may name (batchEnd with a lease, else the last written offset). */
  readonly spanEnd: number;
  /** First offset a signal may name (the delivered message alone under a conflated lease). */
  readonly lowestSignal: number;
  readonly committedAfter: number;
  /** Offset range of the batch a 'repeat' belongs to. */
  readonly releasedFirst: number;
  readonly releasedLast: number;
  readonly leaseReleased: boolean;
  readonly filed: number;
}

export interface AckOutcome {
  readonly kind: CommandKind.Ack;
  readonly targets: readonly AckTargetOutcome[];
}

export interface UnclaimOutcome {
  readonly kind: CommandKind.Unclaim;
  readonly restored: number;
}

export interface ExtendOutcome {
  readonly kind: CommandKind.Extend;
  readonly renewed: number;
  /** Earliest expiry among the renewed leases, 0 when none. */
  readonly earliestExpiry: Micros;
}

export interface ConfigureOutcome {
  readonly kind: CommandKind.Configure;
  readonly queueId: QueueId;
  readonly created: boolean;
}

export interface DeleteQueueOutcome {
  readonly kind: CommandKind.DeleteQueue;
  readonly existed: boolean;
}

export interface SessionOutcome {
  readonly kind: CommandKind.OpenSession;
  readonly session: LogIndex;
  /** Whose session: the command carries no session of its own to be told apart by. */
  readonly nodeId: number;
}

export interface ForgetNodeOutcome {
  readonly kind: CommandKind.ForgetNode;
  readonly nodeId: number;
  /** The session was the node's newest one and is gone. */
  readonly forgotten: boolean;
}

export interface RaiseVersionOutcome {
  readonly kind: CommandKind.RaiseVersion;
  readonly version: number;
}

export interface SeekCursorsOutcome {
  readonly kind: CommandKind.SeekCursors;
  /** Cursors that stand where the command put them. */
  readonly moved: number;
}

export interface DeleteCursorsOutcome {
  readonly kind: CommandKind.DeleteCursors;
  readonly deleted: number;
  readonly registrationDropped: boolean;
}

export interface UpdateSubscriptionOutcome {
  readonly kind: CommandKind.UpdateSubscription;
  readonly updated: number;
}

export interface RemoveDeadLettersOutcome {
  readonly kind: CommandKind.RemoveDeadLetters;
  readonly removed: number;
}

/** 'gone': no such dead letter. The letter stays unless the result is 'moved'. */
export interface ReplayDeadLetterOutcome {
  readonly kind: CommandKind.ReplayDeadLetter;
  readonly result: 'moved' | 'duplicate' | 'gone' | 'reprepare' | 'refused';
  readonly refusal: string | null;
  /** Offset of the copy, or of the original it repeats; -1 when there is none. */
  readonly offset: number;
}

/** The command was seen before, is below the session's floor, or its session ended: no effect. */
export interface IgnoredOutcome {
  readonly kind: 'ignored';
  readonly why: 'seen' | 'ended';
}

export interface RefusedOutcome {
  readonly kind: 'refused';
  /** A code of the error table. */
  readonly code: string;
  readonly text: string;
}
