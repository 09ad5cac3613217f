/**
 * Every metric family moves when its event happens: a table of events and the families each has to
 * move. What needs several nodes or a damaged disk is shown elsewhere, by name; what never moves is
 * listed, here and in docs/metrics.md. And under load a scrape holds every documented family.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { TestBroker } from '../support/broker.js';
import { ALWAYS_ZERO, ALWAYS_ZERO_SAMPLES, DOCUMENTED, OWN } from '../support/metric-families.js';
import { Scrape } from '../support/scrape.js';
import { Calls, popOnce } from './metric-scene.js';

jest.setTimeout(120_000);

/** Shown to move by another test. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  queen_raft_storage_full: 'test/e2e/metrics.spec.ts',
  queen_raft_admit_forwarded_total: 'test/cluster/metrics.spec.ts',
  queen_raft_forward_total: 'test/cluster/metrics.spec.ts',
  queen_ephemeral_forwarded_total: 'test/cluster/metrics.spec.ts',
  queen_ephemeral_wipes_total: 'test/cluster/metrics.spec.ts',
  queen_timers_fire_lag_tenants_dropped_total: 'src/metrics/families/backlogs.spec.ts',
  queen_sweeper_skip_locked_total: 'src/metrics/families/backlogs.spec.ts',
  queen_raft_ready: 'src/metrics/families/families.spec.ts',
  queen_raft_disk_used_percent: 'src/metrics/families/families.spec.ts',
  queen_metrics_queues_left_out: 'src/metrics/families/families.spec.ts',
  queen_ephemeral_silent_peers: 'src/metrics/families/families.spec.ts',
  queen_conflation_conflicts_total: 'test/e2e/messages/rows-2-delivery.spec.ts',
};

interface Event {
  readonly what: string;
  /** Repeated until everything moved when `again` is set: gauges that stand high only during the act. */
  act(calls: Calls): Promise<unknown>;
  readonly again?: boolean;
  readonly moves: string;
}

