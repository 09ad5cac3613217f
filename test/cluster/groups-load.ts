/**
 * Tenants that push, pop and acknowledge through any node while a test does things to the cluster, and a
 * ledger: what was acknowledged must come out, and what came out and was acknowledged never again. A
 * call that fails is repeated with the same ids.
 */
import { pause, type ClusterProcesses } from '../support/cluster-processes.js';
import type { Popped } from './calls.js';

const CALL_MS = 15_000;
const QUEUE = 'work';
const PARTITIONS = 4;
const BATCH = 5;

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export async function callAs(
  url: string,
  tenant: string,
  { path, body }: { readonly path: string; readonly body?: unknown },
): Promise<Answer> {
  const response = await fetch(url + path, {
    headers: { 'x-queen-tenant': tenant },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(CALL_MS),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : (JSON.parse(text) as unknown) };
}

export class TenantLoad {
  readonly pushed = new Set<string>();
  readonly popped = new Set<string>();
  /** Delivered again although their acknowledgement had succeeded. */
  readonly again: string[] = [];
  /** With the moment the acknowledgement was answered. */
  private readonly acked = new Map<string, number>();
  private running = true;
  private made = 0;
  private turn = 0;
  private work: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly cluster: ClusterProcesses,
    readonly tenant: string,
  ) {}

  start(): void {
    this.running = true;
    this.work = Promise.all([this.produce(), this.consume(), this.consume()]);
  }

  async stop(): Promise<void> {
    this.running = false;
    await this.work;
  }

  /** What is still there, until everything pushed came out. */
  async drain(withinMs: number): Promise<string[]> {
    const end = performance.now() + withinMs;
    while (this.missing().length > 0 && performance.now() < end) await this.popAndAck(500);
    return this.missing();
  }

  get ackedCount(): number {
    return this.acked.size;
  }

  private missing(): string[] {
    return [...this.pushed].filter((id) => !this.popped.has(id));
  }

  private async produce(): Promise<void> {
    while (this.running) {
      const ids = Array.from({ length: BATCH }, () => `m-${(this.made += 1)}`);
      const items = ids.map((transactionId, i) => ({
        ...{ queue: QUEUE, partition: `p-${(this.made + i) % PARTITIONS}`, transactionId },
        payload: { transactionId },
      }));
      // Repeated until it is known to be there: the ids are the same each time.
      while (!(await this.send('/api/v1/push', { items }, [200, 201])).ok) {
        await pause(50);
      }
      for (const id of ids) this.pushed.add(id);
      await pause(10);
    }
  }

  private async consume(): Promise<void> {
    while (this.running) await this.popAndAck(1_000);
  }

  private async popAndAck(waitMs: number): Promise<void> {
    const path = `/api/v1/pop/queue/${QUEUE}?batch=20&leaseSeconds=3&wait=true&timeout=${waitMs}`;
    const askedAtMs = performance.now();
    const { ok, body } = await this.send(path, undefined, [200]);
    if (!ok) return pause(20);
    const { leaseId, partitionId, messages } = body as Popped;
    for (const { transactionId } of messages) {
      // What was handed out before is no repeat, however late its answer comes.
      if ((this.acked.get(transactionId) ?? Infinity) < askedAtMs) this.again.push(transactionId);
      this.popped.add(transactionId);
    }
    const acknowledgments = messages.map(({ transactionId }) => ({
      ...{ transactionId, partitionId, leaseId },
    }));
    const acked = await this.send('/api/v1/ack/batch', { acknowledgments }, [200]);
    if (!acked.ok) return;
    const atMs = performance.now();
    (acked.body as { success: boolean }[]).forEach(({ success }, i) => {
      const id = messages[i]?.transactionId;
      if (success && id !== undefined) this.acked.set(id, atMs);
    });
  }

  /** Through one node after the other; a node that is away is a failed call. */
  private async send(
    path: string,
    body: unknown,
    good: readonly number[],
  ): Promise<{ readonly ok: boolean; readonly body: unknown }> {
    const { ids } = this.cluster;
    const id = ids[(this.turn += 1) % ids.length] ?? 1;
    try {
      const answer = await callAs(this.cluster.url(id), this.tenant, { path, body });
      return { ok: good.includes(answer.status), body: answer.body };
    } catch {
      // Refused, reset or too late: not known, so it is asked again.
      return { ok: false, body: null };
    }
  }
}
