/** Traces over HTTP (messages.md §13, admin.md §5.2): every row of the table, paging, restart, retention. */
import { TestBroker } from '../support/broker.js';
import type { HttpAnswer } from '../support/broker.js';
import { Calls, eventually, freshQueue } from './calls.js';
import type { Wire } from './calls.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const MICROS = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/;

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

const write = (body: object): Promise<HttpAnswer> => broker.post('/api/v1/traces', body);
const byName = async (name: string, query = ''): Promise<Wire> =>
  (await broker.get(`/api/v1/traces/by-name/${encodeURIComponent(name)}${query}`)).json;
const names = async (query = ''): Promise<Wire> =>
  (await broker.get(`/api/v1/traces/names${query}`)).json;

const partitionOf = async (...ids: string[]): Promise<{ queue: string; id: string }> => {
  const queue = freshQueue();
  await calls.push(queue, ...ids);
  return { queue, id: (await calls.pop(queue)).json.partitionId };
};

describe('writing', () => {
  it('takes every field and shows it in both spellings', async () => {
    const { queue, id } = await partitionOf('a/b');
    const traceId = '0199c0de-1111-7222-8333-444455556666';
    const data = { deep: [1, null, 'ü'] };
    const answer = await write({
      ...{ transactionId: 'a/b', partitionId: id, messageId: 'm-1', consumerGroup: 'g' },
      ...{ traceNames: ['full one', 'full one', ''], eventType: 'info', data, worker: 'w' },
      traceId,
    });
    expect(answer.status).toBe(201);
    expect(answer.json).toEqual({ success: true, traceId });
    const list = await byName('full one');
    const trace = {
      ...{ traceId, trace_id: traceId, partitionId: id, partition_id: id },
      ...{ messageId: 'm-1', message_id: 'm-1', transactionId: 'a/b', transaction_id: 'a/b' },
      ...{ consumerGroup: 'g', consumer_group: 'g', eventType: 'info', event_type: 'info' },
      ...{ data, worker: 'w', worker_id: 'w', names: ['full one'], trace_names: ['full one'] },
      createdAt: expect.stringMatching(MICROS),
      created_at: expect.stringMatching(MICROS),
      ...{ queue_name: queue, partition_name: 'Default', message_payload: null },
    };
    const pagination = { limit: 200, offset: 0 };
    expect(list).toEqual({ traces: [trace], events: [trace], total: 1, pagination });
    const path = `/api/v1/traces/${id}/${encodeURIComponent('a/b')}`;
    expect((await broker.get(path)).json).toEqual(list);
  });

  it('takes the aliases and fills in defaults', async () => {
    const { id } = await partitionOf('a');
    const body = { transaction_id: 'a', partition_id: id, names: ['aliases'], type: 'step' };
    const { json } = await write({ ...body, traceId: 'no uuid' });
    expect(json.traceId).toMatch(UUID);
    const [aliased] = (await byName('aliases')).traces;
    expect(aliased).toMatchObject({
      ...{ transactionId: 'a', partitionId: id },
      eventType: 'step',
    });
    await write({ transactionId: 'b', names: ['defaults'] });
    const [plain] = (await byName('defaults')).traces;
    expect(plain).toMatchObject({
      partitionId: null,
      eventType: 'event',
      data: null,
      worker: null,
    });
    expect(plain).toMatchObject({ queue_name: null, messageId: null, consumerGroup: null });
  });

  it('takes the partition by UUID too', async () => {
    const { queue, id } = await partitionOf('a');
    const uuid = (await calls.detail(queue)).partitions[0].id;
    expect((await write({ transactionId: 'a', partitionId: uuid })).status).toBe(201);
    for (const form of [uuid, id]) {
      const { json } = await broker.get(`/api/v1/traces/${form}/a`);
      expect(json).toMatchObject({ total: 1, traces: [{ partitionId: id }] });
    }
  });

  it.each([
    ['without transactionId', {}, 400, { error: 'transactionId is required' }],
    ['with an empty one', { transactionId: '' }, 400, { error: 'transactionId is required' }],
    [
      'of an unknown partition',
      { transactionId: 'a', partitionId: '999999' },
      404,
      { success: false, error: 'Partition not found' },
    ],
    [
      'of a partition that is no id',
      { transactionId: 'a', partitionId: 'nope' },
      404,
      { success: false, error: 'Partition not found' },
    ],
    ['with a long name', { transactionId: 'a', names: ['n'.repeat(512)] }, 400, TOO_LONG()],
    ['with a long transactionId', { transactionId: 't'.repeat(512) }, 400, TOO_LONG()],
    ['with names that are no array', { transactionId: 'a', names: 'x' }, 400, BAD()],
    ['with names that are no texts', { transactionId: 'a', names: [1] }, 400, BAD()],
    [
      'with too many names',
      { transactionId: 'a', names: Array.from({ length: 65 }, (_, i) => `n${i}`) },
      400,
      BAD(),
    ],
    ['with long data', { transactionId: 'a', data: 'x'.repeat(65_536) }, 400, BAD()],
  ])('refuses one %s', async (_name, body, status, wanted) => {
    const answer = await write(body);
    expect(answer.status).toBe(status);
    expect(answer.json).toEqual(wanted);
  });

  it('refuses what is no JSON object', async () => {
    const answer = await broker.send('POST', '/api/v1/traces', '[]');
    expect(answer).toMatchObject({ status: 400, json: { code: 'bad_body' } });
  });
});

