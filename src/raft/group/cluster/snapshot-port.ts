/**
 * Snapshots as the group sees them: what the leader offers, what is streamed, and what a receiver
 * says. The bytes are those of the files of an exported snapshot; the wiring knows store and segments,
 * the transport knows sockets.
 */
import type { LogIndex, NodeId, Term } from '../../../common/ids.js';
import type { SnapshotMeta } from '../../core/index.js';

/** What the sender says before the first byte. */
export interface SnapshotOffer {
  readonly from: NodeId;
  /** Term of the leader that sends. */
  readonly leaderTerm: Term;
  readonly index: LogIndex;
  readonly term: Term;
  /** Cluster version of the state: a build that reads less must not take it. */
  readonly clusterVersion: number;
  readonly files: readonly SnapshotFile[];
}

export interface SnapshotFile {
  /** Relative, below the snapshot's directory. */
  readonly path: string;
  readonly sizeBytes: number;
}

/** staged: on disk, loaded at the next start. unneeded: the receiver holds all of it already. */
export type SnapshotVerdict = 'staged' | 'unneeded' | 'refused';

export interface SnapshotStream {
  readonly offer: SnapshotOffer;
  readonly sizeBytes: number;
  /** The bytes of all files in the order of the offer. */
  bytes(): AsyncIterable<Uint8Array>;
}

/** A snapshot on disk, held until it is released. */
export interface ExportedSnapshot {
  readonly meta: SnapshotMeta;
  readonly clusterVersion: number;
  readonly files: readonly SnapshotFile[];
  bytes(): AsyncIterable<Uint8Array>;
  release(): Promise<void>;
}

/** Makes snapshots of this node's state and takes those of others to the disk. */
export interface SnapshotPort {
  /** The state as of the applied index of the moment of the call. */
  create(meta: Pick<SnapshotMeta, 'config'>): Promise<ExportedSnapshot>;
  /** Writes the files, verified and synced. Not loaded before `commitStaged`. */
  stage(offer: SnapshotOffer, bytes: AsyncIterable<Uint8Array>): Promise<StagedSnapshot>;
}

export interface StagedSnapshot {
  readonly index: LogIndex;
  readonly term: Term;
  /** Durable: the next start loads it. */
  commit(): Promise<void>;
  discard(): Promise<void>;
}
