/**
 * Many timers on three real processes while leaders are killed: each fires exactly once, none early, one
 * whose cancel was answered `cancelled` never. Instants are the log clock's: what the schedule answered
 * against the stamp of the message.
 */
import { ClusterProcesses, pause } from '../support/cluster-processes.js';

const QUEUE = 'timer-run';
const PARTITIONS = 16;
const OPS_PER_CALL = 200;
const CALL_RETRY_MS = 100;
const CALL_TIMEOUT_MS = 10_000;
/** What a pop handed out and nobody took is gone: it is acknowledged by itself. */
const POP_TIMEOUT_MS = 60_000;
/** Timers are scheduled by so many calls at a time. */
const WRITERS = 4;
const CANCEL_EVERY = 10;
/** Every other of them while timers fire, so that fires and cancels race. */
const CANCEL_PAUSE_MS = 20;
const RACING_OPS = 10;
const PAYLOAD = Buffer.from('{"n":1}').toString('base64');

export interface TimerRunOptions {
  readonly timers: number;
  readonly seconds: number;
  readonly kills: number;
  /** The first is due this long after the first call; all should be scheduled by then. */
  readonly leadMs: number;
  /** Everything has to be there this long after the last due instant, and after the last kill. */
  readonly settleMs: number;
}

export interface TimerRunReport {
  readonly scheduled: number;
  /** From the first due instant to the last. */
  readonly spanSeconds: number;
  /** Scheduling took this long. */
  readonly scheduleSeconds: number;
  readonly cancelled: number;
  readonly fired: number;
  /** Sorted, ms. */
  readonly lateMs: readonly number[];
  readonly violations: readonly string[];
}

interface Known {
  deliverAt: number;
  /** 'maybe': the cancel's first answer was lost. */
  cancelled: 'yes' | 'no' | 'maybe';
}

interface Result {
  readonly status: string;
  readonly timerKey: string;
  readonly deliverAt?: string;
}

export class TimerRun {
  private readonly known = new Map<string, Known>();
  private node = 0;
  /** Leaders, while timers were firing. */
  private killed = 0;
  private dueFromMs = 0;
  private scheduleMs = 0;

  constructor(
    private readonly cluster: ClusterProcesses,
    private readonly options: TimerRunOptions,
  ) {}

  async run(): Promise<TimerRunReport> {
    const { cluster, options } = this;
    await cluster.leader();
    const began = performance.now();
    this.dueFromMs = began + options.leadMs;
    await this.scheduleAll();
    this.scheduleMs = performance.now() - began;
    const marked = [...this.known.keys()].filter((_, i) => i % CANCEL_EVERY === CANCEL_EVERY - 1);
    await this.cancel(
      marked.filter((_, i) => i % 2 === 0),
      0,
    );
    await pause(Math.max(this.dueFromMs - performance.now(), 0));
    const racing = this.cancel(
      marked.filter((_, i) => i % 2 === 1),
      CANCEL_PAUSE_MS,
    );
    for (let i = 0; i < options.kills; i += 1) {
      await pause((options.seconds * 1000) / (options.kills + 1));
      const leader = await cluster.leader();
      cluster.node(leader).killNow();
      await cluster.node(leader).ended();
      this.killed += 1;
      await cluster.leader(
        cluster.ids.filter((id) => id !== leader),
        60_000,
      );
      cluster.node(leader).start();
    }
    await cluster.leader();
    await racing;
    return this.audit(await this.collect());
  }

  private async scheduleAll(): Promise<void> {
    let next = 0;
    const writer = async (): Promise<void> => {
      while (next < this.options.timers) {
        const first = next;
        next += OPS_PER_CALL;
        await this.scheduleFrom(first);
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, writer));
  }

  private async scheduleFrom(first: number): Promise<void> {
    const { timers, seconds } = this.options;
    // On a busy machine the first ones are due when they are scheduled.
    const leftMs = Math.max(this.dueFromMs - performance.now(), 0);
    const size = Math.min(OPS_PER_CALL, timers - first);
    const { results } = await this.call(
      Array.from({ length: size }, (_, i) => ({
        ...{ op: 'schedule', queue: QUEUE, timerKey: `k${first + i}`, txn: `k${first + i}` },
        partition: `p${(first + i) % PARTITIONS}`,
        delayMs: leftMs + ((first + i) / timers) * seconds * 1000,
        payload: PAYLOAD,
      })),
    );
    for (const { timerKey, deliverAt } of results) {
      this.known.set(timerKey, { deliverAt: micros(deliverAt ?? ''), cancelled: 'no' });
    }
  }

