/**
 * The guarantees of messages.md §16 that speak of the cluster, on three real processes: any node, kill -9
 * of the leader, restart. Each test starts with a whole cluster and leaves one. One node:
 * test/e2e/guarantees*.spec.ts; lease exclusivity under paused leaders: test/cluster/stale-leader.spec.ts.
 */
import { ClusterProcesses } from '../support/cluster-processes.js';
import { Calls, idsOf, type Popped, type Reply } from './calls.js';

/** Three processes that start at once on a busy machine take their time. */
const READY_MS = 180_000;

/** Of a request that no majority answers. */
const DEADLINE_MS = 10_000;

jest.setTimeout(3 * READY_MS);

interface PushRow {
  readonly status: string;
  readonly offset: number;
  readonly message_id: string;
}

interface AckRow {
  readonly success: boolean;
}

let cluster: ClusterProcesses;
let calls: Calls;

beforeAll(async () => {
  const deadline = String(DEADLINE_MS);
  const env = { DEFAULT_TIMEOUT: deadline, QUEEN_STMT_TIMEOUT_MS: deadline };
  cluster = await ClusterProcesses.start({ env });
  calls = new Calls(cluster);
});

beforeEach(async () => {
  for (const id of cluster.ids) if (!cluster.node(id).isRunning) cluster.node(id).start();
  await cluster.leader(cluster.ids, READY_MS);
});

afterAll(() => cluster.remove());

/** Kills the leader; answers it and who leads now. */
async function failover(): Promise<{ old: number; next: number; others: readonly number[] }> {
  const old = await cluster.leader();
  const ended = cluster.node(old).ended();
  cluster.node(old).signal('SIGKILL');
  await ended;
  const others = cluster.ids.filter((id) => id !== old);
  return { old, next: await cluster.leader(others, READY_MS), others };
}

/** Again, here or at another node, until it is answered with the status. */
async function insist(
  ids: readonly number[],
  status: number,
  call: (id: number) => Promise<Reply>,
) {
  const until = performance.now() + READY_MS;
  for (let n = 0; performance.now() < until; n += 1) {
    const reply = await call(ids[n % ids.length] ?? 1).catch(() => null);
    if (reply?.status === status) return reply;
  }
  throw new Error(`never answered ${status}`);
}

const push = async (ids: readonly number[], queue: string, transactionId: string) => {
  const reply = await insist(ids, 201, (id) => calls.push(id, queue, transactionId));
  return (reply.body as PushRow[])[0]!;
};

const pop = async (ids: readonly number[], queue: string): Promise<Popped> =>
  (await insist(ids, 200, (id) => calls.pop(id, queue, 5_000))).body as Popped;

const ack = async (ids: readonly number[], popped: Popped): Promise<AckRow> =>
  ((await insist(ids, 200, (id) => calls.ack(id, popped))).body as AckRow[])[0]!;

/** What a node has applied of the partition. */
async function recordsOf(id: number, queue: string): Promise<{ offset: number; id: string }[]> {
  const entries = [{ queue, partition: 'p', offset: 0 }];
  const { body } = await calls.send(id, '/api/v1/fetch', { entries });
  const [entry] = (body as { entries: { records: { offset: number; transactionId: string }[] }[] })
    .entries;
  return entry!.records.map(({ offset, transactionId }) => ({ offset, id: transactionId }));
}

async function sameEverywhere(queue: string, count: number) {
  let first: { offset: number; id: string }[] = [];
  await cluster.until(
    async () => {
      const all = await Promise.all(cluster.ids.map((id) => recordsOf(id, queue)));
      first = all[0] ?? [];
      return all.every((records) => records.length === count);
    },
    { withinMs: READY_MS, what: `${count} messages at every node` },
  );
  for (const id of cluster.ids) expect(await recordsOf(id, queue)).toEqual(first);
  return first;
}

