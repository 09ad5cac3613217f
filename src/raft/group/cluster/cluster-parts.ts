/** What a clustered group is built from; assembled by src/raft/open-cluster-group.ts and by tests. */
import type { GroupId, NodeId } from '../../../common/ids.js';
import type { Wal } from '../../wal/index.js';
import type { StopNotes } from '../apply-failure.js';
import type { WalPort } from '../ports.js';
import type { MemberAddress, Members } from './members.js';
import type { PeerPort } from './peer-port.js';
import type { SnapshotPort } from './snapshot-port.js';
import type { StateSideParts } from '../state-side.js';

export interface ClusterTiming {
  readonly tickMs: number;
  readonly electionTicks: number;
  readonly heartbeatTicks: number;
  /** Entries proposed and not committed. */
  readonly pipelineEntries: number;
  readonly logCacheBytes: number;
  /** An empty pop is believed while a quorum was heard this recently. */
  readonly leaderLeaseMs: number;
  readonly readyLagEntries: number;
  /** How long a boot waits for a leader before it serves 503. */
  readonly bootWaitMs: number;
  /** Entries kept below the purge point; 4,096 when absent. */
  readonly logKeepEntries?: number;
  /** How long the log is held for a silent member; 600 s when absent. */
  readonly purgeHoldMs?: number;
  /** Entries a learner may lack and still be promoted; 1,000 when absent. */
  readonly promoteMaxLag?: number;
  /** How often the leader looks whether the cluster version may rise; 0 never, 1 s when absent. */
  readonly clusterVersionMs?: number;
  /** How long a request waits while no leader is known; as long as it may when absent. */
  readonly holdMs?: number;
}

/** Who the members are before the log says more. */
export interface FirstMembers {
  /** As of the last checkpoint; null when it tells none. */
  readonly stored: Members | null;
  /** The members a cluster is started with, from the configuration. */
  readonly listed: Members;
  /** Join an existing cluster, never start one. */
  readonly join: boolean;
  /** Own addresses as configured. */
  readonly own: MemberAddress;
}

export interface ClusterGroupParts extends Omit<StateSideParts, 'wal'> {
  readonly id: GroupId;
  readonly nodeId: NodeId;
  /** 16 bytes, minted with the data directory. */
  readonly directoryId: Uint8Array;
  readonly kinds: number;
  /** The member that is to lead whenever it can (cluster.md §1.12). */
  readonly preferred?: NodeId;
  readonly timing: ClusterTiming;
  readonly first: FirstMembers;
  readonly peers: PeerPort;
  readonly wal: Wal;
  /** The same log as the readers see it. */
  readonly walPort: WalPort;
  readonly snapshots: SnapshotPort;
  /** A staged snapshot waits to be loaded: the process must start again. */
  readonly restart: () => void;
  readonly random: (bound: number) => number;
  /** What stops this node; kept for the next start. */
  readonly stopNotes?: StopNotes;
  readonly diskGate?: { readonly isFull: boolean };
}
