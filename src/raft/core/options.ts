/**
 * Constructor arguments of a core: identity, timing in ticks, bounds, switches and the two outside
 * functions (randomness, trace sink). Every bound is named here with its behaviour at the bound.
 */
import type { LogIndex, NodeId } from '../../common/ids.js';
import { invariant } from './invariant.js';
import type { TraceSink } from './trace.js';
import { NO_INDEX, type LogReader } from './types.js';

export interface CoreOptions {
  readonly id: NodeId;
  readonly log: LogReader;
  /** Integer in [0, bound). Must differ between nodes and runs, or elections tie for ever. */
  readonly random: (bound: number) => number;
  readonly trace?: TraceSink;
  /** Follower patience, lease of a leader, and length of a transfer attempt. */
  readonly electionTicks: number;
  readonly heartbeatTicks: number;
  /** Last entry the state machine holds; entries up to it are not handed out again. */
  readonly applied?: LogIndex;
  /** Ask before raising the term, so that a cut-off node cannot disturb the group. */
  readonly preVote?: boolean;
  /** A leader without a quorum steps down; voters that hear a leader refuse others. */
  readonly checkQuorum?: boolean;
  /** Several Readys may be outstanding; only entries storage confirmed are applied. */
  readonly asyncStorage?: boolean;
  /** A removed or demoted leader becomes follower when it applies its removal. */
  readonly stepDownOnRemoval?: boolean;
  /** Refuse membership proposals that contradict the applied configuration. */
  readonly validateChanges?: boolean;
  /** Send a follower's proposals on to the leader instead of refusing them. */
  readonly forwardProposals?: boolean;
  /** `lease` answers reads without a round; needs checkQuorum and bounded clock drift. */
  readonly readMode?: 'safe' | 'lease';
  /** Bytes of entries in one append; at least one entry is sent. */
  readonly maxAppendBytes?: number;
  /** Appends on their way to one member; at the bound the member is paused. */
  readonly maxInflightMessages?: number;
  /** Payload bytes on their way to one member, 0 = no limit; at the bound the member is paused. */
  readonly maxInflightBytes?: number;
  /** Bytes handed out for application and not confirmed; at the bound no more is handed out. */
  readonly maxApplyingBytes?: number;
  /** Payload bytes in the leader's log not yet applied; at the bound proposals are refused. */
  readonly maxUncommittedBytes?: number;
  /** Reads waiting for a quorum or for the first commit of the term; more are refused. */
  readonly maxPendingReads?: number;
}

export type ResolvedOptions = Required<Omit<CoreOptions, 'trace' | 'log'>> & {
  readonly trace: TraceSink | undefined;
};

const DEFAULTS = {
  applied: NO_INDEX,
  preVote: true,
  checkQuorum: true,
  asyncStorage: true,
  stepDownOnRemoval: true,
  validateChanges: true,
  forwardProposals: false,
  readMode: 'safe',
  maxAppendBytes: 1024 * 1024,
  maxInflightMessages: 64,
  maxInflightBytes: 0,
  maxApplyingBytes: 16 * 1024 * 1024,
  maxUncommittedBytes: Number.MAX_SAFE_INTEGER,
  maxPendingReads: 4096,
} as const;

export function resolveOptions(options: CoreOptions): ResolvedOptions {
  const { log: _log, trace, ...rest } = options;
  const resolved = Object.freeze({ ...DEFAULTS, ...rest, trace });
  invariant(resolved.heartbeatTicks >= 1, 'heartbeat interval below one tick', () => ({
    heartbeatTicks: resolved.heartbeatTicks,
  }));
  invariant(resolved.electionTicks > resolved.heartbeatTicks, 'election timeout too short', () => ({
    electionTicks: resolved.electionTicks,
    heartbeatTicks: resolved.heartbeatTicks,
  }));
  invariant(resolved.maxInflightMessages >= 1, 'in-flight window of nothing', () => ({}));
  invariant(
    resolved.readMode === 'safe' || resolved.checkQuorum,
    'lease reads need checkQuorum',
    () => ({}),
  );
  return resolved;
}
