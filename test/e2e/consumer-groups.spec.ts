/** Consumer groups over HTTP (messages.md §10): a case per row of the table and its refusals. */
import { TestBroker } from '../support/broker.js';
import { Calls, promptly } from './calls.js';

const GROUPS = '/api/v1/consumer-groups';
let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start({ QUEEN_TENANCY_HEADER: 'false' });
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

async function push(queue: string, partition: string, count: number): Promise<void> {
  const items = Array.from({ length: count }, (_, n) => ({ queue, partition, payload: { n } }));
  for (const item of items) {
    expect((await broker.post('/api/v1/push', { items: [item] })).status).toBe(201);
  }
}

const pop = (queue: string, group: string, more = '') =>
  broker.get(`/api/v1/pop/queue/${queue}?consumerGroup=${group}&subscriptionMode=all&${more}`);

async function consume(queue: string, group: string, batch: number): Promise<void> {
  const { json } = await pop(queue, group, `batch=${batch}`);
  await broker.post('/api/v1/ack/batch', {
    consumerGroup: group,
    acknowledgments: json.messages.map((m: { transactionId: string; partitionId: string }) => ({
      ...{ transactionId: m.transactionId, partitionId: m.partitionId },
      ...{ leaseId: json.leaseId, status: 'completed' },
    })),
  });
}

describe('list and detail', () => {
  it('shows a row per group and queue with a cursor, by group, then queue', async () => {
    await push('l2', 'p', 3);
    await push('l1', 'p', 2);
    await consume('l2', 'lg', 1);
    await consume('l1', 'lg', 2);
    await pop('l1', 'la');
    await broker.get('/api/v1/pop/queue/l1');
    const { json, status } = await broker.get(GROUPS);
    expect(status).toBe(200);
    const rows = json.filter((row: { queueName: string }) => /^l[12]$/.test(row.queueName));
    expect(
      rows.map((row: { name: string; queueName: string }) => [row.name, row.queueName]),
    ).toEqual([
      ['__QUEUE_MODE__', 'l1'],
      ['la', 'l1'],
      ['lg', 'l1'],
      ['lg', 'l2'],
    ]);
    expect(rows[0]).toMatchObject({
      ...{ subscriptionMode: null, subscriptionTimestamp: null, subscriptionCreatedAt: null },
      ...{ state: 'Dead', conflation: false },
    });
    expect(rows[3]).toEqual({
      ...{ name: 'lg', topics: ['l2'], queueName: 'l2', members: 1, partitionCursors: 1 },
      ...{ partitionsWithLag: 1, totalLag: 2, maxTimeLag: expect.any(Number) as number },
      ...{ state: 'Stable', storage: 'segments', kind: 'queen', subscriptionMode: 'all' },
      subscriptionTimestamp: '1970-01-01T00:00:00.000000Z',
      subscriptionCreatedAt: expect.stringMatching(/\.\d{6}Z$/) as string,
      conflation: false,
    });
    expect(rows[2]).toMatchObject({ totalLag: 0, maxTimeLag: 0, partitionsWithLag: 0 });
  });

  it('shows one group by queue and partition, 404 without a cursor', async () => {
    await push('d', 'b', 2);
    await push('d', 'a', 1);
    const popped = await pop('d', 'dg', 'batch=1&partitions=2');
    const { json } = await broker.get(`${GROUPS}/dg`);
    expect(json.d).toMatchObject({ conflation: false, kind: 'queen' });
    const [first, second] = json.d.partitions;
    const leased = popped.json.partition === 'a' ? first : (second ?? first);
    expect(leased).toMatchObject({
      ...{ workerId: popped.json.leaseId, leaseActive: true, lastConsumedAt: null },
      ...{ totalConsumed: 0, timeLagSeconds: expect.any(Number) as number },
    });
    const absent = await broker.get(`${GROUPS}/nobody`);
    expect([absent.status, absent.json]).toEqual([404, { error: 'Consumer group not found' }]);
  });

  it.each(['constructor', '__proto__'])('shows a queue called %s', async (queue) => {
    await push(queue, 'p', 1);
    await consume(queue, `of-${queue}`, 1);
    const detail = await broker.get(`${GROUPS}/of-${queue}`);
    expect(detail.status).toBe(200);
    expect(detail.text).toContain(`"${queue}":{"conflation":false`);
  });

  it('lists lanes behind by more than the bound, worst first', async () => {
    await push('lag', 'p', 2);
    await pop('lag', 'slow');
    await new Promise((resolve) => setTimeout(resolve, 1600));
    await push('lag', 'q', 1);
    await pop('lag', 'slow');
    expect((await broker.get(`${GROUPS}/lagging`)).json).toEqual([]);
    const { json } = await broker.get(`${GROUPS}/lagging?minLagSeconds=0`);
    const rows = json.filter((row: { queue_name: string }) => row.queue_name === 'lag');
    expect(rows[0]).toEqual({
      ...{ consumer_group: 'slow', queue_name: 'lag', partition_name: 'p', kind: 'queen' },
      partition_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      worker_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      ...{ offset_lag: 2, time_lag_seconds: expect.any(Number) as number, lag_hours: 0 },
      oldest_unconsumed_at: expect.stringMatching(/\.\d{3}Z$/) as string,
      last_consumed_at: null,
    });
    const lags = json.map((row: { time_lag_seconds: number }) => row.time_lag_seconds);
    expect(lags).toEqual([...lags].sort((a: number, b: number) => b - a));
    expect(Math.min(...lags)).toBeGreaterThan(0);
  });
});

