/**
 * A dead-letter storm: one queue whose consumers file every message while others go on with steady
 * traffic of their own. Push and ack latency of the others, quiet, beside the same queue consumed well,
 * and beside the storm; both at the same pace, so that what is compared is what dead letters cost.
 */
import { atMost, none, type Budget } from './budgets.js';
import { Connection } from './connection.js';
import { LatencyRecord } from './latency-record.js';
import { measure, type Measurement } from './measure.js';
import { PopLoad } from './pop-load.js';
import { PushLedger } from './push-ledger.js';
import { PushLoad } from './push-load.js';
import { table } from './report.js';
import { sleep, type ServerProcess } from './server-process.js';

const STORM = 'storm';
const STEADY = 'steady-others';
const PAYLOAD_BYTES = 1024;
const STORM_PARTITIONS = 100;
const STORM_BATCH = 100;
/** Messages per second that the consumers of the storm settle. */
const STORM_RATE = 2_000;
const STORM_CONSUMERS = 4;
/** Push requests per second of the others, and what consumes them. */
const STEADY_RATE = 200;
const QUIET_MS = 10_000;

type Mood = 'quiet' | 'completed' | 'dlq';

interface Popped {
  readonly transactionId: string;
  readonly partitionId: string;
  readonly leaseId: string;
}

interface Row {
  readonly mood: Mood;
  readonly settled: number;
  readonly push: Measurement;
  readonly ackP99Ms: number;
  readonly settleP99Ms: number;
}

export class DeadLetterStorm {
  private readonly rows: Row[] = [];
  private readonly steady: PushLedger;

  constructor(
    private readonly broker: ServerProcess,
    /** Dead letters to be filed. */
    private readonly letters: number,
    private readonly say: (line: string) => void,
  ) {
    const shape = { queue: STEADY, batch: 1, payloadBytes: PAYLOAD_BYTES, partitions: 100 };
    this.steady = new PushLedger({ ...shape, spread: false });
  }

  async run(): Promise<{
    readonly measurements: readonly Measurement[];
    readonly budgets: readonly Budget[];
    readonly lines: readonly string[];
  }> {
    const measureMs = Math.max(QUIET_MS, (this.letters / STORM_RATE) * 1000);
    await this.fill('storm-good');
    await this.fill(STORM);
    await this.others('quiet', QUIET_MS, null);
    await this.others('completed', measureMs, 'storm-good');
    await this.others('dlq', measureMs, STORM);
    const filed = await this.filed();
    const [quiet, completed, storm] = this.rows;
    if (quiet === undefined || completed === undefined || storm === undefined) throw new Error();
    const p99 = ({ push }: Row): number => push.latency.p99Ms;
    return {
      measurements: this.rows.map(({ push }) => push),
      budgets: [
        atMost('push p99 of other queues, storm / quiet', p99(storm) / p99(quiet), 1.5),
        atMost('ack p99 of other queues, storm / quiet', storm.ackP99Ms / quiet.ackP99Ms, 1.5),
        atMost('push p99, storm / same traffic acked', p99(storm) / p99(completed), 1.5),
        none('dead letters missing or too many', Math.abs(filed - storm.settled)),
        none('dead letters fewer than asked for', Math.max(this.letters - filed, 0)),
      ],
      lines: [
        table(
          ['others beside', 'settled', 'push p50 ms', 'push p99', 'ack p99', 'storm ack p99'],
          this.rows.map((row) => [
            ...[row.mood, String(row.settled), row.push.latency.p50Ms.toFixed(2)],
            ...[p99(row), row.ackP99Ms, row.settleP99Ms].map((ms) => ms.toFixed(2)),
          ]),
        ),
      ],
    };
  }

