/**
 * A queue of very many partitions: memory of each with one cursor, cost of a push beside few and many
 * parked pops, stalls under load, and how long a restart takes to be ready.
 */
import { atMost, type Budget } from './budgets.js';
import { Connection, requestBytes } from './connection.js';
import { createCursors, createLanes } from './lanes.js';
import { measure, type Measurement } from './measure.js';
import { PushLedger } from './push-ledger.js';
import { PushLoad } from './push-load.js';
import type { PushShape } from './push-template.js';
import { processFigures } from './process-figures.js';
import { rssMib, type Scene } from './scene.js';
import { sleep, type ServerProcess } from './server-process.js';

const MIB = 1024 * 1024;
const QUEUE = 'many';
const FEW_PARKED = 50;
const MANY_PARKED = 5000;
/** Partitions that are pushed to while pops are parked at the others. */
const BUSY_PARTITIONS = 1000;
const SETTLE_MS = 3000;
const WINDOW = { warmupMs: 1000, measureMs: 5000 };

export interface ManyPartitionsFigures {
  readonly lines: readonly string[];
  readonly budgets: readonly Budget[];
  readonly measurements: readonly Measurement[];
  readonly ledgers: readonly PushLedger[];
}

export class ManyPartitions {
  private readonly lines: string[] = [];
  private readonly budgets: Budget[] = [];
  private readonly measurements: Measurement[] = [];
  private readonly ledgers: PushLedger[] = [];

  constructor(
    private readonly scene: Scene,
    private readonly partitions: number,
    private readonly say: (line: string) => void,
  ) {}

  async run(): Promise<ManyPartitionsFigures> {
    let broker = await this.scene.broker();
    await sleep(SETTLE_MS);
    const idle = rssMib(broker) ?? 0;
    this.line(`RSS idle ${idle.toFixed(0)} MB`);
    await this.fillPartitions(broker);
    await this.fillCursors(broker);
    await this.pushBesideParked(broker);
    broker = await this.restart(broker, 'SIGTERM', idle);
    broker = await this.restart(broker, 'SIGKILL', idle);
    await broker.stop();
    const { lines, budgets, measurements, ledgers } = this;
    return { lines, budgets, measurements, ledgers };
  }

  private line(text: string): void {
    this.lines.push(text);
    this.say(text);
  }

  private async fillPartitions(broker: ServerProcess): Promise<void> {
    const { ledger, seconds } = await createLanes(broker.port, { queue: QUEUE }, this.partitions);
    this.ledgers.push(ledger);
    this.line(
      `${this.partitions} partitions created by pushes of 100 in ${seconds.toFixed(1)} s, RSS ${this.rss(broker)} MB`,
    );
  }

  private async fillCursors(broker: ServerProcess): Promise<void> {
    const place = { queue: QUEUE, group: 'one' };
    const { messages, seconds } = await createCursors(broker.port, place, this.partitions);
    this.line(
      `${messages} cursors created by pops of 64 partitions in ${seconds.toFixed(1)} s, RSS ${this.rss(broker)} MB`,
    );
  }

  private async pushBesideParked(broker: ServerProcess): Promise<void> {
    const costs: number[] = [];
    for (const parked of [FEW_PARKED, MANY_PARKED]) {
      const waiting = await this.park(broker, Math.min(parked, this.partitions / 2));
      await sleep(1000);
      const pushed = await this.push(broker, `push b1 100B beside ${parked} parked pops`);
      costs.push(pushed.cpuSecondsPerMillionMessages ?? 0);
      for (const connection of waiting) connection.close();
      await sleep(1000);
    }
    const [few = 0, many = 0] = costs;
    this.budgets.push(
      atMost(`push CPU with ${MANY_PARKED} / ${FEW_PARKED} parked pops`, many / few, 1.25),
    );
    const reached = this.measurements.at(-1)?.requestsPerSecond ?? 0;
    const half = await this.push(broker, 'half load at many partitions', reached / 2);
    this.line(
      `half load: p99 ${half.latency.p99Ms.toFixed(2)} ms, longest answer ${half.latency.maxMs.toFixed(1)} ms`,
    );
  }

  private async push(broker: ServerProcess, name: string, rate?: number): Promise<Measurement> {
    const shape: PushShape = {
      ...{ queue: QUEUE, batch: 1, payloadBytes: 100, spread: false },
      partitions: Math.min(BUSY_PARTITIONS, this.partitions / 2),
    };
    const ledger = new PushLedger(shape);
    ledger.requests = this.ledgers.at(-1)?.requests ?? 0;
    const result = await measure({ name, round: 1, pid: broker.pid }, WINDOW, () =>
      PushLoad.run({
        ...{ port: broker.port, ledger, connections: 50, ...WINDOW },
        ...(rate === undefined ? {} : { rate }),
      }),
    );
    this.measurements.push(result);
    return result;
  }

  /** Pinned pops at partitions of the far end, with a cursor at their end: nothing wakes them. */
  private async park(broker: ServerProcess, count: number): Promise<readonly Connection[]> {
    const waiting: Connection[] = [];
    for (let i = 0; i < count; i += 1) {
      const connection = await Connection.open(broker.port);
      const name = `p${String(this.partitions - 1 - i).padStart(7, '0')}`;
      const path = `/api/v1/pop/queue/${QUEUE}/partition/${name}?consumerGroup=one&wait=true&timeout=60000`;
      connection.send(requestBytes('GET', path));
      waiting.push(connection);
    }
    return waiting;
  }

  private async restart(
    broker: ServerProcess,
    how: 'SIGTERM' | 'SIGKILL',
    idleMib: number,
  ): Promise<ServerProcess> {
    const stopFrom = performance.now();
    if (how === 'SIGTERM') await broker.stop();
    else await broker.kill();
    const from = performance.now();
    const next = await this.scene.broker();
    const seconds = (performance.now() - from) / 1000;
    const cpu = processFigures(next.pid)?.cpuSeconds ?? 0;
    await sleep(SETTLE_MS);
    const rss = rssMib(next) ?? 0;
    this.line(
      `${how}: stopped in ${((from - stopFrom) / 1000).toFixed(2)} s, ready again after ${seconds.toFixed(2)} s (${cpu.toFixed(1)} s of CPU), RSS ${rss.toFixed(0)} MB`,
    );
    this.budgets.push(
      atMost(`restart after ${how} with ${this.partitions} partitions, s`, seconds, 10),
      atMost(
        `memory per partition with one cursor after ${how}, B`,
        ((rss - idleMib) * MIB) / this.partitions,
        400,
      ),
    );
    return next;
  }

  private rss(broker: ServerProcess): string {
    return (rssMib(broker) ?? 0).toFixed(0);
  }
}