describe('positions', () => {
  const positions = (body: unknown) => broker.post(`${GROUPS}/positions`, body);

  it('answers in order, null without a cursor, everything without entries', async () => {
    await push('pos', 'a', 3);
    await push('pos', '7', 1);
    await consume('pos', 'pg', 10);
    await consume('pos', 'pg', 10);
    const entries = [
      { queue: 'pos', partition: 'nope' },
      { queue: 'pos', partition: 7 },
      { queue: 'none', partition: 'a' },
      { queue: 'pos', partition: 'a' },
    ];
    const { json, status } = await positions({ consumerGroup: 'pg', entries });
    expect(status).toBe(200);
    expect(json).toEqual({
      consumerGroup: 'pg',
      entries: [
        { queue: 'pos', partition: 'nope', offset: null },
        { queue: 'pos', partition: '7', offset: 1, metadata: null },
        { queue: 'none', partition: 'a', offset: null },
        { queue: 'pos', partition: 'a', offset: 3, metadata: null },
      ],
    });
    const all = await positions({ consumerGroup: 'pg' });
    expect(all.json.entries).toHaveLength(2);
    expect((await positions({ consumerGroup: 'x' })).json).toEqual({
      ...{ consumerGroup: 'x', entries: [] },
    });
  });

  it.each([
    [{}, 'bad_request'],
    [{ consumerGroup: '' }, 'bad_request'],
    [{ consumerGroup: 'g', entries: {} }, 'bad_request'],
    [{ consumerGroup: 'g', entries: [{ partition: 'p' }] }, 'bad_request'],
    [[], 'bad_body'],
  ])('refuses %j with %s', async (body, code) => {
    const answer = await positions(body);
    expect([answer.status, answer.json.code]).toEqual([400, code]);
  });
});

