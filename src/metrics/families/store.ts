/** Families of the store behind the log, and of the traces in it. */
import { KEYSPACE } from '../../machine/tables/keyspaces.js';
import type { GroupFigures, Groups } from '../../raft/index.js';
import type { Family, Sample } from '../family.js';
import { TraceCount } from './trace-count.js';

const FIRST_KEYSPACE = 1;
const LAST_KEYSPACE = 255;

export function storeFamilies(groups: Groups): readonly Family[] {
  return [
    {
      kind: 'gauge',
      name: 'queen_raft_store_map_bytes',
      labels: ['kind'],
      help: 'Size of the data filesystem, and bytes of the store’s tables.',
      read: () => mapBytes(groups, FIRST_KEYSPACE, LAST_KEYSPACE),
    },
    {
      kind: 'counter',
      name: 'queen_raft_store_operations_total',
      labels: ['kind'],
      help: 'Rows put, deleted and read from the store, and views opened.',
      read: () => operations(groups),
    },
    {
      kind: 'gauge',
      name: 'queen_raft_store_readers',
      labels: ['kind'],
      help: 'Views of the store open now. There is no limit, and no sample of one.',
      read: () => [{ labels: { kind: 'used' }, value: sum(groups, ({ openViews }) => openViews) }],
    },
    ...traceFamilies(groups),
    ...batchFamilies(groups),
  ];
}

function traceFamilies(groups: Groups): readonly Family[] {
  const count = new TraceCount(groups);
  return [
    {
      kind: 'gauge',
      name: 'queen_raft_traces_stored',
      help: 'Traces kept; absent until they were counted after a start.',
      read: () => count.read(),
    },
    {
      kind: 'gauge',
      name: 'queen_raft_traces_map_bytes',
      labels: ['kind'],
      help: 'Size of the data filesystem, and bytes of the tables that hold traces.',
      read: () => mapBytes(groups, KEYSPACE.traces, KEYSPACE.tracedMessages + 1),
    },
  ];
}

/** Writes of the log as the 1.x line named its batches. */
function batchFamilies(groups: Groups): readonly Family[] {
  const writes = (): number => sum(groups, ({ logWriteMicros }) => logWriteMicros.count);
  const commands = (): number => sum(groups, ({ commandsWritten }) => commandsWritten);
  return [
    {
      kind: 'counter',
      name: 'queen_batches_fired_total',
      help: 'Writes of the log.',
      read: writes,
    },
    {
      kind: 'counter',
      name: 'queen_batch_items_fired_total',
      help: 'Commands in them.',
      read: commands,
    },
    {
      kind: 'gauge',
      name: 'queen_batch_rtt_milliseconds',
      help: 'Mean time of a write since the start.',
      read: () => ratio(sum(groups, ({ logWriteMicros }) => logWriteMicros.sum) / 1000, writes()),
    },
    {
      kind: 'gauge',
      name: 'queen_fusion_items_per_batch',
      help: 'Mean commands of a write since the start.',
      read: () => ratio(commands(), writes()),
    },
  ];
}

function ratio(of: number, by: number): readonly Sample[] {
  return by === 0 ? [] : [{ labels: {}, value: of / by }];
}

async function mapBytes(groups: Groups, from: number, to: number): Promise<readonly Sample[]> {
  const all = groups.figures();
  const used = await Promise.all(all.map((figures) => figures.storeBytes(from, to)));
  const sizes = all.flatMap(({ diskBytes }) => diskBytes ?? []);
  const capacity =
    sizes.length === 0 ? [] : [{ labels: { kind: 'capacity' }, value: Math.max(...sizes) }];
  const bytes = used.reduce((total, value) => total + value, 0);
  return [...capacity, { labels: { kind: 'used' }, value: bytes }];
}

function operations(groups: Groups): readonly Sample[] {
  const all = groups.figures();
  return (['put', 'delete', 'read', 'view'] as const).map((kind) => ({
    labels: { kind },
    value: all.reduce((total, { rowOperations }) => total + rowOperations[kind], 0),
  }));
}

function sum(groups: Groups, of: (figures: GroupFigures) => number): number {
  return groups.figures().reduce((total, figures) => total + of(figures), 0);
}
