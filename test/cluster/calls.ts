/** Requests to nodes of a cluster as the specs send them, and what came back. */
import type { ClusterProcesses } from '../support/cluster-processes.js';

export interface Reply {
  readonly status: number;
  readonly body: unknown;
  readonly retryAfter: string | null;
  readonly tookMs: number;
}

export interface Popped {
  readonly leaseId: string;
  readonly partitionId: string;
  readonly messages: readonly { readonly transactionId: string }[];
}

const LIMIT_MS = 60_000;

export class Calls {
  constructor(private readonly cluster: ClusterProcesses) {}

  async send(id: number, path: string, body?: unknown): Promise<Reply> {
    const from = performance.now();
    const response = await fetch(this.cluster.url(id) + path, {
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: text === '' ? null : (JSON.parse(text) as unknown),
      retryAfter: response.headers.get('retry-after'),
      tookMs: performance.now() - from,
    };
  }

  push(id: number, queue: string, transactionId: string): Promise<Reply> {
    const items = [{ queue, partition: 'p', transactionId, payload: { transactionId } }];
    return this.send(id, '/api/v1/push', { items });
  }

  pop(id: number, queue: string, waitMs = 0, leaseSeconds = 300): Promise<Reply> {
    // Without a wait the deadline is that of every other call (DEFAULT_TIMEOUT).
    const wait = waitMs > 0 ? `wait=true&timeout=${waitMs}` : 'wait=false';
    const query = `batch=1&leaseSeconds=${leaseSeconds}&${wait}`;
    return this.send(id, `/api/v1/pop/queue/${queue}?${query}`);
  }

  ack(id: number, popped: Popped): Promise<Reply> {
    const { leaseId, partitionId, messages } = popped;
    const acknowledgments = messages.map(({ transactionId }) => ({
      ...{ transactionId, partitionId, leaseId },
    }));
    return this.send(id, '/api/v1/ack/batch', { acknowledgments });
  }

  depth(id: number, queue: string): Promise<Reply> {
    return this.send(id, `/api/v1/resources/queues/${queue}/depth`);
  }
}

export function idsOf(reply: Reply): string[] {
  if (reply.status !== 200) return [];
  return (reply.body as Popped).messages.map(({ transactionId }) => transactionId);
}
