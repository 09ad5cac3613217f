/**
 * Admin and analytics routes (admin.md §1.1, §1.2, §1.6, §1.7) over HTTP: every answer is held against the
 * API document, and the numbers against what was done before. Minute rows are made every second here.
 */
import { DocumentJudge, type ApiDocument } from '../support/api-document.js';
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import { Calls, eventually, messagesOf, type Wire } from './calls.js';

let broker: TestBroker;
let calls: Calls;
let judge: DocumentJudge;

beforeAll(async () => {
  broker = await TestBroker.start({ METRICS_FLUSH_MS: '1000' });
  calls = new Calls(broker);
  judge = new DocumentJudge((await broker.get('/docs-json')).json as ApiDocument);
  await calls.broker.post('/api/v1/configure', {
    queue: 'bills',
    namespace: 'billing',
    task: 'pay',
  });
  await calls.broker.post('/api/v1/configure', { queue: 'empty', namespace: 'billing' });
  await calls.push('bills', { id: 'a', partition: 'p1' }, { id: 'b', partition: 'p1' });
  await calls.push('bills', { id: 'c', partition: 'p1' }, { id: 'd', partition: 'p2' });
  const popped = await calls.popPinned('bills', 'p1', {
    batch: 2,
    consumerGroup: 'g',
    subscriptionMode: 'all',
  });
  const [first, second] = messagesOf(popped);
  await calls.ack(first!, 'g', { id: 'a' }, { id: 'b', status: 'dlq', error: 'order 17 is lost' });
  expect(second?.transactionId).toBe('b');
  await calls.popPinned('bills', 'p1', { batch: 1, consumerGroup: 'g' });
  await calls.pop('bills', { consumerGroup: 'none', partitions: 1 });
  await calls.push('plain', 'x');
});

afterAll(() => broker.stop());

/** Asks, and holds the answer against the document. */
async function ask(path: string, status = 200): Promise<Wire> {
  const [bare = ''] = path.split('?');
  const route = bare.replace(/(status\/queues)\/[^/]+$/, '$1/{queue}');
  const answer: HttpAnswer = await broker.get(path);
  expect([path, answer.status, judge.answerFaults(`GET ${route}`, answer)]).toEqual([
    ...[path, status],
    [],
  ]);
  return answer.json;
}

/** Rows exist once the running second is over. */
const rowsOf = (path: string, ready: (body: Wire) => boolean): Promise<Wire> =>
  eventually(async () => {
    const body = await ask(path);
    return ready(body) ? body : null;
  });

it('sums all queues', async () => {
  const overview = await ask('/api/v1/resources/overview');
  expect(overview).toMatchObject({
    ...{ queues: 3, partitions: 3, namespaces: 2, tasks: 1, statsAge: 0 },
    messages: { total: 5, pending: 2, processing: 1, failed: 0, deadLetter: 1 },
    lag: { offset: { avg: 1, max: 1, median: 0, min: 0 } },
  });
});

it('sums queues by label', async () => {
  expect(await ask('/api/v1/resources/namespaces')).toEqual({
    namespaces: [
      { namespace: 'billing', queues: 2, partitions: 2, messages: { total: 4, pending: 1 } },
      // A queue made by a push is labelled with its own name.
      { namespace: 'plain', queues: 1, partitions: 1, messages: { total: 1, pending: 1 } },
    ],
  });
  expect(await ask('/api/v1/resources/tasks')).toEqual({
    tasks: [{ task: 'pay', queues: 1, partitions: 2, messages: { total: 4, pending: 1 } }],
  });
});

it('lists the busiest lanes', async () => {
  const all = await ask('/api/v1/resources/partitions');
  expect(all).toMatchObject({ walked: 3, truncated: false });
  const seen = all.partitions.map((row: Wire) => [row.queue, row.partition, row.pending]);
  expect(seen).toEqual([
    ['bills', 'p1', 1],
    ['bills', 'p2', 1],
    ['plain', 'Default', 1],
  ]);
  const one = await ask('/api/v1/resources/partitions?queue=bills&limit=1');
  expect(one.partitions).toMatchObject([{ partition: 'p1', processing: 1 }]);
  expect(await ask('/api/v1/resources/partitions?queue=no', 404)).toEqual({
    error: 'Queue not found',
  });
});

