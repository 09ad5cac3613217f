/**
 * One run from one seed: a cluster, clients, and weather drawn for this run (delays, losses, cuts,
 * crashes with and without power, failed syncs, pauses, clock jumps, planned stops). Then everything
 * heals, and the cluster must converge, keep each promise and drain.
 */
import { nodeId } from '../../../src/common/ids.js';
import type { ClusterTiming } from '../../../src/raft/group/cluster/cluster-parts.js';
import type { Tables } from '../../../src/machine/tables/tables.js';
import type { GroupLog } from '../../../src/raft/group/ports.js';
import { Prng } from '../core/prng.js';
import { Clients } from './clients.js';
import type { LockClients } from './lock-clients.js';
import { Operator } from './operator.js';
import { Oracle, Violation } from './oracle.js';
import { SimNetwork, type NetworkWeather } from './sim-network.js';
import { SimNode } from './sim-node.js';
import { halfDone } from './transactions.js';
import { VirtualTime } from './virtual-time.js';

const SECOND = 1_000_000;
/** For an operator to make every node a voter, in calm weather. */
const FINISH_SECONDS = 180;

export interface SimReport {
  readonly seed: number;
  readonly hash: string;
  readonly simulatedSeconds: number;
  readonly events: number;
  readonly elections: number;
  readonly entries: number;
  readonly crashes: number;
  readonly cuts: number;
  /** Snapshots that were loaded. */
  readonly reloads: number;
  readonly counts: Clients['counts'] & LockClients['counts'];
  /** Null in a run without membership changes. */
  readonly changes: Operator['counts'] | null;
}

/** Thrown with what is needed to look at the run again. */
export class SimFailure extends Error {
  override readonly name = 'SimFailure';

  constructor(seed: number, cause: unknown, lines: readonly string[]) {
    const text = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    super(`seed ${seed}: ${text}\n${lines.slice(-40).join('\n')}`);
  }
}

export interface SimOptions {
  readonly seed: number;
  /** Seconds of bad weather. */
  readonly stormSeconds?: number;
  /** An operator changes the membership meanwhile; by default in every second seed. */
  readonly membership?: boolean;
}

export async function runSeed(options: SimOptions): Promise<SimReport> {
  const { seed, stormSeconds, membership } = options;
  const simulation = new Simulation(seed, stormSeconds ?? 20, membership ?? seed % 2 === 0);
  return simulation.run();
}

class Simulation {
  private readonly prng: Prng;
  private readonly time = new VirtualTime();
  private readonly weather: NetworkWeather;
  private readonly network: SimNetwork;
  private readonly nodes: SimNode[];
  private readonly oracle: Oracle;
  private readonly clients: Clients;
  private readonly operator: Operator | null;
  private readonly lines: string[] = [];
  private crashes = 0;
  private cuts = 0;
  private reloads = 0;
  /** The node whose disk failed a sync. */
  private liar: SimNode | null = null;
  private storm = true;
  private broken: Error | null = null;

  constructor(
    private readonly seed: number,
    private readonly stormSeconds: number,
    changesMembership: boolean,
  ) {
    const prng = (this.prng = new Prng(seed));
    const { time } = this;
    this.weather = {
      minMicros: 50 + prng.below(300),
      maxMicros: prng.pick([1_000, 5_000, 40_000]),
      drop: prng.pick([0, 0, 0.01, 0.1]),
      duplicate: prng.pick([0, 0.02, 0.1]),
    };
    this.oracle = new Oracle(
      () => time.nowMs,
      (node, index) => this.nodes[node - 1]?.wal?.termAt(index as never),
    );
    this.network = new SimNetwork({
      ...{ time, prng, weather: this.weather },
      sent: (message) => this.oracle.sent(message),
    });
    const members = prng.chance(0.2) ? [1, 2, 3, 4, 5] : [1, 2, 3];
    const timing = timingOf(prng);
    const segmentBytes = prng.pick([20_000, 200_000, 4_000_000]);
    const diskMicros = prng.pick([200, 2_000, 15_000]);
    const spare = changesMembership ? [members.length + 1] : [];
    this.nodes = [...members, ...spare].map(
      (id) =>
        new SimNode({
          ...{ id, members, time, prng, timing, segmentBytes, diskMicros },
          joins: spare.includes(id),
          connect: () => this.network.port(nodeId(id)),
          restart: (node) => this.reload(node),
          log: this.log(id),
          applied: (node, entry, machine, tables) => {
            this.oracle.applied(node, entry, machine);
            this.checkWhole(node, tables, `after entry ${entry.index}`);
          },
          opened: (node, tables) => this.checkWhole(node, tables, 'after its boot'),
        }),
    );
    this.clients = new Clients({ time, prng, nodes: this.nodes, oracle: this.oracle });
    this.operator = changesMembership ? this.buildOperator(spare) : null;
  }

