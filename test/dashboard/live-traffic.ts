/**
 * Queues of many partitions with steady traffic on a cluster: producers and consumers over all nodes
 * until they are stopped. A call that a busy cluster refuses is simply made again by the next turn.
 */
import { pause, type ClusterProcesses } from '../support/cluster-processes.js';

const CALL_MS = 30_000;
const BATCH = 20;
const GROUP = 'workers';

export interface TrafficShape {
  readonly queues: number;
  /** Of each queue. */
  readonly partitions: number;
  /** Messages a second, over all queues. */
  readonly rate: number;
}

export class LiveTraffic {
  pushed = 0;
  acked = 0;
  refused = 0;
  private running = false;
  private work: Promise<unknown> = Promise.resolve();
  private turn = 0;

  constructor(
    private readonly cluster: ClusterProcesses,
    private readonly shape: TrafficShape,
  ) {}

  /** One message to every partition. */
  async createPartitions(): Promise<void> {
    const { queues, partitions } = this.shape;
    for (let q = 0; q < queues; q += 1) {
      const options = { leaseTime: 60 };
      const labels = { namespace: q % 2 === 0 ? 'shop' : 'bank', task: `task-${q % 3}` };
      await this.must('/api/v1/configure', { queue: nameOf(q), ...labels, options });
      for (let at = 0; at < partitions; at += 500) {
        const count = Math.min(500, partitions - at);
        const items = Array.from({ length: count }, (_, i) => this.item(q, at + i));
        await this.must('/api/v1/push', { items });
        this.pushed += count;
      }
    }
  }

  start(): void {
    this.running = true;
    this.work = Promise.all([this.produce(), this.consume(), this.consume()]);
  }

  async stop(): Promise<void> {
    this.running = false;
    await this.work;
  }

  private async produce(): Promise<void> {
    const { queues, partitions, rate } = this.shape;
    const everyMs = (BATCH / rate) * 1000;
    while (this.running) {
      const from = performance.now();
      const q = (this.turn += 1) % queues;
      const items = Array.from({ length: BATCH }, (_, i) =>
        this.item(q, (this.turn * BATCH + i) % partitions),
      );
      const answer = await this.call('/api/v1/push', { items });
      if (answer !== null) this.pushed += BATCH;
      await pause(Math.max(0, everyMs - (performance.now() - from)));
    }
  }

  private async consume(): Promise<void> {
    const query = `consumerGroup=${GROUP}&subscriptionMode=all&batch=100&partitions=20`;
    while (this.running) {
      const queue = nameOf((this.turn += 1) % this.shape.queues);
      const popped = await this.call(`/api/v1/pop/queue/${queue}?${query}&wait=true&timeout=500`);
      const messages = (popped?.['messages'] ?? []) as Record<string, string>[];
      if (messages.length === 0) continue;
      const acknowledgments = messages.map((message, i) => ({
        ...{ transactionId: message['transactionId'], partitionId: message['partitionId'] },
        leaseId: message['leaseId'] ?? popped?.['leaseId'],
        // One of a thousand fails for good: the dead letters live too.
        ...((this.acked + i) % 1000 === 999
          ? { status: 'dlq', error: `no route to host ${i}` }
          : { status: 'completed' }),
      }));
      const body = { consumerGroup: GROUP, acknowledgments };
      if ((await this.call('/api/v1/ack/batch', body)) !== null) this.acked += messages.length;
    }
  }

  private item(queue: number, partition: number): object {
    return { queue: nameOf(queue), partition: `lane-${partition}`, payload: { at: Date.now() } };
  }

  private async must(path: string, body: object): Promise<void> {
    for (let i = 0; i < 20; i += 1) {
      if ((await this.call(path, body)) !== null) return;
      await pause(250);
    }
    throw new Error(`refused again and again: ${path}`);
  }

  /** Null when it was refused or nobody answered. */
  private async call(path: string, body?: object): Promise<Record<string, unknown> | null> {
    const { ids } = this.cluster;
    const id = ids[(this.turn += 1) % ids.length] ?? 1;
    try {
      const response = await fetch(this.cluster.url(id) + path, {
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(CALL_MS),
      });
      const text = await response.text();
      if (response.ok) return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
    }
    this.refused += 1;
    return null;
  }
}

export const nameOf = (queue: number): string => `live-${queue}`;
