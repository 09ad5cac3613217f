/**
 * Variables of the data directory: disk gate, checkpoint, segments, scrub (cluster spec §11.4). The
 * checkpoint defaults are ours: a checkpoint is one small synced batch here, so it is taken often.
 */
import { engineSwitch, integer } from '../builders.js';
import { MIB } from './server.js';

const SECOND_MS = 1000;

export const storageVariables = {
  diskHighPct: integer({
    name: 'QUEEN_RAFT_DISK_HIGH_PCT',
    fallback: 85,
    min: 1,
    max: 100,
    outside: 'default',
    unit: '%',
    doc: 'The disk gate closes at this share of the filesystem: growing writes answer 507.',
  }),
  diskLowPct: integer({
    name: 'QUEEN_RAFT_DISK_LOW_PCT',
    fallback: 80,
    min: 1,
    max: 100,
    outside: 'default',
    unit: '%',
    doc: 'The disk gate opens again below this share.',
  }),
  durableEveryMs: integer({
    name: 'QUEEN_RAFT_DURABLE_EVERY_MS',
    fallback: 250,
    min: 1,
    unit: 'ms',
    doc: 'Longest time between two checkpoints. The reference has 1000; a checkpoint here is one small synced batch.',
  }),
  durableEveryBytes: integer({
    name: 'QUEEN_RAFT_DURABLE_EVERY_BYTES',
    fallback: 8 * MIB,
    min: 1,
    unit: 'bytes',
    doc: 'Changed rows that make a checkpoint early. The reference has 256 MiB.',
  }),
  overlayMaxBytes: integer({
    name: 'QUEEN_RAFT_OVERLAY_MAX_MB',
    fallback: 64,
    min: 1,
    unit: 'MiB',
    scale: MIB,
    own: true,
    doc: 'Bound of rows that wait for a checkpoint; at the bound writes answer 429.',
  }),
  tailCacheBytes: integer({
    name: 'QUEEN_TAIL_CACHE_MB',
    fallback: 64,
    unit: 'MiB',
    scale: MIB,
    own: true,
    doc: 'Recent messages kept in memory for pops. 0 turns the cache off.',
  }),
  segmentBytes: integer({
    name: 'QUEEN_RAFT_SEGMENT_BYTES',
    fallback: 64 * MIB,
    min: 1024 * 1024,
    unit: 'bytes',
    doc: 'Size at which a log segment is sealed.',
  }),
  sealAgeMs: integer({
    name: 'QUEEN_QLOG_SEAL_AGE_S',
    fallback: 600,
    unit: 's',
    scale: SECOND_MS,
    doc: 'An older active segment is sealed so that its space can be reclaimed. 0 never.',
  }),
  reclaim: engineSwitch({
    name: 'QUEEN_QLOG_RECLAIM',
    fallback: true,
    doc: 'Unlink segments without live messages and rewrite those mostly dead.',
  }),
  compactMinDeadPct: integer({
    name: 'QUEEN_QLOG_COMPACT_MIN_DEAD_PCT',
    fallback: null,
    fallbackText: 'unset (the collector decides)',
    min: 1,
    max: 100,
    outside: 'default',
    unit: '%',
    doc: 'Dead share from which a segment is rewritten.',
  }),
  storeScrubEveryMs: integer({
    name: 'QUEEN_STORE_SCRUB_EVERY_S',
    fallback: 21_600,
    unit: 's',
    scale: SECOND_MS,
    doc: 'Time between two scrubs of the store. 0 turns them off.',
  }),
  storeScrubRowsPerSecond: integer({
    name: 'QUEEN_STORE_SCRUB_ROWS_PER_S',
    fallback: 2000,
    min: 1,
    unit: 'rows/s',
    doc: 'Pace of the store scrub.',
  }),
  scrubBytesPerSecond: integer({
    name: 'QUEEN_SCRUB_BYTES_PER_S',
    fallback: 16 * MIB,
    unit: 'bytes/s',
    own: true,
    doc: 'Pace of the background check of sealed segments. 0 turns it off.',
  }),
  scrubPauseMs: integer({
    name: 'QUEEN_SCRUB_PAUSE_S',
    fallback: 600,
    min: 1,
    outside: 'default',
    unit: 's',
    scale: SECOND_MS,
    own: true,
    doc: 'Time between the end of one check of the sealed segments and the next.',
  }),
};
