/**
 * Access levels as the contract's pages list them (cluster.md §9.3, admin.md §0.2, state.md §0.1,
 * messages.md §1.3), typed by hand and not read from the code: also of routes this build may not have.
 */
export type Level = 'public' | 'read-only' | 'write-only' | 'read-write' | 'admin';

const LISTS: Readonly<Record<Level, string>> = {
  public: `
    GET /
    GET /health
    GET /metrics
    GET /metrics/prometheus
    GET /auth/me
    GET /auth/login
    POST /auth/login
    POST /auth/logout
    GET /assets/{file}
    GET /assets/*
    POST /api/v1/ephemeral/_adopt
    POST /api/v1/ephemeral/_leaving
    GET /api/v1/ephemeral/_ready`,
  'read-only': `
    GET /status
    GET /api/v1/status
    GET /api/v1/status/queues
    GET /api/v1/status/queues/{queue}
    GET /api/v1/status/analytics
    GET /api/v1/status/buffers
    GET /api/v1/analytics/queue-lag
    GET /api/v1/analytics/queue-ops
    GET /api/v1/analytics/queue-parked-replicas
    GET /api/v1/analytics/workload
    GET /api/v1/analytics/retention
    GET /api/v1/analytics/dlq-signatures
    GET /api/v1/analytics/partition-liveness
    GET /api/v1/analytics/system-metrics
    GET /api/v1/analytics/worker-metrics
    GET /api/v1/resources/overview
    GET /api/v1/resources/namespaces
    GET /api/v1/resources/tasks
    GET /api/v1/resources/queues
    GET /api/v1/resources/queues/{queue}
    GET /api/v1/resources/queues/{queue}/depth
    GET /api/v1/resources/queues/{queue}/sizes
    GET /api/v1/resources/partitions
    GET /api/v1/resources/kv/namespaces
    POST /api/v1/resources/kv/list
    GET /api/v1/messages
    GET /api/v1/messages/{partitionId}/{transactionId}
    GET /api/v1/consumer-groups
    GET /api/v1/consumer-groups/lagging
    GET /api/v1/consumer-groups/{group}
    POST /api/v1/consumer-groups/positions
    GET /api/v1/dlq
    GET /api/v1/traces/names
    GET /api/v1/traces/by-name/{name}
    GET /api/v1/traces/{partitionId}/{transactionId}
    GET /api/v1/kv/{ns}/{key}
    GET /api/v1/kv/{ns}/*
    GET /api/v1/timers/{queue}
    GET /api/v1/timers/{queue}/{timerKey}
    GET /api/v1/timers/{queue}/*
    GET /api/v1/ephemeral/queues
    GET /api/v1/ephemeral/queues/{queue}/depth
    GET /api/v1/raft/status
    GET /api/v1/raft/members
    GET /api/v1/raft/liveness
    POST /api/v1/fetch
    POST /api/v1/fetch/offsets
    POST /api/v1/partitions/changed
    POST /streams/v1/state/get`,
  'write-only': `
    POST /api/v1/push
    POST /api/v1/timers
    POST /api/v1/ephemeral/push`,
  'read-write': `
    GET /api/v1/pop
    GET /api/v1/pop/queue/{queue}
    GET /api/v1/pop/queue/{queue}/partition/{partition}
    POST /api/v1/ack
    POST /api/v1/ack/batch
    POST /api/v1/transaction
    POST /api/v1/lease/{leaseId}/extend
    POST /api/v1/configure
    POST /api/v1/dlq/{id}/replay
    POST /api/v1/messages/{partitionId}/{transactionId}/retry
    DELETE /api/v1/messages/{partitionId}/{transactionId}
    POST /api/v1/consumer-groups/{group}/subscription
    POST /api/v1/consumer-groups/{group}/queues/{queue}/seek
    POST /api/v1/consumer-groups/{group}/queues/{queue}/partitions/{partition}/seek
    POST /api/v1/traces
    POST /api/v1/kv
    PUT /api/v1/kv/{ns}/{key}
    PUT /api/v1/kv/{ns}/*
    DELETE /api/v1/kv/{ns}/{key}
    DELETE /api/v1/kv/{ns}/*
    DELETE /api/v1/timers/{queue}/{timerKey}
    DELETE /api/v1/timers/{queue}/*
    POST /api/v1/locks
    POST /streams/v1/queries
    POST /streams/v1/cycle
    GET /api/v1/ephemeral/pop
    POST /api/v1/ephemeral/ack
    POST /api/v1/ephemeral/configure
    POST /api/v1/ephemeral/reset
    DELETE /api/v1/ephemeral/queue/{queue}
    POST /api/v1/ephemeral/_adopt
    POST /api/v1/ephemeral/_leaving
    GET /api/v1/ephemeral/_ready`,
  admin: `
    POST /api/v1/stats/refresh
    DELETE /api/v1/resources/queues/{queue}
    DELETE /api/v1/resources/tenant
    POST /api/v1/resources/quota
    DELETE /api/v1/consumer-groups/{group}
    DELETE /api/v1/consumer-groups/{group}/queues/{queue}
    DELETE /api/v1/dlq`,
};

/** Everything under these is for admins, whatever the method. */
const ADMIN_PATHS = /^\S+ \/(api\/v1\/system|internal)\//;

const LEVELS = new Map<string, Level>(
  (Object.keys(LISTS) as Level[]).flatMap((level) =>
    LISTS[level]
      .trim()
      .split('\n')
      .map((line): [string, Level] => [shapeOf(line.trim()), level]),
  ),
);

/** Names of parameters are not part of the contract. */
function shapeOf(route: string): string {
  return route.replaceAll(/\{[^}]*\}/g, '{}').replace('/*', '/{}');
}

/** Level of `METHOD /path/{param}`; undefined when no page names the route. */
export function specLevelOf(route: string): Level | undefined {
  return ADMIN_PATHS.test(route) ? 'admin' : LEVELS.get(shapeOf(route));
}

/** Which roles pass, per level (cluster.md §9.3). */
export const PASSING: Readonly<Record<Level, readonly string[]>> = {
  public: ['admin', 'read-write', 'read-only', 'write-only'],
  'read-only': ['admin', 'read-write', 'read-only'],
  'write-only': ['admin', 'read-write', 'write-only'],
  'read-write': ['admin', 'read-write'],
  admin: ['admin'],
};
