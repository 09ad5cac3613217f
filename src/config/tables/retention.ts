/** Variables of retention, the recognition window and cleanup (cluster spec §11.4). */
import { engineSwitch, integer } from '../builders.js';

const SECOND_MS = 1000;

export const retentionVariables = {
  intervalMs: integer({
    name: 'RETENTION_INTERVAL',
    fallback: 5000,
    min: 1,
    unit: 'ms',
    doc: 'Time between retention rounds.',
  }),
  batchSize: integer({
    name: 'RETENTION_BATCH_SIZE',
    fallback: 1000,
    min: 1,
    unit: 'pushes',
    doc: 'Pushes cut per partition and round; when more are due the next round follows after 40 ms.',
  }),
  scan: engineSwitch({
    name: 'QUEEN_RAFT_RETENTION_SCAN',
    fallback: true,
    doc: 'Background scan for partitions with something due.',
  }),
  scanPerSecond: integer({
    name: 'QUEEN_RAFT_RETENTION_SCAN_PER_S',
    fallback: 50_000,
    min: 1,
    unit: 'partitions/s',
    doc: 'Pace of that scan.',
  }),
  txnWindowMinMs: integer({
    name: 'QUEEN_RAFT_TXN_WINDOW_MIN_S',
    fallback: 900,
    unit: 's',
    scale: SECOND_MS,
    doc: 'Shortest time for which a transactionId is recognised.',
  }),
  rowsWindow: engineSwitch({
    name: 'QUEEN_RAFT_ROWS_WINDOW',
    fallback: true,
    doc: 'Index rows leave the store after the recognition window.',
  }),
  traceRetentionMs: integer({
    name: 'QUEEN_RAFT_TRACE_RETENTION_S',
    fallback: 604_800,
    unit: 's',
    scale: SECOND_MS,
    doc: 'How long traces are kept.',
  }),
  tracesMax: integer({
    name: 'QUEEN_RAFT_TRACES_MAX',
    fallback: 1_000_000,
    unit: 'traces',
    own: true,
    doc: 'Traces kept in a raft group; the oldest go first. 0 no bound.',
  }),
  tracesPerMessage: integer({
    name: 'QUEEN_RAFT_TRACES_PER_MESSAGE',
    fallback: 1000,
    unit: 'traces',
    own: true,
    doc: 'Traces kept of one message; its oldest go first. 0 no bound.',
  }),
  partitionCleanup: engineSwitch({
    name: 'QUEEN_PARTITION_CLEANUP_ENABLED',
    fallback: true,
    fallbackText: 'true',
    doc: 'Remove partitions that were empty and idle for long.',
  }),
  partitionCleanupDays: integer({
    name: 'PARTITION_CLEANUP_DAYS',
    fallback: 30,
    min: 1,
    unit: 'days',
    doc: 'How long is long.',
  }),
};
