/** Dead letters over HTTP (messages.md §11.3, §11.4): a case per row and per refusal. */
import { TestBroker, type HttpAnswer } from '../support/broker.js';

let broker: TestBroker;

beforeAll(async () => {
  broker = await TestBroker.start();
});

afterAll(() => broker.stop());

interface Letter {
  readonly id: string;
  readonly transactionId: string;
  readonly consumerGroup: string;
  readonly partition: string;
  readonly partitionId: string;
  readonly failedAt: string;
}

const list = async (query = ''): Promise<{ messages: Letter[]; total: number }> =>
  (await broker.get(`/api/v1/dlq?${query}`)).json;

/** Pushes messages and dead-letters each of them for the group. */
async function bury(
  queue: string,
  ids: readonly string[],
  from: { readonly group?: string; readonly partition?: string; readonly pushed?: boolean } = {},
): Promise<void> {
  const { group, partition = 'p', pushed = false } = from;
  const items = ids.map((id) => ({ queue, partition, transactionId: id, payload: { id, big: 1 } }));
  if (!pushed) await broker.post('/api/v1/push', { items });
  for (const id of ids) {
    const query = group === undefined ? '' : `?consumerGroup=${group}&subscriptionMode=all`;
    const { json } = await broker.get(`/api/v1/pop/queue/${queue}/partition/${partition}${query}`);
    const [{ partitionId }] = json.messages;
    const acked = await broker.post('/api/v1/ack', {
      ...(group === undefined ? {} : { consumerGroup: group }),
      ...{ transactionId: id, partitionId, leaseId: json.leaseId, status: 'dlq' },
      error: `boom ${id}`,
    });
    expect(acked.json[0].success).toBe(true);
  }
}

const replay = (id: string, body?: unknown): Promise<HttpAnswer> =>
  broker.post(`/api/v1/dlq/${id}/replay`, body);

describe('list', () => {
  beforeAll(async () => {
    await bury('l1', ['a', 'b', 'c']);
    await bury('l1', ['a', 'b'], { group: 'g', pushed: true });
    await bury('l2', ['d'], { group: 'g', partition: 'other' });
  });

  it('shows every field, payload bytes as they were pushed', async () => {
    const { json, status } = await broker.get('/api/v1/dlq?queue=l1&limit=1&offset=4');
    expect(status).toBe(200);
    const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/) as string;
    const time = expect.stringMatching(/\.\d{6}Z$/) as string;
    expect(json).toEqual({
      messages: [
        {
          ...{ id: uuid, queue: 'l1', partition: 'p', createdAt: time, failedAt: time },
          partitionId: expect.stringMatching(/^\d+$/) as string,
          ...{ consumerGroup: '__QUEUE_MODE__', offset: 0, messageId: uuid, transactionId: 'a' },
          ...{ data: { id: 'a', big: 1 }, payload: { id: 'a', big: 1 } },
          ...{ errorMessage: 'boom a', retryCount: 0 },
        },
      ],
      ...{ total: 5, pagination: { limit: 1, offset: 4 } },
    });
    expect(json.messages[0].createdAt).toBe(json.messages[0].failedAt);
  });

  it('is newest first over all queues, with the full count', async () => {
    const { messages, total } = await list();
    expect([total, messages.length]).toEqual([6, 6]);
    expect(messages.map((m) => m.transactionId)).toEqual(['d', 'b', 'a', 'c', 'b', 'a']);
    const times = messages.map((m) => m.failedAt);
    expect(times).toEqual([...times].sort().reverse());
  });

  it.each([
    ['queue=l1&consumerGroup=g', ['b', 'a'], 2],
    ['consumerGroup=g', ['d', 'b', 'a'], 3],
    ['consumerGroup=__QUEUE_MODE__&limit=2', ['c', 'b'], 3],
    ['consumerGroup=&queue=', ['d', 'b', 'a', 'c', 'b', 'a'], 6],
    ['partition=other', ['d'], 1],
    ['partition=other&consumerGroup=g', ['d'], 1],
    ['queue=none', [], 0],
    ['consumerGroup=none', [], 0],
    ['from=2200-01-01', [], 0],
    ['to=2000-01-01', [], 0],
    ['from=2000-01-01&to=2200-01-01&limit=2&offset=1', ['b', 'a'], 6],
    ['limit=many&offset=few', ['d', 'b', 'a', 'c', 'b', 'a'], 6],
    ['limit=2&offset=5', ['a'], 6],
  ])('%s', async (query, ids, total) => {
    const found = await list(query);
    expect([found.messages.map((m) => m.transactionId), found.total]).toEqual([ids, total]);
  });

  it('keeps letters, pointers and counts over a restart', async () => {
    await broker.restart();
    expect(await list('consumerGroup=g')).toMatchObject({ total: 3 });
  });
});

