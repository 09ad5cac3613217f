/**
 * Runs rounds of cases over one broker and one baseline process. In each round the baseline of a shape
 * runs right before the cases that are compared with it, so that both see the same machine.
 */
import { runBaseline } from './baseline-load.js';
import { connectionsOf, JSON_BASELINE, scanName, type BenchCase } from './cases.js';
import type { LoadWindow } from './load.js';
import { measure, type Measurement } from './measure.js';
import { PopLoad } from './pop-load.js';
import { PushLedger } from './push-ledger.js';
import { PushLoad } from './push-load.js';
import type { PushShape } from './push-template.js';

/** Messages stored before a pop case, by batch: more than its window consumes on this hardware. */
const FILL_PER_SECOND: Readonly<Record<number, number>> = { 1: 8000, 10: 40_000, 100: 100_000 };
const FILL_BATCH = 100;
const FILL_CONNECTIONS = 10;
const NO_WARMUP: LoadWindow = { warmupMs: 0, measureMs: 600_000 };
const MAX_POP_PARTITIONS = 64;

/** One node or a cluster: `ports` and `pids` are those of all nodes then. */
export interface Served {
  readonly port: number;
  readonly pid: number;
  readonly ports?: readonly number[];
  readonly pids?: readonly number[];
}

export interface Servers {
  readonly broker: Served;
  /** Absent where something else is compared with. */
  readonly baseline?: Served;
}

export interface RoundsOptions extends LoadWindow {
  readonly rounds: number;
  readonly cases: readonly BenchCase[];
  readonly report: (measurement: Measurement) => void;
  /** Behind the name of every case. */
  readonly suffix?: string;
}

export class Rounds {
  readonly measurements: Measurement[] = [];
  /** Of every queue that was written to, for the verifier. */
  readonly ledgers: PushLedger[] = [];
  private round = 0;

  constructor(
    private readonly servers: Servers,
    private readonly options: RoundsOptions,
  ) {}

  async run(): Promise<void> {
    for (let round = 1; round <= this.options.rounds; round += 1) await this.one(round);
  }

  async one(round: number): Promise<void> {
    this.round = round;
    let baseline = '';
    for (const benchCase of this.options.cases) {
      const needed = scanName(benchCase);
      if (benchCase.kind === 'push' && needed !== baseline) {
        baseline = needed;
        if (benchCase.batch === 1) await this.baseline(benchCase, JSON_BASELINE);
        await this.baseline(benchCase, needed);
      }
      await this.runCase(benchCase);
    }
  }

  private runCase(benchCase: BenchCase): Promise<void> {
    switch (benchCase.kind) {
      case 'push':
        return this.push(benchCase);
      case 'half-load':
        return this.halfLoad(benchCase);
      case 'pop':
        return this.pop(benchCase);
      case 'mixed':
        return this.mixed(benchCase);
    }
  }

  private async baseline(benchCase: BenchCase, name: string): Promise<void> {
    const { baseline } = this.servers;
    if (baseline === undefined) return;
    const { warmupMs, measureMs } = this.options;
    const shape = { ...shapeOf(benchCase, 'baseline'), spread: false };
    await this.measure(name, baseline, () =>
      runBaseline({
        port: baseline.port,
        path: name === JSON_BASELINE ? '/json' : '/scan',
        shape,
        connections: connectionsOf(benchCase),
        ...{ warmupMs, measureMs },
      }),
    );
  }

  private async push(benchCase: BenchCase, rate?: number): Promise<void> {
    const { broker } = this.servers;
    const { warmupMs, measureMs } = this.options;
    const ledger = this.ledger(shapeOf(benchCase, this.queueOf(benchCase)));
    await this.measure(this.nameOf(benchCase), broker, () =>
      PushLoad.run({
        ...{ ...placeOf(broker), ledger, warmupMs, measureMs },
        connections: connectionsOf(benchCase),
        ...(rate === undefined ? {} : { rate }),
      }),
    );
  }

