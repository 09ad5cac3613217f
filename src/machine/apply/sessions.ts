/**
 * Sessions and the cluster version: the commands of the cluster about itself.
 */
import { logIndex } from '../../common/ids.js';
import { CommandKind } from '../commands/catalogue.js';
import type {
  ForgetNodeCommand,
  ForgetNodeOutcome,
  OpenSessionCommand,
  SessionOutcome,
} from '../commands/catalogue.js';
import type { ApplyContext } from './context.js';

/** The session's id is its entry's index; the node's older session ends with it. */
export function applyOpenSession(
  context: ApplyContext,
  command: OpenSessionCommand,
): SessionOutcome {
  const { nodeId, directoryId, bootCount } = command;
  context.tables.sessions.open(context.index, nodeId, directoryId, bootCount);
  context.digest.word(nodeId);
  context.digest.bytes(directoryId);
  context.digest.word(bootCount);
  return { kind: CommandKind.OpenSession, session: logIndex(context.index), nodeId };
}

export function applyForgetNode(
  context: ApplyContext,
  { nodeId, session }: ForgetNodeCommand,
): ForgetNodeOutcome {
  const forgotten = context.tables.sessions.forget(nodeId, session);
  context.digest.word(nodeId);
  context.digest.word(forgotten ? 1 : 0);
  return { kind: CommandKind.ForgetNode, nodeId, forgotten };
}
