/** What features, coordinators and the operators' surface may use of raft. */
export type {
  CallOptions,
  ClusterMembers,
  ClusterSide,
  Group,
  GroupStatus,
  GroupView,
  MembersView,
  PayloadCipher,
  PopAnswer,
  PopRequest,
  PreparedCommand,
  RecordPlace,
  StoredMessage,
  ViewRange,
} from './group/group.js';
export type {
  MembershipAnswer,
  MembershipMember,
  MembershipRefusal,
  MembershipRequest,
  MembershipView,
} from './group/cluster/membership-port.js';
export type { ChannelListener, PeerChannel } from './group/cluster/peer-port.js';
export type { DispatcherHost } from './group/local-group.js';
export type {
  CoordinatorPort,
  DispatchAnswer,
  DispatcherFigures,
  DispatcherPort,
} from './group/ports.js';
export type { GroupFigures } from './group-figures.js';
export { Groups, type CoordinatorHost, type OwnedGroup } from './groups.service.js';
export type { MemberQuestions } from './member-questions.js';
export { openLocalGroup, type LocalGroupOptions } from './open-local-group.js';
export { openGroups } from './open-groups.js';
export { RaftModule } from './raft.module.js';
export { TOKEN_HEADER as RAFT_TOKEN_HEADER } from './transport/index.js';
export { repairConfigured } from './repair-groups.js';
export {
  verifyDirectory,
  type VerifyOptions,
  type VerifyReport,
} from './verify/verify-directory.js';
export type { GroupReport } from './verify/verify-group.js';
export type { RepairReport } from './wal/index.js';
export { writeBackup, type BackupStream } from './snapshot/backup.js';
export { openBackupTarget, type BackupTarget } from './snapshot/backup-target.js';
export { restoreGroups, type RestoreGroupsOptions } from './snapshot/restore-groups.js';
export { groupDirectory, GROUPS } from './group-directories.js';
export {
  Readiness,
  type RaftHealth,
  type ReadinessLimits,
  type StatusSource,
} from './readiness.js';
