/** Families of the replicated log and the store, summed over the raft groups of this process. */
import type { Groups, Readiness } from '../../raft/index.js';
import type { Family, Sample } from '../family.js';

const MICROSECOND = 1e-6;

export function raftFamilies(
  groups: Groups,
  readiness: Pick<Readiness, 'raft' | 'isReady'>,
): readonly Family[] {
  return [
    {
      kind: 'gauge',
      name: 'queen_raft_ready',
      help: '1 while /health is 200: a leader is known, this node is caught up, a quorum was heard.',
      read: () => (readiness.isReady(readiness.raft()) ? 1 : 0),
    },
    {
      kind: 'gauge',
      name: 'queen_raft_index',
      labels: ['kind'],
      help: 'Log indexes of group 0: last written, committed, applied, in the last checkpoint.',
      read: () => indexes(groups),
    },
    {
      kind: 'gauge',
      name: 'queen_raft_inflight',
      help: 'Commands taken in and not applied yet.',
      read: () => sum(groups.all(), (group) => group.status().inflight),
    },
    {
      kind: 'gauge',
      name: 'queen_raft_log_storage',
      labels: ['kind'],
      help: 'Segment files of the log and their bytes, retired ones included.',
      read: () => logStorage(groups),
    },
    {
      kind: 'counter',
      name: 'queen_raft_proposals_total',
      help: 'Commands written to the log since the open.',
      read: () => sum(groups.figures(), (figures) => figures.commandsWritten),
    },
    {
      kind: 'gauge',
      name: 'queen_raft_storage_full',
      help: '1 while the disk gate is closed and growing writes are refused.',
      read: () => (groups.all().some((group) => group.status().storageFull) ? 1 : 0),
    },
    {
      kind: 'gauge',
      name: 'queen_raft_disk_used_percent',
      help: 'Used part of the data filesystem, as the disk gate sees it.',
      read: () => diskUsed(groups),
    },
    ...heldFamilies(groups),
  ];
}

/** What the store and the tables hold. */
function heldFamilies(groups: Groups): readonly Family[] {
  return [
    {
      kind: 'gauge',
      name: 'queen_raft_store_ram_rows',
      labels: ['ks', 'kind'],
      help: 'Rows held in memory.',
      read: () => ramRows(groups),
    },
    {
      kind: 'gauge',
      name: 'queen_raft_overlay_bytes',
      help: 'Changed rows that no checkpoint holds yet.',
      read: () => sum(groups.figures(), (figures) => figures.overlayBytes),
    },
    {
      kind: 'gauge',
      name: 'queen_raft_retained_messages',
      help: 'Messages retained, dead letters included.',
      read: () => sum(groups.all(), (group) => group.tables.totals.messagesRetained),
    },
    {
      kind: 'gauge',
      name: 'queen_raft_retained_bytes',
      help: 'Record bytes of the retained messages.',
      read: () => sum(groups.all(), (group) => group.tables.totals.bytesRetained),
    },
  ];
}

/** Skipped when QUEEN_RAFT_METRICS is off. Group 0: a summary has no sum over groups. */
export function timingFamilies(groups: Groups): readonly Family[] {
  const first = (): ReturnType<Groups['figures']>[number] => {
    const [figures] = groups.figures();
    if (figures === undefined) throw new Error('a process has at least one raft group');
    return figures;
  };
  return [
    {
      kind: 'summary',
      name: 'queen_raft_store_commit_seconds',
      unit: MICROSECOND,
      help: 'One checkpoint of the store, from the cut to its sync.',
      read: () => first().checkpointMicros,
    },
    {
      kind: 'summary',
      name: 'queen_raft_log_fsync_seconds',
      unit: MICROSECOND,
      help: 'One write of the log with its fdatasync.',
      read: () => first().logWriteMicros,
    },
    {
      kind: 'summary',
      name: 'queen_raft_group_entries',
      unit: 1,
      help: 'Entries that shared one write of the log.',
      read: () => first().logWriteEntries,
    },
    {
      kind: 'summary',
      name: 'queen_raft_group_bytes',
      unit: 1,
      help: 'Bytes of entries that shared one write of the log.',
      read: () => first().logWriteBytes,
    },
  ];
}

function indexes(groups: Groups): readonly Sample[] {
  const { lastLog, commit, applied, durable } = groups.first.status();
  return samples('kind', { log: lastLog, committed: commit, applied, durable });
}

function logStorage(groups: Groups): readonly Sample[] {
  const all = groups.figures();
  return samples('kind', {
    files: sum(all, ({ logUsage }) => logUsage.files),
    bytes: sum(all, ({ logUsage }) => logUsage.bytes),
  });
}

function diskUsed(groups: Groups): readonly Sample[] {
  const known = groups.figures().flatMap(({ diskUsedPercent }) => diskUsedPercent ?? []);
  return known.length === 0 ? [] : [{ labels: {}, value: Math.max(...known) }];
}

function ramRows(groups: Groups): readonly Sample[] {
  const tables = groups.all().map((group) => group.tables);
  const rows = {
    partitions: sum(tables, ({ partitions }) => partitions.count),
    cursors: sum(tables, ({ cursors }) => cursors.count),
    leases: sum(tables, ({ leases }) => leases.count),
  };
  return Object.entries(rows).map(([ks, value]) => ({ labels: { ks, kind: 'live' }, value }));
}

function samples(label: string, values: Readonly<Record<string, number>>): readonly Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }));
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