it('G1 G2 offsets go on without gap or reuse, one order at every node', async () => {
  for (let n = 0; n < 9; n += 1) await push([cluster.ids[n % 3] ?? 1], 'g1', `m${n}`);
  const { old, others } = await failover();
  for (let n = 9; n < 18; n += 1) await push(others, 'g1', `m${n}`);
  cluster.node(old).start();
  await cluster.leader(cluster.ids, READY_MS);
  const records = await sameEverywhere('g1', 18);
  expect(records).toEqual(records.map((_, n) => ({ offset: n, id: `m${n}` })));
});

it('G16 a push repeated at another node and after failover is the first one', async () => {
  const first = await push([1], 'g16', 'once');
  const { others } = await failover();
  for (const id of others) {
    const { status, offset, message_id } = await push([id], 'g16', 'once');
    expect([status, offset, message_id]).toEqual(['duplicate', first.offset, first.message_id]);
  }
  const burst = await Promise.all(
    Array.from({ length: 10 }, (_, n) => push([others[n % 2] ?? 1], 'g16', 'burst')),
  );
  expect(burst.filter(({ status }) => status === 'queued').length).toBeLessThanOrEqual(1);
  expect(new Set(burst.map(({ offset }) => offset))).toEqual(new Set([1]));
});

it('G3 G8 G17 G18 leases and acks hold at any node and over failover', async () => {
  for (const name of ['a', 'b']) await push([1], 'g17', name);
  const held = await pop([2], 'g17');
  for (const id of cluster.ids) expect((await calls.pop(id, 'g17')).status).toBe(204);
  expect(await ack([3], held)).toMatchObject({ success: true });
  const { others } = await failover();
  for (const id of others) expect(await ack([id], held)).toMatchObject({ success: true });
  const next = await pop(others, 'g17');
  expect(next.messages.map(({ transactionId }) => transactionId)).toEqual(['b']);
  // The lease of the settled batch does not reach the next one.
  const stale = { ...next, leaseId: held.leaseId };
  expect(await ack(others, stale)).toMatchObject({ success: false });
  expect(await ack(others, next)).toMatchObject({ success: true });
  expect((await calls.pop(others[0] ?? 1, 'g17')).status).toBe(204);
});

/** A write of each other kind through one node each, and what a read at any node must then show. */
async function writeEveryKind(): Promise<() => Promise<void>> {
  const put = (key: string): object => ({ op: 'put', ns: 'g22', key, value: key, forever: true });
  const timer = {
    ...{ op: 'schedule', queue: 'g22-timers', timerKey: 't', txn: 't' },
    ...{ delayMs: 3_600_000, payload: 'MQ==' },
  };
  const writes: readonly (readonly [path: string, body: object, status: number])[] = [
    ['configure', { queue: 'g22-options', options: { leaseTime: 77 } }, 200],
    ['kv', [put('alone')], 200],
    [
      'transaction',
      {
        operations: [{ type: 'push', queue: 'g22-options', payload: 1 }],
        ...{ kv: [put('together')], timers: [timer] },
        positions: [{ queue: 'g22-options', consumerGroup: 'other', offset: 1 }],
      },
      200,
    ],
    ['traces', { transactionId: 'a', traceNames: ['g22'] }, 201],
    ['locks', [{ op: 'acquire', name: 'g22', owner: 'w', ttlSeconds: 900 }], 200],
  ];
  for (const [n, [path, body, status]] of writes.entries()) {
    const id = cluster.ids[n % 3] ?? 1;
    expect([path, (await calls.send(id, `/api/v1/${path}`, body)).status]).toEqual([path, status]);
  }
  const positions = { consumerGroup: 'other' };
  return async () => {
    for (const id of cluster.ids) {
      const read = async (path: string, body?: object): Promise<unknown> =>
        (await calls.send(id, `/api/v1/${path}`, body)).body;
      expect(await read('resources/queues/g22-options')).toMatchObject({
        ...{ options: { leaseTime: 77 }, totals: { total: 1 } },
      });
      for (const key of ['alone', 'together']) {
        expect(await read(`kv/g22/${key}`)).toMatchObject({ value: key });
      }
      expect(await read('timers/g22-timers/t')).toMatchObject({ found: true });
      expect(await read('consumer-groups/positions', positions)).toMatchObject({
        entries: [{ queue: 'g22-options', offset: 1 }],
      });
      expect(await read('traces/by-name/g22')).toMatchObject({ total: 1 });
    }
  };
}

