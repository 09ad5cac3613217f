/** Consumer groups and queues (messages.md §9, §10) in the model. Imports nothing from the broker. */
import { ANY, TEXT, time, type Expected } from './answers.js';
import {
  bareQueue,
  configureDefaults,
  freshCursor,
  lastOffset,
  type Options,
  type Partition,
  type Queue,
  type State,
} from './state.js';

/** §9.1: `null` is the configure default of an option, in both modes. */
export function configure(
  state: State,
  queueName: string,
  body: { readonly mode?: string; readonly options: Readonly<Record<string, unknown>> },
): Expected {
  const existing = state.queues.get(queueName);
  const queue = existing ?? bareQueue(queueName, configureDefaults());
  if (body.mode === 'replace') {
    queue.options = configureDefaults();
    queue.namespace = '';
    queue.task = '';
  }
  const options: Record<string, unknown> = { ...queue.options };
  const defaults: Readonly<Record<string, unknown>> = { ...configureDefaults() };
  for (const [name, value] of Object.entries(body.options)) {
    if (name === 'namespace') queue.namespace = typeof value === 'string' ? value : '';
    else if (name === 'task') queue.task = typeof value === 'string' ? value : '';
    else options[name] = value ?? defaults[name];
  }
  queue.options = options as unknown as Options;
  state.queues.set(queueName, queue);
  const { namespace, task } = queue;
  const shown = { ...queue.options };
  return {
    status: 200,
    body: { configured: true, queue: queueName, namespace, task, options: shown },
  };
}

export function deleteQueue(state: State, name: string): Expected {
  const existed = state.queues.delete(name);
  state.letters = state.letters.filter(({ queue }) => queue !== name);
  return { status: 200, body: { deleted: existed, existed, queue: name } };
}

export function deleteGroup(
  state: State,
  group: string,
  { queue: only, keepMetadata }: { readonly queue?: string; readonly keepMetadata: boolean },
): Expected {
  let deleted = 0;
  for (const queue of state.queues.values()) {
    if (only !== undefined && queue.name !== only) continue;
    for (const partition of queue.partitions.values()) {
      if (partition.cursors.delete(group)) deleted += 1;
    }
    if (!keepMetadata) queue.groups.delete(group);
  }
  return {
    status: 200,
    body: {
      ...{ success: true, consumerGroup: group, queueName: only ?? null },
      deletedPartitions: deleted,
    },
  };
}

export function subscription(state: State, group: string, instant: number): Expected {
  let rows = 0;
  for (const queue of state.queues.values()) {
    const registration = queue.groups.get(group);
    if (registration === undefined) continue;
    rows += 1;
    registration.mode = 'timestamp';
    registration.instant = instant;
  }
  return {
    status: 200,
    body: { success: true, consumerGroup: group, newTimestamp: time(instant), rowsUpdated: rows },
  };
}

/** §10: the cursor of every partition, or of one; live leases go. */
export function seek(
  state: State,
  { group, queue: queueName, partition: name }: SeekPlace,
  at: number | 'end',
): Expected {
  const queue = state.queues.get(queueName);
  const partitions = seekable(queue, name);
  if (partitions.length === 0) {
    const body = { success: false, error: TEXT, consumerGroup: group, queueName };
    return { status: 404, body: { ...body, partitionsUpdated: 0 } };
  }
  for (const partition of partitions) {
    const first = at === 'end' ? undefined : partition.messages.find((m) => m.createdAt >= at);
    const committed = first === undefined ? lastOffset(partition) : first.offset - 1;
    const old = partition.cursors.get(group);
    const kept = state.rules.seekDropsLease ? null : (old?.lease ?? null);
    const { released = null, metadata = null } = old ?? {};
    partition.cursors.set(group, { ...freshCursor(committed), lease: kept, released, metadata });
  }
  return {
    status: 200,
    body: {
      ...{ success: true, consumerGroup: group, queueName, partitionName: name ?? null },
      ...{ seekToEnd: at === 'end', partitionsUpdated: partitions.length, updated: true },
    },
  };
}

export interface SeekPlace {
  readonly group: string;
  readonly queue: string;
  readonly partition?: string;
}

function seekable(queue: Queue | undefined, name: string | undefined): Partition[] {
  if (queue === undefined) return [];
  if (name === undefined) return [...queue.partitions.values()];
  const partition = queue.partitions.get(name);
  return partition === undefined ? [] : [partition];
}

/** §10: every position of the group that is stored; seeds that are not may be shown or not. */
export function positions(
  state: State,
  group: string,
  entries: readonly { readonly queue: string; readonly partition: string }[],
): Expected {
  const rows = entries.map(({ queue, partition }) => {
    const cursor = state.queues.get(queue)?.partitions.get(partition)?.cursors.get(group);
    const row = { queue, partition };
    const isRegistered = state.queues.get(queue)?.groups.has(group) === true;
    if (cursor === undefined) return { ...row, offset: isRegistered ? ANY : null };
    const offset = cursor.committed + 1;
    return { ...row, offset, metadata: cursor.metadata };
  });
  return { status: 200, body: { consumerGroup: group, entries: rows } };
}
