/**
 * Rows of messages.md §11 (messages and dead letters), named by their section: bounds of the list's
 * query, every way to a status, what a detail tells of failures, the refusal of a replay. Fields, order
 * and the other routes: test/e2e/messages.spec.ts, test/e2e/dlq.spec.ts.
 */
import { Groups } from '../../../src/raft/index.js';
import { TestBroker } from '../../support/broker.js';
import { Calls, freshQueue, messagesOf, type Message, type Wire } from '../calls.js';

const SECOND = 1_000_000;
const MINUTE_MS = 60_000;

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

afterEach(() => jest.restoreAllMocks());

const list = async (query: string): Promise<Wire> => {
  const { status, json } = await broker.get(`/api/v1/messages?${query}`);
  expect(status).toBe(200);
  return json;
};
const ids = async (query: string): Promise<string[]> =>
  (await list(query)).messages.map(({ transactionId }: Wire) => transactionId);
const all = (consumerGroup: string) => ({ consumerGroup, subscriptionMode: 'all' });
const take = async (queue: string, query = {}): Promise<Message> =>
  messagesOf(await calls.pop(queue, query))[0]!;

/** The node's clock is so many seconds ahead until the test is over. */
function ahead(seconds: number): void {
  const group = broker.nest.get(Groups, { strict: false }).first;
  const now = group.nowMicros.bind(group);
  jest.spyOn(group, 'nowMicros').mockImplementation(() => now() + seconds * SECOND);
}

describe('11.1 GET /messages: query', () => {
  it.each([
    ['no limit is 200', '', 200],
    ['1', 'limit=1', 1],
    ['0 is 1', 'limit=0', 1],
    ['1000', 'limit=1000', 1000],
    ['1001 is 1000', 'limit=1001', 1000],
    ['a limit that is none is 200', 'limit=many', 200],
    ['an empty limit is absent', 'limit=', 200],
  ])('11.1 limit: %s', async (_row, query, limit) => {
    expect((await list(query)).pagination).toEqual({ limit, offset: 0 });
  });

  it('11.1 offset: what is none is 0; total counts the rows of the page', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a', 'b', 'c');
    expect(await list(`queue=${queue}&offset=x&limit=2`)).toMatchObject({
      ...{ total: 2, pagination: { limit: 2, offset: 0 } },
    });
    expect(await list(`queue=${queue}&offset=2`)).toMatchObject({ total: 1 });
  });

  it.each([
    ['an hour old: still listed', 3_590, ['a']],
    ['older: not listed', 3_610, []],
  ])('11.1 from is an hour ago unless named: %s', async (_row, seconds, listed) => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    ahead(seconds);
    expect(await ids(`queue=${queue}&from=`)).toEqual(listed);
    expect(await ids(`queue=${queue}&from=2020-01-01`)).toEqual(['a']);
  });

  it('11.1 from is inclusive, to goes on to the start of the next minute', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    const [row] = (await list(`queue=${queue}`)).messages;
    const createdMs = Date.parse(row.createdAt);
    const at = (ms: number): string => encodeURIComponent(new Date(ms).toISOString());
    expect(await ids(`queue=${queue}&from=${at(createdMs)}`)).toEqual(['a']);
    expect(await ids(`queue=${queue}&from=${at(createdMs + 1)}`)).toEqual([]);
    const minute = createdMs - (createdMs % MINUTE_MS);
    expect(await ids(`queue=${queue}&to=${at(minute)}`)).toEqual(['a']);
    expect(await ids(`queue=${queue}&to=${at(minute - 1)}`)).toEqual([]);
  });

  it('11.1 pages of a status count its own messages', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a', 'b', 'c', 'd');
    const message = await take(queue, { batch: 2 });
    await calls.ack(message, undefined, 'a', 'b');
    expect(await ids(`queue=${queue}&status=pending&limit=1&offset=1`)).toEqual(['c']);
    expect(await ids(`queue=${queue}&status=completed`)).toEqual(['b', 'a']);
    expect((await list(`queue=${queue}&status=completed`)).total).toBe(2);
  });
});

/** Who reads the one message of a queue, and how far. */
interface Readers {
  readonly queueMode?: 'leased' | 'settled';
  readonly first?: 'leased' | 'settled';
  readonly second?: 'leased' | 'settled' | 'dead';
}

describe('11.1 status', () => {
  const rows: readonly (readonly [string, Readers, string, string])[] = [
    ['nobody reads', {}, 'pending', 'none'],
    ['queue mode has a lease', { queueMode: 'leased' }, 'processing', 'queue'],
    ['queue mode is past it', { queueMode: 'settled' }, 'completed', 'queue'],
    ['a group has a lease', { first: 'leased' }, 'processing', 'bus'],
    ['all groups are past it', { first: 'settled', second: 'settled' }, 'completed', 'bus'],
    ['one of two is past it', { first: 'settled', second: 'leased' }, 'processing', 'bus'],
    [
      'with groups, queue mode does not count',
      { queueMode: 'settled', first: 'leased' },
      'processing',
      'hybrid',
    ],
    [
      'all groups are past it, queue mode has a lease',
      { queueMode: 'leased', first: 'settled' },
      'completed',
      'hybrid',
    ],
    [
      'a dead letter of one of them',
      { queueMode: 'leased', first: 'settled', second: 'dead' },
      'dead_letter',
      'hybrid',
    ],
  ];

  it.each(rows)('11.1 %s', async (_row, readers, status, type) => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    for (const [name, state] of Object.entries(readers)) {
      const group = name === 'queueMode' ? undefined : name;
      const message = await take(queue, group === undefined ? {} : all(group));
      if (state === 'settled') await calls.ack(message, group, 'a');
      if (state === 'dead') await calls.ack(message, group, { id: 'a', status: 'dlq' });
    }
    const { messages, mode } = await list(`queue=${queue}`);
    expect(messages).toMatchObject([{ status, queueStatus: status }]);
    expect(mode.type).toBe(type);
    const passed = [readers.first, readers.second].filter((state) => state !== undefined);
    expect(messages[0].busStatus).toEqual({
      consumedBy: passed.filter((state) => state !== 'leased').length,
      totalGroups: passed.length,
    });
    const lease = readers.queueMode === 'leased' ? (expect.any(String) as string) : null;
    expect(messages[0].leaseExpiresAt).toEqual(lease);
    const { json } = await broker.get(`/api/v1/messages/${messages[0].partitionId}/a`);
    expect(json).toMatchObject({ status, mode: { type } });
  });

  it('11.1 a lease whose time is over is none', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    await take(queue);
    ahead(61);
    const { messages } = await list(`queue=${queue}`);
    expect(messages).toMatchObject([{ status: 'pending', leaseExpiresAt: null }]);
  });
});

