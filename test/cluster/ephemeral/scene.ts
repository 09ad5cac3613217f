/** Ephemeral queues on three real processes: calls, shares of the nodes, and what the metrics say. */
import { ClusterProcesses } from '../../support/cluster-processes.js';

const API = '/api/v1/ephemeral';
const LIMIT_MS = 120_000;

export interface Message {
  readonly id: string;
  readonly partition: string;
  readonly attempts: number;
  readonly payload: unknown;
}

export interface Share {
  readonly depth: number;
  readonly partitions: number;
}

export class EphemeralScene {
  private constructor(readonly cluster: ClusterProcesses) {}

  static async start(env: Readonly<Record<string, string>> = {}): Promise<EphemeralScene> {
    const cluster = await ClusterProcesses.start({ env: { QUEEN_HEAP_PCT: '0', ...env } });
    const scene = new EphemeralScene(cluster);
    try {
      await cluster.leader();
      await scene.allAdmitted();
    } catch (error) {
      await cluster.remove();
      throw error;
    }
    return scene;
  }

  /** Every running node knows every other as one that takes partitions. */
  async allAdmitted(among: readonly number[] = this.cluster.ids): Promise<void> {
    const members = [...among].sort((a, b) => a - b).join(',');
    await this.cluster.until(
      () =>
        Promise.resolve(
          among.every((id) => {
            const lines = this.cluster.node(id).log.split('\n');
            const last = lines.filter((line) => line.includes('placement changed')).pop();
            return last?.includes(`members=${members}`) === true;
          }),
        ),
      { withinMs: 180_000, what: `placement on ${members}` },
    );
  }

  async send(id: number, method: string, path: string, body?: unknown): Promise<Reply> {
    const response = await fetch(this.cluster.url(id) + API + path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    const text = await response.text();
    return { status: response.status, body: JSON.parse(text) as Record<string, unknown> };
  }

  push(id: number, queue: string, partition: string, payloads: readonly unknown[]): Promise<Reply> {
    const messages = payloads.map((payload) => ({ payload }));
    return this.send(id, 'POST', '/push', { queue, partition, messages });
  }

  async pop(id: number, queue: string, query: string): Promise<Message[]> {
    const { status, body } = await this.send(id, 'GET', `/pop?queue=${queue}&${query}`);
    if (status !== 200) throw new Error(`pop answered ${status} ${JSON.stringify(body)}`);
    return body['messages'] as Message[];
  }

  ack(id: number, queue: string, ids: readonly string[], status = 'completed'): Promise<Reply> {
    const acks = ids.map((one) => ({ id: one, status }));
    return this.send(id, 'POST', '/ack', { queue, acks });
  }

  /** What one node holds of the queue. */
  async share(id: number, queue: string): Promise<Share> {
    const { body } = await this.send(id, 'GET', '/queues');
    const queues = body['queues'] as (Share & { readonly queue: string })[];
    return queues.find((one) => one.queue === queue) ?? { depth: 0, partitions: 0 };
  }

  /** Partitions one node holds, and what the group (all of them when absent) has not passed of each. */
  async owned(id: number, queue: string, group?: string): Promise<ReadonlyMap<string, number>> {
    const query = group === undefined ? '' : `?group=${group}`;
    const { status, body } = await this.send(id, 'GET', `/queues/${queue}/depth${query}`);
    if (status === 404) return new Map();
    const rows = body['partitions'] as { partition: string; pending: number }[];
    return new Map(rows.map(({ partition, pending }) => [partition, pending]));
  }

  /** Partitions with contents on one node, of all queues. */
  async heldRings(id: number): Promise<number> {
    const { body } = await this.send(id, 'GET', '/queues');
    let rings = 0;
    for (const { queue } of body['queues'] as { queue: string }[]) {
      const depth = await this.send(id, 'GET', `/queues/${queue}/depth`);
      const partitions = (depth.body['partitions'] ?? []) as { bytes: number }[];
      rings += partitions.filter(({ bytes }) => bytes > 0).length;
    }
    return rings;
  }

  /** Partitions that these nodes count as lost. */
  async wipes(ids: readonly number[]): Promise<number> {
    const counts = await Promise.all(
      ids.map((id) => this.metric(id, 'queen_ephemeral_wipes_total')),
    );
    return counts.reduce((sum, one) => sum + one, 0);
  }

  async metric(id: number, sample: string): Promise<number> {
    const response = await fetch(`${this.cluster.url(id)}/metrics/prometheus`);
    const line = (await response.text()).split('\n').find((one) => one.startsWith(`${sample} `));
    return line === undefined ? NaN : Number(line.slice(sample.length + 1));
  }

  /** SIGTERM; answers what the node said about its rings. */
  async stopNode(id: number): Promise<HandedOver> {
    const node = this.cluster.node(id);
    node.log = '';
    const ended = node.ended();
    node.signal('SIGTERM');
    const code = await ended;
    const line = /ephemeral rings handed over (.*)/.exec(node.log)?.[1];
    if (code !== 0 || line === undefined) throw new Error(`exit ${code}\n${node.log.slice(-3000)}`);
    const fields = new Map(line.split(' ').map((field) => field.split('=') as [string, string]));
    const number = (name: string): number => Number(fields.get(name));
    return {
      ...{ rings: number('rings'), delivered: number('delivered'), lost: number('lost') },
      ...{ messages: number('messages'), stillShipping: number('still_shipping') },
    };
  }

  async startNode(id: number): Promise<void> {
    this.cluster.node(id).start();
    await this.cluster.leader();
    await this.allAdmitted();
  }

  remove(): Promise<void> {
    return this.cluster.remove();
  }
}

export interface Reply {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

export interface HandedOver {
  readonly rings: number;
  readonly delivered: number;
  readonly lost: number;
  readonly messages: number;
  readonly stillShipping: number;
}
