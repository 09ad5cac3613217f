/**
 * Variables of the HTTP side of a node: listener, deadlines, body and memory bounds, names. Keys end
 * with the unit of the parsed value.
 */
import { parseBindHost } from '../addresses.js';
import { integer, structured, text } from '../builders.js';
import { accepted } from '../variable.js';

export const MIB = 1024 * 1024;
const NEW_WORDS = new Set(['new', 'new-only', 'new_only', 'newonly']);

export type SubscriptionMode = 'new' | 'all';

export const serverVariables = {
  port: integer({
    name: 'PORT',
    fallback: 6632,
    max: 65_535,
    outside: 'default',
    doc: 'HTTP port. 0 takes a free one.',
  }),
  bindHost: structured<string>({
    name: 'QUEEN_BIND_ADDR',
    fallback: '0.0.0.0',
    fallbackText: '0.0.0.0',
    emptyIsValue: true,
    parse: parseBindHost,
    doc: 'Host that the HTTP port binds, without a port. Empty or with a port: the boot fails.',
  }),
  serverId: text({
    name: 'QUEEN_SERVER_ID',
    fallback: null,
    fallbackText: 'HOSTNAME, else a random queen-xxxxxxxx',
    doc: 'Name of the node in answers and metrics.',
  }),
  hostname: text({
    name: 'HOSTNAME',
    fallback: null,
    doc: 'Set by the shell or the container. Default of QUEEN_SERVER_ID; its last number gives the node id when QUEEN_RAFT_NODE_ID=ordinal.',
  }),
  cellId: text({
    name: 'QUEEN_CELL_ID',
    fallback: null,
    fallbackText: 'unset (a hash of the membership)',
    doc: 'Name of the cluster, shown as clusterId.',
  }),
  maxBodyBytes: integer({
    name: 'QUEEN_MAX_BODY_BYTES',
    fallback: 64 * MIB,
    min: 1,
    unit: 'bytes',
    doc: 'Largest request body; 413 above it.',
  }),
  minBodyRate: integer({
    name: 'QUEEN_MIN_BODY_RATE',
    fallback: 1024,
    unit: 'bytes/s',
    own: true,
    doc: 'A request body that arrives more slowly than this, or too slowly to be complete within 120 s, answers 408 after a grace of 10 s. 0 lets bodies take the 120 s.',
  }),
  maxConnections: integer({
    name: 'QUEEN_MAX_CONNECTIONS',
    fallback: 20_000,
    unit: 'connections',
    own: true,
    doc: 'Connections of clients at once; further ones are closed. 0 sets no bound.',
  }),
  stmtTimeoutMs: integer({
    name: 'QUEEN_STMT_TIMEOUT_MS',
    fallback: 30_000,
    min: 1,
    max: 60_000,
    unit: 'ms',
    doc: 'Deadline of ack, transaction and lease extend.',
  }),
  defaultTimeoutMs: integer({
    name: 'DEFAULT_TIMEOUT',
    aliases: ['POP_DEFAULT_TIMEOUT_MS'],
    fallback: 30_000,
    min: 1,
    max: 60_000,
    unit: 'ms',
    doc: 'Deadline of push and of the other calls, and of a pop that names none.',
  }),
  defaultSubscriptionMode: structured<SubscriptionMode>({
    name: 'DEFAULT_SUBSCRIPTION_MODE',
    fallback: 'new',
    fallbackText: 'new',
    parse: (raw) => accepted(NEW_WORDS.has(raw.trim()) ? 'new' : 'all'),
    doc: 'Where a new consumer group starts: new, new-only, new_only or newonly mean new; any other text means all.',
  }),
  metricsFlushMs: integer({
    name: 'METRICS_FLUSH_MS',
    fallback: 60_000,
    min: 1000,
    unit: 'ms',
    doc: 'Width of a metrics bucket.',
  }),
  dashSizesMax: integer({
    name: 'QUEEN_DASH_SIZES_MAX',
    fallback: 100_000,
    min: 1,
    unit: 'partitions',
    doc: 'Partitions listed by the queue detail and sizes routes; beyond it the answer says it is truncated.',
  }),
  heapPct: integer({
    name: 'QUEEN_HEAP_PCT',
    fallback: 50,
    max: 90,
    unit: '%',
    own: true,
    doc: 'Share of the container memory limit that the launcher gives to the JavaScript heap (256 to 4096 MiB). 0, or --max-old-space-size in NODE_OPTIONS, leaves the heap to Node.',
  }),
};