it('shows queues under status', async () => {
  const { queues } = await ask('/api/v1/status/queues');
  expect(queues.map(({ name }: Wire) => name)).toEqual(['plain', 'empty', 'bills']);
  const one = await ask('/api/v1/status/queues/bills');
  expect(one.queue).toMatchObject({
    name: 'bills',
    namespace: 'billing',
    task: 'pay',
    priority: 0,
  });
  expect(one.partitions.map(({ name }: Wire) => name)).toEqual(['p1', 'p2']);
  expect(one.totals.messages).toEqual({
    ...{ total: 4, pending: 2, processing: 1, completed: 1, failed: null, deadLetter: 1 },
  });
  expect(await ask('/api/v1/status/queues/no', 404)).toEqual({ error: 'Queue not found' });
  expect((await ask('/api/v1/status/analytics')).dataPoints).toMatchObject([{ messages: 5 }]);
});

it('tells the broker in one answer', async () => {
  const all = await rowsOf('/api/v1/status', ({ messages }) => messages.total === 5);
  expect(all).toMatchObject({ engine: 'raft', bucketMinutes: 1 });
  expect(all.nodesMissing).toBeUndefined();
  expect(all.statsAge).toBeGreaterThanOrEqual(0);
  expect(all.messages).toMatchObject({ deadLetter: 1, failed: 0, requests: { push: 3, ack: 1 } });
  expect(all.messages.batchEfficiency.push).toBe(1.67);
  expect(all.leases).toEqual({
    ...{ active: 1, partitionsWithLeases: 1, totalBatchSize: 1, totalAcked: 0 },
  });
  expect(all.deadLetterQueue).toMatchObject({
    ...{ currentMessages: 1, affectedPartitions: 1 },
    topErrors: [{ error: 'order 17 is lost', count: 1 }],
  });
  expect(all.queues.map(({ name }: Wire) => name)).toEqual(['bills', 'plain']);
  expect(all.workers).toHaveLength(1);
  const ingested = all.throughput.reduce((sum: number, row: Wire) => sum + row.ingested, 0);
  expect(ingested).toBe(5);
  const some = await ask('/api/v1/status?namespace=billing');
  expect(some.throughput.reduce((sum: number, row: Wire) => sum + row.ingested, 0)).toBe(4);
  expect(some.queues.map(({ name }: Wire) => name)).toEqual(['bills']);
});

it.each([
  ['/api/v1/status?from=soon', 500],
  ['/api/v1/analytics/queue-lag?to=soon', 500],
  ['/api/v1/analytics/queue-ops?from=soon', 500],
  ['/api/v1/analytics/queue-parked-replicas?from=soon', 500],
  ['/api/v1/analytics/workload?from=soon', 500],
  ['/api/v1/analytics/retention?from=soon', 500],
  ['/api/v1/analytics/system-metrics?from=soon', 500],
  ['/api/v1/analytics/worker-metrics?from=soon', 500],
  ['/api/v1/analytics/worker-metrics?workerId=one', 500],
  ['/api/v1/analytics/workload?groupBy=colour', 400],
  ['/api/v1/analytics/workload?from=1990-01-01', 500],
  ['/api/v1/analytics/retention?groupBy=colour', 400],
  ['/api/v1/analytics/dlq-signatures', 400],
])('refuses %s with %d', async (path, status) => {
  const { error } = await ask(path, status);
  expect(error).toMatch(/^(invalid input syntax|bad groupBy|queue required|too many buckets)/);
});

it.each(['postgres-stats', 'nothing'])('knows no analytics of %s', async (name) => {
  const { status, json } = await broker.get(`/api/v1/analytics/${name}`);
  expect([status, json.code]).toEqual([404, 'no_such_route']);
});

it('gives series by queue', async () => {
  const ops = await rowsOf(
    '/api/v1/analytics/queue-ops?queue=bills',
    ({ series }) => series.length > 0,
  );
  expect(ops).toMatchObject({ bucketMinutes: 1, queues: ['bills'] });
  const sum = (field: string): number =>
    ops.series.reduce((total: number, row: Wire) => total + row[field], 0);
  expect(sum('pushRequests')).toBe(2);
  expect(sum('pushMessages')).toBe(4);
  expect(sum('popMessages')).toBe(3);
  expect(sum('popEmpty')).toBe(1);
  expect(sum('ackSuccess')).toBe(2);
  expect(sum('partitionsCreated')).toBe(2);
  const lag = await ask('/api/v1/analytics/queue-lag?queue=bills');
  expect(lag.reduce((total: number, row: Wire) => total + row.popCount, 0)).toBe(3);
  expect(lag.some(({ avgLagMs }: Wire) => avgLagMs !== null)).toBe(true);
  const parked = await ask('/api/v1/analytics/queue-parked-replicas');
  expect(parked.replicas).toHaveLength(1);
});