  private buildOperator(fresh: readonly number[]): Operator {
    const { time, prng, nodes, oracle } = this;
    return new Operator({
      ...{ time, prng, nodes, oracle, fresh },
      say: (line) => this.lines.push(`${time.nowMs} operator: ${line}`),
      replaceDisk: (node) => {
        node.wipe();
        this.crash(node, false);
      },
    });
  }

  async run(): Promise<SimReport> {
    this.time.install();
    try {
      for (const node of this.nodes) this.boot(node);
      void this.guard(this.clients.register());
      await this.until(3);
      const clients = 2 + this.prng.below(8);
      for (let i = 0; i < clients; i += 1) this.clients.start(5_000 + this.prng.below(100_000));
      this.scheduleFault();
      this.operator?.start();
      await this.until(3 + this.stormSeconds);
      await this.heal();
      await this.finishChanges();
      await this.converge();
      await this.checkContents();
    } catch (error) {
      throw new SimFailure(this.seed, error, this.lines);
    } finally {
      for (const node of this.nodes) node.crash(false);
      await this.time.runUntil(this.time.nowMicros + SECOND).catch(() => undefined);
      this.time.uninstall();
    }
    return this.report();
  }

  /** A transaction is there with all its parts, or with none. */
  private checkWhole(node: number, tables: Tables, when: string): void {
    const half = halfDone(tables);
    if (half !== null) this.oracle.fail(`node ${node} has half a transaction ${when}: ${half}`);
  }

  private report(): SimReport {
    const { seed, time, oracle, crashes, cuts, reloads } = this;
    return {
      ...{ seed, crashes, cuts, reloads, events: time.events },
      counts: { ...this.clients.counts, ...this.clients.locks.counts },
      changes: this.operator?.counts ?? null,
      hash: oracle.traceHash(),
      simulatedSeconds: time.nowMicros / SECOND,
      elections: oracle.elections,
      entries: oracle.history.length,
    };
  }

  private async until(seconds: number, done: () => boolean = () => false): Promise<void> {
    await this.time.runUntil(seconds * SECOND, () => this.isBroken() || done());
    if (this.oracle.failure !== null) throw this.oracle.failure;
    if (this.broken !== null) throw this.broken;
  }

  private isBroken(): boolean {
    return this.broken !== null || this.oracle.failure !== null;
  }

  private async guard(work: Promise<unknown>): Promise<void> {
    try {
      await work;
    } catch (error) {
      this.broken ??= asError(error);
    }
  }

  // --- nodes ---------------------------------------------------------------------------------------

  private boot(node: SimNode): void {
    if (node.isUp || node.refused !== null) return;
    this.time.after(
      1,
      () => {
        const { boots } = node;
        const started = node.start();
        started.then(
          // Its disk was exchanged while it started.
          () => (node.isToBeEmptied ? this.crash(node, false) : undefined),
          (error: unknown) => this.bootFailed(node, boots + 1, error),
        );
      },
      node.id,
    );
  }

  /** A node whose disk lied may refuse; any other refusal is a failure of ours. */
  private bootFailed(node: SimNode, boot: number, error: unknown): void {
    if (node.boots !== boot || !node.isUp || node === this.liar) return;
    if (this.operator?.mayBeRefused(node, error) === true) {
      this.crash(node, false);
      return;
    }
    this.broken ??= asError(error);
  }

