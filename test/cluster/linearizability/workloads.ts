/**
 * What the clients of a history ask, drawn from a seed, and how the broker's calls and answers map to
 * the model's. Every written value is new, so that a value tells which write it came from.
 */
import type { KvInput, KvOutput } from '../../support/kv-model.js';

export const WORKLOADS = ['register', 'counter', 'keys', 'transfer', 'mixed'] as const;
export type Workload = (typeof WORKLOADS)[number];

const KEYS = ['a', 'b', 'c', 'd', 'e'] as const;

interface Element {
  readonly applied?: boolean;
  readonly value?: number | null;
  readonly version?: number;
  readonly rows?: readonly {
    readonly key: string;
    readonly value: number;
    readonly version: number;
  }[];
}

export class WorkloadClient {
  private values = 0;
  /** Versions of values that were read or written: what a swap may name. */
  private readonly versions = new Map<number, number>();
  private latest = 0;

  constructor(
    private readonly workload: Workload,
    private readonly ns: string,
    private readonly random: () => number,
  ) {}

  /** What is asked next. */
  input(): KvInput {
    const dice = this.random();
    switch (this.workload) {
      case 'register':
        return this.register(dice);
      case 'counter':
        if (dice < 0.4) return { kind: 'read', keys: ['a'] };
        return { kind: 'add', key: 'a', delta: dice < 0.7 ? 1 : -2 };
      case 'keys':
        if (dice < 0.4) return { kind: 'read', keys: ['a', 'b', 'c'] };
        if (dice < 0.6) return this.write('a', 'b', 'c');
        if (dice < 0.8) return this.write(this.pick(3));
        return { ...this.write('a'), kind: 'exchange', key: this.pick(3), keys: ['a', 'b', 'c'] };
      case 'transfer':
        if (dice < 0.4) return { kind: 'read', keys: ['a', 'b'] };
        return dice < 0.7
          ? { kind: 'transfer', from: 'a', to: 'b', by: 1 }
          : { kind: 'transfer', from: 'b', to: 'a', by: 3 };
      case 'mixed':
        if (dice < 0.25) return { kind: 'read', keys: KEYS };
        if (dice < 0.45) return { kind: 'read', keys: [this.pick(5)] };
        if (dice < 0.6) return this.write(this.pick(5));
        if (dice < 0.7) return this.write(...KEYS);
        if (dice < 0.85) return { ...this.write('a'), kind: 'create', key: this.pick(5) };
        return { kind: 'remove', key: this.pick(5) };
    }
  }

  private register(dice: number): KvInput {
    if (dice < 0.4) return { kind: 'read', keys: ['a'] };
    if (dice < 0.6) return this.write('a');
    if (dice < 0.7) return { ...this.write('a'), kind: 'create', key: 'a' };
    if (dice < 0.75 || !this.versions.has(this.latest)) return { kind: 'remove', key: 'a' };
    return { ...this.write('a'), kind: 'swap', key: 'a', from: this.latest };
  }

  private write(...keys: string[]): { kind: 'write'; keys: string[]; value: number } {
    return { kind: 'write', keys, value: ++this.values };
  }

  private pick(among: number): string {
    return KEYS[Math.floor(this.random() * among)] ?? 'a';
  }

  operations(input: KvInput): readonly object[] {
    const { ns } = this;
    const put = (key: string, value: number): object => ({
      ...{ op: 'put', ns, key, value, forever: true },
    });
    const incr = (key: string, delta: number): object => ({
      ...{ op: 'incr', ns, key, delta, forever: true },
    });
    switch (input.kind) {
      case 'read':
        return [{ op: 'getMany', ns, keys: input.keys }];
      case 'write':
        return input.keys.map((key) => put(key, input.value));
      case 'add':
        return [incr(input.key, input.delta)];
      case 'create':
        return [{ ...put(input.key, input.value), op: 'putIfAbsent' }];
      case 'remove':
        return [{ op: 'delete', ns, key: input.key }];
      case 'swap':
        return [{ ...put(input.key, input.value), expect: this.versions.get(input.from) }];
      case 'transfer':
        return [incr(input.from, -input.by), incr(input.to, input.by)];
      case 'exchange':
        return [put(input.key, input.value), { op: 'getMany', ns, keys: input.keys }];
    }
  }

  output(input: KvInput, results: readonly Element[]): KvOutput {
    this.learn(input, results);
    const [first, second] = results;
    switch (input.kind) {
      case 'read':
        return valuesIn(first, input.keys);
      case 'write':
        return true;
      case 'add':
        return first?.value ?? Number.NaN;
      case 'create':
      case 'remove':
      case 'swap':
        return first?.applied === true;
      case 'transfer':
        return [first?.value ?? Number.NaN, second?.value ?? Number.NaN];
      case 'exchange':
        return valuesIn(second, input.keys);
    }
  }

  private learn(input: KvInput, [first]: readonly Element[]): void {
    if (this.workload !== 'register') return;
    const [row] = first?.rows ?? [];
    if (row !== undefined) this.know(row.value, row.version);
    const isWritten = input.kind === 'write' || input.kind === 'create' || input.kind === 'swap';
    if (isWritten && first?.applied === true) this.know(input.value, first.version ?? 0);
  }

  private know(value: number, version: number): void {
    this.versions.set(value, version);
    this.latest = value;
  }
}

function valuesIn(element: Element | undefined, keys: readonly string[]): (number | null)[] {
  const rows = new Map((element?.rows ?? []).map(({ key, value }) => [key, value]));
  return keys.map((key) => rows.get(key) ?? null);
}