describe('purge', () => {
  it('takes one group, then the queue; needs a queue', async () => {
    await bury('p1', ['a', 'b']);
    await bury('p1', ['a'], { group: 'g', pushed: true });
    const purge = (query: string) => broker.send('DELETE', `/api/v1/dlq?${query}`);
    expect((await purge('queue=p1&consumerGroup=g')).json).toEqual({
      ...{ success: true, queue: 'p1', consumerGroup: 'g', deleted: 1 },
    });
    expect((await list('queue=p1')).total).toBe(2);
    expect((await purge('queue=p1')).json).toEqual({
      ...{ success: true, queue: 'p1', consumerGroup: null, deleted: 2 },
    });
    expect((await purge('queue=p1')).json.deleted).toBe(0);
    expect((await purge('queue=nowhere')).json).toMatchObject({ success: true, deleted: 0 });
    const refused = await purge('consumerGroup=g');
    expect([refused.status, refused.json]).toEqual([
      400,
      { success: false, error: 'queue is required', message: expect.any(String) as string },
    ]);
  });
});

describe('replay', () => {
  it('puts a copy at the end for every group and removes the letter', async () => {
    await bury('r1', ['o-1']);
    const [letter] = (await list('queue=r1')).messages;
    const { json, status } = await replay(letter!.id);
    expect([status, json]).toEqual([
      200,
      {
        ...{ success: true, result: 'moved', queue: 'r1', partition: 'p' },
        ...{ consumerGroup: '__QUEUE_MODE__', dlqId: letter!.id, originalTransactionId: 'o-1' },
        replayedAs: {
          ...{ index: 0, message_id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string },
          ...{ transaction_id: `dlq:${letter!.id}`, queueName: 'r1', status: 'queued', offset: 1 },
        },
        dlqRowRemoved: true,
      },
    ]);
    expect((await list('queue=r1')).total).toBe(0);
    const popped = await broker.get('/api/v1/pop/queue/r1');
    expect(popped.json.messages[0]).toMatchObject({
      ...{ id: json.replayedAs.message_id, transactionId: `dlq:${letter!.id}`, offset: 1 },
      ...{ data: { id: 'o-1', big: 1 }, traceId: null, producerSub: null },
    });
    const again = await replay(letter!.id);
    expect([again.status, again.json]).toEqual([
      404,
      { success: false, result: 'gone', error: 'Message not found' },
    ]);
  });

  it('goes elsewhere when told to, creating what is missing', async () => {
    await bury('r2', ['o-2']);
    const [letter] = (await list('queue=r2')).messages;
    const { json } = await replay(letter!.id, { queue: ' r2.repair ', partition: ' lane ' });
    expect(json).toMatchObject({
      ...{ queue: 'r2.repair', partition: 'lane', result: 'moved' },
      replayedAs: { queueName: 'r2.repair', offset: 0 },
    });
    const popped = await broker.get('/api/v1/pop/queue/r2.repair');
    expect(popped.json.messages[0].data).toEqual({ id: 'o-2', big: 1 });
  });

  it('keeps the letter when the copy would be a duplicate', async () => {
    await bury('r3', ['o-3']);
    const [letter] = (await list('queue=r3')).messages;
    const transactionId = `dlq:${letter!.id}`;
    const item = { queue: 'r3', partition: 'p', transactionId, payload: 1 };
    await broker.post('/api/v1/push', { items: [item] });
    const { json, status } = await replay(letter!.id, {});
    expect([status, json]).toMatchObject([
      200,
      {
        ...{ success: true, result: 'duplicate', dlqRowRemoved: false },
        replayedAs: {
          ...{ message_id: '00000000-0000-0000-0000-000000000000', status: 'duplicate' },
        },
      },
    ]);
    expect((await list('queue=r3')).total).toBe(1);
  });

  it.each(['zzz', '0199c0de-dddd-7bbb-8ccc-ddddeeeeffff'])('%s is gone', async (id) => {
    expect((await replay(id)).json).toMatchObject({ success: false, result: 'gone' });
  });

  it.each([
    [{ queue: ' ' }, 400, { success: false }],
    [{ partition: '' }, 400, { error: 'queue and partition overrides must be non-empty' }],
    [{ queue: 5 }, 400, { code: 'bad_body' }],
    [[], 400, { code: 'bad_body' }],
    [{ queue: 'n'.repeat(450) }, 413, { code: 'name_too_long' }],
  ])('refuses %j', async (body, status, answer) => {
    await bury(`r4-${status}`, [`x${Math.random()}`]);
    const [letter] = (await list(`queue=r4-${status}`)).messages;
    const refused = await replay(letter!.id, body);
    expect([refused.status, refused.json]).toMatchObject([status, answer]);
  });
});

