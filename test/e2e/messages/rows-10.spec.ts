/**
 * Rows of messages.md §10 (consumer groups), named by their section: states and start policies in the
 * lists, the bounds of lag and positions, what delete, subscription and seek reach. The shapes of all
 * answers and refusals: test/e2e/consumer-groups.spec.ts.
 */
import { Groups } from '../../../src/raft/index.js';
import { TestBroker } from '../../support/broker.js';
import { Calls, eventually, freshQueue, idsOf, messagesOf, type Wire } from '../calls.js';

const GROUPS = '/api/v1/consumer-groups';
const EPOCH = '1970-01-01T00:00:00.000000Z';
const SECOND = 1_000_000;

let broker: TestBroker;
let calls: Calls;
let groups = 0;

beforeAll(async () => {
  broker = await TestBroker.start({ RETENTION_INTERVAL: '20' });
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

afterEach(() => jest.restoreAllMocks());

const freshGroup = (): string => `rows10-${(groups += 1)}`;
const all = (consumerGroup: string, more = {}) => ({
  ...{ consumerGroup, subscriptionMode: 'all' },
  ...more,
});

/** The node's clock is so many seconds ahead until the test is over. */
function ahead(seconds: number): void {
  const group = broker.nest.get(Groups, { strict: false }).first;
  const now = group.nowMicros.bind(group);
  jest.spyOn(group, 'nowMicros').mockImplementation(() => now() + seconds * SECOND);
}

const rowOf = async (group: string): Promise<Wire> =>
  (await broker.get(GROUPS)).json.find(({ name }: Wire) => name === group);

const positionsOf = async (consumerGroup: string): Promise<Wire[]> =>
  (await broker.post(`${GROUPS}/positions`, { consumerGroup })).json.entries;

async function consume(queue: string, group: string, ...ids: string[]): Promise<void> {
  const [message] = messagesOf(await calls.pop(queue, all(group)));
  await calls.ack(message!, group, ...ids);
}

describe('10 GET /consumer-groups', () => {
  it.each([
    ['Dead: nothing was ever consumed', 0, false, 'Dead'],
    ['Stable: something was', 0, true, 'Stable'],
    ['not yet Lagging: 299 s behind', 298, true, 'Stable'],
    ['Lagging: more than 300 s behind', 302, true, 'Lagging'],
    ['Lagging, though nothing was consumed', 302, false, 'Lagging'],
  ])('10 state %s', async (_row, seconds, consumes, state) => {
    const [queue, group] = [freshQueue(), freshGroup()];
    await calls.push(queue, 'a', 'b');
    const [message] = messagesOf(await calls.pop(queue, all(group)));
    if (consumes) await calls.ack(message!, group, 'a');
    ahead(seconds);
    expect(await rowOf(group)).toMatchObject({ state, totalLag: consumes ? 1 : 2 });
  });

  it.each<[string, object, object]>([
    ['all shows the epoch', { subscriptionMode: 'all' }, { subscriptionTimestamp: EPOCH }],
    ['new', { subscriptionMode: 'new' }, { subscriptionMode: 'new' }],
    [
      'timestamp',
      { subscriptionFrom: '2020-05-06T07:08:09Z' },
      { subscriptionMode: 'timestamp', subscriptionTimestamp: '2020-05-06T07:08:09.000000Z' },
    ],
    ['conflation', { subscriptionMode: 'all', conflation: true }, { conflation: true }],
  ])('10 subscription of %s', async (_row, query, shown) => {
    const [queue, group] = [freshQueue(), freshGroup()];
    await calls.push(queue, 'a');
    await calls.pop(queue, { consumerGroup: group, ...query });
    await calls.push(queue, 'b');
    await calls.pop(queue, { consumerGroup: group, ...query });
    expect(await rowOf(group)).toMatchObject({
      ...{ subscriptionCreatedAt: expect.stringMatching(/\.\d{6}Z$/) as string, ...shown },
    });
  });

  it('10 a group without a cursor has no row', async () => {
    const [queue, group] = [freshQueue(), freshGroup()];
    await calls.pop(queue, all(group));
    expect(await rowOf(group)).toBeUndefined();
  });

  it('10 members is the number of cursors, partitionsWithLag of those behind', async () => {
    const [queue, group] = [freshQueue(), freshGroup()];
    for (const partition of ['p', 'q', 'r']) await calls.push(queue, { id: 'a', partition });
    const popped = messagesOf(await calls.pop(queue, all(group, { partitions: 3 })));
    await calls.ack(popped[0]!, group, 'a');
    expect(await rowOf(group)).toMatchObject({
      ...{ members: 3, partitionCursors: 3, partitionsWithLag: 2, totalLag: 2 },
    });
  });
});

it('10 GET /consumer-groups/:group: a settled lane has no worker', async () => {
  const [queue, group] = [freshQueue(), freshGroup()];
  await calls.push(queue, 'a', 'b');
  await consume(queue, group, 'a', 'b');
  const { json } = await broker.get(`${GROUPS}/${group}`);
  expect(json).toEqual({
    [queue]: {
      ...{ conflation: false, kind: 'queen' },
      partitions: [
        {
          ...{ partition: 'Default', workerId: null, lastConsumedAt: null, totalConsumed: 2 },
          ...{ offsetLag: 0, timeLagSeconds: 0, leaseActive: false },
        },
      ],
    },
  });
});

describe('10 GET /consumer-groups/lagging', () => {
  const laggingOf = async (group: string, query = ''): Promise<Wire[]> =>
    (await broker.get(`${GROUPS}/lagging${query}`)).json.filter(
      (row: Wire) => row.consumer_group === group,
    );

  it.each([
    ['the default is an hour', 3_590, '', 0],
    ['more than the default', 3_610, '', 1],
    ['strictly more than asked for', 95, '?minLagSeconds=100', 0],
    ['more than asked for', 105, '?minLagSeconds=100', 1],
    ['a number that is none is the default', 105, '?minLagSeconds=few', 0],
  ])('10 lagging: %s', async (_row, seconds, query, rows) => {
    const [queue, group] = [freshQueue(), freshGroup()];
    await calls.push(queue, 'a');
    await calls.pop(queue, all(group));
    ahead(seconds);
    expect(await laggingOf(group, query)).toHaveLength(rows);
  });

  it('10 lagging: queue mode included, hours beside seconds', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a', 'b');
    await calls.pop(queue);
    ahead(7_200);
    const rows = await laggingOf('__QUEUE_MODE__', '?minLagSeconds=7000');
    const row = rows.find(({ queue_name }) => queue_name === queue);
    expect(row).toMatchObject({ offset_lag: 2, lag_hours: 2, partition_name: 'Default' });
    expect(row?.time_lag_seconds).toBeGreaterThanOrEqual(7_200);
  });
});

describe('10 POST /consumer-groups/positions', () => {
  it.each([
    ['65,536 entries pass', 65_536, 200],
    ['65,537 do not', 65_537, 400],
  ])('10 positions: %s', async (_row, count, status) => {
    const entries = Array.from({ length: count }, () => ({ queue: 'q', partition: 'p' }));
    const answer = await broker.post(`${GROUPS}/positions`, { consumerGroup: 'g', entries });
    expect(answer.status).toBe(status);
    if (status === 400) expect(answer.json.code).toBe('bad_request');
    else expect(answer.json.entries).toHaveLength(count);
  });

  it('10 positions: without entries those on queues where the group is registered', async () => {
    const [registered, pinned, group] = [freshQueue(), freshQueue(), freshGroup()];
    await calls.push(registered, 'a');
    await calls.push(pinned, 'a');
    await calls.pop(registered, all(group));
    await calls.popPinned(pinned, 'Default', all(group));
    const at = { partition: 'Default', offset: 0, metadata: null };
    expect(await positionsOf(group)).toEqual([{ queue: registered, ...at }]);
    const entries = [{ queue: pinned }];
    const named = await broker.post(`${GROUPS}/positions`, { consumerGroup: group, entries });
    expect(named.json.entries).toEqual([{ queue: pinned, ...at }]);
  });
});

describe('10 DELETE /consumer-groups', () => {
  const remove = async (path: string): Promise<Wire> =>
    (await broker.send('DELETE', `${GROUPS}/${path}`)).json;

  it('10 delete: a registration alone goes too, and is kept with deleteMetadata=false', async () => {
    const [queue, group] = [freshQueue(), freshGroup()];
    await calls.pop(queue, { consumerGroup: group, subscriptionMode: 'new' });
    expect(await remove(`${group}?deleteMetadata=false`)).toMatchObject({
      ...{ deletedPartitions: 0, metadataDeleted: false, queues: [] },
    });
    await calls.push(queue, 'a');
    expect(idsOf(await calls.pop(queue, { consumerGroup: group }))).toEqual(['a']);
    expect(await remove(group)).toMatchObject({ deletedPartitions: 1, queues: [queue] });
    // It starts as a new group does: by its own pop, which wants new messages only.
    expect((await calls.pop(queue, { consumerGroup: group })).status).toBe(204);
  });

  it('10 delete: one queue, the others stay', async () => {
    const [one, other, group] = [freshQueue(), freshQueue(), freshGroup()];
    for (const queue of [one, other]) {
      await calls.push(queue, 'a', 'b');
      await consume(queue, group, 'a');
    }
    expect(await remove(`${group}/queues/${one}`)).toMatchObject({ queueName: one, queues: [one] });
    expect((await positionsOf(group)).map(({ queue }) => queue)).toEqual([other]);
  });
});

describe('10 POST /consumer-groups/:group/subscription', () => {
  it('10 subscription: every queue it is registered on, lanes without a cursor only', async () => {
    const [one, other, group] = [freshQueue(), freshQueue(), freshGroup()];
    for (const queue of [one, other]) {
      await calls.push(queue, { id: 'a', partition: 'read' });
      await calls.pop(queue, all(group, { partitions: 9, leaseSeconds: 1 }));
    }
    const subscriptionTimestamp = '2200-01-01T00:00:00Z';
    const changed = await broker.post(`${GROUPS}/${group}/subscription`, { subscriptionTimestamp });
    expect(changed.json).toMatchObject({ rowsUpdated: 2, newTimestamp: subscriptionTimestamp });
    expect(await rowOf(group)).toMatchObject({
      ...{ subscriptionMode: 'timestamp', subscriptionTimestamp: '2200-01-01T00:00:00.000000Z' },
    });
    await calls.push(one, { id: 'b', partition: 'fresh' });
    const again = await eventually(async () => {
      const popped = await calls.pop(one, all(group, { partitions: 9 }));
      return popped.status === 200 ? popped : null;
    });
    // The lane that was read goes on where its cursor stands; the fresh one starts in 2200.
    expect(idsOf(again)).toEqual(['a']);
  });
});

describe('10 seek', () => {
  const seek = async (group: string, queue: string, body: object): Promise<Wire> =>
    (await broker.post(`${GROUPS}/${group}/queues/${queue}/seek`, body)).json;

  it.each<[string, object, number]>([
    ['toEnd', { toEnd: true }, 2],
    ['a time before everything', { timestamp: '1999-01-01T00:00:00Z' }, 0],
    ['a time after everything', { timestamp: '2200-01-01T00:00:00Z' }, 2],
  ])('10 seek: every partition, %s', async (_row, body, offset) => {
    const [queue, group] = [freshQueue(), freshGroup()];
    for (const partition of ['p', 'q', 'r']) {
      await calls.push(queue, { id: 'a', partition }, { id: 'b', partition });
    }
    await calls.pop(queue, all(group, { partitions: 2 }));
    expect(await seek(group, queue, body)).toMatchObject({ partitionsUpdated: 3, updated: true });
    expect((await positionsOf(group)).map((position) => position.offset)).toEqual([
      ...[offset, offset, offset],
    ]);
    expect(await calls.depth(queue, group)).toMatchObject({ processing: 0 });
  });

  it('10 seek: never below the first retained message', async () => {
    const [queue, group] = [freshQueue(), freshGroup()];
    await calls.configure(queue, { maxWaitTimeSeconds: 1 });
    await calls.push(queue, 'gone');
    await eventually(async () => {
      const entries = [{ queue, offset: 1 }];
      const { json } = await broker.post('/api/v1/fetch', { entries });
      return json.entries[0].logStartOffset === 1 ? true : null;
    });
    await calls.configure(queue, { maxWaitTimeSeconds: 0 });
    await calls.push(queue, 'kept');
    await calls.pop(queue, all(group));
    await seek(group, queue, { timestamp: '1999-01-01T00:00:00Z' });
    expect(await positionsOf(group)).toMatchObject([{ offset: 1 }]);
    expect(idsOf(await calls.pop(queue, all(group)))).toEqual(['kept']);
  });

  it('10 seek: attempts and failures start over', async () => {
    const [queue, group] = [freshQueue(), freshGroup()];
    await calls.configure(queue, { retryLimit: 1 });
    await calls.push(queue, 'a');
    const [first] = messagesOf(await calls.pop(queue, all(group)));
    await calls.ack(first!, group, { id: 'a', status: 'failed' });
    await seek(group, queue, { timestamp: '1999-01-01T00:00:00Z' });
    const [again] = messagesOf(await calls.pop(queue, all(group)));
    expect(again?.deliveryAttempt).toBe(1);
    const [row] = await calls.ack(again!, group, { id: 'a', status: 'failed' });
    expect(row).toMatchObject({ success: true, dlq: false });
  });
});