describe('11.2 detail', () => {
  it('11.2 errorMessage and retryCount of the dead letter', async () => {
    const queue = freshQueue();
    await calls.configure(queue, { retryLimit: 2 });
    await calls.push(queue, 'a');
    for (const error of ['first', 'second', 'third']) {
      await calls.ack(await take(queue, all('g')), 'g', { id: 'a', status: 'failed', error });
    }
    const [{ partitionId }] = (await broker.get(`/api/v1/dlq?queue=${queue}`)).json.messages;
    const { json } = await broker.get(`/api/v1/messages/${partitionId}/a`);
    expect(json).toMatchObject({ status: 'dead_letter', errorMessage: 'third', retryCount: 2 });
    expect(json.consumerGroups).toEqual([
      { name: 'g', committed: 0, consumed: true, leaseExpiresAt: null },
    ]);
  });

  it('11.2 minted ids, trace ids and producers', async () => {
    const queue = freshQueue();
    const traceId = '0199c0de-1111-7222-8333-444455556666';
    const operations = [{ type: 'push', queue, payload: null, traceId }];
    const { json } = await broker.post('/api/v1/transaction', { operations });
    const { transactionId, messageId } = json.results[0];
    const [row] = (await list(`queue=${queue}`)).messages;
    expect(row).toMatchObject({ id: messageId, transactionId, traceId, data: null });
    const detail = await broker.get(`/api/v1/messages/${row.partitionId}/${transactionId}`);
    expect(detail.json).toMatchObject({ id: messageId, traceId, producerSub: null, payload: null });
  });
});

describe('11.4 dead letters', () => {
  async function buried(queue: string, payload: unknown, partition = 'p'): Promise<string> {
    await calls.push(queue, { id: 'x', partition, payload });
    const message = messagesOf(await calls.popPinned(queue, partition))[0]!;
    await calls.ack(message, undefined, { id: 'x', status: 'dlq' });
    return (await broker.get(`/api/v1/dlq?queue=${queue}`)).json.messages[0].id;
  }

  it.each([
    ['no limit is 100', '', 100],
    ['0 is 1', 'limit=0', 1],
    ['1001 is 1000', 'limit=1001', 1000],
    ['what is none is 100', 'limit=many', 100],
  ])('11.4 limit: %s', async (_row, query, limit) => {
    expect((await broker.get(`/api/v1/dlq?${query}`)).json.pagination).toEqual({
      limit,
      offset: 0,
    });
  });

  it('11.4 replay: a copy that fits no entry is refused with 409, and the letter stays', async () => {
    const queue = freshQueue();
    const id = await buried(queue, 'x'.repeat(6_000));
    await broker.restart({ QUEEN_RAFT_ENTRY_MAX_BYTES: '4096' });
    try {
      const { status, json } = await broker.post(`/api/v1/dlq/${id}/replay`);
      expect([status, json]).toEqual([
        409,
        {
          ...{ success: false, error: expect.any(String) as string, reason: 'too_large' },
          dlqRowRemoved: false,
        },
      ]);
      expect((await broker.get(`/api/v1/dlq?queue=${queue}`)).json.total).toBe(1);
    } finally {
      await broker.restart({});
    }
    expect((await broker.post(`/api/v1/dlq/${id}/replay`)).json).toMatchObject({ result: 'moved' });
  });

  it('11.4 replay: into another queue under another option, every group sees it', async () => {
    const [queue, target] = [freshQueue(), freshQueue('target')];
    const id = await buried(queue, { deep: [1] });
    await calls.push(target, 'first');
    const body = { queue: target, partition: 'Default' };
    const { json } = await broker.post(`/api/v1/dlq/${id}/replay`, body);
    expect(json.replayedAs).toMatchObject({ queueName: target, offset: 1 });
    for (const group of ['g', 'h']) {
      const found = messagesOf(await calls.pop(target, all(group)));
      expect(found).toMatchObject([{}, { transactionId: `dlq:${id}`, data: { deep: [1] } }]);
    }
  });

  it('11.4 replay: another tenant has no such letter', async () => {
    const env = { QUEEN_TENANCY_HEADER: 'true', QUEEN_KV_TRUSTED_PROXY: 'true' };
    const id = await buried(freshQueue(), 1);
    await broker.restart(env);
    try {
      const headers = { 'x-queen-tenant': '0199c0de-dddd-7bbb-8ccc-ddddeeeeffff' };
      const path = `/api/v1/dlq/${id}/replay`;
      const foreign = await broker.send('POST', path, undefined, { headers });
      expect([foreign.status, foreign.json.result]).toEqual([404, 'gone']);
    } finally {
      await broker.restart({});
    }
  });
});