  private crash(node: SimNode, power: boolean): void {
    if (!node.isUp) return;
    this.crashes += 1;
    this.lines.push(`${this.time.nowMs} node ${node.id} ${power ? 'loses power' : 'is killed'}`);
    this.oracle.note(`crash ${node.id}`);
    node.crash(power);
    this.time.after(this.prng.below(4 * SECOND), () => this.boot(node), 0);
  }

  /** The node ended to load a snapshot. */
  private reload(node: SimNode): void {
    this.reloads += 1;
    this.lines.push(`${this.time.nowMs} node ${node.id} ends to load a snapshot`);
    this.time.after(1, () => node.crash(false), 0);
    this.time.after(1 + this.prng.below(SECOND), () => this.boot(node), 0);
  }

  private replan(node: SimNode): void {
    this.lines.push(`${this.time.nowMs} node ${node.id} is stopped`);
    const stopped = this.time.as(node.id, () => node.stop());
    void this.guard(
      stopped.then(() => {
        this.time.after(this.prng.below(SECOND), () => this.boot(node), 0);
      }),
    );
  }

  // --- weather -------------------------------------------------------------------------------------

  private scheduleFault(): void {
    const every = this.prng.pick([300_000, 1_000_000, 3_000_000]);
    const next = (): void => {
      if (!this.storm) return;
      this.fault();
      this.time.after(this.prng.below(every * 2), next, 0);
    };
    this.time.after(every, next, 0);
  }

  private fault(): void {
    const { prng, nodes, time, network } = this;
    const node = prng.pick(nodes);
    const other = prng.pick(nodes);
    const choice = prng.next();
    if (choice < 0.25) this.crash(node, prng.chance(0.6));
    else if (choice < 0.45) this.partition(node);
    else if (choice < 0.55) this.cutOneWay(node, other);
    else if (choice < 0.7) network.heal();
    else if (choice < 0.8) {
      this.lines.push(`${time.nowMs} node ${node.id} is paused`);
      time.pause(node.id, prng.below(4 * SECOND));
    } else if (choice < 0.88) node.skewMicros = prng.below(300_000) - 150_000;
    else if (choice < 0.95 && node.isUp) this.replan(node);
    else this.failSync(node);
  }

  /** The node, sometimes with one more, on one side. */
  private partition(node: SimNode): void {
    const { prng, nodes, network } = this;
    const side = new Set([node.id]);
    if (nodes.length > 3 || prng.chance(0.2)) side.add(prng.pick(nodes).id);
    this.cuts += 1;
    this.lines.push(`${this.time.nowMs} cut off: ${[...side].join(', ')}`);
    for (const a of nodes) {
      for (const b of nodes) {
        if (side.has(a.id) !== side.has(b.id)) network.cut(nodeId(a.id), nodeId(b.id));
      }
    }
  }

  private cutOneWay(from: SimNode, to: SimNode): void {
    if (from === to) return;
    this.cuts += 1;
    this.lines.push(`${this.time.nowMs} cut ${from.id} > ${to.id}`);
    this.network.cut(nodeId(from.id), nodeId(to.id));
  }

  /** The node stops at a failed sync; what it had not synced is gone. */
  private failSync(node: SimNode): void {
    if (!node.isUp || this.liar !== null) return;
    this.liar = node;
    this.lines.push(`${this.time.nowMs} node ${node.id}: a sync will fail`);
    node.files.failAfter('fdatasync', 1, 'EIO');
    this.time.after(
      2 * SECOND,
      () => {
        this.crash(node, true);
        this.liar = null;
      },
      0,
    );
  }

  // --- afterwards ----------------------------------------------------------------------------------

  private async heal(): Promise<void> {
    const { weather, network, nodes, time } = this;
    this.storm = false;
    this.clients.stopped = true;
    if (this.operator !== null) this.operator.stopped = true;
    Object.assign(weather, { drop: 0, duplicate: 0 });
    network.heal();
    for (const node of nodes) time.pause(node.id, 0);
    await this.until(time.nowMicros / SECOND + 12);
    for (const node of nodes) this.boot(node);
    await this.until(time.nowMicros / SECOND + 12);
  }

