/** Transactions over HTTP (messages.md §8): every row of the section's tables that needs no plug. */
import { TestBroker } from '../support/broker.js';
import type { HttpAnswer } from '../support/broker.js';
import { Calls, freshQueue, idsOf, messagesOf } from './calls.js';
import type { Popped } from './calls.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

const run = (body: unknown): Promise<HttpAnswer> => broker.post('/api/v1/transaction', body);

const push = (queue: string, id?: string, more: object = {}): object => ({
  type: 'push',
  queue,
  payload: { id },
  ...(id === undefined ? {} : { transactionId: id }),
  ...more,
});

const ack = (popped: Popped, id: string, more: object = {}): object => ({
  type: 'ack',
  transactionId: id,
  partitionId: popped.partitionId,
  leaseId: popped.leaseId,
  ...more,
});

const popped = async (...ids: string[]): Promise<{ queue: string; json: Popped }> => {
  const queue = freshQueue('in');
  await calls.push(queue, ...ids);
  return { queue, json: (await calls.pop(queue)).json };
};

const stored = async (queue: string): Promise<string[]> => idsOf(await calls.pop(queue));

const ACK = { type: 'ack', transactionId: 'x', partitionId: '1' };

describe('the request', () => {
  it.each([
    ['no JSON', '{"operations":', /./],
    ['no object', '[]', /must be a JSON object/],
    ['operations that are no array', '{"operations":{}}', /operations must be an array/],
    ['leases that are no array', '{"requiredLeases":"x"}', /requiredLeases must be an array/],
    ['leases that are no strings', '{"requiredLeases":[1]}', /array of strings/],
    ['kv that is no array', '{"kv":{}}', /kv must be an array/],
    ['timers that are no array', '{"timers":1}', /timers must be an array/],
    ['positions that are no array', '{"positions":"x"}', /positions must be an array/],
    ['a position that is no object', '{"positions":[1]}', /positions\[0\] must be an object/],
    ['an operation that is no object', '{"operations":[1]}', /operations\[0\] must be an object/],
    ['an operation without type', '{"operations":[{}]}', /type must be push or ack/],
    ['a type of another case', '{"operations":[{"type":"Push"}]}', /type must be push or ack/],
    ['kv as a type', '{"operations":[{"type":"kv"}]}', /type must be push or ack/],
    ['timer as a type', '{"operations":[{"type":"timer"}]}', /type must be push or ack/],
    ['timers as a type', '{"operations":[{"type":"timers"}]}', /type must be push or ack/],
    ['items that are no array', '{"operations":[{"type":"push","items":{}}]}', /items must be/],
    [
      'an item without payload',
      '{"operations":[{"type":"push","items":[{"queue":"q"}]}]}',
      /payload is required/,
    ],
    [
      'an item without queue',
      '{"operations":[{"type":"push","items":[{"payload":1}]}]}',
      /queue is required/,
    ],
  ])('refuses %s with 400', async (_name, body, text) => {
    const answer = await broker.send('POST', '/api/v1/transaction', body);
    expect(answer.status).toBe(400);
    expect(answer.json).toEqual({
      transactionId: expect.stringMatching(UUID),
      success: false,
      reason: 'bad_request',
      error: expect.stringMatching(text),
      results: [],
    });
  });

  it('refuses more than 16,384 positions with 400', async () => {
    const one = { queue: 'q', consumerGroup: 'g', offset: 0 };
    const answer = await run({ positions: new Array(16_385).fill(one) });
    expect(answer).toMatchObject({ status: 400, json: { reason: 'bad_request' } });
  });

  it.each([
    ['nothing at all', {}],
    ['empty arrays', { operations: [], kv: [], timers: [], positions: [] }],
    ['leases alone', { requiredLeases: ['x'] }],
    ['an inline push without queue', { operations: [{ type: 'push', payload: 1 }] }],
    ['an inline push without payload', { operations: [{ type: 'push', queue: 'q' }] }],
    ['an ack without partition', { operations: [{ type: 'ack', transactionId: 'x' }] }],
    [
      'a partition that is no number',
      { operations: [{ type: 'ack', transactionId: 'x', partitionId: 'abc' }] },
    ],
    [
      'a partition that is a JSON number',
      { operations: [{ type: 'ack', transactionId: 'x', partitionId: 1 }] },
    ],
    ['a position without queue', { positions: [{ consumerGroup: 'g', offset: 0 }] }],
    ['a position without group', { positions: [{ queue: 'q', offset: 0 }] }],
    ['a position without offset', { positions: [{ queue: 'q', consumerGroup: 'g' }] }],
    ['a negative offset', { positions: [{ queue: 'q', consumerGroup: 'g', offset: -1 }] }],
    ['a fractional offset', { positions: [{ queue: 'q', consumerGroup: 'g', offset: 0.5 }] }],
    [
      'metadata that is no text',
      { positions: [{ queue: 'q', consumerGroup: 'g', offset: 0, metadata: 1 }] },
    ],
  ])('answers %s with a rollback', async (_name, body) => {
    const answer = await run(body);
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ success: false, reason: 'bad_request', results: [] });
  });

  it('takes null for an absent field and an empty list of items for nothing to do', async () => {
    const none = { requiredLeases: null, kv: null, timers: null, positions: null };
    const answer = await run({ ...none, operations: [{ type: 'push', items: [] }] });
    expect(answer.json).toMatchObject({ success: true, results: [] });
  });

  it('refuses long names and ids of pushes as the engine does', async () => {
    const long = await run({ operations: [push('q'.repeat(500))] });
    expect(long).toMatchObject({ status: 413, json: { code: 'name_too_long' } });
    const id = await run({ operations: [push('q', 'x'.repeat(65_536))] });
    expect(id).toMatchObject({ status: 400, json: { code: 'bad_request' } });
  });

  it.each([
    ['group of an ack', { operations: [{ ...ACK, consumerGroup: 'g'.repeat(500) }] }],
    [
      'group of a position',
      { positions: [{ queue: 'q', consumerGroup: 'g'.repeat(500), offset: 0 }] },
    ],
  ])('rolls back for a long %s', async (_name, body) => {
    expect((await run(body)).json).toMatchObject({ success: false, reason: 'name_too_long' });
  });
});