  private async cancel(keys: readonly string[], pauseMs: number): Promise<void> {
    const size = pauseMs > 0 ? RACING_OPS : OPS_PER_CALL;
    for (let first = 0; first < keys.length; first += size) {
      const operations = keys
        .slice(first, first + size)
        .map((timerKey) => ({ op: 'cancel', queue: QUEUE, timerKey }));
      const { results, retried } = await this.call(operations);
      for (const { timerKey, status } of results) {
        const timer = this.known.get(timerKey);
        if (timer === undefined) continue;
        if (status === 'cancelled') timer.cancelled = 'yes';
        else if (retried) timer.cancelled = 'maybe';
      }
      if (pauseMs > 0) await pause(pauseMs);
    }
  }

  /** On any node; again on the next one until it is answered. */
  private async call(
    operations: readonly object[],
  ): Promise<{ readonly results: Result[]; readonly retried: boolean }> {
    for (let tries = 0; ; tries += 1) {
      const answer = await this.request('/api/v1/timers', JSON.stringify({ operations }));
      if (answer !== null) return { results: answer['results'] as Result[], retried: tries > 0 };
      if (tries > 600) throw new Error('a timer call was never answered');
      await pause(CALL_RETRY_MS);
    }
  }

  private async request(path: string, body?: string): Promise<Record<string, unknown> | null> {
    const { ids } = this.cluster;
    this.node += 1;
    const id = ids[this.node % ids.length] ?? 1;
    try {
      const response = await fetch(this.cluster.url(id) + path, {
        ...(body === undefined ? {} : { method: 'POST', body }),
        signal: AbortSignal.timeout(body === undefined ? POP_TIMEOUT_MS : CALL_TIMEOUT_MS),
      });
      if (response.status === 204) return {};
      return response.status === 200 ? ((await response.json()) as Record<string, unknown>) : null;
    } catch (error) {
      // Refused, reset or too late: the caller tries the next node.
      return error instanceof Error ? null : null;
    }
  }

  /** Stamps of the messages by transactionId, until all that must come are there. */
  private async collect(): Promise<Map<string, number[]>> {
    const stamps = new Map<string, number[]>();
    const wanted = [...this.known.values()].filter(({ cancelled }) => cancelled === 'no').length;
    const lastDueMs = this.dueFromMs + this.options.seconds * 1000;
    const until = Math.max(lastDueMs, performance.now()) + this.options.settleMs;
    const path = `/api/v1/pop/queue/${QUEUE}?batch=1000&partitions=16&consumerGroup=audit&subscriptionMode=all&autoAck=true`;
    for (let empty = 0; empty < 5 && performance.now() < until;) {
      const answer = await this.request(path);
      const messages = (answer?.['messages'] ?? []) as {
        transactionId: string;
        createdAt: string;
      }[];
      for (const { transactionId, createdAt } of messages) {
        stamps.set(transactionId, [...(stamps.get(transactionId) ?? []), micros(createdAt)]);
      }
      if (messages.length > 0) continue;
      if (stamps.size >= wanted) empty += 1;
      await pause(CALL_RETRY_MS);
    }
    return stamps;
  }

  private audit(stamps: ReadonlyMap<string, readonly number[]>): TimerRunReport {
    const violations: string[] = [];
    const lateMs: number[] = [];
    let cancelled = 0;
    for (const [key, timer] of this.known) {
      const fired = stamps.get(key) ?? [];
      if (timer.cancelled === 'yes') cancelled += 1;
      if (timer.cancelled === 'yes' && fired.length > 0) violations.push(`${key} fired, cancelled`);
      if (timer.cancelled === 'maybe' && fired.length > 1) {
        violations.push(`${key} fired ${fired.length} times`);
      }
      if (timer.cancelled === 'no' && fired.length !== 1) {
        violations.push(`${key} fired ${fired.length} times`);
      }
      for (const stamp of fired) {
        lateMs.push((stamp - timer.deliverAt) / 1000);
        if (stamp < timer.deliverAt) violations.push(`${key} fired early`);
      }
    }
    for (const key of stamps.keys()) {
      if (!this.known.has(key)) violations.push(`${key} fired, never scheduled`);
    }
    const { timers, kills } = this.options;
    if (this.known.size !== timers) violations.push(`${this.known.size} of ${timers} scheduled`);
    if (this.killed !== kills) violations.push(`${this.killed} of ${kills} leaders killed`);
    if (cancelled === 0) violations.push('no timer was cancelled');
    lateMs.sort((a, b) => a - b);
    const due = [...this.known.values()].map(({ deliverAt }) => deliverAt);
    const span = due.reduce((a, b) => Math.max(a, b), 0) - due.reduce((a, b) => Math.min(a, b));
    return {
      ...{ scheduled: this.known.size, cancelled, fired: lateMs.length, lateMs, violations },
      ...{ spanSeconds: span / 1_000_000, scheduleSeconds: this.scheduleMs / 1000 },
    };
  }
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** µs of `2026-01-02T03:04:05.678901Z`. */
function micros(text: string): number {
  return Date.parse(text) * 1000 + Number(text.slice(23, 26));
}
