/**
 * Structured events of the core for logs, metrics and the strict vector files. Numbers only, no text:
 * formatting belongs to the sink. Events mark rare transitions; nothing is built per message on the
 * replication path, and nothing at all when no sink is given.
 */
import type { LogIndex, NodeId, Term } from '../../common/ids.js';
import type { MessageKind } from './messages.js';
import type { ProgressState } from './progress.js';
import type { ConfigChange, ConfigState, Role } from './types.js';

/** Copy of a progress at the time of the event. */
export interface ProgressStatus {
  readonly state: ProgressState;
  readonly match: LogIndex;
  readonly next: LogIndex;
  readonly isLearner: boolean;
  readonly paused: boolean;
  readonly pendingSnapshot: LogIndex;
  readonly recentActive: boolean;
  readonly inflight: number;
  readonly inflightFull: boolean;
}

interface EntryPoint {
  readonly index: LogIndex;
  readonly term: Term;
}

/** The voter's own log end and vote, and the asker's log end. */
interface VoteFacts {
  readonly preVote: boolean;
  readonly from: NodeId;
  readonly own: EntryPoint;
  readonly vote: NodeId;
  readonly theirs: EntryPoint;
  readonly term: Term;
}

export type LogTraceEvent =
  | {
      readonly type: 'conflict-found';
      readonly index: LogIndex;
      readonly existingTerm: Term;
      readonly conflictingTerm: Term;
    }
  | { readonly type: 'unstable-replaced'; readonly index: LogIndex }
  | { readonly type: 'unstable-truncated'; readonly index: LogIndex }
  | { readonly type: 'ack-entry-missing'; readonly index: LogIndex }
  | { readonly type: 'ack-entry-in-snapshot'; readonly index: LogIndex }
  | { readonly type: 'ack-entry-mismatched'; readonly acked: EntryPoint; readonly own: EntryPoint }
  | {
      readonly type: 'restore-started';
      readonly committed: LogIndex;
      readonly applied: LogIndex;
      readonly applying: LogIndex;
      readonly offset: LogIndex;
      readonly offsetInProgress: LogIndex;
      readonly unstableCount: number;
      readonly snapshot: EntryPoint;
    };

export type NodeTraceEvent =
  | {
      readonly type: 'node-started';
      readonly voters: readonly NodeId[];
      readonly term: Term;
      readonly commit: LogIndex;
      readonly applied: LogIndex;
      readonly last: EntryPoint;
    }
  | { readonly type: 'config-switched'; readonly config: ConfigState }
  | { readonly type: 'role-changed'; readonly role: Role; readonly term: Term }
  | { readonly type: 'election-started'; readonly term: Term }
  | { readonly type: 'campaign-refused'; readonly reason: CampaignRefusal; readonly term: Term }
  | {
      readonly type: 'vote-requested';
      readonly preVote: boolean;
      readonly to: NodeId;
      readonly own: EntryPoint;
      readonly term: Term;
    }
  | {
      readonly type: 'vote-answered';
      readonly preVote: boolean;
      readonly from: NodeId;
      readonly granted: boolean;
      readonly term: Term;
    }
  | {
      readonly type: 'votes-counted';
      readonly preVote: boolean;
      readonly granted: number;
      readonly rejected: number;
    }
  | ({ readonly type: 'vote-cast' } & VoteFacts)
  | ({ readonly type: 'vote-rejected' } & VoteFacts)
  | ({ readonly type: 'vote-ignored'; readonly leaseTicksLeft: number } & VoteFacts)
  | {
      readonly type: 'higher-term-received' | 'lower-term-ignored';
      readonly term: Term;
      readonly message: MessageKind;
      /** Only meaningful for votes. */
      readonly preVote: boolean;
      readonly from: NodeId;
      readonly messageTerm: Term;
    }
  | { readonly type: 'stale-persist-ack'; readonly term: Term; readonly ackTerm: Term }
  | { readonly type: 'commit-learnt-by-vote'; readonly commit: LogIndex; readonly from: NodeId }
  | {
      readonly type: 'append-rejected';
      readonly from: NodeId;
      readonly own: EntryPoint;
      readonly theirTerm: Term;
    }
  | {
      readonly type: 'append-refused-by-peer';
      readonly peer: NodeId;
      readonly hint: EntryPoint;
      readonly index: LogIndex;
    }
  | {
      readonly type:
        | 'progress-lowered'
        | 'snapshot-pause'
        | 'snapshot-recovered'
        | 'snapshot-reported-sent'
        | 'snapshot-reported-failed'
        | 'peer-unreachable';
      readonly peer: NodeId;
      readonly progress: ProgressStatus;
    }
  | {
      readonly type: 'snapshot-sent';
      readonly peer: NodeId;
      readonly firstIndex: LogIndex;
      readonly commit: LogIndex;
      readonly snapshot: EntryPoint;
      readonly progress: ProgressStatus;
    }
  | {
      readonly type: 'snapshot-deferred';
      readonly peer: NodeId;
      readonly reason: 'inactive' | 'preparing' | 'outdated';
    }
  | {
      readonly type: 'snapshot-restored' | 'snapshot-fast-forwarded';
      readonly commit: LogIndex;
      readonly last: EntryPoint;
      readonly snapshot: EntryPoint;
    }
  | {
      readonly type: 'snapshot-accepted' | 'snapshot-ignored' | 'snapshot-not-member';
      readonly commit: LogIndex;
      readonly snapshot: EntryPoint;
    }
  | { readonly type: 'quorum-lost'; readonly term: Term }
  | { readonly type: 'leader-forgotten'; readonly leader: NodeId; readonly term: Term }
  | { readonly type: 'forget-refused' }
  | { readonly type: 'proposal-dropped'; readonly reason: ProposalRefusal; readonly term: Term }
  | {
      readonly type: 'change-ignored';
      readonly change: ConfigChange;
      readonly config: ConfigState;
      readonly reason: ChangeIgnored;
      readonly pendingIndex: LogIndex;
      readonly applied: LogIndex;
    }
  | { readonly type: 'auto-leave-proposed'; readonly config: ConfigState }
  | {
      readonly type: 'transfer-started' | 'transfer-aborted' | 'transfer-election';
      readonly peer: NodeId;
      readonly term: Term;
    }
  | { readonly type: 'timeout-now-sent'; readonly peer: NodeId; readonly immediately: boolean };

export type TraceEvent = LogTraceEvent | ({ readonly node: NodeId } & NodeTraceEvent);

export type TraceSink = (event: TraceEvent) => void;

export type CampaignRefusal = 'unpromotable' | 'pending-change' | 'disabled';

export type ProposalRefusal =
  'no-leader' | 'not-leader' | 'transferring' | 'removed' | 'over-limit' | 'malformed';

export type ChangeIgnored = 'pending-change' | 'already-joint' | 'not-joint' | 'invalid';
