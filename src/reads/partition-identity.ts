/**
 * Names of queues and partitions as requests give them: a queue by tenant and name, a partition by its
 * UUID or its decimal number. What belongs to another tenant is treated as nonexistent.
 */
import { partitionId } from '../common/ids.js';
import { partitionNumberFromUuid, partitionUuid } from '../common/partition-uuid.js';
import { parseUuid, uuidText } from '../common/uuid-v7.js';
import type { PartitionTable, QueueRow, Tables } from '../machine/tables/tables.js';

const DECIMAL = /^\d{1,15}$/;

export function findQueue(tables: Tables, tenant: Uint8Array, name: string): QueueRow | undefined {
  const id = tables.names.tenant(tenant);
  return id === undefined ? undefined : tables.queues.find(id, name);
}

/** Live queues of the tenant in id order. */
export function queuesOf(tables: Tables, tenant: Uint8Array): readonly QueueRow[] {
  const id = tables.names.tenant(tenant);
  return id === undefined ? [] : tables.queues.list(id);
}

export function partitionUuidText(partitions: PartitionTable, slot: number): string {
  return uuidText(partitionUuid(partitions.createdAt(slot), partitions.id(slot)));
}

export interface FoundPartition {
  readonly slot: number;
  readonly queue: QueueRow;
}

/** The partition a path names, by UUID or by number. */
export function findPartition(
  tables: Tables,
  tenant: Uint8Array,
  text: string,
): FoundPartition | undefined {
  const { names, partitions, queues } = tables;
  const uuid = parseUuid(text);
  const number = uuid === undefined ? decimal(text) : partitionNumberFromUuid(uuid);
  const slot = number === undefined ? -1 : partitions.byId(partitionId(number));
  if (slot < 0) return undefined;
  if (uuid !== undefined && partitionUuidText(partitions, slot) !== uuidText(uuid)) {
    return undefined;
  }
  const queue = queues.byId(partitions.queueId(slot));
  return queue !== undefined && queue.tenant === names.tenant(tenant) ? { slot, queue } : undefined;
}

function decimal(text: string): number | undefined {
  return DECIMAL.test(text) ? Number(text) : undefined;
}

/** A queue's number is shifted out of the range of partition numbers. */
const QUEUE_SPACE = 2 ** 47;

export function queueUuidText(queue: Pick<QueueRow, 'id' | 'createdAt'>): string {
  return uuidText(partitionUuid(queue.createdAt, partitionId(QUEUE_SPACE + queue.id)));
}
