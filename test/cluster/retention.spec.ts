/**
 * Retention on three real nodes: the leader of the moment sweeps, every node cuts the same, also across
 * a change of leader, and the states agree (the members compare digests and a minority that differs stops).
 */
import { ClusterProcesses } from '../support/cluster-processes.js';
import { Calls } from './calls.js';

jest.setTimeout(480_000);

const KEY = '5a'.repeat(32);

interface Fetched {
  readonly entries: readonly {
    readonly logStartOffset: number;
    readonly records: readonly { readonly payload: unknown }[];
  }[];
}

describe('retention in a cluster', () => {
  let cluster: ClusterProcesses;
  let calls: Calls;

  beforeAll(async () => {
    const env = { RETENTION_INTERVAL: '50', QUEEN_ENCRYPTION_KEY: KEY };
    cluster = await ClusterProcesses.start({ env });
    calls = new Calls(cluster);
    await cluster.leader();
  });

  afterAll(() => cluster.remove());

  const fetchFrom = async (id: number, queue: string, offset: number) => {
    const entries = [{ queue, partition: 'p', offset }];
    return ((await calls.send(id, '/api/v1/fetch', { entries })).body as Fetched).entries[0];
  };

  /** Every node of `ids` starts the log of the queue at the offset. */
  const cutTo = (ids: readonly number[], queue: string, logStart: number): Promise<void> =>
    cluster.until(
      async () => {
        const all = await Promise.all(
          // A node that starts again does not listen yet.
          ids.map((id) => fetchFrom(id, queue, logStart).catch(() => undefined)),
        );
        return all.every((entry) => (entry?.logStartOffset ?? -1) >= logStart);
      },
      { withinMs: 180_000, what: `the log of ${queue} to start at ${logStart}` },
    );

  it('is swept by the leader of the moment and cut alike by every node', async () => {
    const leader = await cluster.leader();
    const options = { maxWaitTimeSeconds: 1, encryptionEnabled: true };
    await calls.send(leader, '/api/v1/configure', { queue: 'short', options });
    for (const id of cluster.ids) {
      expect((await calls.push(id, 'short', `first-${id}`)).status).toBe(201);
      expect((await calls.push(id, 'kept', `kept-${id}`)).status).toBe(201);
    }
    await cutTo(cluster.ids, 'short', 3);
    const ended = cluster.node(leader).ended();
    cluster.node(leader).signal('SIGKILL');
    await ended;
    const others = cluster.ids.filter((id) => id !== leader);
    const next = await cluster.leader(others);
    expect((await calls.push(next, 'short', 'second')).status).toBe(201);
    await cutTo(others, 'short', 4);
    cluster.node(leader).start();
    await cutTo(cluster.ids, 'short', 4);
    await cluster.until(
      async () => {
        const all = await Promise.all(cluster.ids.map((id) => cluster.health(id)));
        return all.every((one) => one?.status === 200);
      },
      { withinMs: 180_000, what: 'every node to serve' },
    );
    for (const id of cluster.ids) {
      expect((await fetchFrom(id, 'kept', 0))?.records).toHaveLength(3);
      const duplicate = (await calls.push(id, 'short', 'second')).body as { status: string }[];
      expect(duplicate[0]?.status).toBe('duplicate');
    }
    // Digests of equal indexes were compared meanwhile: nobody stopped.
    const health = await Promise.all(cluster.ids.map((id) => cluster.health(id, 5_000)));
    expect(health.map((one) => one?.status)).toEqual([200, 200, 200]);
  });

  it('binds every node to the key: what one seals, all show', async () => {
    const leader = await cluster.leader();
    const options = { encryptionEnabled: true };
    await calls.send(leader, '/api/v1/configure', { queue: 'sealed', options });
    for (const id of cluster.ids) await calls.push(id, 'sealed', `s-${id}`);
    for (const id of cluster.ids) {
      await cluster.until(async () => (await fetchFrom(id, 'sealed', 0))?.records.length === 3, {
        withinMs: 180_000,
        what: `node ${id} to show all`,
      });
      const { records } = (await fetchFrom(id, 'sealed', 0))!;
      expect(records.map(({ payload }) => payload)).toEqual(
        cluster.ids.map((one) => ({ transactionId: `s-${one}` })),
      );
    }
  });
});