it('sees who waits', async () => {
  const { answer } = await calls.park(() => calls.pop('parked', { wait: true, timeout: 20_000 }));
  const seen = await rowsOf('/api/v1/analytics/queue-ops?queue=parked', ({ series }) =>
    series.some(({ parkedCount }: Wire) => parkedCount > 0),
  ).catch(() => null);
  await calls.push('parked', 'wake');
  await answer;
  // A queue comes into being with its first pop, so the rows know it.
  expect(seen).not.toBeNull();
});

it('says who does the work', async () => {
  const work = await rowsOf(
    '/api/v1/analytics/workload',
    ({ tenant }) => tenant.window.pushMessages >= 5,
  );
  const keys = work.rows.map(({ key, queues }: Wire) => [key, queues]);
  expect(keys).toContainEqual(['billing', 2]);
  const billing = work.rows.find(({ key }: Wire) => key === 'billing');
  expect(billing.window).toMatchObject({ pushMessages: 4, popMessages: 3, ackSuccess: 2 });
  expect(billing.now).toMatchObject({ pending: 2, processing: 1, deadLetter: 1, groups: 1 });
  expect(billing.series.push).toHaveLength(work.buckets.length);
  const byQueue = await ask('/api/v1/analytics/workload?groupBy=queue&namespace=billing');
  expect(byQueue.rows.map(({ key, task }: Wire) => [key, task])).toEqual([
    ['bills', 'pay'],
    ['empty', ''],
  ]);
  const unlabelled = await ask('/api/v1/analytics/workload?groupBy=queue&namespace=billing&task=');
  expect(unlabelled.rows.map(({ key }: Wire) => key)).toEqual(['empty']);
});

it('folds dead letters by cause', async () => {
  const found = await ask('/api/v1/analytics/dlq-signatures?queue=bills');
  expect(found).toMatchObject({ rowsNow: 1, sample: 1, groups: ['g'] });
  expect(found.signatures).toEqual([{ text: 'order <n> is lost', n: 1, share: 1 }]);
  expect(found.byDay).toHaveLength(1);
  expect(await ask('/api/v1/analytics/dlq-signatures?queue=no')).toMatchObject({ rowsNow: 0 });
});

it('counts live lanes', async () => {
  const { rows } = await ask('/api/v1/analytics/partition-liveness?namespace=billing');
  expect(rows).toMatchObject([
    { queue: 'bills', partitions: 2, live1h: 2, live7d: 2, created24h: 2, pending: 2 },
    { queue: 'empty', partitions: 0, live1h: 0, oldestWriteAt: null },
  ]);
  expect((await ask('/api/v1/analytics/partition-liveness?limit=1')).rows).toHaveLength(1);
});

it('measures the process', async () => {
  const system = await rowsOf('/api/v1/analytics/system-metrics', (body) => body.pointCount > 0);
  expect(system.replicas).toHaveLength(1);
  const [replica] = system.replicas;
  const { cpu, memory, database } = replica.timeSeries[0].metrics;
  expect(memory.rss_bytes.avg).toBeGreaterThan(1e6);
  expect(cpu.user_us.max).toBeGreaterThanOrEqual(cpu.user_us.min);
  expect(database.pool_size).toEqual({ avg: null, min: null, max: null, last: null });
  const absent = await ask('/api/v1/analytics/system-metrics?hostname=elsewhere');
  expect(absent.replicaCount).toBe(0);
  const worker = await ask('/api/v1/analytics/worker-metrics');
  expect(worker.summary.totalPushMessages).toBeGreaterThanOrEqual(5);
  expect(worker.workers).toHaveLength(1);
  const none = await ask('/api/v1/analytics/worker-metrics?workerId=1');
  expect(none).toMatchObject({ pointCount: 0, workers: [] });
});

it('lists the one member of a single node', async () => {
  const { members, voters } = await ask('/api/v1/raft/members');
  expect(voters).toBe(1);
  expect(members).toMatchObject([{ nodeId: 1, state: 'leader', reachable: true, lagEntries: 0 }]);
  expect(members[0].host.memLimitBytes).toBeGreaterThan(1e8);
  const status = await ask('/api/v1/raft/status');
  expect(status.host.disk.highPct).toBeGreaterThan(0);
});

it('forgets the rows of a deleted queue, keeps the others over a restart', async () => {
  await broker.send('DELETE', '/api/v1/resources/queues/bills');
  const ops = await ask('/api/v1/analytics/queue-ops');
  expect(ops.queues).not.toContain('bills');
  expect(ops.queues).toContain('plain');
  await broker.restart();
  const again = await rowsOf('/api/v1/analytics/queue-ops?queue=plain', ({ series }) =>
    series.some(({ pushMessages }: Wire) => pushMessages === 1),
  );
  expect(again.queues).toEqual(['plain']);
});