  /** Whatever was begun or left in doubt can be brought to its end: every node a voter again. */
  private async finishChanges(): Promise<void> {
    const { operator, time } = this;
    if (operator === null) return;
    let finished = false;
    void this.guard(operator.finish().then(() => (finished = true)));
    await this.until(time.nowMicros / SECOND + FINISH_SECONDS, () => finished);
    if (!finished) throw new Violation(`the membership could not be finished: ${operator.state()}`);
  }

  private async converge(): Promise<void> {
    const { time, nodes } = this;
    const isCalm = (): boolean => {
      const states = nodes.map((node) => node.group?.status());
      const indexes = new Set(states.map((state) => state?.applied));
      return indexes.size === 1 && states.some((state) => state?.role === 'leader');
    };
    await this.until(time.nowMicros / SECOND + 20, isCalm);
    if (!isCalm()) {
      const shown = nodes.map((node) => JSON.stringify(node.group?.status() ?? null));
      throw new Violation(`the cluster did not converge:\n${shown.join('\n')}`);
    }
    let drained = false;
    void this.guard(this.clients.drain().then(() => (drained = true)));
    await this.until(time.nowMicros / SECOND + 120, () => drained);
    if (!drained) throw new Violation('the queue did not drain');
    await this.until(time.nowMicros / SECOND + 5, isCalm);
  }

  /** Every acknowledged message stands once, at its place, on every node, and was delivered. */
  private async checkContents(): Promise<void> {
    const { nodes, oracle, time } = this;
    let checked = 0;
    for (const node of nodes) {
      const work = this.time.as(node.id, () => this.contentsOf(node));
      void this.guard(work.then(() => (checked += 1)));
    }
    await this.until(time.nowMicros / SECOND + 10, () => checked === nodes.length);
    if (checked < nodes.length) throw new Violation('the messages could not be read');
    for (const place of oracle.places.values()) {
      if (!oracle.delivered.has(place)) oracle.fail(`${place} was never delivered`);
    }
  }

  private async contentsOf(node: SimNode): Promise<void> {
    const { group } = node;
    const { oracle } = this;
    if (group === null) throw new Violation(`node ${node.id} is not up`);
    const seen = new Set<string>();
    for (const [partition, offsets] of oracle.acknowledged) {
      const last = Math.max(...offsets.keys());
      for (const message of await group.readMessages(partition, 0, last)) {
        const id = Buffer.from(message.transactionId).toString();
        if (seen.has(id)) oracle.fail(`${id} stands twice`);
        seen.add(id);
        const expected = offsets.get(message.offset);
        if (expected !== undefined && expected !== id) {
          oracle.fail(`${partition}/${message.offset} holds ${id}, ${expected} was answered`);
        }
      }
      for (const id of offsets.values()) if (!seen.has(id)) oracle.fail(`${id} is lost`);
    }
  }

  private log(node: number): GroupLog {
    const write =
      (level: string) =>
      (event: string, fields: Readonly<Record<string, unknown>> = {}): void => {
        const { time, lines } = this;
        lines.push(`${time.nowMs} [${node}] ${level} ${event} ${JSON.stringify(fields)}`);
        if (lines.length > 2_000) lines.splice(0, 1_000);
      };
    return { info: write('info'), warn: write('warn'), error: write('error') };
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Violation(String(error));
}

function timingOf(prng: Prng): ClusterTiming {
  return {
    tickMs: 100,
    electionTicks: 10,
    heartbeatTicks: 1,
    pipelineEntries: prng.pick([1, 2, 8]),
    logCacheBytes: prng.pick([1, 2_000, 1_000_000]),
    leaderLeaseMs: 400,
    readyLagEntries: 1000,
    bootWaitMs: 5_000,
    // Short logs, so that a member that was away needs a snapshot.
    logKeepEntries: prng.pick([20, 200, 4_096]),
    purgeHoldMs: prng.pick([0, 1_000, 600_000]),
  };
}
