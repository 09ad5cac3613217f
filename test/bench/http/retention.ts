/**
 * Retention of many messages while others are pushed at half of what the broker can take: pushes must
 * not feel it, and a minute later the data directory must hold little more than what lives. Some of the
 * removed messages were dead-lettered before, spread over all of them; they must stay readable. The messages
 * lie in three queues that are cut one after the other, each between two windows without: the p99 of
 * single windows differs by a factor of four on a shared disk, and grows with the data.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { atMost, none, type Budget } from './budgets.js';
import { connectionsOf } from './cases.js';
import { Connection } from './connection.js';
import { median } from './latency-record.js';
import { measure, type Measurement } from './measure.js';
import { PushLedger } from './push-ledger.js';
import { PushLoad } from './push-load.js';
import { table } from './report.js';
import { rssMib, type Scene } from './scene.js';
import { sleep, type ServerProcess } from './server-process.js';

const MIB = 1024 * 1024;
const BLOCK_BYTES = 512;
const OLD = ['retention-old-1', 'retention-old-2', 'retention-old-3'];
const LIVE = 'retention-live';
const BATCH = 100;
const PAYLOAD_BYTES = 1024;
const PARTITIONS = 100;
/** One message of so many is dead-lettered. */
const LETTER_SHARE = 1000;
const WARMUP_MS = 1_000;
/** One window of the comparison. */
const WINDOW_MS = 15_000;
const START_MS = 3_000;
/** The rest of the minute after the last retention, while the load goes on. */
const SETTLE_MS = 60_000 - WINDOW_MS - 2 * WARMUP_MS;
const QUIET_MS = 10_000;
const LOOKS = 10;
const LOOK_MS = 300;
const UNTIL_DONE = { warmupMs: 0, measureMs: 3_600_000 };

interface Row {
  readonly when: string;
  readonly rss: number;
  /** Heap and buffers. */
  readonly used: number;
  readonly disk: number;
  readonly live: number;
}

export interface RetentionFigures {
  readonly measurements: readonly Measurement[];
  readonly budgets: readonly Budget[];
  readonly ledgers: readonly PushLedger[];
  readonly lines: readonly string[];
}

export class RetentionRun {
  private readonly rows: Row[] = [];
  private readonly measurements: Measurement[] = [];
  private readonly old = OLD.map((queue) => new PushLedger(shapeOf(queue)));
  private readonly live = new PushLedger(shapeOf(LIVE));
  private oldMessages = 0;
  private letters = 0;

  constructor(
    private readonly scene: Scene,
    private readonly messages: number,
    private readonly say: (line: string) => void,
  ) {}

  async run(): Promise<RetentionFigures> {
    const broker = await this.scene.broker();
    await sleep(START_MS);
    await this.note('idle', broker);
    const rate = (await this.fill(broker)) / 2;
    await this.deadLetter(broker);
    await this.note(`${this.messages} messages stored`, broker);
    const { calm, cut } = await this.compare(broker, rate);
    await this.push(broker, 'half load, the rest of a minute', { rate, measureMs: SETTLE_MS });
    await this.note('a minute of retention', broker);
    const disk = this.rows.at(-1) ?? { disk: 0, live: 1 };
    await sleep(QUIET_MS);
    await this.note('quiet again', broker);
    const readable = await this.readableLetters(broker);
    const left = await retainedOld(broker);
    const stored = this.rows.find(({ when }) => when.startsWith('half load')) ?? { used: 1 };
    const used = this.rows.at(-1)?.used ?? 0;
    return {
      measurements: this.measurements,
      ledgers: [this.live],
      budgets: [
        atMost('push p99 with retention / without', median(cut) / median(calm), 2),
        atMost('du of the data directory / live bytes', disk.disk / disk.live, 1.5),
        atMost('memory in use afterwards / before retention', used / stored.used, 1.1),
        none('dead letters that cannot be read', Math.abs(this.letters - readable)),
        none('messages that retention left', left),
      ],
      lines: this.lines(),
    };
  }

  /** p99 of windows without retention and of those that began with it, in turn. */
  private async compare(
    broker: ServerProcess,
    rate: number,
  ): Promise<{ readonly calm: number[]; readonly cut: number[] }> {
    const calm: number[] = [];
    const cut: number[] = [];
    for (const [i, queue] of OLD.entries()) {
      const window = { rate, measureMs: WINDOW_MS };
      calm.push(await this.push(broker, `half load ${i + 1}`, window));
      if (i === 0) await this.note('half load for a while', broker);
      await this.retain(broker, queue);
      cut.push(await this.push(broker, `half load, retention ${i + 1}`, window));
    }
    return { calm, cut };
  }

  /** Answers the requests per second it took. */
  private async fill(broker: ServerProcess): Promise<number> {
    const each = Math.ceil(this.messages / OLD.length / BATCH);
    const from = performance.now();
    for (const ledger of this.old) {
      await PushLoad.run({
        ...{ port: broker.port, ledger, connections: connectionsOf({ batch: BATCH }) },
        ...UNTIL_DONE,
        enough: () => ledger.requests >= each,
      });
      this.oldMessages += ledger.acknowledgedMessages;
    }
    const seconds = (performance.now() - from) / 1000;
    this.say(`${this.oldMessages} messages pushed in ${seconds.toFixed(1)} s`);
    return this.oldMessages / BATCH / seconds;
  }

