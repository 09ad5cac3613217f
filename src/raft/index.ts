/** What features, coordinators and the operators' surface may use of raft. */
export type {
  CallOptions,
  Group,
  GroupStatus,
  GroupView,
  PopAnswer,
  PopRequest,
  PreparedCommand,
  StoredMessage,
  ViewRange,
} from './group/group.js';
export type { DispatcherHost } from './group/local-group.js';
export type { DispatchAnswer, DispatcherPort } from './group/ports.js';
export { Groups, type OwnedGroup } from './groups.service.js';
export { openLocalGroup, type LocalGroupOptions } from './open-local-group.js';
export { openGroups, RaftModule } from './raft.module.js';
