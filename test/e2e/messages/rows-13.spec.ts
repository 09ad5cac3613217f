/**
 * Rows of messages.md §13 (traces), named by their section: edges of the routes' parameters, both forms
 * of a partition, what a trace may be about. Fields, refusals, retention and bounds: test/e2e/traces.spec.ts.
 */
import { TestBroker } from '../../support/broker.js';
import { Calls, freshQueue, type Wire } from '../calls.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

const write = async (body: object): Promise<Wire> => {
  const { status, json } = await broker.post('/api/v1/traces', body);
  expect(status).toBe(201);
  return json;
};
const traces = async (path: string): Promise<Wire> => {
  const { status, json } = await broker.get(`/api/v1/traces/${path}`);
  expect(status).toBe(200);
  return json;
};
const byName = (name: string): Promise<Wire> => traces(`by-name/${encodeURIComponent(name)}`);

describe('13 POST /traces', () => {
  it.each<[string, object, object]>([
    ['traceNames', { traceNames: ['n1'] }, { names: ['n1'] }],
    ['names', { names: ['n1'] }, { names: ['n1'] }],
    ['traceNames before names', { traceNames: ['n1'], names: ['n2'] }, { names: ['n1'] }],
    ['eventType', { eventType: 'e' }, { eventType: 'e', event_type: 'e' }],
    ['type', { type: 'e' }, { eventType: 'e' }],
    ['neither', {}, { eventType: 'event' }],
    ['worker', { worker: 'w' }, { worker: 'w', worker_id: 'w' }],
    ['data that is a text', { data: 'x' }, { data: 'x' }],
    ['data that is false', { data: false }, { data: false }],
    ['messageId', { messageId: 'm' }, { messageId: 'm', message_id: 'm' }],
    ['consumerGroup', { consumerGroup: 'g' }, { consumerGroup: 'g', consumer_group: 'g' }],
  ])('13 field %s', async (row, fields, shown) => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    const { partitionId } = (await calls.pop(queue)).json;
    const { traceId } = await write({ transactionId: row, partitionId, ...fields });
    expect(traceId).toMatch(UUID);
    const list = await traces(`${partitionId}/${encodeURIComponent(row)}`);
    expect(list.traces).toMatchObject([{ traceId, transactionId: row, ...shown }]);
  });

  it('13 a key of 511 bytes is taken', async () => {
    const longest = 'ü'.repeat(255) + 'x';
    await write({ transactionId: longest, names: [longest] });
    expect((await byName(longest)).traces).toMatchObject([{ transactionId: longest }]);
  });

  it('13 a message that is not there, of a partition that is', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    const { partitionId } = (await calls.pop(queue)).json;
    await write({ transactionId: 'never pushed', partitionId });
    expect((await traces(`${partitionId}/never%20pushed`)).total).toBe(1);
  });

  it('13 the routes of messages and traces name a partition by UUID or number alike', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    const { partitionId } = (await calls.pop(queue)).json;
    const [{ id: uuid }] = (await calls.detail(queue)).partitions;
    for (const id of [uuid, partitionId]) await write({ transactionId: 'a', partitionId: id });
    for (const id of [uuid, partitionId]) {
      const list = await traces(`${id}/a`);
      expect(list.traces.map((one: Wire) => one.partitionId)).toEqual([partitionId, partitionId]);
      expect((await broker.get(`/api/v1/messages/${id}/a`)).json.partitionId).toBe(uuid);
    }
  });
});

describe('13 lists', () => {
  it.each([
    ['names', 'names', 100],
    ['by name', 'by-name/none', 200],
    ['of a message', '1/none', 200],
  ])('13 limit of %s: default, 1 and 1,000', async (_row, path, fallback) => {
    const limit = async (query: string): Promise<unknown> =>
      (await traces(`${path}?${query}`)).pagination;
    expect(await limit('')).toEqual({ limit: fallback, offset: 0 });
    expect(await limit('limit=0')).toEqual({ limit: 1, offset: 0 });
    expect(await limit('limit=5000&offset=3')).toEqual({ limit: 1000, offset: 3 });
    expect(await limit('limit=x&offset=x')).toEqual({ limit: fallback, offset: 0 });
  });

  it('13 names are in their order, with the time of the newest', async () => {
    for (const name of ['rows13-b', 'rows13-a', 'rows13-b']) {
      await write({ transactionId: name, names: [name] });
    }
    const { trace_names } = await traces('names?limit=1000');
    const own = trace_names.filter(({ trace_name }: Wire) => trace_name.startsWith('rows13-'));
    expect(own.map((row: Wire) => [row.trace_name, row.trace_count])).toEqual([
      ['rows13-a', 1],
      ['rows13-b', 2],
    ]);
    const [newest] = (await byName('rows13-b')).traces;
    expect(own[1].last_seen).toBe(newest.createdAt);
  });

  it('13 traces outlive their queue', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    const { partitionId } = (await calls.pop(queue)).json;
    await write({ transactionId: 'a', partitionId, names: ['outlives'] });
    await broker.send('DELETE', `/api/v1/resources/queues/${queue}`);
    expect((await byName('outlives')).traces).toMatchObject([
      { queue_name: queue, partition_name: 'Default', partitionId, message_payload: null },
    ]);
    // The partition is unknown now: an empty list.
    expect(await traces(`${partitionId}/a`)).toMatchObject({ total: 0, traces: [], events: [] });
  });
});
