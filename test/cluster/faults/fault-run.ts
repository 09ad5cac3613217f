/**
 * Faults on a cluster of real processes under mixed load, one after the other. After each the cluster
 * must be whole again, the load holds still, and the ledger of every promise is checked: acknowledged
 * pushes exactly once and in order, settled messages never again, live leases alone, old pushes and
 * acks recognised. The longest outage of a client is measured per fault.
 */
import { Prng } from '../../../src/common/prng.js';
import { sleep } from '../../bench/http/server-process.js';
import { Auditor } from '../../crash/audit.js';
import type { ClusterTarget } from '../../crash/client.js';
import { runConsumer } from '../../crash/consumer.js';
import { Gate } from '../../crash/gate.js';
import { Ledger } from '../../crash/ledger.js';
import { runProducer } from '../../crash/producer.js';
import { GROUPS, type WorkerParts } from '../../crash/scenario.js';
import { ClusterProcesses } from '../../support/cluster-processes.js';
import type { FaultCase } from './fault-list.js';
import { OutageProbe } from './outage-probe.js';

const PRODUCERS = 2;
const CONSUMERS_PER_GROUP = 2;
/** A worker may wait for a busy node; the probe wants to be elsewhere soon. */
const WORKER_ATTEMPT_MS = 5_000;
const PROBE_ATTEMPT_MS = 1_000;
const AUDIT_ATTEMPT_MS = 20_000;
const READY_MS = 60_000;
/** Load before a fault, and the time in which the cluster shows that it is calm. */
const LOAD_MS = 800;
const CALM_MS = 300;
const QUIET = 'no fault (noise of this machine)';
/** Lines of a node that explain an outage. */
const TELLING = / (raft|shutdown|boot|rsm|apply)\b|leader|WARN|ERROR|FATAL/;
const HANDED_OFF = /leadership handed off.*\bms=(\d+)/;

export interface Outage {
  readonly fault: string;
  readonly ms: number;
  readonly limitMs: number;
  readonly why: string;
  /** How long leadership took to change hands, as the stopping leaders logged it. */
  readonly handOffsMs: readonly number[];
}

export interface FaultRunOptions {
  readonly seed: number;
  readonly say?: (line: string) => void;
  /** What the nodes logged during a fault whose outage is longer than this is printed. */
  readonly explainMs?: number;
}

