/** What a clustered group is built from; assembled by src/raft/open-cluster-group.ts and by tests. */
import type { GroupId, NodeId } from '../../../common/ids.js';
import type { ConfigState } from '../../core/index.js';
import type { Wal } from '../../wal/index.js';
import type { WalPort } from '../ports.js';
import type { PeerPort } from './peer-port.js';
import type { StateSideParts } from './state-side.js';

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
}

export interface ClusterGroupParts extends Omit<StateSideParts, 'wal'> {
  readonly id: GroupId;
  readonly nodeId: NodeId;
  /** 16 bytes, minted with the data directory. */
  readonly directoryId: Uint8Array;
  readonly kinds: number;
  readonly timing: ClusterTiming;
  /** Membership as of the applied index. */
  readonly config: ConfigState;
  /** The other members. */
  readonly others: readonly NodeId[];
  readonly peers: PeerPort;
  readonly wal: Wal;
  /** The same log as the readers see it. */
  readonly walPort: WalPort;
  readonly random: (bound: number) => number;
  readonly diskGate?: { readonly isFull: boolean };
}
