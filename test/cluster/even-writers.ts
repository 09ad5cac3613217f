/**
 * Pushes of one batch each at an even rate, open loop (a push leaves at its time, answered or not), and how
 * long each took: what somebody who writes feels of something else that goes on.
 */
import { pause } from '../support/cluster-processes.js';

const ATTEMPT_MS = 60_000;

export interface EvenLoad {
  /** Messages. */
  readonly perSecond: number;
  readonly batch: number;
  readonly partitions: number;
  readonly payloadBytes: number;
}

interface Answered {
  readonly fromMs: number;
  readonly tookMs: number;
}

export class EvenWriters {
  pushed = 0;
  private running = true;
  private answered: Answered[] = [];
  private number = 0;
  private failure: unknown = null;
  private readonly open = new Set<Promise<void>>();
  private readonly payload: string;

  private constructor(
    private readonly url: string,
    private readonly load: EvenLoad,
  ) {
    this.payload = 'x'.repeat(load.payloadBytes);
  }

  /** Pushes while the work goes on, and no longer, whatever becomes of it. Throws when a push failed. */
  static async beside<T>(
    url: string,
    load: EvenLoad,
    work: (writers: EvenWriters) => Promise<T>,
  ): Promise<T> {
    const writers = new EvenWriters(url, load);
    const writing = writers.run();
    // A failure of the work is told first.
    const ended = writing.catch(() => undefined);
    try {
      const result = await work(writers);
      writers.running = false;
      await writing;
      return result;
    } finally {
      writers.running = false;
      await ended;
    }
  }

  /** Pushes leave at their time, answered or not. Resolves when all are answered. */
  private async run(): Promise<void> {
    const everyMs = (1_000 * this.load.batch) / this.load.perSecond;
    for (let nextMs = performance.now(); this.running && this.failure === null; nextMs += everyMs) {
      if (nextMs > performance.now()) await pause(nextMs - performance.now());
      const one = this.push().catch((error: unknown) => {
        this.failure = error;
      });
      this.open.add(one);
      void one.then(() => this.open.delete(one));
    }
    await Promise.all(this.open);
    if (this.failure !== null) throw new Error('a push failed', { cause: this.failure });
  }

  /** Of the pushes begun since the last call and before now, ascending; the open ones are awaited. */
  async take(): Promise<number[]> {
    const untilMs = performance.now();
    await Promise.all(this.open);
    const taken = this.answered.filter(({ fromMs }) => fromMs <= untilMs);
    this.answered = this.answered.filter(({ fromMs }) => fromMs > untilMs);
    if (taken.length === 0) throw new Error('no push was measured', { cause: this.failure });
    return taken.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  }

  private async push(): Promise<void> {
    const items = Array.from({ length: this.load.batch }, () => {
      this.number += 1;
      const partition = `p${this.number % this.load.partitions}`;
      const transactionId = `t-${this.number}`;
      return { queue: 'load', partition, transactionId, payload: this.payload };
    });
    const fromMs = performance.now();
    const response = await fetch(`${this.url}/api/v1/push`, {
      method: 'POST',
      body: JSON.stringify({ items }),
      signal: AbortSignal.timeout(ATTEMPT_MS),
    });
    await response.text();
    if (response.status !== 201) throw new Error(`a push was answered ${response.status}`);
    this.answered.push({ fromMs, tookMs: performance.now() - fromMs });
    this.pushed += items.length;
  }
}

/** Of times in ascending order. */
export function percentile99(ascending: readonly number[]): number {
  return ascending[Math.floor(ascending.length * 0.99)] ?? 0;
}