describe('by message', () => {
  it('retries the first dead letter of the message, by number or UUID', async () => {
    await bury('m1', ['a/b', 'c']);
    await bury('m1', ['a/b'], { group: 'g', pushed: true });
    const [first] = (await list('queue=m1')).messages;
    const at = `/api/v1/messages/${first!.partitionId}/${encodeURIComponent('a/b')}`;
    const retried = await broker.post(`${at}/retry`, {});
    expect([retried.status, retried.json]).toMatchObject([
      200,
      { success: true, result: 'moved', originalTransactionId: 'a/b', dlqRowRemoved: true },
    ]);
    expect((await list('queue=m1')).total).toBe(2);
    const detail = await broker.get('/api/v1/resources/queues/m1');
    const uuid = detail.json.partitions[0].id as string;
    const byUuid = await broker.post(`/api/v1/messages/${uuid}/c/retry`);
    expect(byUuid.json).toMatchObject({ result: 'moved', originalTransactionId: 'c' });
    const gone = await broker.post(`${at}x/retry`, {});
    expect([gone.status, gone.json.result]).toEqual([404, 'gone']);
  });

  it('deletes the dead letters of a message, all groups, and nothing else', async () => {
    await bury('m2', ['a']);
    await bury('m2', ['a'], { group: 'g', pushed: true });
    const [letter] = (await list('queue=m2')).messages;
    const { partitionId } = letter!;
    const path = `/api/v1/messages/${partitionId}/a`;
    const deleted = await broker.send('DELETE', path);
    expect([deleted.status, deleted.json]).toEqual([
      200,
      { success: true, partitionId, transactionId: 'a', deleted: 2 },
    ]);
    const again = await broker.send('DELETE', path);
    expect([again.status, again.json]).toMatchObject([
      404,
      { success: false, partitionId, transactionId: 'a', error: 'Message not found' },
    ]);
    expect((await broker.send('DELETE', '/api/v1/messages/999/a')).status).toBe(404);
    expect((await list('queue=m2')).total).toBe(0);
  });

  it('treats a partition of another tenant as absent', async () => {
    const other = await TestBroker.start({
      QUEEN_TENANCY_HEADER: 'true',
      QUEEN_KV_TRUSTED_PROXY: 'true',
    });
    try {
      await other.post('/api/v1/push', { items: [{ queue: 'q', transactionId: 'a', payload: 1 }] });
      const popped = (await other.get('/api/v1/pop/queue/q')).json;
      const { leaseId, partitionId } = popped;
      const ack = { transactionId: 'a', partitionId, leaseId, status: 'dlq' };
      await other.post('/api/v1/ack', ack);
      const foreign = await fetch(`${other.url}/api/v1/messages/${partitionId}/a`, {
        method: 'DELETE',
        headers: { 'x-queen-tenant': '0199c0de-dddd-7bbb-8ccc-ddddeeeeffff' },
      });
      expect(foreign.status).toBe(404);
      expect((await other.get('/api/v1/dlq')).json.total).toBe(1);
    } finally {
      await other.stop();
    }
  });
});
