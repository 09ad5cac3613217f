/**
 * The group as features and coordinators see it: one Raft group = one log + one machine + one store.
 * The single-node (`local`) and the clustered group stand behind this same interface; callers must
 * not be able to tell them apart.
 */
import type { GroupId, LogIndex, NodeId, Term } from '../../common/ids.js';
import type { GrantOutcome, Outcome } from '../../machine/commands/catalogue.js';
import type { MachineEvents } from '../../machine/machine.js';
import type { Tables } from '../../machine/tables/tables.js';
import type { MembershipControl } from './cluster/membership-port.js';
import type { PeerChannel } from './cluster/peer-port.js';

/** Time left is carried as a deadline on the monotonic clock of this process, in milliseconds. */
export interface CallOptions {
  readonly deadlineMs: number;
  /** Aborts waiting (client gone). The command may still be applied. */
  readonly signal?: AbortSignal;
  /** Called in the middle of apply, before anything later is applied: take what is needed, no more. */
  readonly onApplied?: (outcome: Outcome) => void;
}

/** A command ready for the log: header fields session, sequence and floor are patched by submit. */
export interface PreparedCommand {
  readonly bytes: Uint8Array;
  /** Refused while storage is short (507, 429). Absent: true of pushes only. */
  readonly growing?: boolean;
}

/** Refusals of the submit path are QueenError codes: retry, no_leader, timeout, outcome_unknown, overloaded. */
export interface PopRequest {
  readonly tenant: Uint8Array;
  readonly scope: 'queue' | 'partition' | 'discovery';
  readonly queue: string;
  readonly partition: string;
  readonly namespace: string;
  readonly task: string;
  readonly group: string;
  readonly maxMessages: number;
  readonly maxPartitions: number;
  /** 0 = the queue's value. */
  readonly leaseSeconds: number;
  readonly commitOnDelivery: boolean;
  readonly wait: boolean;
  /** Start intent of an unregistered group on a pinned pop. */
  readonly intent: { readonly mode: 'all' | 'new' | 'timestamp'; readonly instantMicros: number };
  readonly conflation: boolean | null;
  readonly autopilot: { readonly partitions: boolean; readonly batch: boolean } | null;
}

export interface PopAnswer {
  /** null = empty. */
  readonly grant: GrantOutcome | null;
  readonly conflation: boolean;
  readonly conflationConflict: boolean;
  readonly autopilot: { readonly partitions: number; readonly batch: number } | null;
}

/** One message as stored: slices of bytes valid until released; nothing is parsed. */
export interface StoredMessage {
  readonly offset: number;
  /** First offset of the append the message belongs to. */
  readonly baseOffset: number;
  readonly id: Uint8Array;
  /** 16-byte hash of the transactionId, as in the append row. */
  readonly hash: Uint8Array;
  readonly transactionId: Uint8Array;
  readonly producerSub: Uint8Array | null;
  readonly traceId: Uint8Array | null;
  readonly payload: Uint8Array;
  readonly encrypted: boolean;
  readonly createdAtMicros: number;
}

/** Where a record lies in the log and what it must hash to. */
export interface RecordPlace {
  readonly entryIndex: number;
  /** Position inside the entry's payload. */
  readonly start: number;
  readonly length: number;
  /** CRC-32 (zlib) of the record. */
  readonly crc: number;
}

/** Encryption of payloads at rest with this node's key. */
export interface PayloadCipher {
  /** Tells keys apart; 16 bytes. */
  readonly check: Uint8Array;
  seal(plain: Uint8Array): Uint8Array;
  /** Null when it was not sealed by a broker with this key: it is the client's own. */
  open(sealed: Uint8Array): Uint8Array | null;
}

export interface GroupStatus {
  readonly nodeId: NodeId;
  readonly role: 'leader' | 'follower' | 'learner' | 'candidate' | 'stopped';
  readonly leader: NodeId | null;
  readonly term: Term;
  readonly applied: LogIndex;
  readonly commit: LogIndex;
  readonly durable: LogIndex;
  readonly lastLog: LogIndex;
  readonly lagMs: number;
  readonly quorumAckMs: number | null;
  readonly storageReady: boolean;
  /** The disk gate is closed: growing writes of this node's clients are refused (507). */
  readonly storageFull: boolean;
  readonly clusterVersion: number;
  readonly kinds: number;
  readonly failure: {
    readonly class: string;
    readonly error: string;
    readonly index: number;
    /** Of an entry that could not be applied: its term, bytes and commands. */
    readonly term?: number;
    readonly digest?: string;
    readonly command?: string | null;
    readonly effect?: string | null;
  } | null;
  /** Entries that an operator's skip marker replaced; digest null: by another member. */
  readonly skipped?: readonly {
    readonly index: number;
    readonly term: number;
    readonly digest: string | null;
  }[];
  readonly inflight: number;
  readonly proposals: number;
}

