/** Membership routes of a cluster under test, and a ledger of the pushes that were acknowledged. */
import type { MembershipViewDto } from '../../src/membership/membership.dto.js';
import type { ClusterProcesses } from '../support/cluster-processes.js';

const BASE = '/api/v1/system/raft/membership';
const LIMIT_MS = 120_000;
/** So that a hundred fill more than one segment of the log. */
const PAYLOAD = 'x'.repeat(25_000);

export interface MembershipReply {
  readonly status: number;
  readonly body: { readonly ok?: boolean; readonly code?: string; readonly error?: string } & {
    readonly membership?: MembershipViewDto;
  };
}

export class MembershipCalls {
  private readonly ledger: string[] = [];
  private made = 0;

  constructor(private readonly cluster: ClusterProcesses) {}

  async call(id: number, method: string, path: string, body?: unknown): Promise<MembershipReply> {
    const response = await fetch(this.cluster.url(id) + BASE + path, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    return { status: response.status, body: (await response.json()) as MembershipReply['body'] };
  }

  async show(id: number): Promise<MembershipViewDto> {
    const { status, body } = await this.call(id, 'GET', '');
    expect(status).toBe(200);
    return body.membership as MembershipViewDto;
  }

  async add(at: number, id: number): Promise<void> {
    const { http, raft } = this.cluster.node(id).ports;
    const body = { id, raft: `127.0.0.1:${raft}`, http: `127.0.0.1:${http}` };
    const reply = await this.call(at, 'POST', '/learners', body);
    expect(reply).toMatchObject({ status: 200, body: { ok: true } });
  }

  /** Until the learner has caught up. */
  promote(at: number, id: number): Promise<void> {
    return this.until(at, 'POST', '/promote', { ids: [id] });
  }

  /** Repeated until it is done. */
  async until(at: number, method: string, path: string, body: unknown): Promise<void> {
    let last: unknown = null;
    await this.cluster
      .until(
        async () => {
          const reply = await this.call(at, method, path, body);
          last = reply.body;
          return reply.status === 200;
        },
        { withinMs: 180_000, what: `${method} ${path}` },
      )
      .catch((error: unknown) => {
        throw new Error(`${String(error)}\n${JSON.stringify(last)}`);
      });
  }

  async remove(at: number, id: number): Promise<void> {
    const reply = await this.call(at, 'DELETE', `/members/${id}`);
    expect(reply).toMatchObject({ status: 200, body: { ok: true } });
  }

  /** Pushes one by one through a node; only what was acknowledged counts. */
  async push(at: number, count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      this.made += 1;
      const transactionId = `t-${this.made}`;
      const items = [{ queue: 'ledger', partition: 'p', transactionId, payload: PAYLOAD }];
      await this.cluster.until(
        async () => {
          const response = await fetch(`${this.cluster.url(at)}/api/v1/push`, {
            method: 'POST',
            body: JSON.stringify({ items }),
            signal: AbortSignal.timeout(LIMIT_MS),
          }).catch(() => null);
          await response?.text();
          return response?.status === 201;
        },
        { withinMs: 180_000, what: `push ${transactionId} to be acknowledged` },
      );
      this.ledger.push(transactionId);
    }
  }

  /** Every acknowledged message, once and in order, as each node has it by itself. */
  async checkLedger(ids: readonly number[]): Promise<void> {
    for (const id of ids) {
      const found = await this.messagesOf(id);
      expect({ id, found: found.length }).toEqual({ id, found: this.ledger.length });
      expect(found).toEqual(this.ledger);
    }
  }

  private async messagesOf(id: number): Promise<string[]> {
    const found: string[] = [];
    const group = `check-${id}`;
    for (;;) {
      const url =
        `${this.cluster.url(id)}/api/v1/pop/queue/ledger/partition/p?consumerGroup=${group}` +
        '&batch=100&commitOnDelivery=true&subscriptionMode=all&wait=false&timeout=20000';
      const response = await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS) });
      if (response.status === 204) return found;
      if (response.status !== 200) throw new Error(`node ${id} answered ${response.status}`);
      const { messages } = (await response.json()) as { messages: { transactionId: string }[] };
      found.push(...messages.map(({ transactionId }) => transactionId));
    }
  }
}
