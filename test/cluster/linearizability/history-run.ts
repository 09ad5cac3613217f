/**
 * One history: clients that ask any node about a few keys of their own and note when they asked, what,
 * and what they were told. A 503 to a write, or an answer that never came, is "unknown". The calls are
 * spread over the time before, during and after a fault that somebody else brings about.
 */
import type { KvHistory, KvInput, KvOutput } from '../../support/kv-model.js';
import { KV_MODEL } from '../../support/kv-model.js';
import { pause, type ClusterProcesses } from '../../support/cluster-processes.js';
import { checkHistory, type Operation, type Verdict } from '../../support/wgl.js';
import { WorkloadClient, type Workload } from './workloads.js';

/** No call is refused for coming too often. */
export const HISTORY_ENV = {
  QUEEN_KV_READ_RATE: '1000000',
  QUEEN_KV_READ_BURST: '1000000',
  QUEEN_KV_WRITE_RATE: '1000000',
  QUEEN_KV_WRITE_BURST: '1000000',
};

const CLIENTS = 8;
const CALL_LIMIT_MS = 4_000;
/** A client leaves a node alone for this long after it gave no answer. */
const AVOID_MS = 1_500;
/** Share of the calls that is made before the fault, and up to its end. */
const BEFORE = 0.3;
const DURING = 0.7;

export type Phase = 'before' | 'during' | 'after';

export interface HistoryOptions {
  readonly workload: Workload;
  readonly seed: number;
  readonly calls: number;
  /** Where the fault is. */
  readonly phase: () => Phase;
}

/** Numbers in [0, 1) from a seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class HistoryRun {
  private readonly history: Operation<KvInput, KvOutput>[] = [];
  private readonly random: () => number;
  private readonly client: WorkloadClient;
  private readonly answered = new Map<number, number>();
  private readonly left = { before: 0, during: 0, after: 0 };
  unknown = 0;
  /** An answer no client should get. */
  private wrong: string | null = null;

  constructor(
    private readonly cluster: ClusterProcesses,
    readonly options: HistoryOptions,
  ) {
    const { seed, workload, calls } = options;
    this.random = seeded(seed);
    this.client = new WorkloadClient(workload, `h${seed}-${workload}`, this.random);
    this.left.before = Math.round(calls * BEFORE);
    this.left.during = Math.round(calls * (DURING - BEFORE));
    this.left.after = calls - this.left.before - this.left.during;
  }

  get recorded(): KvHistory {
    return this.history;
  }

  /** Calls that were made before the fault are through. */
  get isReady(): boolean {
    return this.left.before === 0;
  }

  /** Half of the calls meant for the fault were made. */
  get hasMetFault(): boolean {
    const { calls } = this.options;
    return this.left.during <= (calls * (DURING - BEFORE)) / 2;
  }

  /** Nodes that answered something. */
  get nodes(): number {
    return this.answered.size;
  }

  async run(): Promise<void> {
    await Promise.all(Array.from({ length: CLIENTS }, () => this.runClient()));
    if (this.wrong !== null) throw new Error(this.wrong);
  }

  check(): Verdict {
    return checkHistory(KV_MODEL, this.history);
  }

  private async runClient(): Promise<void> {
    const avoided = new Map<number, number>();
    while (this.left.before + this.left.during + this.left.after > 0) {
      if (!this.takeTurn()) {
        await pause(5);
        continue;
      }
      const id = this.pickNode(avoided);
      if (!(await this.call(id))) avoided.set(id, performance.now() + AVOID_MS);
      await pause(this.random() * 8);
    }
  }

  /** False: the calls of this phase are used up. */
  private takeTurn(): boolean {
    const phase = this.options.phase();
    // What was not asked before the fault was over is asked afterwards.
    const from = phase === 'after' ? (['before', 'during', 'after'] as const) : ([phase] as const);
    const found = from.find((one) => this.left[one] > 0);
    if (found === undefined) return false;
    this.left[found] -= 1;
    return true;
  }

  private pickNode(avoided: ReadonlyMap<number, number>): number {
    const { ids } = this.cluster;
    const now = performance.now();
    const open = ids.filter((id) => (avoided.get(id) ?? 0) <= now);
    const among = open.length > 0 ? open : ids;
    return among[Math.floor(this.random() * among.length)] ?? 1;
  }

  /** False when the node gave no answer that says anything. */
  private async call(id: number): Promise<boolean> {
    const input = this.client.input();
    const start = performance.now();
    const told = await this.ask(id, input);
    const end = performance.now();
    if (told === 'refused' || told === 'unknown') {
      if (told === 'unknown' && input.kind !== 'read') {
        this.unknown += 1;
        this.history.push({ start, end: Infinity, input, output: undefined });
      } else {
        // Nothing happened, or nothing that could be told from nothing: another call takes its place.
        this.left[this.options.phase()] += 1;
      }
      return false;
    }
    this.answered.set(id, (this.answered.get(id) ?? 0) + 1);
    this.history.push({ start, end, input, output: told });
    return true;
  }

  private async ask(id: number, input: KvInput): Promise<KvOutput | 'unknown' | 'refused'> {
    try {
      const response = await fetch(`${this.cluster.url(id)}/api/v1/kv`, {
        method: 'POST',
        body: JSON.stringify({ operations: this.client.operations(input) }),
        signal: AbortSignal.timeout(CALL_LIMIT_MS),
      });
      const body = (await response.json()) as { results: Parameters<WorkloadClient['output']>[1] };
      if (response.status === 200) return this.client.output(input, body.results);
      if (response.status !== 503) this.wrong ??= `${response.status}: ${JSON.stringify(body)}`;
      return 'unknown';
    } catch (error) {
      const { cause } = error as { cause?: { code?: string } };
      // Nothing was sent, so nothing happened.
      return cause?.code === 'ECONNREFUSED' ? 'refused' : 'unknown';
    }
  }
}
