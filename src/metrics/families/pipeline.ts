/**
 * Families of the stages a command passes (cluster.md §8.1, pipeline timing); skipped when
 * QUEEN_RAFT_METRICS is off. Planning is what this broker does at apply: judging commands. Names are
 * those of the contract, docs/metrics.md says what each measures here.
 */
import type { QuantileSummary } from '../../common/quantile-summary.js';
import type { Stage } from '../../common/stage-figures.js';
import type { RequestStages } from '../../http/request-stages.js';
import { CommandKind } from '../../machine/commands/catalogue.js';
import type { Groups } from '../../raft/index.js';
import type { Family, LabelledSummary, Sample } from '../family.js';
import { perGroup, samples, single, summaries } from './per-group.js';

const MICROSECOND = 1e-6;
const ONE = 1;

type StageRow = readonly [name: string, stage: Stage, unit: number, help: string];

const STAGE_ROWS: readonly StageRow[] = [
  ['queue_wait_seconds', 'queueWait', MICROSECOND, 'Longest wait of a packing cycle’s commands.'],
  ['drain_commands', 'drainCommands', ONE, 'Commands taken in one packing cycle.'],
  ['drain_messages', 'drainMessages', ONE, 'Messages appended by one entry.'],
  ['drain_to_propose_seconds', 'drainToPropose', MICROSECOND, 'Packing one cycle into entries.'],
  ['plan_seconds', 'planWall', MICROSECOND, 'Judging the commands of one entry.'],
  ['plan_cpu_seconds', 'planCpu', MICROSECOND, 'Processor time of judging one entry.'],
  [
    'plan_whole_wall_seconds',
    'planWholeWall',
    MICROSECOND,
    'Reading for one entry and judging it.',
  ],
  ['plan_whole_cpu_seconds', 'planWholeCpu', MICROSECOND, 'The same without what it waited.'],
  ['plan_deferred', 'planDeferred', ONE, 'Commands that found no room in their cycle.'],
  [
    'arrival_to_proposed_seconds',
    'arrivalToProposed',
    MICROSECOND,
    'From the arrival of a cycle’s first command to the log.',
  ],
  ['writer_pickup_seconds', 'writerPickup', MICROSECOND, 'From the log to the start of the write.'],
  [
    'proposed_to_committed_seconds',
    'proposedToCommitted',
    MICROSECOND,
    'From the log to the commit.',
  ],
  ['propose_roundtrip_seconds', 'proposeRoundtrip', MICROSECOND, 'From the log to the answer.'],
  ['apply_channel_depth', 'applyDepth', ONE, 'Entries that waited for apply when more came.'],
  ['apply_entry_seconds', 'applyEntry', MICROSECOND, 'Applying one entry, all of it.'],
  ['apply_other_seconds', 'applyOther', MICROSECOND, 'The same without judging its commands.'],
  ['apply_segment_seconds', 'applySlice', MICROSECOND, 'Applying without a pause for others.'],
  ['durable_point_seconds', 'durablePoint', MICROSECOND, 'One checkpoint with what leads to it.'],
  ['durable_seg_fsync_seconds', 'fileSync', MICROSECOND, 'One fdatasync of a log file.'],
  ['durable_dir_fsync_seconds', 'directorySync', MICROSECOND, 'One sync of a log directory.'],
  ['checkpoint_rows', 'checkpointRows', ONE, 'Rows one checkpoint writes.'],
];

export function pipelineFamilies(groups: Groups, requests: RequestStages): readonly Family[] {
  const rows = STAGE_ROWS.map(([name, stage, unit, help]): Family => {
    return {
      kind: 'summary',
      name: `queen_raft_${name}`,
      unit,
      help,
      read: () => summaries(groups, ({ stages }) => stages.of(stage)),
    };
  });
  return [
    ...rows,
    {
      ...{ kind: 'summary', name: 'queen_raft_checkpoint_write_seconds', unit: MICROSECOND },
      help: 'One checkpoint, from the cut to its sync.',
      read: () => summaries(groups, ({ checkpointMicros }) => checkpointMicros),
    },
    ...requestFamilies(requests),
    ...applyFamilies(groups),
    ...kindFamilies(groups),
    ...unusedFamilies(groups),
  ];
}

function requestFamilies(requests: RequestStages): readonly Family[] {
  const row = (name: string, help: string, read: () => QuantileSummary): Family => ({
    ...{ kind: 'summary', name: `queen_raft_${name}`, unit: MICROSECOND, help, read },
  });
  return [
    row(
      'push_h_total_seconds',
      'Pushes, from the whole body to the answer.',
      () => requests.pushTotal,
    ),
    row('push_h_prep_seconds', 'Scanning and preparing a push.', () => requests.pushPrep),
    row('push_h_submit_seconds', 'Encoding a push command.', () => requests.pushSubmit),
    row('push_h_await_seconds', 'A push command, until its outcome.', () => requests.pushAwait),
    row('pop_h_total_seconds', 'Pops, long polls included.', () => requests.popTotal),
    row('pop_read_seconds', 'Reading the messages of a pop.', () => requests.popRead),
  ];
}