describe('the answer', () => {
  it('numbers acks and push items in order, then positions', async () => {
    const { json, queue } = await popped('a', 'b');
    const out = freshQueue('out');
    const answer = await run({
      operations: [
        ack(json, 'a'),
        { type: 'push', items: [item(out, 'r1'), item(out, 'r2'), item(out, 'r1')] },
        ack(json, 'b'),
        push(out),
      ],
      positions: [{ queue, consumerGroup: 'other', offset: 1 }],
    });
    expect(answer.status).toBe(200);
    const { transactionId, success, results } = answer.json;
    expect([transactionId, success]).toEqual([expect.stringMatching(UUID), true]);
    const [first, r1, r2, again, second, minted, position] = results;
    const acked = { type: 'ack', success: true, error: null, dlq: false };
    expect(first).toEqual({ index: 0, ...acked, transactionId: 'a' });
    const pushed = { type: 'push', success: true, queueName: out };
    const messageId = expect.stringMatching(UUID);
    expect(r1).toEqual({ index: 1, ...pushed, transactionId: 'r1', messageId });
    expect(r2).toEqual({ index: 2, ...pushed, transactionId: 'r2', messageId });
    expect(again).toEqual({ ...r1, index: 3, duplicate: true });
    expect(second).toEqual({ index: 4, ...acked, transactionId: 'b' });
    expect(minted.transactionId).toBe(minted.messageId);
    expect(position).toEqual({ index: 6, type: 'position', opIndex: 0, success: true });
    expect(results).toHaveLength(7);
    expect(messagesOf(await calls.pop(out)).map(({ transactionId: id }) => id)).toEqual([
      'r1',
      'r2',
      minted.transactionId,
    ]);
  });

  it('keeps payloads byte for byte and trace ids of either form of push', async () => {
    const queue = freshQueue();
    const traceId = '0199c0de-1111-7222-8333-444455556666';
    const body =
      `{"operations":[{"type":"push","queue":"${queue}","payload":{"n":12345678901234567890},` +
      `"traceId":"${traceId}"},{"type":"push","items":[{"queue":"${queue}","payload":1e400,` +
      `"traceId":"${traceId.toUpperCase()}"},{"queue":"${queue}","payload":null,"traceId":"no"}]}]}`;
    const answer = await broker.send('POST', '/api/v1/transaction', body);
    expect(answer.json.success).toBe(true);
    const got = await calls.pop(queue);
    expect(got.text).toContain('"data":{"n":12345678901234567890}');
    expect(got.text).toContain('"data":1e400');
    expect(got.json.messages.map((m: { traceId: string | null }) => m.traceId)).toEqual([
      traceId,
      traceId,
      null,
    ]);
  });

  it('tells of an ack whether its message became a dead letter', async () => {
    const { json } = await popped('a', 'b', 'c');
    const operations = [
      ack(json, 'a'),
      ack(json, 'b', { status: 'DLQ', error: 'bad' }),
      ack(json, 'c'),
    ];
    const { results } = (await run({ operations })).json;
    expect(results.map(({ dlq }: { dlq: boolean }) => dlq)).toEqual([false, true, false]);
  });
});

