/**
 * Variables of admission, batching and consumption (cluster spec §11.3, message spec §15). Switches
 * of the reference's planner that have no counterpart here are in `ignored.ts`.
 */
import { engineSwitch, integer } from '../builders.js';
import { MIB } from './server.js';

const SECOND_MS = 1000;

const admission = {
  pipelineEntries: integer({
    name: 'QUEEN_RAFT_PIPELINE',
    fallback: 8,
    min: 1,
    unit: 'entries',
    doc: 'Entries in flight.',
  }),
  batchMaxBytes: integer({
    name: 'QUEEN_RAFT_BATCH_MAX_BYTES',
    fallback: 4 * MIB,
    min: 1,
    unit: 'bytes',
    doc: 'Counts only in the default of QUEEN_RAFT_ADMIT_MAX_MB: entries are cut at 256 KiB or 512 commands.',
  }),
  entryMaxBytes: integer({
    name: 'QUEEN_RAFT_ENTRY_MAX_BYTES',
    fallback: 96 * MIB,
    min: 1,
    unit: 'bytes',
    doc: 'Largest command.',
  }),
  admitMaxBytes: integer({
    name: 'QUEEN_RAFT_ADMIT_MAX_MB',
    fallback: null,
    fallbackText: 'max(128, (pipeline + 2) × batch bytes)',
    unit: 'MiB',
    scale: MIB,
    doc: 'Budget of growing writes at work, taken from Content-Length. 0 turns admission off.',
  }),
  admitHoldMs: integer({
    name: 'QUEEN_RAFT_ADMIT_HOLD_MS',
    fallback: 15_000,
    unit: 'ms',
    doc: 'Wait for the budget before 429 (± 25 %).',
  }),
  slowCommandMs: integer({
    name: 'QUEEN_RAFT_SLOW_COMMAND_MS',
    fallback: 50,
    min: 1,
    unit: 'ms',
    doc: 'Commands that take longer are counted as slow.',
  }),
  metrics: engineSwitch({
    name: 'QUEEN_RAFT_METRICS',
    fallback: true,
    doc: 'Timing and admission families in /metrics/prometheus.',
  }),
};

const consumption = {
  checkpointMs: integer({
    name: 'QUEEN_CONSUME_CHECKPOINT_MS',
    fallback: 5,
    min: 1,
    unit: 'ms',
    doc: 'Cursor changes are logged together at most this often.',
  }),
  leaderLeaseMs: integer({
    name: 'QUEEN_CONSUME_LEADER_LEASE_MS',
    fallback: 400,
    min: 1,
    unit: 'ms',
    doc: 'The leader serves consumption only when a quorum answered this recently.',
  }),
  idleUnloadMs: integer({
    name: 'QUEEN_CONSUME_IDLE_UNLOAD_S',
    fallback: 600,
    unit: 's',
    scale: SECOND_MS,
    doc: 'Idle consumption state leaves memory after this. 0 never. Memory only, no semantics.',
  }),
  popReplyMarginMs: integer({
    name: 'QUEEN_RAFT_POP_REPLY_MARGIN_MS',
    fallback: 50,
    unit: 'ms',
    doc: 'Time kept back for the answer of a pop.',
  }),
  popMaxBytes: integer({
    name: 'QUEEN_POP_MAX_BYTES',
    fallback: 16 * MIB,
    min: 1024,
    unit: 'bytes',
    own: true,
    doc: 'Bound of one pop answer; at least one message always goes.',
  }),
  autopilotDrainMs: integer({
    name: 'QUEEN_RAFT_AUTOPILOT_DRAIN_MS',
    fallback: 200,
    min: 1,
    unit: 'ms',
    doc: 'Drain time that the pop autopilot aims at.',
  }),
  autopilotBatchMin: integer({
    name: 'QUEEN_RAFT_AUTOPILOT_BATCH_MIN',
    fallback: 100,
    min: 1,
    unit: 'messages',
    doc: 'Smallest batch of the autopilot.',
  }),
  autopilotBatchMax: integer({
    name: 'QUEEN_RAFT_AUTOPILOT_BATCH_MAX',
    fallback: 1000,
    min: 1,
    unit: 'messages',
    doc: 'Largest batch of the autopilot.',
  }),
};

export const plannerVariables = { ...admission, ...consumption };