const EVENTS: readonly Event[] = [
  {
    what: 'time passes',
    act: () => Promise.resolve(),
    moves: `uptime_seconds event_loop_lag_avg_milliseconds malloc_bytes
      process_resident_memory_bytes`,
  },
  {
    what: 'messages are pushed',
    act: (calls) => calls.push('pushed', 20),
    moves: `process_push_requests_total process_push_messages_total raft_index
      raft_proposals_total raft_log_storage raft_store_operations_total raft_store_ram_rows
      raft_queue_wait_seconds raft_drain_commands raft_drain_messages raft_plan_deferred
      raft_drain_to_propose_seconds raft_arrival_to_proposed_seconds raft_writer_pickup_seconds
      raft_proposed_to_committed_seconds raft_propose_roundtrip_seconds raft_plan_seconds
      raft_plan_cpu_seconds raft_plan_whole_wall_seconds raft_plan_whole_cpu_seconds
      raft_apply_channel_depth raft_apply_entry_seconds raft_apply_other_seconds
      raft_apply_segment_seconds raft_apply_receives_total raft_apply_stats
      raft_keep_overlay_total raft_planner_commands_total raft_planner_plan_seconds
      raft_group_entries raft_group_bytes raft_log_fsync_seconds raft_durable_seg_fsync_seconds
      raft_push_h_total_seconds raft_push_h_prep_seconds raft_push_h_submit_seconds
      raft_push_h_await_seconds raft_qlog_dirx batches_fired_total batch_items_fired_total
      batch_rtt_milliseconds raft_retained_messages raft_retained_bytes
      http_request_duration_seconds`,
  },
  {
    what: 'commands share writes while they are in flight',
    act: (calls) => Promise.all(Array.from({ length: 60 }, () => calls.push('shared', 1))),
    again: true,
    moves: 'raft_inflight raft_overlay_bytes fusion_items_per_batch',
  },
  {
    what: 'a checkpoint is written',
    act: (calls) => calls.push('checkpointed', 3),
    moves: `raft_store_commit_seconds raft_durable_point_seconds raft_checkpoint_rows
      raft_checkpoint_write_seconds`,
  },
  {
    what: 'messages are popped and acknowledged, one dead-lettered',
    act: async (calls) => {
      await calls.push('settled', 3);
      const popped = await popOnce(calls, 'queue/settled?batch=3');
      await calls.ack(popped, ['completed', 'dlq', 'completed']);
      await calls.ackUnknown(popped);
    },
    moves: `process_pop_requests_total process_pop_messages_total process_ack_requests_total
      process_ack_messages_total process_ack_failed_total consume_engine consume_parts_total pop_targeted_total
      raft_pop_h_total_seconds raft_pop_read_seconds dlq_depth dlq_depth_by_queue`,
  },
  {
    what: 'a pop by namespace',
    act: (calls) => calls.get('/api/v1/pop?namespace=nobody'),
    moves: 'pop_wildcard_total',
  },
  {
    what: 'a long poll waits and ends',
    act: (calls) => calls.get('/api/v1/pop/queue/waits?wait=true&timeout=1500'),
    again: true,
    moves: `parked_long_polls queue_parked_consumers pop_fill_wait_total
      pop_fill_wait_microseconds_total`,
  },
  {
    what: 'some messages of a partition are due, newer ones not yet',
    act: (calls) => calls.delayed('delayed'),
    again: true,
    moves: 'consume_cold_claims_total',
  },
  {
    what: 'a minute of traffic ends',
    act: async (calls) => {
      await calls.push('minute', 4);
      const popped = await popOnce(calls, 'queue/minute?batch=2');
      await calls.ack(popped, ['completed', 'failed']);
      await calls.get('/api/v1/pop/queue/minute/partition/nothing');
      await calls.transaction('minute');
      await calls.push('latest', 5);
      await popOnce(calls, 'queue/latest?conflation=true&consumerGroup=g&subscriptionMode=all');
    },
    again: true,
    moves: `queue_push_requests_per_minute queue_push_messages_per_minute
      queue_pop_messages_per_minute queue_pop_empty_per_minute queue_ack_per_minute
      queue_transactions_per_minute queue_pop_lag_milliseconds queue_conflated_per_minute
      queue_metrics_age_seconds`,
  },
  {
    what: 'ephemeral queues take, deliver and drop',
    act: (calls) => calls.ephemeral(),
    moves: 'ephemeral_bytes ephemeral_queues ephemeral_messages_total ephemeral_dropped_total',
  },
  {
    what: 'a pop waits at an ephemeral queue',
    act: (calls) => calls.get('/api/v1/ephemeral/pop?queue=empty&wait=true&timeout=1000'),
    again: true,
    moves: 'ephemeral_parked_pops',
  },
  {
    what: 'keys and locks are used, and refused',
    act: (calls) => calls.keysAndLocks(),
    moves: `kv_ops_total kv_op_duration_milliseconds kv_bytes_total kv_read_rejected_total kv_pool
      locks_ops_total locks_op_duration_milliseconds`,
  },
  {
    what: 'more keys expire than a sweep takes',
    act: (calls) => calls.expiringKeys(1_100),
    moves: 'kv_expired_not_pruned kv_expired_not_pruned_capped kv_expiry_lag_seconds',
  },
  {
    what: 'timers are due while fires are held back',
    act: (calls) => calls.heldTimers(1_100),
    moves: `timers_due timers_due_capped timers_oldest_late_seconds sweeper_phase_skipped_total
      timers_schedule_rejected_total`,
  },
  {
    what: 'timers fire',
    act: (calls) => calls.releaseTimers(),
    moves: `timers_fired_total timers_fire_lag_seconds sweeper_rows_total
      sweeper_cycle_milliseconds sweeper_sleep_milliseconds`,
  },
  {
    what: 'a timer whose message fits no entry',
    act: (calls) => calls.hugeTimer(),
    moves: 'timers_fire_failures_total timers_poisoned_total timers_dlq_total',
  },
  {
    what: 'traces are kept, more than the memory of the store holds',
    act: (calls) => calls.traces(320, 64_000),
    moves: `raft_traces_stored raft_traces_map_bytes raft_store_map_bytes
      raft_durable_dir_fsync_seconds`,
  },
  {
    what: 'somebody reads the store',
    act: (calls) =>
      Promise.all(Array.from({ length: 20 }, () => calls.get('/api/v1/traces/names'))),
    again: true,
    moves: 'raft_store_readers',
  },
  {
    what: 'one command is large',
    act: (calls) => calls.push('slow', 30_000),
    again: true,
    moves: 'raft_planner_slow_total raft_slow_commands_total',
  },
  {
    what: 'a body is held, the next one waits and is refused',
    act: (calls) => heldBodies(calls.broker),
    again: true,
    moves: 'raft_admit_bytes raft_admit_waiting raft_admit_total',
  },
];

const named = (moves: string): string[] =>
  moves
    .trim()
    .split(/\s+/)
    .map((name) => `queen_${name}`);

let broker: TestBroker;