const item = (queue: string, transactionId: string): object => ({
  queue,
  transactionId,
  payload: null,
});

describe('the lease of an ack', () => {
  it('is its own', async () => {
    const { json } = await popped('a');
    expect((await run({ operations: [ack(json, 'a')] })).json.success).toBe(true);
  });

  it('is the only one the transaction names', async () => {
    const { json } = await popped('a', 'b');
    const { json: stale } = await popped('x');
    const bare = { type: 'ack', transactionId: 'a', partitionId: json.partitionId };
    const wrong = await run({ operations: [bare], requiredLeases: ['', stale.leaseId] });
    expect(wrong.json).toMatchObject({ success: false, reason: 'rejected_ack' });
    const right = await run({ operations: [bare], requiredLeases: [json.leaseId, json.leaseId] });
    expect(right.json.success).toBe(true);
    // It fences: the same message again is refused, which an unfenced ack would pass.
    const again = await run({ operations: [bare], requiredLeases: [json.leaseId] });
    expect(again.json.reason).toBe('rejected_ack');
  });

  it('is taken from another ack', async () => {
    const { json } = await popped('a', 'b');
    const bare = { type: 'ack', transactionId: 'b', partitionId: json.partitionId };
    expect((await run({ operations: [ack(json, 'a'), bare] })).json.success).toBe(true);
    expect((await run({ operations: [bare, ack(json, 'a')] })).json.reason).toBe('rejected_ack');
  });

  it('is none when the transaction names several', async () => {
    const first = await popped('a');
    const second = await popped('b');
    const bare = { type: 'ack', transactionId: 'a', partitionId: first.json.partitionId };
    await calls.ack(first.json, undefined, 'a');
    const requiredLeases = [first.json.leaseId, second.json.leaseId];
    expect((await run({ operations: [bare], requiredLeases })).json.success).toBe(true);
  });

  it('fences nothing by itself', async () => {
    const out = freshQueue();
    const requiredLeases = ['0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff'];
    expect((await run({ operations: [push(out)], requiredLeases })).json.success).toBe(true);
  });
});

