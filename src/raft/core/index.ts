/** Entrance of the consensus core: what the group driver, the transport and the WAL may use. */
export { RaftCore } from './core.js';
export { InvariantViolation } from './invariant.js';
export { decodeConfigChange, encodeConfigChange } from './membership-codec.js';
export {
  EMPTY_CONFIG,
  canonicalConfig,
  changeConfig,
  isJoint,
  memberIds,
  sameConfig,
} from './membership.js';
export type { ChangeOutcome, ChangeRefusal } from './membership.js';
export type { ProposeResult } from './membership-change.js';
export type * from './messages.js';
export type { CoreOptions } from './options.js';
export { jointIndex, jointVote, voterIds } from './quorum.js';
export type { VoteResult, VoterHalves } from './quorum.js';
export type { ReadResult } from './reads.js';
export type { StepResult } from './state.js';
export type { CoreStatus, PeerStatus } from './status.js';
export type {
  CampaignRefusal,
  ChangeIgnored,
  ProgressStatus,
  ProposalRefusal,
  TraceEvent,
  TraceSink,
} from './trace.js';
export type { TransferResult } from './transfer.js';
export * from './types.js';
