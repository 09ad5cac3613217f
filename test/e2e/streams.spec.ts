/** The streams plane over HTTP (state.md §4): registration, cycles, positional acks, state, codes. */
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import { Calls, freshQueue, idsOf } from './calls.js';

const NOWHERE = '0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff';

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});
afterAll(() => broker.stop());

const post = (path: string, body: object): Promise<HttpAnswer> =>
  broker.post(`/streams/v1/${path}`, body);

async function register(name: string, changes: object = {}): Promise<HttpAnswer> {
  return post('queries', { name, source_queue: 'orders', config_hash: 'h1', ...changes });
}

/** A query, and a leased batch of three. */
async function scene() {
  const queue = freshQueue('source');
  await calls.push(queue, 'a', 'b', 'c');
  const popped = await calls.pop(queue, {
    ...{ batch: 10, consumerGroup: 'g', subscriptionMode: 'all' },
  });
  const { partitionId, leaseId } = popped.json;
  const { query_id } = (await register(queue)).json;
  return { queue, target: { query_id, partition_id: partitionId }, leaseId };
}

it.each([
  ['a new name', 'new', {}, 200, { success: true, fresh: true, reset: false }],
  ['a known one', 'known', {}, 200, { success: true, fresh: false, reset: false }],
  ['another hash', 'known', { config_hash: 'h2' }, 409, { success: false }],
  [
    'a reset',
    'known',
    { config_hash: 'h3', reset: true },
    200,
    { success: true, fresh: false, reset: true },
  ],
  ['no hash', 'x', { config_hash: '' }, 400, { code: 'bad_request' }],
])('registers %s', async (_what, name, changes, status, body) => {
  if (name === 'known') await register('known');
  const answer = await register(name === 'known' ? name : freshQueue(name), changes);
  expect([answer.status, answer.json]).toEqual([status, expect.objectContaining(body)]);
  await register('known', { config_hash: 'h1', reset: true });
});

it('commits a cycle and reads its state, digits untouched', async () => {
  const { queue, target, leaseId } = await scene();
  const sink = freshQueue('sink');
  const body =
    `{"query_id":"${target.query_id}","partition_id":"${target.partition_id}","consumer_group":"g",` +
    `"state_ops":[{"type":"upsert","key":"k1","value":{"n":12345678901234567890,"windowEnd":5}},` +
    `{"key":"k2","value":{"windowEnd":9}}],` +
    `"push_items":[{"queue":"${sink}","payload":{"n":12345678901234567890},"transactionId":"s1"}],` +
    `"ack":{"leaseId":"${leaseId}","status":"completed","count":3}}`;
  const answer = await broker.send('POST', '/streams/v1/cycle', body);
  expect(answer.json).toMatchObject({
    ...{ success: true, ...target, queueName: queue, state_ops_applied: 2 },
    push_results: [{ queueName: sink, transactionId: 's1', status: 'created' }],
    ack_result: { success: true, count: 3, lease_released: true, dlq: false },
  });
  const popped = await calls.pop(sink);
  expect(popped.text).toContain('"data":{"n":12345678901234567890}');
  expect((await calls.depth(queue, 'g')).pending).toBe(0);
  const state = async (filter: object): Promise<string[]> =>
    (await post('state/get', { ...target, ...filter })).json.rows.map(
      (row: { key: string }) => row.key,
    );
  expect(await state({})).toEqual(['k1', 'k2']);
  expect(await state({ keys: ['k2', 'k3'] })).toEqual(['k2']);
  expect(await state({ key_prefix: 'k', ripe_at_or_before: 5 })).toEqual(['k1']);
  await broker.restart();
  expect((await post('state/get', target)).text).toContain('12345678901234567890');
});

it('keeps the lease of a partial acknowledgement', async () => {
  const { queue, target, leaseId } = await scene();
  const ack = { leaseId, status: 'ok', count: 1 };
  const answer = await post('cycle', { ...target, consumer_group: 'g', ack, release_lease: false });
  expect(answer.json.ack_result).toMatchObject({ count: 1, lease_released: false });
  expect(idsOf(await calls.pop(queue, { consumerGroup: 'g' }))).toEqual([]);
});

it('refuses whole cycles, and what is not there', async () => {
  const { target } = await scene();
  const ack = { leaseId: NOWHERE, status: 'completed', count: 1 };
  const rejected = await post('cycle', { ...target, consumer_group: 'g', ack });
  expect([rejected.status, rejected.json]).toEqual([
    200,
    { success: false, error: expect.any(String), reason: 'rejected_ack' },
  ]);
  const unknown = await post('cycle', { ...target, state_ops: [{ type: 'x', key: 'k' }] });
  expect(unknown.json).toMatchObject({ success: false, reason: 'bad_request' });
  for (const wrong of [{ query_id: NOWHERE }, { partition_id: '999999' }]) {
    const missing = await post('cycle', { ...target, ...wrong });
    expect([missing.status, missing.json.success]).toEqual([404, false]);
    expect((await post('state/get', { ...target, ...wrong })).status).toBe(404);
  }
  const shape = await post('cycle', { ...target, query_id: 'x' });
  expect([shape.status, shape.json.code]).toEqual([400, 'bad_request']);
});

describe('a field of a wrong type is 400, never taken as its default', () => {
  const query = { name: 'typed', source_queue: 'q', config_hash: 'h' };
  const target = { query_id: '0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff', partition_id: '1' };
  const ack = { leaseId: target.query_id, count: 1 };
  const item = { queue: 'sink', payload: 1 };

  it.each<[string, string, object]>([
    ...['true', 1, [], {}].map((reset): [string, string, object] => [
      ...(['reset must be a boolean', 'queries'] as const),
      { ...query, reset },
    ]),
    ['sink_queue must be a string', 'queries', { ...query, sink_queue: 5 }],
    ['release_lease must be a boolean', 'cycle', { ...target, ack, release_lease: 'false' }],
    ['ack.count must be a number', 'cycle', { ...target, ack: { ...ack, count: '50' } }],
    ['ack.leaseId must be a string', 'cycle', { ...target, ack: { ...ack, leaseId: 7 } }],
    ['consumer_group must be a string', 'cycle', { ...target, ack, consumer_group: 7 }],
    ...['queue', 'partition', 'messageId', 'transactionId'].map(
      (name): [string, string, object] => [
        ...([`push_items[1].${name} must be a string`, 'cycle'] as const),
        { ...target, push_items: [item, { ...item, [name]: 7 }] },
      ],
    ),
  ])('%s', async (error, route, body) => {
    const { status, json } = await post(route, body);
    expect([status, json]).toEqual([400, { error, code: 'bad_request' }]);
  });

  it('null is the default', async () => {
    const { status, json } = await post('queries', { ...query, reset: null });
    expect([status, json.fresh]).toEqual([200, true]);
  });
});
