/**
 * Changes of consumer groups by hand (messages.md §10): seek, delete, subscription. What they touch is
 * collected in slices and submitted as commands of at most 4,096 named rows, one after another.
 */
import { Inject, Injectable } from '@nestjs/common';
import { QueenError } from '../common/errors.js';
import type { PartitionId } from '../common/ids.js';
import { micros } from '../common/ids.js';
import { parseTimestamp } from '../common/timestamp.js';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { deadlineAfter } from '../http/deadlines.js';
import { CommandKind, MAX_NAMED_ROWS } from '../machine/commands/catalogue.js';
import {
  encodeDeleteCursors,
  encodeSeekCursors,
  encodeUpdateSubscription,
} from '../machine/commands/index.js';
import type { QueueRow } from '../machine/tables/tables.js';
import type { CallOptions, Group } from '../raft/index.js';
import { Groups } from '../raft/index.js';
import { findQueue, queuesOf } from '../reads/partition-identity.js';
import { walkPartitions } from '../reads/partition-walk.js';
import { Slices } from '../reads/slices.js';
import type { SeekTarget } from './seek-target.js';
import { resolveMoves } from './seek-target.js';

export interface SeekRequest {
  readonly consumerGroup: string;
  readonly queue: string;
  /** Null: every partition. */
  readonly partition: string | null;
}

export interface DeleteRequest {
  readonly consumerGroup: string;
  /** Null: every queue. */
  readonly queue: string | null;
  readonly deleteMetadata: boolean;
}

/** A call with everything it needs on its way through the chunks. */
interface Change {
  readonly tenant: Uint8Array;
  readonly group: Group;
  readonly options: CallOptions;
}

@Injectable()
export class GroupChangesService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
  ) {}

  /** Cursors moved; 0 when there is no such queue or partition. */
  async seek(tenant: Uint8Array, request: SeekRequest, target: SeekTarget): Promise<number> {
    const change = await this.begin(tenant);
    const { tables } = change.group;
    const queue = findQueue(tables, tenant, request.queue);
    if (queue === undefined) return 0;
    const partitions = await seekPartitions(change, queue, request.partition);
    let moved = 0;
    for (const chunk of chunksOf(partitions)) {
      const asked = { queueId: queue.id, partitions: chunk };
      const moves = await resolveMoves(change.group, asked, target);
      const bytes = encodeSeekCursors(tenant, { group: request.consumerGroup, moves });
      const outcome = await change.group.submit({ bytes }, change.options);
      if (outcome.kind !== CommandKind.SeekCursors) throw new QueenError('retry');
      moved += outcome.moved;
    }
    return moved;
  }

  async remove(tenant: Uint8Array, request: DeleteRequest): Promise<object> {
    const change = await this.begin(tenant);
    const { tables } = change.group;
    const only = request.queue === null ? null : findQueue(tables, tenant, request.queue);
    const asked = only === null ? queuesOf(tables, tenant) : only === undefined ? [] : [only];
    const queues: string[] = [];
    let deletedPartitions = 0;
    for (const queue of asked) {
      const deleted = await deleteOnQueue(change, queue, request);
      if (deleted === null) continue;
      deletedPartitions += deleted;
      queues.push(queue.name);
    }
    return {
      success: true,
      consumerGroup: request.consumerGroup,
      queueName: request.queue,
      deletedPartitions,
      metadataDeleted: request.deleteMetadata,
      queues: queues.sort(),
    };
  }

  async subscribe(tenant: Uint8Array, consumerGroup: string, time: unknown): Promise<object> {
    const instant = typeof time === 'string' ? parseTimestamp(time) : undefined;
    if (instant === undefined) {
      throw new QueenError('bad_request', 'subscriptionTimestamp must be an ISO-8601 time');
    }
    const change = await this.begin(tenant);
    const { names, registrations } = change.group.tables;
    const registered = queuesOf(change.group.tables, tenant).filter((queue) => {
      const id = names.group(queue.tenant, consumerGroup);
      return id !== undefined && registrations.find(queue.id, id) !== undefined;
    });
    let rowsUpdated = 0;
    for (const queues of chunksOf(registered.map(({ id }) => id))) {
      // Times before 1970 start where the epoch does: at the oldest message.
      const command = { group: consumerGroup, instant: micros(Math.max(instant, 0)), queues };
      const bytes = encodeUpdateSubscription(tenant, command);
      const outcome = await change.group.submit({ bytes }, change.options);
      if (outcome.kind !== CommandKind.UpdateSubscription) throw new QueenError('retry');
      rowsUpdated += outcome.updated;
    }
    return { success: true, consumerGroup, newTimestamp: time, rowsUpdated };
  }

  private async begin(tenant: Uint8Array): Promise<Change> {
    const group = this.groups.ofTenant(tenant);
    const options = { deadlineMs: deadlineAfter(this.config.server.defaultTimeoutMs) };
    await group.readBarrier(options);
    return { tenant, group, options };
  }
}

async function seekPartitions(
  change: Change,
  queue: QueueRow,
  partition: string | null,
): Promise<PartitionId[]> {
  const { tables } = change.group;
  if (partition !== null) {
    const slot = tables.partitions.find(queue.id, partition);
    return slot < 0 ? [] : [tables.partitions.id(slot)];
  }
  const found: PartitionId[] = [];
  const walk = { tables, slices: new Slices() };
  await walkPartitions(walk, queue.id, (slot) => found.push(tables.partitions.id(slot)));
  return found;
}

/** Cursors deleted; null when the group has neither cursor nor registration on the queue. */
async function deleteOnQueue(
  change: Change,
  queue: QueueRow,
  request: DeleteRequest,
): Promise<number | null> {
  const { group, tenant, options } = change;
  const { cursors, names, partitions, registrations } = group.tables;
  const id = names.group(queue.tenant, request.consumerGroup);
  if (id === undefined) return null;
  const found: PartitionId[] = [];
  const walk = { tables: group.tables, slices: new Slices() };
  await walkPartitions(walk, queue.id, (slot) => {
    if (cursors.find(slot, id) >= 0) found.push(partitions.id(slot));
  });
  const registered = request.deleteMetadata && registrations.find(queue.id, id) !== undefined;
  if (found.length === 0 && !registered) return null;
  const chunks = found.length === 0 ? [[]] : [...chunksOf(found)];
  let deleted = 0;
  for (const [i, chunk] of chunks.entries()) {
    const bytes = encodeDeleteCursors(tenant, {
      group: request.consumerGroup,
      queueId: queue.id,
      // Last: a delete that breaks off is finished by the next one.
      dropRegistration: request.deleteMetadata && i === chunks.length - 1,
      partitions: chunk,
    });
    const outcome = await group.submit({ bytes }, options);
    if (outcome.kind !== CommandKind.DeleteCursors) throw new QueenError('retry');
    deleted += outcome.deleted;
  }
  return deleted;
}

function* chunksOf<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < rows.length; at += MAX_NAMED_ROWS) {
    yield rows.slice(at, at + MAX_NAMED_ROWS);
  }
}
