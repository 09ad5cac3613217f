/**
 * Every GET of the admin plane (admin.md §1) with very many partitions in one queue and a cursor on each:
 * how long the first and the later answers take, how large they are, and how long the event loop was
 * held meanwhile, as another connection saw it.
 */
import { atMost, type Budget } from './budgets.js';
import { createCursors, createLanes } from './lanes.js';
import { LoopProbe, type Held } from './loop-probe.js';
import { table } from './report.js';
import { rssMib, type Scene } from './scene.js';
import { sleep, type ServerProcess } from './server-process.js';

const QUEUE = 'many';
const GROUP = 'one';
const ROUNDS = 3;
const SETTLE_MS = 2000;
/** Analytics have rows once a bucket is full. */
const FLUSH_MS = 2000;
/** The slowest answer, and the longest anybody else waits meanwhile. */
const SLOWEST_MS = 3000;
const HOLD_MS = 50;

export interface AdminFigures {
  readonly budgets: readonly Budget[];
  readonly lines: readonly string[];
}

interface Timed {
  readonly path: string;
  readonly status: number;
  readonly firstMs: number;
  readonly laterMs: number;
  readonly bytes: number;
  readonly held: Held;
}

/** `:p` and `:t` stand for a partition and a message of it. */
const API = [
  ...['resources/overview', 'resources/namespaces', 'resources/tasks', 'resources/queues'],
  ...[
    'resources/queues?stats=lanes',
    `resources/queues/${QUEUE}`,
    `resources/queues/${QUEUE}/depth`,
  ],
  ...[`resources/queues/${QUEUE}/depth?group=${GROUP}`, `resources/queues/${QUEUE}/sizes`],
  ...['resources/partitions', `resources/partitions?queue=${QUEUE}&limit=5000`],
  ...['resources/kv/namespaces', 'status', `status?queue=${QUEUE}`, 'status/queues'],
  ...[`status/queues/${QUEUE}`, 'status/analytics', 'analytics/queue-lag', 'analytics/queue-ops'],
  ...['analytics/queue-parked-replicas', 'analytics/workload', 'analytics/workload?groupBy=queue'],
  ...['analytics/retention', 'analytics/retention?groupBy=queue', 'analytics/partition-liveness'],
  ...[`analytics/dlq-signatures?queue=${QUEUE}`, 'analytics/system-metrics'],
  ...['analytics/worker-metrics', 'messages', `messages?queue=${QUEUE}&limit=1000`],
  ...[`messages?queue=${QUEUE}&status=completed`, 'messages?status=dead_letter'],
  ...['messages?partition=:partition', 'messages/:p/:t', 'dlq', `dlq?queue=${QUEUE}&offset=1000`],
  ...['consumer-groups', 'consumer-groups/lagging?minLagSeconds=0', `consumer-groups/${GROUP}`],
  ...['traces/names', 'traces/by-name/none', 'traces/:p/:t', 'raft/status', 'raft/members'],
  ...['raft/liveness', 'system/kv-timers', 'system/ephemeral', 'system/shared-state'],
  ...['ephemeral/queues', `timers/${QUEUE}`],
];
export const ADMIN_PATHS = [
  ...['/health', '/metrics', '/metrics/prometheus', '/status', '/auth/me'],
  ...API.map((path) => `/api/v1/${path}`),
];

export class AdminRoutes {
  private readonly lines: string[] = [];

  constructor(
    private readonly scene: Scene,
    private readonly partitions: number,
    private readonly say: (line: string) => void,
  ) {}

  async run(): Promise<AdminFigures> {
    const broker = await this.scene.broker({ METRICS_FLUSH_MS: String(FLUSH_MS) });
    const { port } = broker;
    const lanes = await createLanes(port, { queue: QUEUE }, this.partitions);
    const cursors = await createCursors(port, { queue: QUEUE, group: GROUP }, this.partitions);
    const again = { queue: QUEUE, done: lanes.ledger.requests };
    await createLanes(port, again, Math.ceil(this.partitions / 10));
    this.line(
      `${this.partitions} partitions in ${lanes.seconds.toFixed(1)} s, ${cursors.messages} cursors in ` +
        `${cursors.seconds.toFixed(1)} s, a tenth pending, RSS ${(rssMib(broker) ?? 0).toFixed(0)} MB`,
    );
    await sleep(SETTLE_MS);
    const rows = await this.time(broker);
    this.line(
      table(
        ['route', 'status', 'first ms', 'later ms', 'answer KB', 'hold ms cpu', 'wall'],
        rows.map((row) => [
          ...[row.path, String(row.status), row.firstMs.toFixed(1), row.laterMs.toFixed(1)],
          ...[(row.bytes / 1024).toFixed(0), row.held.cpuMs.toFixed(1), row.held.wallMs.toFixed(1)],
        ]),
      ),
    );
    const most = (of: (row: Timed) => number): number => Math.max(...rows.map(of));
    const failed = rows.filter(({ status }) => status !== 200);
    return {
      lines: this.lines,
      budgets: [
        atMost(
          'slowest admin answer, ms',
          most(({ firstMs }) => firstMs),
          SLOWEST_MS,
        ),
        atMost(
          'longest hold of the event loop, ms of CPU',
          most(({ held }) => held.cpuMs),
          HOLD_MS,
        ),
        atMost('admin routes not answered with 200', failed.length, 0),
      ],
    };
  }

  private async time(broker: ServerProcess): Promise<Timed[]> {
    const paths = await this.named(broker);
    const probe = await LoopProbe.start(broker);
    try {
      const rows: Timed[] = [];
      for (const path of paths) {
        await probe.take();
        const asked = [];
        for (let i = 0; i < ROUNDS; i += 1) asked.push(await ask(broker, path));
        const [first, ...later] = asked;
        if (first === undefined) continue;
        rows.push({
          ...{ path, status: first.status, firstMs: first.ms, bytes: first.bytes },
          laterMs: Math.max(...later.map(({ ms }) => ms)),
          held: await probe.take(),
        });
      }
      return rows;
    } finally {
      await probe.stop();
    }
  }

  /** A message to name in the paths that need one. */
  private async named(broker: ServerProcess): Promise<string[]> {
    const answer = await fetch(
      `http://127.0.0.1:${broker.port}/api/v1/messages?queue=${QUEUE}&limit=1`,
    );
    const { messages } = (await answer.json()) as { messages: Record<string, string>[] };
    const { partitionId = '', transactionId = '', partition = '' } = messages[0] ?? {};
    return ADMIN_PATHS.map((path) =>
      path
        .replace(':partition', encodeURIComponent(partition))
        .replace(':p/:t', `${partitionId}/${encodeURIComponent(transactionId)}`),
    );
  }

  private line(text: string): void {
    this.lines.push(text);
    this.say(text);
  }
}

async function ask(
  { port }: ServerProcess,
  path: string,
): Promise<{ readonly status: number; readonly ms: number; readonly bytes: number }> {
  const from = performance.now();
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  const bytes = (await response.arrayBuffer()).byteLength;
  return { status: response.status, ms: performance.now() - from, bytes };
}