describe('a rollback', () => {
  const rejected = {
    success: false,
    reason: 'rejected_ack',
    error: expect.stringMatching(/^QTXN/),
  };

  it('comes from a fenced ack without its live lease', async () => {
    const { json } = await popped('a');
    const out = freshQueue();
    const stale = { ...json, leaseId: '0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff' };
    for (const lease of [stale, { ...json, leaseId: 'no uuid' }]) {
      const answer = await run({ operations: [push(out, 'r'), ack(lease, 'a')] });
      expect(answer.json).toMatchObject(rejected);
    }
    expect((await calls.pop(out)).status).toBe(204);
    expect((await calls.ack(json, undefined, 'a'))[0]?.success).toBe(true);
  });

  it.each([
    ['message', { transactionId: 'nobody' }],
    ['message without an id', { transactionId: undefined }],
    ['partition', { partitionId: '999999' }],
    ['partition beyond all numbers', { partitionId: '99999999999999999999999' }],
    ['group', { consumerGroup: 'stranger' }],
  ])('comes from an unknown %s', async (_name, change) => {
    const { json } = await popped('a');
    const out = freshQueue();
    const answer = await run({ operations: [{ ...ack(json, 'a'), ...change }, push(out)] });
    expect(answer.json).toMatchObject(rejected);
    expect((await calls.pop(out)).status).toBe(204);
  });

  it('comes from an ack of a batch that is settled, by transaction or not', async () => {
    const { json } = await popped('a');
    const out = freshQueue();
    const step = { operations: [ack(json, 'a'), push(out, 'r')] };
    expect((await run(step)).json.success).toBe(true);
    expect((await run(step)).json).toMatchObject(rejected);
    const other = await popped('b');
    await calls.ack(other.json, undefined, 'b');
    expect((await run({ operations: [ack(other.json, 'b')] })).json).toMatchObject(rejected);
    expect(await stored(out)).toEqual(['r']);
  });

  it('comes from a message of the live lease that is committed already', async () => {
    const { json } = await popped('a', 'b');
    const out = freshQueue();
    const step = { operations: [ack(json, 'a'), push(out)] };
    expect((await run(step)).json.success).toBe(true);
    expect((await run(step)).json).toMatchObject(rejected);
    expect(await stored(out)).toHaveLength(1);
  });

  it('does not come from an unfenced repeat, but from an unfenced signal on it', async () => {
    const { json } = await popped('a');
    await calls.ack(json, undefined, 'a');
    const bare = { type: 'ack', transactionId: 'a', partitionId: json.partitionId };
    const out = freshQueue();
    expect((await run({ operations: [bare, push(out, 'r')] })).json.success).toBe(true);
    const signal = await run({ operations: [{ ...bare, status: 'failed' }] });
    expect(signal.json).toMatchObject(rejected);
  });

  it('comes from a message that is stored already, and undoes the ack', async () => {
    const { json, queue } = await popped('a');
    const out = freshQueue();
    await calls.push(out, 'r');
    const answer = await run({ operations: [ack(json, 'a'), push(out, 'n'), push(out, 'r')] });
    expect(answer.json).toMatchObject({
      success: false,
      reason: 'duplicate',
      error: expect.stringMatching(new RegExp(`^QDUP ${out}/Default.* 0$`)),
      results: [],
    });
    expect(await calls.depth(queue)).toMatchObject({ processing: 1, pending: 1 });
    expect(await stored(out)).toEqual(['r']);
  });

  it('says the first reason in the order of the parts', async () => {
    const { json } = await popped('a');
    const out = freshQueue();
    await calls.push(out, 'r');
    const positions = [{ queue: 'nowhere', consumerGroup: 'g', offset: 0 }];
    const reason = async (...operations: object[]): Promise<string> =>
      (await run({ operations, positions })).json.reason;
    expect(await reason(push(out, 'r'), ack(json, 'nobody'))).toBe('rejected_ack');
    expect(await reason(push(out, 'r'), ack(json, 'a'))).toBe('duplicate');
    expect(await reason(push(out, 's'), ack(json, 'a'))).toBe('queue_not_found');
    expect(await stored(out)).toEqual(['r']);
  });

  it('comes from what is larger than an entry', async () => {
    const small = await TestBroker.start({ QUEEN_RAFT_ENTRY_MAX_BYTES: '1048576' });
    try {
      const payload = 'x'.repeat(700_000);
      const of = (...queues: string[]): object => ({
        operations: queues.map((queue) => ({ type: 'push', queue, payload })),
      });
      const send = async (body: object): Promise<string> =>
        (await small.post('/api/v1/transaction', body)).json;
      expect(await send(of('a'))).toMatchObject({ success: true });
      expect(await send(of('a', 'a'))).toMatchObject({ reason: 'too_large', results: [] });
      expect(await send(of('a', 'b'))).toMatchObject({ reason: 'too_large' });
    } finally {
      await small.stop();
    }
  });
});

describe('acks of a transaction', () => {
  it('settle several groups and partitions at once', async () => {
    const queue = freshQueue();
    await calls.push(queue, { id: 'a', partition: 'p1' }, { id: 'b', partition: 'p2' });
    const query = { consumerGroup: 'g', subscriptionMode: 'all', partitions: 2 };
    const [a, b] = messagesOf(await calls.pop(queue, query));
    const inQueueMode = messagesOf(await calls.pop(queue, { partitions: 2 }));
    const operations = [
      ack(a!, a!.transactionId, { consumerGroup: 'g' }),
      ack(inQueueMode[0]!, inQueueMode[0]!.transactionId, { consumerGroup: '' }),
      ack(b!, b!.transactionId, { consumerGroup: 'g' }),
    ];
    expect((await run({ operations })).json.success).toBe(true);
    expect(await calls.depth(queue, 'g')).toMatchObject({ pending: 0, processing: 0 });
  });

  it('charge the retry budget and release, like those of an ack', async () => {
    const { json, queue } = await popped('a', 'b');
    const operations = [ack(json, 'a'), ack(json, 'b', { status: 'failed' })];
    const { results } = (await run({ operations })).json;
    expect(results.map(({ success }: { success: boolean }) => success)).toEqual([true, true]);
    expect(idsOf(await calls.pop(queue))).toEqual(['b']);
  });

  it('are undone with the queue of another tenant', async () => {
    const tenants = await TestBroker.start({
      QUEEN_TENANCY_HEADER: 'true',
      QUEEN_KV_TRUSTED_PROXY: 'true',
    });
    try {
      const headers = { 'x-queen-tenant': '0199c0de-0000-7000-8000-000000000007' };
      await tenants.post('/api/v1/push', { items: [item('q', 'a')] });
      const { json } = await tenants.get('/api/v1/pop/queue/q');
      const body = JSON.stringify({ operations: [ack(json, 'a')] });
      const answer = await tenants.send('POST', '/api/v1/transaction', body, { headers });
      expect(answer.json).toMatchObject({ reason: 'rejected_ack' });
    } finally {
      await tenants.stop();
    }
  });
});
