/**
 * What a pop commits before it waits (messages.md §2.3): a queue pop creates its queue and registers
 * its group, discovery registers the group on every queue that matches, a plain pinned pop only gives
 * the group its number; one that conflates registers a group that never read the partition. Nothing is
 * submitted once that is so.
 */
import { micros } from '../common/ids.js';
import { implicitDefaults } from '../http/implicit-defaults.js';
import { StartMode } from '../machine/commands/catalogue.js';
import { encodeRegister } from '../machine/commands/index.js';
import type { QueueRow } from '../machine/tables/tables.js';
import type { CallOptions, Group, PopRequest } from '../raft/index.js';

const START_MODES = { all: StartMode.All, new: StartMode.New, timestamp: StartMode.Timestamp };

export async function registerPop(
  request: PopRequest,
  group: Group,
  options: CallOptions,
): Promise<void> {
  for (const queue of missing(request, group)) {
    const bytes = encodeRegister(request.tenant, {
      queue,
      group: request.group,
      createQueue: request.scope === 'queue',
      defaults: implicitDefaults(),
      mode: START_MODES[request.intent.mode],
      instant: micros(request.intent.instantMicros),
      conflation: request.conflation === true,
      namespace: request.namespace,
      task: request.task,
    });
    await group.submit({ bytes }, options);
  }
}

/** A pinned pop with conflation, of an unregistered group without a cursor on that partition. */
function startsConflating(request: PopRequest, group: Group, queue: QueueRow): boolean {
  if (request.conflation !== true) return false;
  const { names, partitions, cursors, registrations } = group.tables;
  const slot = partitions.find(queue.id, request.partition);
  if (slot < 0) return false;
  const tenant = names.tenant(request.tenant);
  const groupId = tenant === undefined ? undefined : names.group(tenant, request.group);
  if (groupId === undefined) return true;
  return registrations.find(queue.id, groupId) === undefined && cursors.find(slot, groupId) < 0;
}

const NOTHING: readonly string[] = [];
/** An empty queue name: number the group, register nowhere. */
const NUMBER_ONLY: readonly string[] = [''];

/** Names of the queues on which the group must be registered first. */
function missing(request: PopRequest, group: Group): readonly string[] {
  const { names, queues, registrations } = group.tables;
  const tenant = names.tenant(request.tenant);
  const groupId = tenant === undefined ? undefined : names.group(tenant, request.group);
  const isRegistered = (queue: QueueRow): boolean =>
    groupId !== undefined && registrations.find(queue.id, groupId) !== undefined;
  const queue = tenant === undefined ? undefined : queues.find(tenant, request.queue);
  if (request.scope === 'partition') {
    if (queue !== undefined && startsConflating(request, group, queue)) return [request.queue];
    return groupId === undefined ? NUMBER_ONLY : NOTHING;
  }
  if (request.scope === 'queue') {
    return queue !== undefined && isRegistered(queue) ? NOTHING : [request.queue];
  }
  if (tenant === undefined) return NOTHING;
  return queues
    .list(tenant)
    .filter(
      ({ options: { namespace, task } }) =>
        (request.namespace === '' || request.namespace === namespace) &&
        (request.task === '' || request.task === task),
    )
    .filter((queue) => !isRegistered(queue))
    .map(({ name }) => name);
}
