/**
 * The metric families a broker has to expose. DOCUMENTED is written from the contract (cluster.md §8.1,
 * admin.md §1.9), not from src; OWN are those this build adds. Families of a link between clusters and of
 * connectors are absent: there are none.
 */
export type FamilyType = 'gauge' | 'counter' | 'summary' | 'histogram';
export type FamilyTypes = Readonly<Record<string, FamilyType>>;

const all = (type: FamilyType, prefix: string, names: string): FamilyTypes =>
  Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name) => [`${prefix}${name}`, type]),
  );

const PROCESS: FamilyTypes = {
  ...all(
    'gauge',
    'queen_',
    `uptime_seconds event_loop_lag_avg_milliseconds malloc_bytes parked_long_polls
     process_resident_memory_bytes`,
  ),
  ...all(
    'counter',
    'queen_process_',
    `push_requests_total pop_requests_total ack_requests_total
     push_messages_total pop_messages_total ack_messages_total`,
  ),
};

const LOG_AND_STORE: FamilyTypes = {
  ...all(
    'gauge',
    'queen_raft_',
    `index inflight log_storage storage_full store_map_bytes store_ram_rows store_readers
     traces_stored traces_map_bytes`,
  ),
  ...all('counter', 'queen_raft_', 'proposals_total store_operations_total'),
};

const PER_QUEUE = all(
  'gauge',
  'queen_',
  `queue_push_requests_per_minute queue_push_messages_per_minute queue_pop_messages_per_minute
   queue_pop_empty_per_minute queue_transactions_per_minute queue_ack_per_minute
   queue_pop_lag_milliseconds queue_conflated_per_minute queue_parked_consumers
   queue_metrics_age_seconds dlq_depth dlq_depth_by_queue`,
);

const CONSUMPTION: FamilyTypes = {
  queen_consume_engine: 'gauge',
  ...all(
    'counter',
    'queen_',
    `consume_parts_total consume_cold_claims_total pop_targeted_total pop_wildcard_total
     pop_fill_wait_total pop_fill_wait_microseconds_total batches_fired_total
     batch_items_fired_total`,
  ),
  ...all('gauge', 'queen_', 'batch_rtt_milliseconds fusion_items_per_batch'),
};

const EPHEMERAL: FamilyTypes = {
  ...all('gauge', 'queen_ephemeral_', 'bytes queues'),
  ...all('counter', 'queen_ephemeral_', 'messages_total dropped_total forwarded_total wipes_total'),
};

const STATE: FamilyTypes = {
  queen_timers_fire_lag_seconds: 'summary',
  ...all(
    'gauge',
    'queen_',
    `kv_op_duration_milliseconds locks_op_duration_milliseconds kv_expired_not_pruned
     kv_expired_not_pruned_capped kv_expiry_lag_seconds kv_pool timers_due timers_due_capped
     timers_oldest_late_seconds sweeper_cycle_milliseconds
     sweeper_sleep_milliseconds`,
  ),
  ...all(
    'counter',
    'queen_',
    `kv_ops_total kv_bytes_total kv_read_rejected_total locks_ops_total
     kv_singleflight_coalesced_total timers_schedule_rejected_total
     timers_fire_lag_tenants_dropped_total timers_fired_total timers_dlq_total
     timers_fire_failures_total timers_poisoned_total sweeper_rows_total
     sweeper_phase_skipped_total sweeper_skip_locked_total`,
  ),
};

/** Left out with QUEEN_RAFT_METRICS=0. */
const SWITCHED_DOCUMENTED: FamilyTypes = {
  queen_raft_store_commit_seconds: 'summary',
  ...all('gauge', 'queen_raft_', 'admit_bytes admit_waiting'),
  ...all('counter', 'queen_raft_', 'admit_total admit_forwarded_total forward_total'),
  ...all(
    'summary',
    'queen_raft_',
    `queue_wait_seconds drain_commands drain_messages drain_to_propose_seconds plan_seconds
     plan_cpu_seconds plan_whole_cpu_seconds plan_whole_wall_seconds plan_deferred
     arrival_to_proposed_seconds writer_pickup_seconds proposed_to_committed_seconds
     propose_roundtrip_seconds group_entries group_bytes log_fsync_seconds apply_channel_depth
     apply_entry_seconds apply_other_seconds apply_segment_seconds durable_point_seconds
     durable_seg_fsync_seconds durable_dir_fsync_seconds checkpoint_rows checkpoint_write_seconds
     push_h_total_seconds push_h_prep_seconds push_h_submit_seconds push_h_await_seconds
     pop_h_total_seconds pop_read_seconds planner_plan_seconds`,
  ),
  ...all(
    'counter',
    'queen_raft_',
    `apply_receives_total apply_stats planner_commands_total planner_slow_total
     slow_commands_total keep_overlay_total qlog_early_codec_hits_total`,
  ),
  ...all('gauge', 'queen_raft_', 'qlog_early_codec_waiting qlog_dirx qlog_index_maps'),
};

export const DOCUMENTED: FamilyTypes = {
  ...{ ...PROCESS, ...LOG_AND_STORE, ...PER_QUEUE, ...CONSUMPTION, ...EPHEMERAL, ...STATE },
  ...SWITCHED_DOCUMENTED,
};

/**
 * Of an engine this build has not. They stay because the contract names them (cluster.md §8.1), so that
 * rules and dashboards of the 2.x line find what they name; docs/metrics.md gives the reason of each.
 */
export const ALWAYS_ZERO: readonly string[] = [
  'queen_kv_singleflight_coalesced_total',
  'queen_raft_qlog_early_codec_hits_total',
  'queen_raft_qlog_early_codec_waiting',
  'queen_raft_qlog_index_maps',
];

/** The same of a single sample of a family that moves. */
export const ALWAYS_ZERO_SAMPLES: readonly string[] = [
  'queen_raft_forward_total{kind="legacy_leader"}',
];

/** Beyond the contract. */
export const OWN: FamilyTypes = {
  queen_process_ack_failed_total: 'counter',
  queen_conflation_conflicts_total: 'counter',
  queen_raft_ready: 'gauge',
  queen_raft_disk_used_percent: 'gauge',
  queen_raft_overlay_bytes: 'gauge',
  queen_raft_retained_messages: 'gauge',
  queen_raft_retained_bytes: 'gauge',
  queen_metrics_queues_left_out: 'gauge',
  queen_ephemeral_parked_pops: 'gauge',
  queen_ephemeral_silent_peers: 'gauge',
  queen_http_request_duration_seconds: 'histogram',
};

const isSwitched = (name: string): boolean => name in SWITCHED_DOCUMENTED;
const only = (keep: (name: string) => boolean): FamilyTypes =>
  Object.fromEntries(Object.entries({ ...DOCUMENTED, ...OWN }).filter(([name]) => keep(name)));

/** Every family of a broker, those that QUEEN_RAFT_METRICS=0 leaves out apart. */
export const ALWAYS: FamilyTypes = only((name) => !isSwitched(name));
export const SWITCHED: FamilyTypes = only(isSwitched);