export class FaultRun {
  readonly outages: Outage[] = [];
  private readonly gate = new Gate();
  private readonly random: Prng;
  private readonly auditor: Auditor;
  private probes: readonly OutageProbe[] = [];
  private workerError: Error | null = null;
  private workers: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly cluster: ClusterProcesses,
    readonly ledger: Ledger,
    private readonly options: FaultRunOptions,
  ) {
    this.random = new Prng(options.seed);
    const target = targetOf(cluster, AUDIT_ATTEMPT_MS);
    this.auditor = new Auditor(target, ledger, new Prng(options.seed));
  }

  static async start(options: FaultRunOptions): Promise<FaultRun> {
    const cluster = await ClusterProcesses.start({ faulty: true });
    const run = new FaultRun(cluster, new Ledger(), options);
    try {
      await cluster.leader(cluster.ids, READY_MS);
      run.startLoad();
      await run.one({ name: QUIET, limitMs: Infinity, run: () => sleep(2_000) });
      return run;
    } catch (error) {
      await run.stop();
      throw error;
    }
  }

  async one(fault: FaultCase): Promise<void> {
    const { cluster, ledger } = this;
    await sleep(LOAD_MS);
    await this.calm();
    const leader = await cluster.leader(cluster.ids, READY_MS);
    const [a = 0, b = 0] = cluster.ids.filter((id) => id !== leader);
    for (const probe of this.probes) probe.take();
    const marks = cluster.ids.map((id) => ({ id, mark: cluster.node(id).logged }));
    await fault.run({ cluster, leader, followers: [a, b] });
    await this.calm();
    const lines = marks.flatMap(({ id, mark }) =>
      cluster
        .node(id)
        .since(mark)
        .map((line) => `node ${id}: ${line}`),
    );
    this.noteOutage(fault, lines);
    await this.audit(() => this.auditor.readGrowth());
    this.gate.open();
    const { ms, why } = this.outages.at(-1) ?? { ms: 0, why: '' };
    const { say, explainMs = Infinity } = this.options;
    if (ms > explainMs) {
      say?.(`${why}\n${lines.filter((line) => TELLING.test(line)).join('\n')}`);
    }
    say?.(
      `${fault.name}: outage ${ms} ms; ${ledger.acknowledgedMessages} messages and ` +
        `${ledger.counts.acks} acks acknowledged, ${ledger.violations.count} violations`,
    );
  }

  /** The last word: everything once more through a fresh group, then every group to its end. */
  async finish(): Promise<void> {
    await this.calm();
    await this.audit(() => this.auditor.readWhole());
    this.gate.end();
    await this.workers;
    this.throwWorkerError();
    await this.auditor.drain(this.gate);
  }

  async stop(): Promise<void> {
    this.gate.end();
    await Promise.all(this.probes.map((probe) => probe.end()));
    await this.workers;
    await this.cluster.remove();
  }

  logs(): string {
    return this.cluster.logs();
  }

  private async audit(read: () => Promise<void>): Promise<void> {
    await this.gate.close();
    this.throwWorkerError();
    await read();
    await this.auditor.probeDedup();
    await this.auditor.probeAcks();
  }

  private noteOutage({ name, limitMs }: FaultCase, lines: readonly string[]): void {
    const gaps = this.probes.map((probe) => probe.take());
    const worst = gaps.reduce((a, b) => (b.ms > a.ms ? b : a));
    const handOffsMs = lines
      .map((line) => HANDED_OFF.exec(line)?.[1])
      .filter((ms) => ms !== undefined)
      .map(Number);
    this.outages.push({ fault: name, limitMs, ...worst, handOffsMs });
  }

  /** Every node ready under one leader that stays. */
  private async calm(): Promise<void> {
    const { cluster } = this;
    let since = performance.now();
    let before = '';
    await cluster.until(
      async () => {
        const all = await Promise.all(cluster.ids.map((id) => cluster.health(id)));
        const now = all.map((health) => `${health?.status} ${health?.role} ${health?.term}`);
        const isWhole =
          all.every((health) => health?.status === 200) &&
          all.filter((health) => health?.role === 'leader').length === 1;
        if (!isWhole || now.join() !== before) since = performance.now();
        before = now.join();
        return performance.now() - since >= CALM_MS;
      },
      { withinMs: READY_MS, what: 'three ready nodes under one leader' },
    );
  }

  private startLoad(): void {
    const { ledger, gate, random, cluster } = this;
    const port = targetOf(cluster, WORKER_ATTEMPT_MS);
    const parts = (): WorkerParts => ({
      ...{ port, ledger, gate },
      random: new Prng(random.nextUint32()),
    });
    const workers = [
      ...Array.from({ length: PRODUCERS }, (_, i) => runProducer(i, parts())),
      ...GROUPS.flatMap((group) =>
        Array.from({ length: CONSUMERS_PER_GROUP }, () => runConsumer(group, parts())),
      ),
    ];
    this.workers = Promise.all(
      workers.map((worker) =>
        worker.catch((error: unknown) => {
          this.workerError ??= error instanceof Error ? error : new Error(String(error));
        }),
      ),
    );
    const probed = targetOf(cluster, PROBE_ATTEMPT_MS);
    this.probes = cluster.ids.map((_, i) => new OutageProbe(probed, i));
  }

  private throwWorkerError(): void {
    if (this.workerError !== null) throw this.workerError;
  }
}

function targetOf(cluster: ClusterProcesses, attemptMs: number): ClusterTarget {
  return { ports: cluster.ids.map((id) => cluster.node(id).ports.http), attemptMs };
}

/** Markdown: the outages of each fault, over all rounds. */
export function outageTable(outages: readonly Outage[]): string {
  const rows = new Map<string, Outage[]>();
  for (const outage of outages) {
    const row = rows.get(outage.fault) ?? [];
    rows.set(outage.fault, row);
    row.push(outage);
  }
  const lines = [...rows].map(([fault, all]) => {
    const each = all.map(({ ms }) => ms).sort((a, b) => a - b);
    const longest = each.at(-1) ?? 0;
    const median = each[Math.floor((each.length - 1) / 2)] ?? 0;
    const limitMs = all[0]?.limitMs ?? Infinity;
    const limit = Number.isFinite(limitMs) ? `${limitMs}` : '-';
    const late = longest > limitMs ? ' **late**' : '';
    const handOffs = all.flatMap(({ handOffsMs }) => handOffsMs);
    const slowest = handOffs.length === 0 ? '-' : `${Math.max(...handOffs)}`;
    return `| ${fault} | ${all.length} | ${median} | ${longest}${late} | ${limit} | ${slowest} |`;
  });
  return [
    '| Fault | Times | Median outage, ms | Longest outage, ms | Limit, ms | Slowest hand-off in the logs, ms |',
    '|---|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}
