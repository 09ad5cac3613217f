/**
 * Histories of concurrent key-value calls on three real nodes under kills and pauses. Clients ask any
 * node and note when they asked, what, and what they were told; an answer that never came, or a 503 to a
 * write, is "unknown". The checker is test/support/wgl.ts.
 */
import type { KvHistory, KvInput, KvOutput } from '../../support/kv-model.js';
import { KV_MODEL } from '../../support/kv-model.js';
import { pause, type ClusterProcesses } from '../../support/cluster-processes.js';
import { checkHistory, type Operation, type Verdict } from '../../support/wgl.js';

export const WORKLOADS = ['register', 'counter', 'keys'] as const;
export type Workload = (typeof WORKLOADS)[number];
export const FAULTS = ['none', 'kill', 'pause'] as const;
export type HistoryFault = (typeof FAULTS)[number];

export const HISTORY_ENV = {
  QUEEN_KV_READ_RATE: '1000000',
  QUEEN_KV_READ_BURST: '1000000',
  QUEEN_KV_WRITE_RATE: '1000000',
  QUEEN_KV_WRITE_BURST: '1000000',
};

const CLIENTS = 6;
const CALL_LIMIT_MS = 4_000;
/** More open ends than this make the search long, not the test better. */
const MAX_UNKNOWN = 10;

export interface HistoryOptions {
  readonly workload: Workload;
  readonly fault: HistoryFault;
  readonly seed: number;
  readonly callsPerClient: number;
}

export interface HistoryResult extends Verdict {
  readonly calls: number;
  readonly unknown: number;
  readonly refused: number;
}

/** Numbers in [0, 1) from a seed (mulberry32). */
function seeded(seed: number): () => number {
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
  private readonly namespace: string;
  private unknown = 0;
  private refused = 0;
  private values = 0;
  /** An answer no client should get. */
  private wrong: string | null = null;

  constructor(
    private readonly cluster: ClusterProcesses,
    private readonly options: HistoryOptions,
  ) {
    this.random = seeded(options.seed);
    this.namespace = `h${options.seed}-${options.workload}`;
  }

  async run(): Promise<HistoryResult> {
    const clients = Array.from({ length: CLIENTS }, () => this.client());
    const faults = this.inject();
    await Promise.all(clients);
    await faults;
    if (this.wrong !== null) throw new Error(this.wrong);
    const verdict = checkHistory(KV_MODEL, this.history);
    return {
      ...{ ...verdict, calls: this.history.length },
      ...{ unknown: this.unknown, refused: this.refused },
    };
  }

  get recorded(): KvHistory {
    return this.history;
  }

  private async client(): Promise<void> {
    const { callsPerClient } = this.options;
    for (let i = 0; i < callsPerClient && this.unknown < MAX_UNKNOWN; i += 1) {
      await this.call(this.input());
      await pause(this.random() * 30);
    }
  }

  /** One fault in the middle of the calls; the node is back before the history ends. */
  private async inject(): Promise<void> {
    const { fault } = this.options;
    if (fault === 'none') return;
    await pause(150 + this.random() * 300);
    const health = await Promise.all(this.cluster.ids.map((id) => this.cluster.health(id)));
    const leader = this.cluster.ids[health.findIndex((one) => one?.role === 'leader')];
    const any = this.cluster.ids[Math.floor(this.random() * this.cluster.ids.length)] ?? 1;
    const node = this.cluster.node(this.random() < 0.7 ? (leader ?? any) : any);
    if (fault === 'kill') {
      const ended = node.ended();
      node.killNow();
      await ended;
      node.start();
    } else {
      node.signal('SIGSTOP');
      await pause(1_000 + this.random() * 1_500);
      node.signal('SIGCONT');
    }
  }

  private input(): KvInput {
    const dice = this.random();
    const key = this.random() < 0.5 ? 'a' : 'b';
    switch (this.options.workload) {
      case 'register':
        if (dice < 0.45) return { kind: 'read', keys: ['a'] };
        if (dice < 0.75) return { kind: 'write', keys: ['a'], value: ++this.values };
        if (dice < 0.9) return { kind: 'create', key: 'a', value: ++this.values };
        return { kind: 'remove', key: 'a' };
      case 'counter':
        if (dice < 0.4) return { kind: 'read', keys: ['a'] };
        return { kind: 'add', key: 'a', delta: 1 };
      case 'keys':
        if (dice < 0.5) return { kind: 'read', keys: ['a', 'b'] };
        if (dice < 0.8) return { kind: 'write', keys: ['a', 'b'], value: ++this.values };
        return { kind: 'write', keys: [key], value: ++this.values };
    }
  }

  private async call(input: KvInput): Promise<void> {
    const id = this.cluster.ids[Math.floor(this.random() * this.cluster.ids.length)] ?? 1;
    const start = performance.now();
    const told = await this.ask(id, input);
    const end = performance.now();
    if (told === 'refused') this.refused += 1;
    else if (told !== 'unknown') this.history.push({ start, end, input, output: told });
    else if (input.kind !== 'read') {
      this.unknown += 1;
      this.history.push({ start, end: Infinity, input, output: undefined });
    }
  }

  private async ask(id: number, input: KvInput): Promise<KvOutput | 'unknown' | 'refused'> {
    try {
      const response = await fetch(`${this.cluster.url(id)}/api/v1/kv`, {
        method: 'POST',
        body: JSON.stringify({ operations: operationsOf(this.namespace, input) }),
        signal: AbortSignal.timeout(CALL_LIMIT_MS),
      });
      const body = (await response.json()) as { results: readonly Element[] };
      if (response.status === 200) return outputOf(input, body.results);
      if (response.status !== 503) this.wrong ??= `${response.status}: ${JSON.stringify(body)}`;
      return 'unknown';
    } catch (error) {
      const { cause } = error as { cause?: { code?: string } };
      // Nothing was sent, so nothing happened.
      return cause?.code === 'ECONNREFUSED' ? 'refused' : 'unknown';
    }
  }
}

interface Element {
  readonly applied?: boolean;
  readonly value?: number | null;
  readonly rows?: readonly { readonly key: string; readonly value: number }[];
}

function operationsOf(ns: string, input: KvInput): readonly object[] {
  switch (input.kind) {
    case 'read':
      return [{ op: 'getMany', ns, keys: input.keys }];
    case 'write':
      return input.keys.map((key) => ({ op: 'put', ns, key, value: input.value, forever: true }));
    case 'add':
      return [{ op: 'incr', ns, key: input.key, delta: input.delta, forever: true }];
    case 'create':
      return [{ op: 'putIfAbsent', ns, key: input.key, value: input.value, forever: true }];
    case 'remove':
      return [{ op: 'delete', ns, key: input.key }];
  }
}

function outputOf(input: KvInput, results: readonly Element[]): KvOutput {
  const [first] = results;
  switch (input.kind) {
    case 'read': {
      const rows = new Map((first?.rows ?? []).map(({ key, value }) => [key, value]));
      return input.keys.map((key) => rows.get(key) ?? null);
    }
    case 'write':
      return true;
    case 'add':
      return first?.value ?? Number.NaN;
    case 'create':
    case 'remove':
      return first?.applied === true;
  }
}
