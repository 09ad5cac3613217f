/**
 * Register (spec §2.3): makes a consumer group known on a queue and persists its start policy.
 * Idempotent: an existing registration is never changed.
 */
import { micros } from '../../common/ids.js';
import { CommandKind, StartMode } from '../commands/catalogue.js';
import type { RegisterCommand, RegisterOutcome } from '../commands/catalogue.js';
import { QUEUE_MODE_GROUP } from '../tables/tables.js';
import type { QueueRow, RegistrationRow } from '../tables/tables.js';
import type { ApplyContext } from './context.js';
import { createImplicitQueue } from './queues.js';

export function applyRegister(context: ApplyContext, command: RegisterCommand): RegisterOutcome {
  const { names, registrations } = context.tables;
  const queue = findQueue(context, command);
  if (queue === undefined) return { kind: CommandKind.Register, queueId: null, groupId: null };
  const groupId = names.ensureGroup(queue.tenant, command.group);
  if (registrations.find(queue.id, groupId) === undefined) {
    const row = registrationOf(context, command, { queueId: queue.id, groupId });
    registrations.create(row);
    foldRegistration(context, command.group, row);
    context.effects.registered(queue.id, groupId);
  }
  return { kind: CommandKind.Register, queueId: queue.id, groupId };
}

function findQueue(context: ApplyContext, command: RegisterCommand): QueueRow | undefined {
  const tenant = context.tenant();
  const queue =
    tenant === undefined ? undefined : context.tables.queues.find(tenant, command.queue);
  if (queue !== undefined || !command.createQueue) return queue;
  return createImplicitQueue(context, command.queue, command.defaults);
}

/** Queue mode always starts at the oldest retained message and never conflates. */
function registrationOf(
  context: ApplyContext,
  command: RegisterCommand,
  key: Pick<RegistrationRow, 'queueId' | 'groupId'>,
): RegistrationRow {
  const queueMode = command.group === QUEUE_MODE_GROUP;
  const mode = queueMode ? StartMode.All : command.mode;
  return {
    ...key,
    mode,
    instant: startInstant(context, mode, command),
    conflation: !queueMode && command.conflation,
    registeredAt: context.now,
    namespace: command.namespace,
    task: command.task,
  };
}

function startInstant(context: ApplyContext, mode: StartMode, command: RegisterCommand) {
  switch (mode) {
    case StartMode.All:
      return micros(0);
    case StartMode.New:
      return context.now;
    case StartMode.Timestamp:
      return command.instant;
  }
}

function foldRegistration(context: ApplyContext, group: string, row: RegistrationRow): void {
  const { digest } = context;
  digest.word(row.queueId);
  digest.word(row.groupId);
  digest.text(group);
  digest.word(row.mode);
  digest.number(row.instant);
  digest.word(row.conflation ? 1 : 0);
  digest.text(row.namespace);
  digest.text(row.task);
}
