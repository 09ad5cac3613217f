/**
 * What others may use of the commands: the catalogue, the encoders, the entry and the pre-log check.
 */
export * from './catalogue.js';
export * from './catalogue-transactions.js';
export { encodeAck, encodeExtend } from './ack.js';
export { checkCommand } from './check.js';
export { encodeClaim, encodeUnclaim } from './claim.js';
export {
  encodeDeleteCursors,
  encodeSeekCursors,
  encodeUpdateSubscription,
} from './consumer-groups.js';
export {
  encodePurgeTenant,
  encodeSetQuota,
  encodeSetSwitches,
  QUOTA_LIMITS,
  QuotaKind,
  SWITCH_NAMES,
} from './controls.js';
export type {
  QuotaGrant,
  QuotaLimit,
  QuotaLimits,
  SetSwitchesCommand,
  SwitchName,
} from './controls.js';
export { encodeRemoveDeadLetters, encodeReplayDeadLetter } from './dead-letters.js';
export * from './ephemeral-catalogue.js';
export { encodeDeclareEphemeral, encodeDropEphemeral, MAX_OPTIONS_BYTES } from './ephemeral.js';
export { encodeEntryHeader, ENTRY_HEADER_BYTES, ENTRY_VERSION, EntryReader } from './entry.js';
export { MAX_NAME_BYTES } from './fields.js';
export { patchCommandHeader, readCommandHeader } from './header.js';
export {
  encodeKvCall,
  encodeKvSection,
  encodeKvSweep,
  KvOpKind,
  MAX_KV_OPERATIONS,
  MAX_NUMBER_BYTES,
  NO_EXPECT,
} from './kv.js';
export type {
  KvCallCommand,
  KvCallOutcome,
  KvChange,
  KvLostOperation,
  KvOpOutcome,
  KvPlannedOp,
  KvReason,
  KvSweepCandidate,
} from './kv.js';
export { PushCommandBuilder } from './push-builder.js';
export type { Crc32, PushGroupHead, PushMessage } from './push-builder.js';
export { MESSAGE_FLAG, readRecord } from './push-record.js';
export type { ByteRange, RecordPieces, RecordView } from './push-record.js';
export { PushBodyView } from './push-view.js';
export { QUEUE_OPTION_NAMES } from './queue-options.js';
export { encodeConfigure, encodeDeleteQueue } from './queue.js';
export { encodeRegister } from './register.js';
export { encodeRegisterStream, encodeStreamCycle, MAX_STATE_KEY_BYTES } from './streams.js';
export type { CycleAck, RegisterStreamOutcome, StateOp, StreamCycleOutcome } from './streams.js';
export { encodeFailTimers, encodeFireTimers, encodeTimers } from './timers.js';
export type { FailureRules, TimerOpInput, TimerResult, TimersOutcome } from './timers.js';
export * from './encryption.js';
export * from './retention.js';
export { encodeForgetNode, encodeOpenSession, encodeRaiseVersion, NO_TENANT } from './session.js';
export {
  encodeAppendTrace,
  encodeSweepTraces,
  MAX_TRACE_NAME_BYTES,
  MAX_TRACE_NAMES,
} from './traces.js';
export {
  encodeAcks,
  encodePositions,
  encodeTransaction,
  pushSection,
  sectionOf,
} from './transaction.js';
