/**
 * Register (spec §2.3): makes a consumer group known on a queue and persists its start policy.
 * Idempotent: an existing registration is never changed. A plain pinned pop needs a number for its group
 * (an empty queue name) and keeps where the group starts on that one partition, but does not register.
 */
import { micros } from '../../common/ids.js';
import type { ConsumerGroupId, Micros, TenantId } from '../../common/ids.js';
import { CommandKind, StartMode } from '../commands/catalogue.js';
import type { RegisterCommand, RegisterOutcome } from '../commands/catalogue.js';
import { QUEUE_MODE_GROUP } from '../tables/tables.js';
import type { QueueRow, RegistrationRow } from '../tables/tables.js';
import type { ApplyContext } from './context.js';
import { createImplicitQueue } from './queues.js';

export function applyRegister(context: ApplyContext, command: RegisterCommand): RegisterOutcome {
  const { names } = context.tables;
  if (command.queue === '') {
    const tenant = names.ensureTenant(context.tenantUuid);
    const number = groupNumber(context, tenant, command.group);
    return { kind: CommandKind.Register, queueId: null, groupId: number };
  }
  if (command.contact !== null) return applyContact(context, command, command.contact);
  const queue = findQueue(context, command);
  if (queue === undefined) return { kind: CommandKind.Register, queueId: null, groupId: null };
  const groupId = groupNumber(context, queue.tenant, command.group);
  registerGroup(context, { queue, group: groupId }, command);
  return { kind: CommandKind.Register, queueId: queue.id, groupId };
}

/** First contact of an unregistered group: the cursor says where it starts, and nothing else yet. */
function applyContact(
  context: ApplyContext,
  command: RegisterCommand,
  partitionName: string,
): RegisterOutcome {
  const { tables } = context;
  const tenant = tables.names.ensureTenant(context.tenantUuid);
  const groupId = groupNumber(context, tenant, command.group);
  const queue = tables.queues.find(tenant, command.queue);
  const slot = queue === undefined ? -1 : tables.partitions.find(queue.id, partitionName);
  const isKnown =
    queue === undefined ||
    command.group === QUEUE_MODE_GROUP ||
    tables.registrations.find(queue.id, groupId) !== undefined;
  if (!isKnown && slot >= 0 && tables.cursors.find(slot, groupId) < 0) {
    const { cursors, partitions } = tables;
    const instant = startInstant(context, command.mode, command);
    const isPast = partitions.lastAppendAt(slot) < instant;
    const before = isPast ? partitions.lastOffset(slot) : partitions.logStart(slot) - 1;
    const cursor = cursors.create(slot, groupId, before, instant);
    cursors.markStart(cursor);
    context.cursorChanged(cursor);
  }
  return { kind: CommandKind.Register, queueId: null, groupId };
}

/** What a registration is made of. */
export type RegistrationPolicy = Pick<
  RegisterCommand,
  'group' | 'mode' | 'instant' | 'conflation' | 'namespace' | 'task'
>;

/** Registers the group unless it is registered: an existing policy is never changed. */
export function registerGroup(
  context: ApplyContext,
  who: { readonly queue: QueueRow; readonly group: ConsumerGroupId },
  policy: RegistrationPolicy,
): void {
  const { registrations } = context.tables;
  const key = { queueId: who.queue.id, groupId: who.group };
  if (registrations.find(key.queueId, key.groupId) !== undefined) return;
  const row = registrationOf(context, policy, key);
  registrations.create(row);
  foldRegistration(context, row);
  context.effects.registered(key.queueId, key.groupId);
}

/** Numbers are given once, in log order, and never reused. */
export function groupNumber(
  context: ApplyContext,
  tenant: TenantId,
  name: string,
): ConsumerGroupId {
  const { names } = context.tables;
  const known = names.group(tenant, name);
  if (known !== undefined) return known;
  const number = names.ensureGroup(tenant, name);
  context.digest.word(tenant);
  context.digest.word(number);
  context.digest.text(name);
  return number;
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
  command: RegistrationPolicy,
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

function startInstant(context: ApplyContext, mode: StartMode, command: RegistrationPolicy): Micros {
  switch (mode) {
    case StartMode.All:
      return micros(0);
    case StartMode.New:
      return context.now;
    case StartMode.Timestamp:
      return command.instant;
  }
}

export function foldRegistration(context: ApplyContext, row: RegistrationRow): void {
  const { digest } = context;
  digest.word(row.queueId);
  digest.word(row.groupId);
  digest.word(row.mode);
  digest.number(row.instant);
  digest.word(row.conflation ? 1 : 0);
  digest.text(row.namespace);
  digest.text(row.task);
}