function TOO_LONG(): object {
  return { code: 'name_too_long', error: expect.stringMatching(/512 bytes/) };
}

function BAD(): object {
  return { code: 'bad_request', error: expect.any(String) };
}

describe('lists', () => {
  it('are newest first, paged, and empty for what nobody traced', async () => {
    const { id } = await partitionOf('p');
    for (const data of [1, 2, 3]) {
      await write({ transactionId: 'p', partitionId: id, names: ['paged'], data });
    }
    const dataOf = (list: Wire): number[] => list.traces.map((one: { data: number }) => one.data);
    expect(dataOf(await byName('paged'))).toEqual([3, 2, 1]);
    const second = await byName('paged', '?limit=1&offset=1');
    expect(dataOf(second)).toEqual([2]);
    expect(second).toMatchObject({ total: 3, pagination: { limit: 1, offset: 1 } });
    expect((await byName('paged', '?limit=0')).pagination.limit).toBe(1);
    expect((await byName('paged', '?limit=x&offset=-1')).pagination).toEqual({
      ...{ limit: 200, offset: 0 },
    });
    const message = (await broker.get(`/api/v1/traces/${id}/p?limit=2`)).json;
    expect([dataOf(message), message.total]).toEqual([[3, 2], 3]);
    for (const path of ['by-name/nothing', '999999/p', `${id}/nothing`]) {
      const { status, json } = await broker.get(`/api/v1/traces/${path}`);
      expect([status, json.traces, json.events, json.total]).toEqual([200, [], [], 0]);
    }
  });

  it('of names count traces and messages, by name; also after a restart', async () => {
    const own = await TestBroker.start();
    try {
      const trace = (transactionId: string, ...traceNames: string[]): Promise<HttpAnswer> =>
        own.post('/api/v1/traces', { transactionId, traceNames });
      await trace('a', 'beta', 'alpha');
      await trace('a', 'beta');
      await trace('b', 'beta');
      const check = async (): Promise<void> => {
        const { json } = await own.get('/api/v1/traces/names');
        const last_seen = expect.stringMatching(MICROS);
        expect(json).toEqual({
          trace_names: [
            { trace_name: 'alpha', trace_count: 1, message_count: 1, last_seen },
            { trace_name: 'beta', trace_count: 3, message_count: 2, last_seen },
          ],
          total: 2,
          pagination: { limit: 100, offset: 0 },
        });
        const page = (await own.get('/api/v1/traces/names?limit=1&offset=1')).json;
        expect(page).toMatchObject({ total: 2, trace_names: [{ trace_name: 'beta' }] });
      };
      await check();
      await own.restart();
      await check();
    } finally {
      await own.stop();
    }
  });

  it('keep what tenants traced apart', async () => {
    const env = { QUEEN_TENANCY_HEADER: 'true', QUEEN_KV_TRUSTED_PROXY: 'true' };
    const own = await TestBroker.start(env);
    try {
      const headers = { 'x-queen-tenant': '0199c0de-0000-7000-8000-000000000007' };
      await own.post('/api/v1/traces', { transactionId: 'a', names: ['mine'] });
      const path = '/api/v1/traces/by-name/mine';
      const foreign = await own.send('GET', path, undefined, { headers });
      expect(foreign.json.total).toBe(0);
      expect((await own.get(path)).json.total).toBe(1);
    } finally {
      await own.stop();
    }
  });

  it('lose traces after the time they are kept, and their names with the last', async () => {
    await broker.restart({ QUEEN_RAFT_TRACE_RETENTION_S: '1' });
    await write({ transactionId: 'old', names: ['passing'] });
    await eventually(async () => {
      const { total, trace_names } = await names();
      return total === 0 && trace_names.length === 0 ? true : null;
    });
    expect(await byName('passing')).toMatchObject({ total: 0, traces: [] });
  });

  it('keep of a message, and of all, the newest only where there are too many', async () => {
    // Looked at every three seconds.
    const env = { QUEEN_RAFT_TRACE_RETENTION_S: '30', QUEEN_RAFT_TRACES_PER_MESSAGE: '2' };
    await broker.restart({ ...env, QUEEN_RAFT_TRACES_MAX: '5' });
    const { id } = await partitionOf('m');
    const trace = (data: number, transactionId = 'm'): Promise<HttpAnswer> =>
      write({ transactionId, partitionId: id, names: ['bounded'], data });
    for (const data of [1, 2, 3, 4]) await trace(data);
    for (const data of [5, 6, 7, 8]) await trace(data, `other-${data}`);
    const dataOf = (list: Wire): number[] => list.traces.map((one: { data: number }) => one.data);
    await eventually(async () => ((await byName('bounded')).total === 5 ? true : null));
    expect(dataOf(await byName('bounded'))).toEqual([8, 7, 6, 5, 4]);
    const message = (await broker.get(`/api/v1/traces/${id}/m`)).json;
    expect([message.total, dataOf(message)]).toEqual([1, [4]]);
    const [name] = (await names()).trace_names;
    expect(name).toMatchObject({ trace_name: 'bounded', trace_count: 5, message_count: 5 });
  });
});