  /** One message of every `LETTER_SHARE`: the head of a pop is filed, the rest of it acknowledged. */
  private async deadLetter(broker: ServerProcess): Promise<void> {
    const connection = await Connection.open(broker.port);
    const query = `batch=${LETTER_SHARE}&partitions=1&consumerGroup=g&subscriptionMode=all`;
    try {
      for (let at = 0; at < OLD.length;) {
        const path = `/api/v1/pop/queue/${OLD[at]}?${query}`;
        const { status, text } = await connection.request('GET', path);
        if (status !== 200) {
          at += 1;
          continue;
        }
        const { messages } = JSON.parse(text) as { messages: Popped[] };
        const acknowledgments = messages.map(({ transactionId, partitionId, leaseId }, i) => ({
          ...{ transactionId, partitionId, leaseId, error: 'spoiled' },
          status: i === 0 ? 'dlq' : 'completed',
        }));
        const body = JSON.stringify({ consumerGroup: 'g', acknowledgments });
        const ack = await connection.request('POST', '/api/v1/ack/batch', body);
        if (ack.status !== 200) throw new Error(`ack: ${ack.status} ${ack.text}`);
        this.letters += 1;
      }
    } finally {
      connection.close();
    }
    this.say(`${this.letters} of them dead-lettered`);
  }

  private async retain(broker: ServerProcess, queue: string): Promise<void> {
    const body = { queue, options: { retentionEnabled: true, retentionSeconds: 1 } };
    await ask(broker, 'POST', '/api/v1/configure', body);
    this.oldMessages -= this.old.find(({ shape }) => shape.queue === queue)!.acknowledgedMessages;
  }

  /** Half load on the other queue; answers its p99. */
  private async push(
    broker: ServerProcess,
    name: string,
    load: { readonly rate: number; readonly measureMs: number },
  ): Promise<number> {
    const window = { warmupMs: WARMUP_MS, measureMs: load.measureMs };
    const connections = connectionsOf({ batch: BATCH });
    const result = await measure({ name, round: 1, pid: broker.pid }, window, () =>
      PushLoad.run({
        ...{ port: broker.port, ledger: this.live, connections, ...window, rate: load.rate },
      }),
    );
    this.measurements.push(result);
    return result.latency.p99Ms;
  }

  /** Dead letters whose payload comes back whole. */
  private async readableLetters(broker: ServerProcess): Promise<number> {
    let readable = 0;
    for (const queue of OLD) {
      for (let offset = 0, count = 1; count > 0; offset += 1000) {
        const path = `/api/v1/dlq?queue=${queue}&limit=1000&offset=${offset}`;
        const { messages } = (await ask(broker, 'GET', path)) as { messages: { data: unknown }[] };
        for (const { data } of messages) {
          if (JSON.stringify(data).length === PAYLOAD_BYTES) readable += 1;
        }
        count = messages.length;
      }
    }
    return readable;
  }

  private async note(when: string, broker: ServerProcess): Promise<void> {
    const stored = this.oldMessages + this.live.acknowledgedMessages;
    const live = (stored + (this.oldMessages > 0 ? 0 : this.letters)) * PAYLOAD_BYTES;
    const disk = diskBytes(this.scene.dataDirectory);
    const used = (await usedBytes(broker)) / MIB;
    const rss = rssMib(broker) ?? 0;
    this.rows.push({ when, rss, used, disk: disk / MIB, live: live / MIB });
  }

  private lines(): string[] {
    const rows = this.rows.map(({ when, rss, used, disk, live }) => [
      ...[when, rss.toFixed(0), used.toFixed(0), disk.toFixed(0), live.toFixed(0)],
      live === 0 ? '-' : (disk / live).toFixed(2),
    ]);
    return [table(['retention', 'RSS MB', 'in use MB', 'du MB', 'live MB', 'du / live'], rows)];
  }
}

interface Popped {
  readonly transactionId: string;
  readonly partitionId: string;
  readonly leaseId: string;
}

/** What a group that never read would still get of the messages that had to go. */
async function retainedOld(broker: ServerProcess): Promise<number> {
  let left = 0;
  for (const queue of OLD) {
    const path = `/api/v1/resources/queues/${queue}/depth?group=nobody`;
    left += ((await ask(broker, 'GET', path)) as { pending: number }).pending;
  }
  return left;
}

function shapeOf(queue: string): PushLedger['shape'] {
  const sizes = { batch: BATCH, payloadBytes: PAYLOAD_BYTES, partitions: PARTITIONS };
  return { queue, ...sizes, spread: false };
}

/** What the process has in use: the least of some looks, to look past garbage. */
async function usedBytes(broker: ServerProcess): Promise<number> {
  let least = Infinity;
  for (let look = 0; look < LOOKS; look += 1) {
    const { memory } = (await ask(broker, 'GET', '/metrics')) as {
      memory: { heapUsed: number; external: number };
    };
    least = Math.min(least, memory.heapUsed + memory.external);
    await sleep(LOOK_MS);
  }
  return least;
}

/** What the files take on the disk, as `du` counts it. */
export function diskBytes(directory: string): number {
  let blocks = 0;
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    // A file may go between the listing and the look.
    blocks += statSync(path, { throwIfNoEntry: false })?.blocks ?? 0;
  }
  return blocks * BLOCK_BYTES;
}

async function ask(
  { port }: ServerProcess,
  method: string,
  path: string,
  body?: object,
): Promise<unknown> {
  const connection = await Connection.open(port);
  try {
    const text = body === undefined ? '' : JSON.stringify(body);
    const answer = await connection.request(method, path, text);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return JSON.parse(answer.text) as unknown;
  } finally {
    connection.close();
  }
}
