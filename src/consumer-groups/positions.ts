/**
 * Positions of a consumer group for raw readers (messages.md §10): where it reads on, entry by entry,
 * or everywhere it is registered.
 */
import { QueenError } from '../common/errors.js';
import type { ConsumerGroupId } from '../common/ids.js';
import type { JsonObject } from '../http/json-body.js';
import { cursorMetadataKey } from '../machine/tables/keyspaces.js';
import { decodeMetadataRow } from '../machine/tables/metadata-row.js';
import type { Tables } from '../machine/tables/tables.js';
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

/** What positions are read from: columns of this node, and rows for the metadata. */
export interface PositionSource {
  readonly tables: Tables;
  readonly tenant: Uint8Array;
  /** The row at a key, as it was when reading began. */
  readonly row: (key: Uint8Array) => Promise<Uint8Array | undefined>;
}

export async function readPositions(
  source: PositionSource,
  query: PositionsQuery,
): Promise<Position[]> {
  const { tables, tenant } = source;
  const tenantId = tables.names.tenant(tenant);
  const group = tenantId === undefined ? undefined : tables.names.group(tenantId, query.group);
  if (query.entries === null) return group === undefined ? [] : allPositions(source, group);
  const slices = new Slices();
  const positions: Position[] = [];
  for (const entry of query.entries) {
    positions.push(await positionOf(source, entry, group));
    if (slices.isSpent()) await slices.pause();
  }
  return positions;
}

async function allPositions(source: PositionSource, group: ConsumerGroupId): Promise<Position[]> {
  const { tables, tenant } = source;
  const slices = new Slices();
  const entries: PositionEntry[] = [];
  for (const queue of queuesOf(tables, tenant)) {
    if (tables.registrations.find(queue.id, group) === undefined) continue;
    await walkPartitions({ tables, slices }, queue.id, (slot) => {
      if (tables.cursors.find(slot, group) < 0 || entries.length >= MAX_ENTRIES) return;
      entries.push({ queue: queue.name, partition: tables.partitions.name(slot) });
    });
  }
  const positions: Position[] = [];
  for (const entry of entries) {
    const position = await positionOf(source, entry, group);
    if (position.offset !== null) positions.push(position);
    if (slices.isSpent()) await slices.pause();
  }
  return positions;
}

/** The column is looked at before anything is waited for, so that its slot is still the entry's. */
async function positionOf(
  source: PositionSource,
  entry: PositionEntry,
  group: ConsumerGroupId | undefined,
): Promise<Position> {
  const { tables, tenant } = source;
  const { queue, partition } = entry;
  const row = findQueue(tables, tenant, queue);
  const slot = row === undefined ? -1 : tables.partitions.find(row.id, partition);
  const cursor = slot < 0 || group === undefined ? -1 : tables.cursors.find(slot, group);
  if (row === undefined || group === undefined || cursor < 0) {
    return { queue, partition, offset: null };
  }
  const offset = tables.cursors.committed(cursor) + 1;
  if (!tables.cursors.hasMetadata(cursor)) return { queue, partition, offset, metadata: null };
  const value = await source.row(cursorMetadataKey(row.id, tables.partitions.id(slot), group));
  const metadata = value === undefined ? null : decodeMetadataRow(value);
  return { queue, partition, offset, metadata };
}