beforeAll(async () => {
  broker = await TestBroker.start({
    METRICS_FLUSH_MS: '1000',
    QUEEN_RAFT_ADMIT_MAX_MB: '8',
    QUEEN_RAFT_ADMIT_HOLD_MS: '400',
    QUEEN_RAFT_KV_SWEEP_MS: '60000',
    QUEEN_RAFT_SEGMENT_BYTES: '4194304',
    QUEEN_RAFT_ENTRY_MAX_BYTES: '6000000',
    QUEEN_TIMERS_MAX_PAYLOAD_BYTES: '7000000',
    QUEEN_SWEEPER_MAX_ATTEMPTS: '1',
    QUEEN_RAFT_SLOW_COMMAND_MS: '1',
  });
});

afterAll(() => broker.stop());

it('the table, what is shown elsewhere and what never moves are all families', () => {
  const covered = [...EVENTS.flatMap(({ moves }) => named(moves)), ...Object.keys(ELSEWHERE)];
  const all = Object.keys({ ...DOCUMENTED, ...OWN });
  expect([...covered, ...ALWAYS_ZERO].sort()).toEqual(all.sort());
  for (const [name, file] of Object.entries(ELSEWHERE)) {
    const text = readFileSync(join(process.cwd(), file), 'utf8');
    expect([name, text.includes(name)]).toEqual([name, true]);
  }
});

it('the page lists what never moves, and gives each its reason', () => {
  const page = readFileSync(join(process.cwd(), 'docs/metrics.md'), 'utf8');
  const [, after = ''] = page.split('## Always 0');
  const [section = ''] = after.split('\n## ');
  const rows = section.split('\n').filter((line) => line.startsWith('| `queen_'));
  const listed = rows.map((row) => /^\| `([^`]+)` \| .{20,} \|$/.exec(row)?.[1]);
  expect(listed.sort()).toEqual([...ALWAYS_ZERO, ...ALWAYS_ZERO_SAMPLES].sort());
});

it.each(EVENTS.map((event) => [event.what, event] as const))('%s', async (_what, event) => {
  const calls = new Calls(broker);
  const names = named(event.moves);
  const before = await Scrape.of(broker);
  const still = new Set(names);
  const deadline = Date.now() + 60_000;
  let acting = true;
  const act = async (): Promise<void> => {
    do await event.act(calls);
    while (event.again === true && still.size > 0 && Date.now() < deadline);
    acting = false;
  };
  const acted = act();
  while (still.size > 0 && Date.now() < deadline) {
    const now = await Scrape.of(broker);
    for (const name of still) if (now.shown(name) !== before.shown(name)) still.delete(name);
    // What nobody repeats may still take a bucket, a sweep or a checkpoint to show.
    if (still.size > 0) await new Promise((resolve) => setTimeout(resolve, acting ? 5 : 100));
  }
  await acted;
  expect([...still]).toEqual([]);
});

it('what never moves is there, and 0 after all of it', async () => {
  const scrape = await Scrape.of(broker);
  for (const name of ALWAYS_ZERO) {
    const values = [...(scrape.families.get(name)?.samples.values() ?? [])];
    expect([name, values.length > 0, values.filter((value) => value !== 0)]).toEqual([
      ...[name, true, []],
    ]);
  }
  const forward = scrape.families.get('queen_raft_forward_total')?.samples;
  for (const name of ALWAYS_ZERO_SAMPLES) expect([name, forward?.get(name)]).toEqual([name, 0]);
});

it('a scrape under load holds every documented family, and parses', async () => {
  const calls = new Calls(broker);
  const until = Date.now() + 1_500;
  const worker = async (n: number): Promise<void> => {
    while (Date.now() < until) {
      await calls.push(`load-${n}`, 10);
      await calls.get(`/api/v1/pop/queue/load-${n}?batch=10&autoAck=true`);
    }
  };
  const load = Promise.all([0, 1, 2, 3].map(worker));
  let scrapes = 0;
  do {
    const { families } = await Scrape.of(broker);
    const missing = Object.entries(DOCUMENTED).filter(
      ([name, type]) => families.get(name)?.type !== type,
    );
    expect(missing).toEqual([]);
    scrapes += 1;
  } while (Date.now() < until);
  await load;
  expect(scrapes).toBeGreaterThan(0);
});

/** Two bodies that do not end: the first is held, the second waits and is refused. */
async function heldBodies(target: TestBroker): Promise<void> {
  const { hostname, port } = new URL(target.url);
  const half = () => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.write('POST /api/v1/push HTTP/1.1\r\nHost: x\r\nContent-Length: 7000000\r\n\r\n{');
    return socket;
  };
  const first = half();
  await once(first, 'connect');
  const second = half();
  await once(second, 'data');
  first.destroy();
  second.destroy();
}
