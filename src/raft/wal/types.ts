/**
 * What goes into the log and comes out of it. Payloads are opaque bytes in parts; the log writes them
 * as given and never keeps a reference after `append` settled.
 */
import type { LogIndex, NodeId, Term } from '../../common/ids.js';

/** Superset of the consensus core's kinds; `membership` entries carry a configuration change. */
export type EntryKind = 'normal' | 'membership' | 'empty';

/** One log entry; its payload is the concatenation of the parts. */
export interface WalEntry {
  readonly index: LogIndex;
  readonly term: Term;
  readonly kind: EntryKind;
  readonly parts: readonly Uint8Array[];
}

/** An entry read back; its record checksum was verified. `parts` holds the one payload. */
export interface StoredEntry extends WalEntry {
  readonly payload: Buffer;
}

/** Raft's hard state, the shape of the consensus core; `vote` is 0 when none was cast in `term`. */
export interface HardState {
  readonly term: Term;
  readonly vote: NodeId;
  readonly commit: LogIndex;
}

/** What one append makes durable, all of it or (after a crash before the answer) nothing of it. */
export interface WalBatch {
  /** Consecutive indexes; the first may lie at or below the last index and then truncates. */
  readonly entries: readonly WalEntry[];
  readonly hardState?: HardState;
}

/** The position just before an entry: index and term of its predecessor. */
export interface LogPosition {
  readonly index: LogIndex;
  readonly term: Term;
}

/** Whose files these are; every segment and the manifest carry it. */
export interface DirectoryIdentity {
  readonly clusterId: string;
  readonly nodeId: NodeId;
  /** 32 hex digits, random, minted when the directory was created. */
  readonly directoryId: string;
}

/** Where an entry's record lies now; rewriting a retired segment may move it. */
export interface EntryLocation {
  readonly segment: number;
  /** Byte of the payload in the segment file. */
  readonly payloadPosition: number;
  readonly payloadBytes: number;
}

/** Structured log line of this room: event name plus fields. */
export type WalLog = (event: string, fields: Record<string, unknown>) => void;
