/**
 * A writer that pushes at an even pace, round-robin over the nodes, and a ledger of what it was told.
 * A push that fails, or gets no answer within a second, is repeated at the next node under the same
 * transactionId until it is answered or the writer is told to give up. Afterwards every node is asked
 * for its messages: what was acknowledged must stand there once, what was given up at most once.
 */
import type { ClusterProcesses } from '../../support/cluster-processes.js';

const ATTEMPT_MS = 1_000;
const BETWEEN_ATTEMPTS_MS = 20;
const READ_LIMIT_MS = 60_000;
const READ_BATCH = 200;

export interface LedgerOptions {
  readonly perSecond?: number;
  /** Tells queues of several ledgers of one cluster apart. */
  readonly queue?: string;
  /** Bytes of every payload beyond its id. */
  readonly payloadBytes?: number;
  /** Nodes that are written to; all when absent. */
  readonly nodes?: () => readonly number[];
}

interface Read {
  readonly transactionId: string;
}

export class WriteLedger {
  readonly acknowledged = new Set<string>();
  readonly givenUp = new Set<string>();
  /** Longest time from the first attempt to the answer. */
  slowestMs = 0;
  retried = 0;
  readonly queue: string;
  private made = 0;
  private at = 0;
  private running = false;
  private giveUp = false;
  private readonly open = new Set<Promise<void>>();
  private loop: Promise<void> = Promise.resolve();

  constructor(
    private readonly cluster: ClusterProcesses,
    private readonly options: LedgerOptions = {},
  ) {
    this.queue = options.queue ?? 'ledger';
  }

  start(): void {
    this.running = true;
    this.loop = this.run();
  }

  /** Resolves when every push is answered; with `giveUp` those still open are tried no more. */
  async stop(giveUp = false): Promise<void> {
    this.running = false;
    this.giveUp = giveUp;
    await this.loop;
    await Promise.all(this.open);
    this.giveUp = false;
  }

  /** So many more messages, one after another. */
  async push(count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) await this.one();
  }

  /** Resolves when so many more are acknowledged. */
  async written(count: number, withinMs = 60_000): Promise<void> {
    const wanted = this.acknowledged.size + count;
    await this.cluster.until(() => Promise.resolve(this.acknowledged.size >= wanted), {
      withinMs,
      what: `${count} more messages to be acknowledged`,
    });
  }

  private async run(): Promise<void> {
    const everyMs = 1_000 / (this.options.perSecond ?? 15);
    let nextMs = performance.now();
    while (this.running) {
      const one = this.one();
      this.open.add(one);
      void one.finally(() => this.open.delete(one));
      nextMs = Math.max(nextMs + everyMs, performance.now());
      await pause(nextMs - performance.now());
    }
  }

  private async one(): Promise<void> {
    this.made += 1;
    const transactionId = `t-${this.made}`;
    const fromMs = performance.now();
    for (let tries = 0; ; tries += 1) {
      if (await this.attempt(transactionId)) break;
      this.retried += 1;
      if (this.giveUp) {
        this.givenUp.add(transactionId);
        return;
      }
      await pause(BETWEEN_ATTEMPTS_MS);
    }
    this.slowestMs = Math.max(this.slowestMs, performance.now() - fromMs);
    this.acknowledged.add(transactionId);
  }

  private async attempt(transactionId: string): Promise<boolean> {
    const nodes = this.options.nodes?.() ?? this.cluster.ids;
    this.at += 1;
    const id = nodes[this.at % nodes.length] ?? 0;
    const payload = { id: transactionId, fill: 'x'.repeat(this.options.payloadBytes ?? 0) };
    const items = [{ queue: this.queue, partition: 'p', transactionId, payload }];
    try {
      const response = await fetch(`${this.cluster.url(id)}/api/v1/push`, {
        method: 'POST',
        body: JSON.stringify({ items }),
        signal: AbortSignal.timeout(ATTEMPT_MS),
      });
      await response.text();
      return response.status === 201;
    } catch (error) {
      // Refused, reset or silent: the writer moves to the next node.
      return error instanceof Error ? false : false;
    }
  }

  /** Throws unless each of the nodes holds what the ledger says; returns what is missing nowhere. */
  async check(ids: readonly number[] = this.cluster.ids): Promise<void> {
    for (const id of ids) {
      const { lost, twice, foreign } = await this.compare(id);
      expect({ id, lost, twice, foreign }).toEqual({ id, lost: [], twice: [], foreign: [] });
    }
  }

  /** What a node holds against what was promised. */
  async compare(id: number): Promise<{ lost: string[]; twice: string[]; foreign: string[] }> {
    const seen = new Map<string, number>();
    for (const { transactionId } of await this.messagesOf(id)) {
      seen.set(transactionId, (seen.get(transactionId) ?? 0) + 1);
    }
    const isKnown = (one: string): boolean => this.acknowledged.has(one) || this.givenUp.has(one);
    return {
      lost: [...this.acknowledged].filter((one) => !seen.has(one)),
      twice: [...seen].filter(([, times]) => times > 1).map(([one]) => one),
      foreign: [...seen.keys()].filter((one) => !isKnown(one)),
    };
  }

  private async messagesOf(id: number): Promise<Read[]> {
    const found: Read[] = [];
    const group = `check-${id}-${String(performance.now())}`;
    for (;;) {
      const url =
        `${this.cluster.url(id)}/api/v1/pop/queue/${this.queue}/partition/p?consumerGroup=${group}` +
        `&batch=${READ_BATCH}&commitOnDelivery=true&subscriptionMode=all&wait=false&timeout=20000`;
      const response = await fetch(url, { signal: AbortSignal.timeout(READ_LIMIT_MS) });
      if (response.status === 204) return found;
      if (response.status !== 200) throw new Error(`node ${id} answered ${response.status}`);
      found.push(...((await response.json()) as { messages: Read[] }).messages);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, Math.max(0, ms));
  });
}
