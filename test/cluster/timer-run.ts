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
const LEAD_MS = 3_000;
const CANCEL_EVERY = 10;
const PAYLOAD = Buffer.from('{"n":1}').toString('base64');

export interface TimerRunOptions {
  readonly timers: number;
  readonly seconds: number;
  readonly kills: number;
  /** Everything has to be there this long after the last due instant. */
  readonly settleMs: number;
}

export interface TimerRunReport {
  readonly scheduled: number;
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

  constructor(
    private readonly cluster: ClusterProcesses,
    private readonly options: TimerRunOptions,
  ) {}

  async run(): Promise<TimerRunReport> {
    const { cluster, options } = this;
    await cluster.leader(cluster.ids, 60_000);
    await this.scheduleAll();
    await this.cancelSome();
    for (let i = 0; i < options.kills; i += 1) {
      await pause((options.seconds * 1000) / (options.kills + 1));
      const leader = await cluster.leader();
      cluster.node(leader).killNow();
      await cluster.node(leader).ended();
      await cluster.leader(
        cluster.ids.filter((id) => id !== leader),
        60_000,
      );
      cluster.node(leader).start();
    }
    await cluster.leader(cluster.ids, 60_000);
    return this.audit(await this.collect());
  }

  private async scheduleAll(): Promise<void> {
    const { timers, seconds } = this.options;
    for (let first = 0; first < timers; first += OPS_PER_CALL) {
      const size = Math.min(OPS_PER_CALL, timers - first);
      const { results } = await this.call(
        Array.from({ length: size }, (_, i) => ({
          ...{ op: 'schedule', queue: QUEUE, timerKey: `k${first + i}`, txn: `k${first + i}` },
          partition: `p${(first + i) % PARTITIONS}`,
          delayMs: LEAD_MS + ((first + i) / timers) * seconds * 1000,
          payload: PAYLOAD,
        })),
      );
      for (const { timerKey, deliverAt } of results) {
        this.known.set(timerKey, { deliverAt: micros(deliverAt ?? ''), cancelled: 'no' });
      }
    }
  }

  private async cancelSome(): Promise<void> {
    const keys = [...this.known.keys()].filter((_, i) => i % CANCEL_EVERY === CANCEL_EVERY - 1);
    for (let first = 0; first < keys.length; first += OPS_PER_CALL) {
      const operations = keys
        .slice(first, first + OPS_PER_CALL)
        .map((timerKey) => ({ op: 'cancel', queue: QUEUE, timerKey }));
      const { results, retried } = await this.call(operations);
      for (const { timerKey, status } of results) {
        const timer = this.known.get(timerKey);
        if (timer === undefined) continue;
        if (status === 'cancelled') timer.cancelled = 'yes';
        else if (retried) timer.cancelled = 'maybe';
      }
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
        signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
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
    const until = performance.now() + LEAD_MS + this.options.seconds * 1000 + this.options.settleMs;
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
      if (timer.cancelled === 'no' && fired.length !== 1) {
        violations.push(`${key} fired ${fired.length} times`);
      }
      for (const stamp of fired) {
        lateMs.push((stamp - timer.deliverAt) / 1000);
        if (stamp < timer.deliverAt) violations.push(`${key} fired early`);
      }
    }
    lateMs.sort((a, b) => a - b);
    return { scheduled: this.known.size, cancelled, fired: lateMs.length, lateMs, violations };
  }
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** µs of `2026-01-02T03:04:05.678901Z`. */
function micros(text: string): number {
  return Date.parse(text) * 1000 + Number(text.slice(23, 26));
}