  private async fill(queue: string): Promise<void> {
    const shape = { queue, batch: STORM_BATCH, payloadBytes: PAYLOAD_BYTES };
    const ledger = new PushLedger({ ...shape, partitions: STORM_PARTITIONS, spread: false });
    await PushLoad.run({
      ...{ port: this.broker.port, ledger, connections: 10, warmupMs: 0, measureMs: 3_600_000 },
      enough: () => ledger.requests * STORM_BATCH >= this.letters,
    });
    this.say(`${ledger.acknowledgedMessages} messages in ${queue}`);
  }

  /** Steady pushes and consumers on their own queue; beside them the storm, if there is one. */
  private async others(mood: Mood, measureMs: number, queue: string | null): Promise<void> {
    const { port, pid } = this.broker;
    const window = { warmupMs: 1000, measureMs };
    const popping = PopLoad.run({
      ...{ port, ...window, connections: 4, queue: STEADY, group: 'others' },
      ...{ batch: 10, partitions: 10, commitOnDelivery: false, available: Infinity },
    });
    const storming = this.storm(queue, mood, window.warmupMs + measureMs);
    const name = `others beside ${mood}`;
    const push = await measure({ name, round: 1, pid }, window, () =>
      PushLoad.run({
        ...{ port, ledger: this.steady, connections: 20, ...window, rate: STEADY_RATE },
      }),
    );
    const { ack } = await popping;
    const { settled, latency } = await storming;
    const settleP99Ms = latency.quantile(0.99);
    this.rows.push({ mood, settled, push, ackP99Ms: ack.p99Ms, settleP99Ms });
  }

  /** Paced consumers that settle everything the same way, until the time or the queue is over. */
  private async storm(
    queue: string | null,
    status: Mood,
    forMs: number,
  ): Promise<{ readonly settled: number; readonly latency: LatencyRecord }> {
    const latency = new LatencyRecord();
    if (queue === null) return { settled: 0, latency };
    const until = performance.now() + forMs;
    const everyMs = (STORM_BATCH * STORM_CONSUMERS * 1000) / STORM_RATE;
    const consumer = async (): Promise<number> => {
      const connection = await Connection.open(this.broker.port);
      let settled = 0;
      try {
        for (let due = performance.now(); due < until; due += everyMs) {
          await sleep(Math.max(0, due - performance.now()));
          const count = await settle(connection, { queue, status, latency });
          if (count === 0) break;
          settled += count;
        }
      } finally {
        connection.close();
      }
      return settled;
    };
    const counts = await Promise.all(Array.from({ length: STORM_CONSUMERS }, consumer));
    return { settled: counts.reduce((sum, count) => sum + count, 0), latency };
  }

  private async filed(): Promise<number> {
    const connection = await Connection.open(this.broker.port);
    try {
      const { text } = await connection.request('GET', `/api/v1/dlq?queue=${STORM}&limit=1`);
      return (JSON.parse(text) as { total: number }).total;
    } finally {
      connection.close();
    }
  }
}

/** Pops a batch and settles it; answers how many messages that were. */
async function settle(
  connection: Connection,
  how: { readonly queue: string; readonly status: Mood; readonly latency: LatencyRecord },
): Promise<number> {
  const query = `batch=${STORM_BATCH}&partitions=1&consumerGroup=g&subscriptionMode=all`;
  const popped = await connection.request('GET', `/api/v1/pop/queue/${how.queue}?${query}`);
  if (popped.status !== 200) return 0;
  const { messages } = JSON.parse(popped.text) as { messages: Popped[] };
  const acknowledgments = messages.map(({ transactionId, partitionId, leaseId }) => ({
    ...{ transactionId, partitionId, leaseId, status: how.status, error: 'spoiled' },
  }));
  const from = performance.now();
  const body = JSON.stringify({ consumerGroup: 'g', acknowledgments });
  const acked = await connection.request('POST', '/api/v1/ack/batch', body);
  how.latency.add(performance.now() - from);
  if (acked.status !== 200 || acked.text.includes('"success":false')) {
    throw new Error(`ack: ${acked.status} ${acked.text.slice(0, 300)}`);
  }
  return messages.length;
}
