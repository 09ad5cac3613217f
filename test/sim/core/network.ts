/**
 * A tiny synchronous network of benches: everything sent is delivered until nobody has anything to
 * say, unless a rule drops it.
 */
import type { Message, MessageKind } from '../../../src/raft/core/messages.js';
import { Bench, type BenchSetup } from './bench.js';

export class Network {
  private readonly benches = new Map<number, Bench>();
  private readonly isolated = new Set<number>();
  private readonly ignored = new Set<MessageKind>();
  private readonly cuts: [number, number][] = [];
  /** Everything delivered, in order. */
  readonly delivered: Message[] = [];

  constructor(benches: readonly Bench[]) {
    for (const bench of benches) this.benches.set(bench.id, bench);
  }

  static of(count: number, setup: BenchSetup = {}): Network {
    const voters = Array.from({ length: count }, (_, i) => i + 1);
    return new Network(voters.map((id) => new Bench({ voters, ...setup, id })));
  }

  at(id: number): Bench {
    const bench = this.benches.get(id);
    if (bench === undefined) throw new Error(`no node ${id}`);
    return bench;
  }

  add(bench: Bench): void {
    this.benches.set(bench.id, bench);
  }

  isolate(...ids: number[]): void {
    for (const id of ids) this.isolated.add(id);
  }

  cut(a: number, b: number): void {
    this.cuts.push([a, b]);
  }

  ignore(kind: MessageKind): void {
    this.ignored.add(kind);
  }

  recover(): void {
    this.isolated.clear();
    this.ignored.clear();
    this.cuts.length = 0;
  }

  /** Runs until quiet. */
  settle(): void {
    for (let round = 0; round < 1000; round += 1) {
      const messages = [...this.benches.values()].flatMap((bench) => bench.flush());
      if (messages.length === 0) return;
      for (const message of messages) this.deliver(message);
    }
    throw new Error('network never settles');
  }

  elect(id: number): Bench {
    this.at(id).core.campaign();
    this.settle();
    return this.at(id);
  }

  roles(): string[] {
    return [...this.benches.values()].map((bench) => bench.state.role);
  }

  private deliver(message: Message): void {
    const target = this.benches.get(message.to);
    const blocked =
      this.isolated.has(message.from) ||
      this.isolated.has(message.to) ||
      this.ignored.has(message.kind) ||
      this.cuts.some(([a, b]) => [a, b].includes(message.from) && [a, b].includes(message.to));
    if (target === undefined || blocked) return;
    this.delivered.push(message);
    target.core.step(message);
  }
}