function applyFamilies(groups: Groups): readonly Family[] {
  return [
    {
      kind: 'counter',
      name: 'queen_raft_apply_receives_total',
      labels: ['group'],
      help: 'Batches of committed entries that apply was given.',
      read: () => perGroup(groups, (_group, { stages }) => single(stages.applyReceives)),
    },
    {
      kind: 'counter',
      name: 'queen_raft_apply_stats',
      labels: ['group', 'kind'],
      help: 'Entries, commands and messages applied since the open, replayed ones included.',
      read: () =>
        perGroup(groups, (_group, { stages }) => {
          const { appliedEntries, appliedMessages, kinds } = stages;
          const commands = kinds.commands.reduce((total, count) => total + count, 0);
          return samples('kind', { entries: appliedEntries, commands, messages: appliedMessages });
        }),
    },
    {
      kind: 'counter',
      name: 'queen_raft_keep_overlay_total',
      labels: ['group', 'outcome'],
      help: 'Entries whose rows were in memory (kept), and that had to read the store (mismatch).',
      read: () =>
        perGroup(groups, (_group, { stages: { rowsInMemory, rowsLoaded } }) =>
          samples('outcome', { kept: rowsInMemory, mismatch: rowsLoaded }),
        ),
    },
  ];
}

function kindFamilies(groups: Groups): readonly Family[] {
  return [
    {
      kind: 'counter',
      name: 'queen_raft_planner_commands_total',
      labels: ['group', 'kind'],
      help: 'Commands judged, by kind.',
      read: () => perGroup(groups, (_group, { stages }) => byKind(stages.kinds.commands)),
    },
    {
      kind: 'counter',
      name: 'queen_raft_planner_slow_total',
      labels: ['group', 'kind'],
      help: 'Slow entries, by the kind most of their commands have.',
      read: () => perGroup(groups, (_group, { stages }) => byKind(stages.kinds.slow)),
    },
    {
      kind: 'counter',
      name: 'queen_raft_slow_commands_total',
      labels: ['group'],
      help: 'Entries that took QUEEN_RAFT_SLOW_COMMAND_MS or longer to judge.',
      read: () =>
        perGroup(groups, (_group, { stages }) =>
          single(stages.kinds.slow.reduce((total, count) => total + count, 0)),
        ),
    },
    {
      kind: 'summary',
      name: 'queen_raft_planner_plan_seconds',
      unit: MICROSECOND,
      help: 'Judging one command; the time of an entry is divided evenly over its commands.',
      read: () => summariesByKind(groups),
    },
  ];
}

/** Of an engine that compresses its log and maps index files; dashboards of the 2.x line name them. */
function unusedFamilies(groups: Groups): readonly Family[] {
  return [
    {
      kind: 'counter',
      name: 'queen_raft_qlog_early_codec_hits_total',
      help: 'Always 0: the log is not compressed.',
      read: () => 0,
    },
    {
      kind: 'gauge',
      name: 'queen_raft_qlog_early_codec_waiting',
      help: 'Always 0: the log is not compressed.',
      read: () => 0,
    },
    {
      kind: 'gauge',
      name: 'queen_raft_qlog_dirx',
      labels: ['group', 'kind'],
      help: 'Runs of the id index on disk, and ids in it.',
      read: () => perGroup(groups, (_group, { idIndex }) => samples('kind', { ...idIndex })),
    },
    {
      kind: 'gauge',
      name: 'queen_raft_qlog_index_maps',
      labels: ['group', 'kind'],
      help: 'Always 0: index files are read, not mapped.',
      read: () => samples('kind', { mapped: 0, limit: 0, refused: 0 }),
    },
  ];
}

function byKind(counts: Float64Array): readonly Sample[] {
  const found: Sample[] = [];
  counts.forEach((value, kind) => {
    if (value > 0) found.push({ labels: { kind: kindName(kind) }, value });
  });
  return found;
}

/** `FireTimers` → `fire_timers`. */
function kindName(kind: number): string {
  const name = CommandKind[kind] ?? String(kind);
  return name.replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}

function summariesByKind(groups: Groups): readonly LabelledSummary[] {
  const isOne = groups.all().length === 1;
  return groups.figures().flatMap(({ stages }, id) =>
    stages.kinds.micros.flatMap((summary, kind): LabelledSummary[] => {
      if (summary === undefined) return [];
      const named = isOne ? {} : { group: String(id) };
      return [{ labels: { ...named, kind: kindName(kind) }, summary }];
    }),
  );
}