describe('seek', () => {
  const seek = (path: string, body?: unknown) => broker.post(`${GROUPS}/${path}/seek`, body);

  it('skips to the end with an empty body and fences outstanding acks', async () => {
    await push('s1', 'a', 2);
    await push('s1', 'b', 1);
    const popped = await pop('s1', 'sg', 'batch=2');
    const { json, status } = await seek('sg/queues/s1');
    expect([status, json]).toEqual([
      200,
      {
        ...{ success: true, consumerGroup: 'sg', queueName: 's1', partitionName: null },
        ...{ seekToEnd: true, targetTimestamp: null, partitionsUpdated: 2, updated: true },
      },
    ]);
    const [message] = popped.json.messages;
    const acked = await broker.post('/api/v1/ack', {
      ...{ consumerGroup: 'sg', transactionId: message.transactionId },
      ...{ partitionId: message.partitionId, leaseId: popped.json.leaseId, status: 'completed' },
    });
    expect(acked.json[0].success).toBe(false);
    expect((await pop('s1', 'sg')).status).toBe(204);
  });

  it('goes to a time: the first message at or after it, else the end', async () => {
    await push('s2', 'p', 2);
    await consume('s2', 'tg', 10);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const timestamp = new Date().toISOString();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await push('s2', 'p', 2);
    await consume('s2', 'tg', 10);
    const path = 'tg/queues/s2/partitions/p';
    const { json } = await seek(path, { timestamp });
    expect(json).toMatchObject({
      ...{ partitionName: 'p', seekToEnd: false, targetTimestamp: timestamp },
      ...{ partitionsUpdated: 1 },
    });
    expect((await pop('s2', 'tg', 'batch=1')).json.messages[0].offset).toBe(2);
    await seek(path, { timestamp: '1960-01-01' });
    expect((await pop('s2', 'tg', 'batch=1')).json.messages[0].offset).toBe(0);
    await seek(path, { timestamp: '2200-01-01T00:00:00Z' });
    expect((await pop('s2', 'tg', 'batch=1')).status).toBe(204);
  });

  it('creates cursors of a group that never read, without registering it', async () => {
    await push('s3', 'p', 3);
    expect((await seek('ghost/queues/s3', { toEnd: true })).json.partitionsUpdated).toBe(1);
    const rows = (await broker.get(GROUPS)).json;
    const row = rows.find((one: { name: string }) => one.name === 'ghost');
    expect(row).toMatchObject({ members: 1, totalLag: 0, subscriptionMode: null });
    expect((await pop('s3', 'ghost')).status).toBe(204);
  });

  it('wakes a parked pop', async () => {
    await push('s4', 'p', 1);
    await consume('s4', 'wg', 10);
    const { answer } = await calls.park(() => pop('s4', 'wg', 'wait=true&timeout=40000'));
    const back = () => seek('wg/queues/s4', { timestamp: '1970-01-01T00:00:00Z' });
    expect((await promptly(answer, back)).json.messages[0].offset).toBe(0);
  });

  it('takes names with any characters', async () => {
    await push('s5', 'a/b %41', 1);
    const partition = encodeURIComponent('a/b %41');
    const { json } = await seek(`${encodeURIComponent('g/1')}/queues/s5/partitions/${partition}`);
    expect(json).toMatchObject({ consumerGroup: 'g/1', partitionName: 'a/b %41' });
  });

  it.each(['null', '{}', '{"toEnd":false}', '{"timestamp":"yesterday"}', '[]'])(
    'refuses the body %s',
    async (body) => {
      const { status, json } = await broker.send('POST', `${GROUPS}/g/queues/s1/seek`, body);
      const error = 'Must specify toEnd=true or a timestamp';
      expect([status, json]).toEqual([400, { success: false, error }]);
    },
  );

  it('answers 404 when there is nothing to move, 400 and 413 for bodies and names', async () => {
    const queue = await seek('g/queues/none');
    expect([queue.status, queue.json]).toEqual([
      404,
      {
        ...{ success: false, error: 'Queue not found or has no partitions' },
        ...{ consumerGroup: 'g', queueName: 'none', partitionsUpdated: 0 },
      },
    ]);
    const partition = await seek('g/queues/s1/partitions/none');
    expect([partition.status, partition.json.error]).toEqual([404, 'Partition not found']);
    await broker.post('/api/v1/configure', { queue: 's-empty' });
    expect((await seek('g/queues/s-empty')).status).toBe(404);
    const broken = await broker.send('POST', `${GROUPS}/g/queues/s1/seek`, '{');
    expect([broken.status, broken.json.code]).toEqual([400, 'bad_body']);
    const long = await seek(`${'n'.repeat(450)}/queues/s1`);
    expect([long.status, long.json.code]).toEqual([413, 'name_too_long']);
  });
});

