/**
 * Transactions through three real processes (messages.md §8, G19, G20): any node takes them; while a
 * leader is killed in the middle every step happens wholly, and once, however often it is sent again.
 */
import { ClusterProcesses, pause } from '../support/cluster-processes.js';
import { Calls, idsOf } from './calls.js';
import type { Popped, Reply } from './calls.js';

jest.setTimeout(480_000);

const LEASE_S = 10;

interface Verdict {
  readonly success: boolean;
  readonly reason?: string;
  readonly results: readonly { readonly index: number; readonly type: string }[];
}

describe('transactions on three nodes', () => {
  let cluster: ClusterProcesses;
  let calls: Calls;

  beforeAll(async () => {
    cluster = await ClusterProcesses.start();
    calls = new Calls(cluster);
    await cluster.leader();
  });

  afterAll(() => cluster.remove());

  const verdictOf = (reply: Reply): Verdict => reply.body as Verdict;

  const step = (popped: Popped, input: string, out: string): object => ({
    operations: [
      {
        type: 'ack',
        transactionId: input,
        partitionId: popped.partitionId,
        leaseId: popped.leaseId,
      },
      { type: 'push', queue: out, partition: 'p', transactionId: `of-${input}`, payload: input },
    ],
    positions: [{ queue: out, partition: 'p', consumerGroup: 'reader', offset: 0 }],
  });

  /** With a key, a counter and a timer: all of a step, or nothing. */
  const wholeStep = (popped: Popped, input: string): object => {
    const name = `of-${input}`;
    const terms = { ns: 'steps', forever: true };
    return {
      ...step(popped, input, 'done'),
      kv: [
        { op: 'incr', key: 'count', delta: 1, ...terms },
        { op: 'putIfAbsent', key: name, value: 1, required: true, ...terms },
      ],
      timers: [
        {
          ...{ op: 'schedule', queue: 'reminders', timerKey: name, txn: name },
          ...{ delayMs: 3_600_000, payload: 'MQ==' },
        },
      ],
    };
  };

  /** Steps by what each part of them left. */
  const left = async (id: number): Promise<Record<string, number>> => {
    const get = async (path: string): Promise<Record<string, number>> =>
      (await (await fetch(cluster.url(id) + path)).json()) as Record<string, number>;
    const listed = await calls.send(id, '/api/v1/kv', {
      operations: [{ op: 'getPrefix', ns: 'steps', prefix: 'of-', limit: 1000, keysOnly: true }],
    });
    const [page] = (listed.body as { results: { rows: unknown[] }[] }).results;
    return {
      keys: page?.rows.length ?? -1,
      count: (await get('/api/v1/kv/steps/count'))['value'] ?? -1,
      timers: (await get('/api/v1/timers/reminders?mode=count&prefix=of-'))['count'] ?? -1,
    };
  };

  const run = (id: number, body: object): Promise<Reply> =>
    calls.send(id, '/api/v1/transaction', body);

  const popAll = async (id: number, queue: string, count: number): Promise<string[]> => {
    const found: string[] = [];
    while (found.length < count) {
      const reply = await calls.pop(id, queue, 10_000);
      if (reply.status !== 200) break;
      found.push(...idsOf(reply));
      await calls.ack(id, reply.body as Popped);
    }
    return found;
  };

  it('takes a transaction at each node, with what another one handed out', async () => {
    for (const id of cluster.ids) {
      const next = (id % cluster.ids.length) + 1;
      await calls.push(next, `in-${id}`, 'a');
      const popped = (await calls.pop(next, `in-${id}`, 10_000)).body as Popped;
      const body = step(popped, 'a', `out-${id}`);
      const done = verdictOf(await run(id, body));
      expect(done).toMatchObject({ success: true });
      expect(done.results.map(({ type }) => type)).toEqual(['ack', 'push', 'position']);
      // The same step again, at every node: refused, nothing twice.
      for (const other of cluster.ids) {
        expect(verdictOf(await run(other, body))).toMatchObject({ reason: 'rejected_ack' });
      }
      expect(await popAll(next, `out-${id}`, 1)).toEqual(['of-a']);
      expect((await calls.pop(id, `in-${id}`)).status).toBe(204);
    }
  });

  it('rolls back everywhere when a part objects', async () => {
    await calls.push(1, 'rolled', 'a');
    await calls.push(2, 'rolled-out', 'of-a');
    const popped = (await calls.pop(3, 'rolled', 10_000)).body as Popped;
    for (const id of cluster.ids) {
      const refused = verdictOf(await run(id, step(popped, 'a', 'rolled-out')));
      expect(refused).toMatchObject({ success: false, reason: 'duplicate', results: [] });
    }
    for (const id of cluster.ids) {
      expect((await calls.depth(id, 'rolled')).body).toMatchObject({ pending: 1, processing: 1 });
    }
  });

  it('does every step once and whole while the leader, then every node is killed', async () => {
    const steps = 40;
    const inputs = Array.from({ length: steps }, (_, i) => `m-${i}`);
    const old = await cluster.leader();
    const others = cluster.ids.filter((id) => id !== old);
    const items = inputs.map((id, i) => ({
      ...{ queue: 'work', partition: `p-${i}`, transactionId: id, payload: id },
    }));
    expect((await calls.send(old, '/api/v1/push', { items })).status).toBe(201);

    let killed = false;
    let allKilled = false;
    const isDone = async (at: number): Promise<boolean> => {
      const reply = await calls.depth(at, 'work').catch(() => null);
      return reply?.status === 200 && (reply.body as { pending: number }).pending === 0;
    };
    const worker = async (at: number): Promise<void> => {
      while (!(await isDone(at))) {
        // A batch whose answer a kill swallowed comes back when its lease has run out.
        const reply = await calls.pop(at, 'work', 3_000, LEASE_S).catch(() => null);
        const popped = reply?.status === 200 ? (reply.body as Popped) : null;
        if (popped === null) {
          if (reply === null) await pause(50);
          continue;
        }
        for (const { transactionId } of popped.messages) await settle(at, popped, transactionId);
      }
    };
    let done = 0;
    const settle = async (at: number, popped: Popped, input: string): Promise<void> => {
      for (;;) {
        const sent = run(at, wholeStep(popped, input));
        done += 1;
        if (done === steps / 4 && !killed) {
          killed = true;
          cluster.node(old).killNow();
        }
        if (done >= steps / 2 && !allKilled) {
          allKilled = true;
          await cluster.killAll();
        }
        const reply = await sent.catch(() => null);
        if (reply === null) await pause(50);
        // Unknown: sent again until it says yes, or that it was done before.
        if (reply === null || reply.status !== 200) continue;
        const { success, reason } = verdictOf(reply);
        expect([true, 'rejected_ack', 'duplicate']).toContain(success || reason);
        return;
      }
    };
    await Promise.all(others.map((at) => worker(at)));
    expect([killed, allKilled]).toEqual([true, true]);

    const [reader = 0] = others;
    expect((await calls.depth(reader, 'work')).body).toMatchObject({ pending: 0, processing: 0 });
    const results = await popAll(reader, 'done', steps);
    expect([...results].sort()).toEqual(inputs.map((id) => `of-${id}`).sort());
    expect((await calls.pop(reader, 'done')).status).toBe(204);
    await cluster.leader();
    for (const id of cluster.ids) {
      expect(await left(id)).toEqual({ keys: steps, count: steps, timers: steps });
    }
    expect((await calls.depth(old, 'work')).body).toMatchObject({ pending: 0 });
  });
});
