/**
 * Data that crosses the border of the consensus core: entries, hard state, membership, snapshots and
 * the work package (`Ready`). Everything here is plain, immutable data; the core freezes what it
 * hands out. Entry payloads are opaque: the core keeps references and never copies or reads bytes.
 */
import { logIndex, nodeId, term, type LogIndex, type NodeId, type Term } from '../../common/ids.js';
import type { Message } from './messages.js';

/** "No node": unknown leader, no vote given, no transfer target. */
export const NO_NODE: NodeId = nodeId(0);
/** "Before the log": also used as "nothing" in acknowledgements. */
export const NO_INDEX: LogIndex = logIndex(0);
/** Term before the first election. */
export const NO_TERM: Term = term(0);

export type Role = 'follower' | 'pre-candidate' | 'candidate' | 'leader';

/** `membership` entries hold an encoded ConfigChange (see membership-codec.ts). */
export type EntryKind = 'normal' | 'membership';

export interface Entry {
  readonly term: Term;
  readonly index: LogIndex;
  readonly kind: EntryKind;
  /** Opaque. Ownership passes to the core: the bytes must never be written to again. */
  readonly data: Uint8Array;
}

/** What must survive a crash besides entries. `vote` is NO_NODE when none was given in `term`. */
export interface HardState {
  readonly term: Term;
  readonly vote: NodeId;
  readonly commit: LogIndex;
}

/** A membership; every list ascending and without duplicates. `outgoing` is non-empty while joint. */
export interface ConfigState {
  readonly voters: readonly NodeId[];
  readonly outgoing: readonly NodeId[];
  readonly learners: readonly NodeId[];
  /** Voters of the outgoing half that turn into learners when the joint state is left. */
  readonly learnersNext: readonly NodeId[];
  /** The leader proposes to leave the joint state by itself. */
  readonly autoLeave: boolean;
}

/** Identity of a snapshot; its content travels outside the core. */
export interface SnapshotMeta {
  readonly index: LogIndex;
  readonly term: Term;
  readonly config: ConfigState;
}

/**
 * auto: simple change when one voter moves, else joint with automatic leave;
 * implicit: joint with automatic leave; explicit: joint, left by an empty change.
 */
export type Transition = 'auto' | 'implicit' | 'explicit';

export type ChangeAction = 'add-voter' | 'add-learner' | 'remove' | 'update';

export interface SingleChange {
  readonly action: ChangeAction;
  readonly node: NodeId;
}

/** A membership proposal. No changes = leave the joint state. `context` is for the driver. */
export interface ConfigChange {
  readonly transition: Transition;
  readonly changes: readonly SingleChange[];
  readonly context?: Uint8Array;
}

/** Answer to `readIndex`: once `index` is applied locally, the read of `context` may be served. */
export interface ReadState {
  readonly index: LogIndex;
  readonly context: ReadContext;
}

/** Chosen by the asker; never reused, restarts included, or a late answer could serve a new read. */
export type ReadContext = number;

/** Handed back, unchanged and in order, once everything of one Ready is durable. */
export interface PersistAck {
  /** Term of the writer when the Ready was taken; a later term voids `index` (ABA). */
  readonly term: Term;
  /** Last entry that is durable when this Ready is; NO_INDEX when it says nothing about entries. */
  readonly index: LogIndex;
  readonly indexTerm: Term;
  /** Index of the snapshot installed by this Ready; NO_INDEX when none. */
  readonly snapshotIndex: LogIndex;
  /** The node's own vote and append acknowledgements, released by persistence. */
  readonly selfMessages: readonly Message[];
}

/**
 * One package of work. Order for the driver: install `snapshot`, append `entries`, store `hardState`
 * (sync when `mustSync`), then `messagesAfterPersist`, then `onPersisted(persist)`. `messages` may
 * leave at once unless `holdMessages`; `committed` goes to the state machine in order, then
 * `onApplied`. Committed entries never accompany a snapshot.
 */
export interface Ready {
  readonly softState?: SoftState;
  readonly hardState?: HardState;
  readonly entries: readonly Entry[];
  readonly snapshot?: SnapshotMeta;
  readonly committed: readonly Entry[];
  readonly readStates: readonly ReadState[];
  readonly mustSync: boolean;
  /** Rule D1: term or vote changed, so no message of this or a later Ready may leave before sync. */
  readonly holdMessages: boolean;
  readonly messages: readonly Message[];
  readonly messagesAfterPersist: readonly Message[];
  readonly persist?: PersistAck;
}

export interface SoftState {
  readonly leader: NodeId;
  readonly role: Role;
}

/** Synchronous view of the stable log. It answers from memory; a miss is `loading`, never a wait. */
export interface LogReader {
  /** State found at start; `config` is the membership as of the last applied entry. */
  initialState(): { readonly hardState: HardState; readonly config: ConfigState };
  /** First index still present; one above the snapshot index when the log is empty. */
  firstIndex(): LogIndex;
  lastIndex(): LogIndex;
  /** Term of an index in [firstIndex - 1, lastIndex]. */
  termOf(index: LogIndex): Term | 'compacted' | 'unavailable';
  /** Entries [from, to), cut at `maxBytes` but at least one; fewer is legal. */
  entries(range: EntryRange): readonly Entry[] | 'compacted' | 'loading';
  /**
   * Newest snapshot a follower can be given, or `preparing` (ask again later). One whose membership
   * lacks the peer is of no use to it: then prepare a newer one.
   */
  snapshotFor(peer: NodeId): SnapshotMeta | 'preparing';
}

export interface EntryRange {
  readonly from: LogIndex;
  /** Exclusive. */
  readonly to: LogIndex;
  readonly maxBytes: number;
}

/** What an entry costs besides its payload, in memory and on the wire (estimate, for limits only). */
export const ENTRY_OVERHEAD_BYTES = 24;

export function entryBytes(entry: Entry): number {
  return entry.data.byteLength + ENTRY_OVERHEAD_BYTES;
}

export function payloadBytes(entries: readonly Entry[]): number {
  let sum = 0;
  for (const entry of entries) sum += entry.data.byteLength;
  return sum;
}