/** The members as the leader saw them `ageMs` ago; 0 on the leader itself. */
export interface MembersView {
  readonly leader: NodeId;
  readonly ageMs: number;
  readonly members: readonly {
    readonly nodeId: NodeId;
    readonly voter: boolean;
    readonly lastAckMs: number | null;
    readonly matched: LogIndex | null;
  }[];
}

/** The members of a cluster as this node has applied them. */
export interface ClusterMembers {
  readonly index: LogIndex;
  /** Recovery generation of the cluster. */
  readonly generation: number;
  readonly config: {
    readonly voters: readonly NodeId[];
    readonly outgoing: readonly NodeId[];
    readonly learners: readonly NodeId[];
    readonly learnersNext: readonly NodeId[];
    readonly autoLeave: boolean;
  };
  readonly addresses: ReadonlyMap<
    NodeId,
    { readonly raft: string | null; readonly http: string | null }
  >;
}

/** What only a member of a cluster has: who belongs to it, and how that changes. */
export interface ClusterSide {
  members(): ClusterMembers;
  /** Changes of the membership; carried out by the leader, whichever node is asked. */
  readonly membership: MembershipControl;
}

/** Rows at one applied index; iterates the checkpoint snapshot merged with the frozen overlay. */
export interface GroupView {
  readonly appliedIndex: LogIndex;
  get(key: Uint8Array): Promise<Uint8Array | undefined>;
  iterate(range: ViewRange): AsyncIterableIterator<readonly [Uint8Array, Uint8Array]>;
  close(): Promise<void>;
}

export interface ViewRange {
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
  readonly reverse?: boolean;
  readonly limit?: number;
}

/** Offsets in which ids are looked for; of an id that stands there twice the newest counts, or the oldest. */
export interface IdSpan {
  readonly first: number;
  readonly last: number;
  readonly oldestFirst?: boolean;
}

export interface Group {
  readonly id: GroupId;
  /** Synchronous reads of this node's applied columns; consistent until the next await. */
  readonly tables: Tables;
  /** Null: this node has no key. What readers get is decrypted already, except by `readRecord`. */
  readonly cipher: PayloadCipher | null;
  /**
   * False: the bytes of a submitted command are the caller's again when its outcome came. True: never,
   * for the log keeps them in memory for followers.
   */
  readonly keepsCommands: boolean;
  /** Resolves when this node has applied the command; rejects with a QueenError. */
  submit(command: PreparedCommand, options: CallOptions): Promise<Outcome>;
  /** Parks at the leader's dispatcher until a grant applied here, or empty at the deadline minus margin. */
  pop(request: PopRequest, options: CallOptions): Promise<PopAnswer>;
  /** Hands a grant back whose answer could not be delivered. Never throws. */
  handBack(grant: GrantOutcome): void;
  /** Waits until this node has applied everything committed before the call. */
  readBarrier(options: CallOptions): Promise<void>;
  /** Reads the retained messages of an inclusive offset range, ascending; verifies each CRC. */
  readMessages(partitionId: number, first: number, last: number): Promise<StoredMessage[]>;
  /**
   * Reads one record by its place in the log (tail cache, else the segment); verifies its CRC. Rejects
   * with RecordGoneError when the log does not hold the entry any more.
   */
  readRecord(place: RecordPlace): Promise<Uint8Array>;
  /**
   * Resolves transactionId hashes (16 B each, back to back) to offsets on this node's applied state:
   * per hash the newest place inside [span.first, span.last] (the oldest one when `oldestFirst` is set),
   * else the newest one below span.first that
   * is still recognised (id index window, or the last 65,536 offsets below), else -1. Works for minted
   * ids too (rows carry the hash of every id). `bases` holds the first offset of the append.
   */
  findIds(
    partitionId: number,
    hashes: Uint8Array,
    span: IdSpan,
  ): Promise<{ readonly offsets: Float64Array; readonly bases: Float64Array }>;
  view(): Promise<GroupView>;
  status(): GroupStatus;
  /** Null before anything was heard of a leader; absent on a single node. */
  membersView?(): MembersView | null;
  /** Absent on a single node without the raft protocol. */
  readonly cluster?: ClusterSide;
  /** Frames of features to and from the other members; absent on a single node. */
  readonly channel?: PeerChannel | undefined;
  /** Leader-only proposal without session (claims, sweeps). Resolves with the outcome at apply. */
  propose(command: PreparedCommand): Promise<Outcome>;
  /** Events after each applied entry; returns the unsubscriber. */
  listen(events: Partial<MachineEvents>): () => void;
  /** Log-clock reading in µs (leader: stamp the next entry would get at least). */
  nowMicros(): number;
}
