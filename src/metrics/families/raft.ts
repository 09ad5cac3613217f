/**
 * Families of the replicated log and the store. With several raft groups each group has samples of its
 * own, under the leading label `group` (cluster.md §5); with one there is no such label.
 */
import type { QuantileSummary } from '../../common/quantile-summary.js';
import type { Group, Groups, Readiness } from '../../raft/index.js';
import type { Family, Sample } from '../family.js';
import { perGroup, samples, single, summaries, type Figures } from './per-group.js';
import { storeFamilies } from './store.js';

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
      labels: ['group', 'kind'],
      help: 'Log indexes: last written, committed, applied, in the last checkpoint.',
      read: () =>
        perGroup(groups, (group) => {
          const { lastLog, commit, applied, durable } = group.status();
          return samples('kind', { log: lastLog, committed: commit, applied, durable });
        }),
    },
    {
      kind: 'gauge',
      name: 'queen_raft_inflight',
      labels: ['group'],
      help: 'Commands taken in and not applied yet.',
      read: () => perGroup(groups, (group) => single(group.status().inflight)),
    },
    {
      kind: 'gauge',
      name: 'queen_raft_log_storage',
      labels: ['group', 'kind'],
      help: 'Segment files of the log and their bytes, retired ones included.',
      read: () => perGroup(groups, (_group, { logUsage }) => samples('kind', { ...logUsage })),
    },
    {
      kind: 'counter',
      name: 'queen_raft_proposals_total',
      labels: ['group'],
      help: 'Commands written to the log since the open.',
      read: () => perGroup(groups, (_group, figures) => single(figures.commandsWritten)),
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
    ...storeFamilies(groups),
  ];
}

/** What the store and the tables hold. */
function heldFamilies(groups: Groups): readonly Family[] {
  return [
    {
      kind: 'gauge',
      name: 'queen_raft_store_ram_rows',
      labels: ['group', 'ks', 'kind'],
      help: 'Rows held in memory; dirty: changed rows of all kinds that no checkpoint holds yet.',
      read: () => perGroup(groups, ramRows),
    },
    {
      kind: 'gauge',
      name: 'queen_raft_overlay_bytes',
      labels: ['group'],
      help: 'Changed rows that no checkpoint holds yet.',
      read: () => perGroup(groups, (_group, { overlayBytes }) => single(overlayBytes)),
    },
    {
      kind: 'gauge',
      name: 'queen_raft_retained_messages',
      labels: ['group'],
      help: 'Messages retained, dead letters included.',
      read: () => perGroup(groups, ({ tables }) => single(tables.totals.messagesRetained)),
    },
    {
      kind: 'gauge',
      name: 'queen_raft_retained_bytes',
      labels: ['group'],
      help: 'Record bytes of the retained messages.',
      read: () => perGroup(groups, ({ tables }) => single(tables.totals.bytesRetained)),
    },
  ];
}

/** Skipped when QUEEN_RAFT_METRICS is off. */
export function timingFamilies(groups: Groups): readonly Family[] {
  const each = (of: (figures: Figures) => QuantileSummary) => () => summaries(groups, of);
  return [
    {
      kind: 'summary',
      name: 'queen_raft_store_commit_seconds',
      unit: MICROSECOND,
      help: 'One checkpoint of the store, from the cut to its sync.',
      read: each(({ checkpointMicros }) => checkpointMicros),
    },
    {
      kind: 'summary',
      name: 'queen_raft_log_fsync_seconds',
      unit: MICROSECOND,
      help: 'One write of the log with its fdatasync.',
      read: each(({ logWriteMicros }) => logWriteMicros),
    },
    {
      kind: 'summary',
      name: 'queen_raft_group_entries',
      unit: 1,
      help: 'Entries that shared one write of the log.',
      read: each(({ logWriteEntries }) => logWriteEntries),
    },
    {
      kind: 'summary',
      name: 'queen_raft_group_bytes',
      unit: 1,
      help: 'Bytes of entries that shared one write of the log.',
      read: each(({ logWriteBytes }) => logWriteBytes),
    },
  ];
}

function diskUsed(groups: Groups): readonly Sample[] {
  const known = groups.figures().flatMap(({ diskUsedPercent }) => diskUsedPercent ?? []);
  return known.length === 0 ? [] : [{ labels: {}, value: Math.max(...known) }];
}

function ramRows({ tables }: Group, { overlayRows }: Figures): readonly Sample[] {
  const { partitions, cursors, leases } = tables;
  const rows = { partitions: partitions.count, cursors: cursors.count, leases: leases.count };
  const live = Object.entries(rows).map(([ks, value]) => ({ labels: { ks, kind: 'live' }, value }));
  return [...live, { labels: { ks: 'all', kind: 'dirty' }, value: overlayRows }];
}
