/**
 * Positions of a consumer group for raw readers (messages.md §10): where it reads on, entry by entry,
 * or everywhere it is registered.
 */
import { QueenError } from '../common/errors.js';
import type { ConsumerGroupId } from '../common/ids.js';
import type { JsonObject } from '../http/json-body.js';
import type { QueueRow, Tables } from '../machine/tables/tables.js';
import { findQueue, queuesOf } from '../reads/partition-identity.js';
import { walkPartitions } from '../reads/partition-walk.js';
import { entryObjects, entryPartition, entryQueue } from '../reads/reader-entries.js';
import { Slices } from '../reads/slices.js';

const MAX_ENTRIES = 65_536;

export interface PositionEntry {
  readonly queue: string;
  readonly partition: string;
}

export interface Position extends PositionEntry {
  /** Next offset to read, null when the group has no cursor there. */
  readonly offset: number | null;
  readonly metadata?: string | null;
}

export interface PositionsQuery {
  readonly group: string;
  /** Null: everything. */
  readonly entries: readonly PositionEntry[] | null;
}

export function parsePositions(body: JsonObject): PositionsQuery {
  const { consumerGroup, entries } = body;
  if (typeof consumerGroup !== 'string' || consumerGroup === '') {
    throw new QueenError('bad_request', 'consumerGroup is required');
  }
  if (entries === undefined || entries === null) return { group: consumerGroup, entries: null };
  const objects = entryObjects(entries, 'bad_request');
  if (objects.length > MAX_ENTRIES) throw new QueenError('bad_request', 'too many entries');
  return {
    group: consumerGroup,
    entries: objects.map((entry, i) => ({
      queue: entryQueue(entry, i),
      partition: entryPartition(entry, i),
    })),
  };
}

export async function readPositions(
  tables: Tables,
  tenant: Uint8Array,
  query: PositionsQuery,
): Promise<Position[]> {
  const tenantId = tables.names.tenant(tenant);
  const group = tenantId === undefined ? undefined : tables.names.group(tenantId, query.group);
  if (query.entries === null) {
    return group === undefined ? [] : allPositions(tables, tenant, group);
  }
  const slices = new Slices();
  const positions: Position[] = [];
  for (const entry of query.entries) {
    const queue = findQueue(tables, tenant, entry.queue);
    const slot = queue === undefined ? -1 : tables.partitions.find(queue.id, entry.partition);
    positions.push(positionOf(tables, entry, { slot, group }));
    if (slices.isSpent()) await slices.pause();
  }
  return positions;
}

async function allPositions(
  tables: Tables,
  tenant: Uint8Array,
  group: ConsumerGroupId,
): Promise<Position[]> {
  const slices = new Slices();
  const positions: Position[] = [];
  const take = (queue: QueueRow, slot: number): void => {
    if (tables.cursors.find(slot, group) < 0 || positions.length >= MAX_ENTRIES) return;
    const entry = { queue: queue.name, partition: tables.partitions.name(slot) };
    positions.push(positionOf(tables, entry, { slot, group }));
  };
  for (const queue of queuesOf(tables, tenant)) {
    if (tables.registrations.find(queue.id, group) === undefined) continue;
    await walkPartitions({ tables, slices }, queue.id, (slot) => take(queue, slot));
  }
  return positions;
}

function positionOf(
  tables: Tables,
  entry: PositionEntry,
  at: { readonly slot: number; readonly group: ConsumerGroupId | undefined },
): Position {
  const { queue, partition } = entry;
  const { slot, group } = at;
  const cursor = slot < 0 || group === undefined ? -1 : tables.cursors.find(slot, group);
  if (cursor < 0) return { queue, partition, offset: null };
  return { queue, partition, offset: tables.cursors.committed(cursor) + 1, metadata: null };
}
