/**
 * What a pop commits before it waits (messages.md §2.3): a queue pop creates its queue and registers
 * its group, discovery registers the group on every queue that matches, a plain pinned pop only gives
 * the group its number and, unless it starts at the beginning, keeps where it starts on the partition;
 * one that conflates registers a group that never read the partition. Nothing is submitted once that is so.
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
  // This node may not have heard yet of a partition whose first message was acknowledged elsewhere.
  if (looksAbsent(request, group)) await group.readBarrier(options);
  for (const { queue, contact } of missing(request, group)) {
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
      contact,
    });
    await group.submit({ bytes }, options);
  }
}

/** A pinned pop that would keep its start on a partition that is not known here. */
function looksAbsent({ scope, intent, ...request }: PopRequest, group: Group): boolean {
  if (scope !== 'partition' || intent.mode === 'all') return false;
  const { names, queues, partitions } = group.tables;
  const tenant = names.tenant(request.tenant);
  const queue = tenant === undefined ? undefined : queues.find(tenant, request.queue);
  return queue === undefined || partitions.find(queue.id, request.partition) < 0;
}

interface Missing {
  readonly queue: string;
  /** Partition whose start is kept; null = the group is registered on the queue. */
  readonly contact: string | null;
}

const NOTHING: readonly Missing[] = [];
/** An empty queue name: number the group, register nowhere. */
const NUMBER_ONLY: readonly Missing[] = [{ queue: '', contact: null }];

/** Names of the queues on which the group must be registered first. */
function missing(request: PopRequest, group: Group): readonly Missing[] {
  const { names, queues, registrations } = group.tables;
  const tenant = names.tenant(request.tenant);
  const groupId = tenant === undefined ? undefined : names.group(tenant, request.group);
  const isRegistered = (queue: QueueRow): boolean =>
    groupId !== undefined && registrations.find(queue.id, groupId) !== undefined;
  const queue = tenant === undefined ? undefined : queues.find(tenant, request.queue);
  const registers = (name: string): Missing => ({ queue: name, contact: null });
  if (request.scope === 'partition') {
    if (queue !== undefined && !isRegistered(queue)) return firstContact(request, group, queue);
    return groupId === undefined ? NUMBER_ONLY : NOTHING;
  }
  if (request.scope === 'queue') {
    return queue !== undefined && isRegistered(queue) ? NOTHING : [registers(request.queue)];
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
    .map(({ name }) => registers(name));
}

/** A pinned pop of a group that is not registered on the queue. */
function firstContact(request: PopRequest, group: Group, queue: QueueRow): readonly Missing[] {
  const { names, partitions, cursors } = group.tables;
  const groupId = names.group(queue.tenant, request.group);
  const slot = partitions.find(queue.id, request.partition);
  const isKnown = groupId !== undefined && slot >= 0 && cursors.find(slot, groupId) >= 0;
  if (slot >= 0 && !isKnown) {
    if (request.conflation === true) return [{ queue: queue.name, contact: null }];
    // The beginning does not move: only another start has to be kept. Queue mode has no other.
    if (request.intent.mode !== 'all') return [{ queue: queue.name, contact: request.partition }];
  }
  return groupId === undefined ? NUMBER_ONLY : NOTHING;
}