describe('subscription', () => {
  it('moves the start of lanes without a cursor only', async () => {
    await push('sub', 'a', 1);
    await consume('sub', 'sg', 1);
    await push('sub', 'b', 2);
    const subscriptionTimestamp = '2200-01-01T00:00:00Z';
    const changed = await broker.post(`${GROUPS}/sg/subscription`, { subscriptionTimestamp });
    expect(changed.json).toEqual({
      ...{ success: true, consumerGroup: 'sg', newTimestamp: subscriptionTimestamp },
      rowsUpdated: expect.any(Number) as number,
    });
    expect(changed.json.rowsUpdated).toBeGreaterThan(0);
    expect((await pop('sub', 'sg', 'batch=9')).status).toBe(204);
    const none = await broker.post(`${GROUPS}/nobody/subscription`, { subscriptionTimestamp });
    expect([none.status, none.json.rowsUpdated]).toEqual([200, 0]);
  });

  it.each([{}, { subscriptionTimestamp: 'soon' }, { subscriptionTimestamp: 5 }])(
    'refuses %j',
    async (body) => {
      const answer = await broker.post(`${GROUPS}/sg/subscription`, body);
      expect([answer.status, answer.json.code]).toEqual([400, 'bad_request']);
    },
  );
});

describe('delete', () => {
  const remove = (path: string) => broker.send('DELETE', `${GROUPS}/${path}`);

  it('removes cursors and registration on every queue, and answers 200 for nothing', async () => {
    for (const queue of ['x1', 'x2']) {
      await push(queue, 'p', 2);
      await consume(queue, 'xg', 1);
    }
    const answer = {
      ...{ success: true, consumerGroup: 'xg', queueName: null, deletedPartitions: 2 },
      ...{ metadataDeleted: true, queues: ['x1', 'x2'] },
    };
    expect((await remove('xg')).json).toEqual(answer);
    expect((await broker.get(`${GROUPS}/xg`)).status).toBe(404);
    const again = await remove('xg');
    expect([again.status, again.json]).toEqual([
      200,
      { ...answer, deletedPartitions: 0, queues: [] },
    ]);
    expect((await pop('x1', 'xg')).json.messages[0].offset).toBe(0);
  });

  it('keeps the registration with deleteMetadata=false, on one queue', async () => {
    await push('y1', 'p', 2);
    await consume('y1', 'yg', 2);
    expect((await remove('yg/queues/y1?deleteMetadata=false')).json).toMatchObject({
      ...{ queueName: 'y1', deletedPartitions: 1, metadataDeleted: false, queues: ['y1'] },
    });
    const again = await broker.get('/api/v1/pop/queue/y1?consumerGroup=yg&subscriptionMode=new');
    expect(again.json.messages[0].offset).toBe(0);
    expect((await remove('yg/queues/none')).json).toMatchObject({ deletedPartitions: 0 });
  });

  it('answers the parked pops of the group empty', async () => {
    await push('z1', 'p', 1);
    await broker.get('/api/v1/pop/queue/z1?consumerGroup=zg&subscriptionMode=new');
    const path = '/api/v1/pop/queue/z1?consumerGroup=zg&wait=true&timeout=40000';
    const { answer } = await calls.park(() => broker.get(path));
    expect((await promptly(answer, () => remove('zg'))).status).toBe(204);
  });

  it('survives a restart', async () => {
    await push('r1', 'p', 1);
    await consume('r1', 'rg', 1);
    await remove('rg');
    await broker.restart();
    expect((await broker.get(`${GROUPS}/rg`)).status).toBe(404);
  });
});
