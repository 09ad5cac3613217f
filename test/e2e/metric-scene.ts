/** What happens to a broker so that its metrics move: one method per event. */
import { randomBytes } from 'node:crypto';
import type { HttpAnswer, TestBroker } from '../support/broker.js';

export interface Popped {
  readonly partitionId: string;
  readonly leaseId: string;
  readonly messages: readonly { readonly transactionId: string }[];
}

/** Pops until something came. */
export async function popOnce(calls: Calls, path: string): Promise<Popped> {
  const sign = path.includes('?') ? '&' : '?';
  const { status, json, text } = await calls.get(
    `/api/v1/pop/${path}${sign}wait=true&timeout=20000`,
  );
  if (status !== 200) throw new Error(`pop of ${path}: ${status} ${text}`);
  return json as Popped;
}

let minted = 0;

export class Calls {
  constructor(readonly broker: TestBroker) {}

  get(path: string): Promise<HttpAnswer> {
    return this.broker.get(path);
  }

  async push(queue: string, count: number): Promise<void> {
    minted += 1;
    const items = Array.from({ length: count }, (_, i) => {
      return { queue, transactionId: `t-${minted}-${i}`, payload: i };
    });
    await this.ok('/api/v1/push', { items });
  }

  ack(popped: Popped, statuses: readonly string[]): Promise<unknown> {
    const { partitionId, leaseId, messages } = popped;
    const acknowledgments = messages.map(({ transactionId }, i) => {
      return { transactionId, partitionId, leaseId, status: statuses[i] };
    });
    return this.ok('/api/v1/ack/batch', { acknowledgments });
  }

  ackUnknown({ partitionId, leaseId }: Popped): Promise<unknown> {
    const item = { transactionId: 'never seen', partitionId, leaseId, status: 'completed' };
    return this.broker.post('/api/v1/ack', item);
  }

  /** A partition whose newest message is never due, older ones after a second. */
  async delayed(queue: string): Promise<void> {
    await this.broker.post('/api/v1/configure', { queue, options: { delayedProcessing: 1 } });
    await this.push(queue, 1);
    await this.get(`/api/v1/pop/queue/${queue}?wait=true&timeout=100`);
  }

  transaction(queue: string): Promise<unknown> {
    const items = [{ queue, transactionId: `tx-${randomBytes(4).toString('hex')}`, payload: 1 }];
    return this.ok('/api/v1/transaction', { operations: [{ type: 'push', items }] });
  }

  async ephemeral(): Promise<void> {
    const api = '/api/v1/ephemeral';
    const queue = 'ring';
    const options = { maxLength: 2, policy: 'dropOldest' };
    await this.broker.post(`${api}/configure`, { queue, options });
    for (const payload of [1, 2, 3]) {
      await this.broker.post(`${api}/push`, { queue, messages: [{ payload }] });
    }
    await this.get(`${api}/pop?queue=${queue}`);
  }

  async keysAndLocks(): Promise<void> {
    const operations = [
      { op: 'put', ns: 'moved', key: 'k', value: 'v', forever: true },
      { op: 'get', ns: 'moved', key: 'k' },
    ];
    await this.ok('/api/v1/kv', { operations });
    await this.ok('/api/v1/locks', [{ op: 'acquire', name: 'l', ttlSeconds: 9, owner: 'a' }]);
    await this.ok('/api/v1/system/kv-timers', { kv: false });
    await this.broker.post('/api/v1/kv', { operations });
    await this.ok('/api/v1/system/kv-timers', { kv: true });
  }

  async expiringKeys(count: number): Promise<void> {
    for (let at = 0; at < count; at += 100) {
      const operations = Array.from({ length: 100 }, (_, i) => {
        return { op: 'put', ns: 'short', key: `k${at + i}`, value: 1, ttlSeconds: 1 };
      });
      await this.ok('/api/v1/kv', { operations });
    }
  }

  /** Schedules timers that are due at once, while the switch holds them back. */
  async heldTimers(count: number): Promise<void> {
    await this.ok('/api/v1/system/kv-timers', { timersFire: false });
    for (let at = 0; at < count; at += 100) {
      const operations = Array.from({ length: 100 }, (_, i) =>
        timer('timed', `t${at + i}`, 'e30='),
      );
      await this.ok('/api/v1/timers', { operations });
    }
    await this.ok('/api/v1/system/kv-timers', { timersSchedule: false });
    await this.broker.post('/api/v1/timers', { operations: [timer('timed', 'late', 'e30=')] });
    await this.ok('/api/v1/system/kv-timers', { timersSchedule: true });
  }

  releaseTimers(): Promise<unknown> {
    return this.ok('/api/v1/system/kv-timers', { timersFire: true });
  }

  hugeTimer(): Promise<unknown> {
    const payload = Buffer.from(`"${'x'.repeat(5_950_000)}"`).toString('base64');
    return this.ok('/api/v1/timers', {
      operations: [timer('huge', 'huge', payload, 300)],
    });
  }

  async traces(count: number, bytes: number): Promise<void> {
    await this.push('traced', 1);
    const { partitionId, messages } = await popOnce(this, 'queue/traced?autoAck=true');
    const [message] = messages;
    for (let at = 0; at < count; at += 8) {
      const posts = Array.from({ length: 8 }, () => {
        const data = { text: randomBytes(bytes / 2).toString('hex') };
        const { transactionId } = message ?? {};
        return this.ok('/api/v1/traces', { partitionId, transactionId, traceNames: ['n'], data });
      });
      await Promise.all(posts);
    }
  }

  private async ok(path: string, body: object): Promise<unknown> {
    const { status, text, json } = await this.broker.post(path, body);
    if (status >= 300) throw new Error(`${path}: ${status} ${text.slice(0, 300)}`);
    return json;
  }
}

function timer(queue: string, timerKey: string, payload: string, delayMs = 0): object {
  return { op: 'schedule', queue, timerKey, delayMs, txn: `txn-${timerKey}`, payload };
}
