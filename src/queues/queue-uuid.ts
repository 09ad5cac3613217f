/**
 * Public identities of queues and partitions, derived from their replicated numbers and creation times,
 * so no identity is stored. A queue's number is shifted out of the range of partition numbers.
 */
import { partitionUuid } from '../common/partition-uuid.js';
import { partitionId } from '../common/ids.js';
import { uuidText } from '../common/uuid-v7.js';
import type { PartitionTable, QueueRow } from '../machine/tables/tables.js';

const QUEUE_SPACE = 2 ** 47;

export function queueUuidText(queue: Pick<QueueRow, 'id' | 'createdAt'>): string {
  return uuidText(partitionUuid(queue.createdAt, partitionId(QUEUE_SPACE + queue.id)));
}

export function partitionUuidText(partitions: PartitionTable, slot: number): string {
  return uuidText(partitionUuid(partitions.createdAt(slot), partitions.id(slot)));
}