  /** Half of what the same shape reached in this round. */
  private async halfLoad(benchCase: BenchCase): Promise<void> {
    const full = this.nameOf(benchCase).replace('half-load', 'push');
    const reached = this.measurements.findLast(({ name }) => name === full);
    if (reached !== undefined) await this.push(benchCase, reached.requestsPerSecond / 2);
  }

  private async pop(benchCase: BenchCase): Promise<void> {
    const { broker } = this.servers;
    const { warmupMs, measureMs } = this.options;
    const seconds = (warmupMs + measureMs) / 1000;
    const wanted = Math.ceil((FILL_PER_SECOND[benchCase.batch] ?? 0) * seconds);
    const ledger = await this.fill(benchCase, wanted);
    const perPartition = Math.max(1, ledger.acknowledgedMessages / benchCase.partitions);
    await this.measure(this.nameOf(benchCase), broker, () =>
      PopLoad.run({
        ...{ ...placeOf(broker), warmupMs, measureMs },
        queue: ledger.shape.queue,
        group: 'bench',
        batch: benchCase.batch,
        partitions: Math.min(MAX_POP_PARTITIONS, Math.ceil(benchCase.batch / perPartition)),
        commitOnDelivery: benchCase.commitOnDelivery,
        available: ledger.acknowledgedMessages,
        connections: connectionsOf(benchCase),
      }),
    );
  }

  /** Fills the partitions one after the other, at most 100 messages at a time. */
  private async fill(benchCase: BenchCase, wanted: number): Promise<PushLedger> {
    const queue = this.queueOf(benchCase);
    const batch = Math.max(1, Math.min(FILL_BATCH, Math.floor(wanted / benchCase.partitions)));
    const shape = { ...shapeOf(benchCase, queue), batch, spread: false, sequential: true };
    const ledger = this.ledger(shape);
    await PushLoad.run({
      ...{ ...placeOf(this.servers.broker), ledger, connections: FILL_CONNECTIONS },
      ...NO_WARMUP,
      enough: () => ledger.requests * batch >= wanted,
    });
    return ledger;
  }

  /** Producers and consumers together; two rows, one for each side. */
  private async mixed(benchCase: BenchCase): Promise<void> {
    const { broker } = this.servers;
    const { warmupMs, measureMs } = this.options;
    const ledger = this.ledger(shapeOf(benchCase, this.queueOf(benchCase)));
    const target = { ...placeOf(broker), warmupMs, measureMs };
    const popping = this.measure(`${this.nameOf(benchCase)} pops`, broker, () =>
      PopLoad.run({
        ...{ ...target, connections: 10, queue: ledger.shape.queue, group: 'bench' },
        ...{ batch: 100, partitions: 10, commitOnDelivery: false, available: Infinity },
      }),
    );
    const pushing = this.measure(`${this.nameOf(benchCase)} pushes`, broker, () =>
      PushLoad.run({ ...target, ledger, connections: 10 }),
    );
    await Promise.all([popping, pushing]);
  }

  private async measure(
    name: string,
    { pid, pids }: Served,
    load: Parameters<typeof measure>[2],
  ): Promise<void> {
    const label = { name, round: this.round, pid, ...(pids === undefined ? {} : { pids }) };
    const result = await measure(label, this.options, load);
    this.measurements.push(result);
    this.options.report(result);
  }

  private nameOf({ name }: BenchCase): string {
    return `${name}${this.options.suffix ?? ''}`;
  }

  private ledger(shape: PushShape): PushLedger {
    const ledger = new PushLedger(shape);
    this.ledgers.push(ledger);
    return ledger;
  }

  private queueOf({ name }: BenchCase): string {
    return `${name.replace(/[^A-Za-z0-9]+/g, '-')}-r${this.round}`;
  }
}

function placeOf({ port, ports }: Served): Pick<Served, 'port' | 'ports'> {
  return ports === undefined ? { port } : { port, ports };
}

function shapeOf(benchCase: BenchCase, queue: string): PushShape {
  const { batch, payloadBytes, partitions, spread } = benchCase;
  return { queue, batch, payloadBytes, partitions, spread };
}
