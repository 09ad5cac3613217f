/**
 * Stream cycles through three real processes (state.md §4): any node takes the cycle of a batch that another
 * one handed out and shows its state, and over the kill of a leader, then of every node, each cycle happens
 * wholly and once: message to the sink, state row and acknowledgement.
 */
import { ClusterProcesses, pause } from '../support/cluster-processes.js';
import { Calls, idsOf } from './calls.js';
import type { Popped, Reply } from './calls.js';

jest.setTimeout(480_000);

const LEASE_S = 10;

interface StateAnswer {
  readonly rows: readonly { readonly key: string; readonly value: unknown }[];
}

describe('streams on three nodes', () => {
  let cluster: ClusterProcesses;
  let calls: Calls;

  beforeAll(async () => {
    cluster = await ClusterProcesses.start();
    calls = new Calls(cluster);
    await cluster.leader();
  });

  afterAll(() => cluster.remove());

  async function register(id: number, name: string): Promise<string> {
    const query = { name, source_queue: name, config_hash: 'h' };
    const { body } = await calls.send(id, '/streams/v1/queries', query);
    return (body as { query_id: string }).query_id;
  }

  const cycle = (id: number, queryId: string, popped: Popped, sink: string): Promise<Reply> => {
    const [input = ''] = popped.messages.map(({ transactionId }) => transactionId);
    return calls.send(id, '/streams/v1/cycle', {
      ...{ query_id: queryId, partition_id: popped.partitionId },
      state_ops: [{ key: input, value: { seen: 1 } }],
      push_items: [{ queue: sink, partition: 'p', transactionId: `of-${input}`, payload: input }],
      ack: { leaseId: popped.leaseId, status: 'completed', count: 1 },
    });
  };

  async function keys(id: number, queryId: string, partitionId: string): Promise<string[]> {
    const target = { query_id: queryId, partition_id: partitionId };
    const { body } = await calls.send(id, '/streams/v1/state/get', target);
    return (body as StateAnswer).rows.map(({ key }) => key);
  }

  it('takes a cycle at one node, of a batch of another, and shows it at the third', async () => {
    for (const [i, id] of cluster.ids.entries()) {
      const [next = 0, last = 0] = [...cluster.ids, ...cluster.ids].slice(i + 1);
      const name = `source-${id}`;
      const queryId = await register(id, name);
      expect(await register(last, name)).toBe(queryId);
      await calls.push(last, name, 'a');
      const popped = (await calls.pop(next, name, 10_000)).body as Popped;
      const done = await cycle(id, queryId, popped, `sink-${id}`);
      expect(done.body).toMatchObject({ success: true, ack_result: { count: 1 } });
      expect(await keys(last, queryId, popped.partitionId)).toEqual(['a']);
      expect(await keys(next, queryId, popped.partitionId)).toEqual(['a']);
      expect(idsOf(await calls.pop(last, `sink-${id}`, 10_000))).toEqual(['of-a']);
      for (const other of cluster.ids) {
        const again = await cycle(other, queryId, popped, `sink-${id}`);
        expect(again.body).toMatchObject({ success: false, reason: 'rejected_ack' });
      }
    }
  });

  it('does every cycle once and whole while the leader, then every node is killed', async () => {
    const inputs = Array.from({ length: 40 }, (_, i) => `m-${i}`);
    const old = await cluster.leader();
    const items = inputs.map((id, i) => ({
      ...{ queue: 'work', partition: `p-${i}`, transactionId: id, payload: id },
    }));
    expect((await calls.send(old, '/api/v1/push', { items })).status).toBe(201);
    const queryId = await register(old, 'work');
    const partitions = new Set<string>();
    const kills = new Set<number>();
    let asked = 0;
    const nextNode = (): number => cluster.ids[asked++ % cluster.ids.length] ?? 1;

    /** Again until it is done, or was done before. */
    async function settle(popped: Popped): Promise<void> {
      for (;;) {
        const sent = cycle(nextNode(), queryId, popped, 'done').catch(() => null);
        if (isTurn(inputs.length / 4)) cluster.node(old).killNow();
        if (isTurn(inputs.length / 2)) await cluster.killAll();
        const reply = await sent;
        if (reply?.status === 200) {
          const { success, reason } = reply.body as { success: boolean; reason?: string };
          expect([true, 'rejected_ack', 'duplicate']).toContain(success || reason);
          return;
        }
        await pause(50);
      }
    }

    /** Once, when so many batches were taken. */
    function isTurn(batches: number): boolean {
      if (partitions.size < batches || kills.has(batches)) return false;
      kills.add(batches);
      return true;
    }

    const isDone = async (): Promise<boolean> => {
      const reply = await calls.depth(nextNode(), 'work').catch(() => null);
      return reply?.status === 200 && (reply.body as { pending: number }).pending === 0;
    };
    while (!(await isDone())) {
      // A batch whose answer, or whose cycle, came too late comes back when its lease has run out.
      const reply = await calls.pop(nextNode(), 'work', 3_000, LEASE_S).catch(() => null);
      if (reply?.status !== 200) {
        await pause(50);
        continue;
      }
      const popped = reply.body as Popped;
      partitions.add(popped.partitionId);
      await settle(popped);
    }

    expect(kills.size).toBe(2);
    await cluster.leader();
    for (const id of cluster.ids) {
      expect((await calls.depth(id, 'work')).body).toMatchObject({ pending: 0, processing: 0 });
      const found = await Promise.all([...partitions].map((one) => keys(id, queryId, one)));
      expect(found.flat().sort()).toEqual([...inputs].sort());
    }
    const results: string[] = [];
    while (results.length < inputs.length) {
      const reply = await calls.pop(1, 'done', 10_000);
      if (reply.status !== 200) break;
      results.push(...idsOf(reply));
      await calls.ack(1, reply.body as Popped);
    }
    expect(results.sort()).toEqual(inputs.map((id) => `of-${id}`).sort());
    expect((await calls.pop(2, 'done')).status).toBe(204);
  });
});