it('G22 what was answered survives kill -9 of the leader, then of every node', async () => {
  await push([1], 'g22', 'a');
  await push([2], 'g22', 'b');
  const held = await pop([3], 'g22');
  const expectEveryKind = await writeEveryKind();
  await ack([1], held);
  await failover();
  const running = cluster.ids.filter((id) => cluster.node(id).isRunning);
  await Promise.all(
    running.map(async (id) => {
      const ended = cluster.node(id).ended();
      cluster.node(id).signal('SIGKILL');
      await ended;
    }),
  );
  for (const id of cluster.ids) cluster.node(id).start();
  await cluster.leader(cluster.ids, READY_MS);
  expect((await sameEverywhere('g22', 2)).map(({ id }) => id)).toEqual(['a', 'b']);
  expect(idsOf(await calls.pop(2, 'g22', 10_000))).toEqual(['b']);
  await expectEveryKind();
});

it('G23 a read at another node sees what was answered before', async () => {
  for (let n = 0; n < 15; n += 1) {
    const [writer = 1, reader = 2] = [cluster.ids[n % 3], cluster.ids[(n + 1) % 3]];
    await push([writer], 'g23', `m${n}`);
    const depth = await calls.depth(reader, 'g23');
    expect(depth.body).toMatchObject({ pending: n + 1 });
  }
});

it('G24 a lease excludes others until its time is over, across leaders', async () => {
  await push([1], 'g24', 'a');
  const path = '/api/v1/pop/queue/g24?batch=1&leaseSeconds=6&wait=true&timeout=10000';
  const fromMs = Date.now();
  await insist(cluster.ids, 200, (id) => calls.send(id, path));
  const { others } = await failover();
  const again = await insist(others, 200, (id) => calls.send(id, path));
  expect(Date.now() - fromMs).toBeGreaterThanOrEqual(6_000);
  expect(again.body).toMatchObject({ messages: [{ transactionId: 'a', deliveryAttempt: 2 }] });
});

it('G25 a 503 may have been applied: its repeat is stored once', async () => {
  const before = await push([1], 'g25', 'before');
  expect(before.offset).toBe(0);
  const leader = await cluster.leader();
  const others = cluster.ids.filter((id) => id !== leader);
  for (const id of others) cluster.node(id).signal('SIGSTOP');
  let reply: Reply;
  try {
    reply = await calls.push(leader, 'g25', 'in-doubt');
  } finally {
    for (const id of others) cluster.node(id).signal('SIGCONT');
  }
  expect(reply.status).toBe(503);
  expect(['timeout', 'retry', 'no_leader', 'outcome_unknown']).toContain(
    (reply.body as { code: string }).code,
  );
  await cluster.leader(cluster.ids, READY_MS);
  for (const id of cluster.ids) expect((await push([id], 'g25', 'in-doubt')).offset).toBe(1);
  expect((await sameEverywhere('g25', 2)).map(({ id }) => id)).toEqual(['before', 'in-doubt']);
});

it('G21 a dead letter is filed once and replayed once through any node', async () => {
  await push([1], 'g21', 'x');
  const { leaseId, partitionId } = await pop([2], 'g21');
  const body = { transactionId: 'x', partitionId, leaseId, status: 'dlq', error: 'no' };
  const filed = await calls.send(3, '/api/v1/ack', body);
  expect(filed.body).toMatchObject([{ success: true, dlq: true }]);
  const { others } = await failover();
  const listed = await calls.send(others[0] ?? 1, '/api/v1/dlq?queue=g21');
  const { messages } = listed.body as { messages: { id: string }[] };
  expect(messages).toHaveLength(1);
  const replays = await Promise.all(
    [...others, ...others].map((id) => calls.send(id, `/api/v1/dlq/${messages[0]!.id}/replay`, {})),
  );
  const moved = replays.filter(({ body: b }) => (b as { result?: string }).result === 'moved');
  expect(moved).toHaveLength(1);
  expect(await recordsOf(others[0] ?? 1, 'g21')).toHaveLength(2);
});
