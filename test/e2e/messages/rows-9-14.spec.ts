/**
 * messages.md §3, §9 and §14, the rows no other file shows: options without effect, figures of last-value
 * groups, routes that are gone, shapes of errors. The rest: configure.spec (§3, §9.1, §9.2),
 * resources.spec (§9.3), transport.spec and bad-bodies.spec (§14.2), pressure.spec (§14.3).
 */
import { QueenError } from '../../../src/common/errors.js';
import { Groups } from '../../../src/raft/index.js';
import { type HttpAnswer, TestBroker } from '../../support/broker.js';
import { Calls, freshQueue, idsOf } from '../calls.js';

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

afterEach(() => jest.restoreAllMocks());

describe('§3 row: stored, echoed, without effect', () => {
  it.each<[string, Readonly<Record<string, unknown>>]>([
    ['priority', { priority: -5 }],
    ['retryDelay', { retryDelay: 3_600_000 }],
    ['ttl', { ttl: 1 }],
    ['maxSize', { maxSize: 1 }],
    ['minPopWaitTime', { minPopWaitTime: 60_000 }],
  ])('%s', async (_name, options) => {
    const queue = freshQueue();
    expect((await calls.configure(queue, options)).json.options).toMatchObject(options);
    expect((await calls.detail(queue)).options).toMatchObject(options);
    await calls.push(queue, 'a', 'b', 'c');
    const first = await calls.pop(queue);
    expect(idsOf(first)).toEqual(['a', 'b', 'c']);
    await calls.ack(first.json, undefined, { id: 'a', status: 'failed' });
    // Neither waited for nor aged out: the whole batch is there at once.
    expect(idsOf(await calls.pop(queue))).toEqual(['a', 'b', 'c']);
  });
});

describe('§9.1 row: changes apply to what comes', () => {
  it('leaseTime to the next pop, dedupWindowSeconds to the next push', async () => {
    const queue = freshQueue();
    await calls.push(queue, { id: 'a', partition: '1' }, { id: 'b', partition: '2' });
    await calls.configure(queue, { leaseTime: 1_000, dedupWindowSeconds: 0 });
    const popped = await calls.pop(queue);
    const extended = await broker.post(`/api/v1/lease/${popped.json.leaseId}/extend`, {});
    expect(Date.parse(extended.json.expiresAt) - Date.now()).toBeGreaterThan(900_000);
    expect((await calls.push(queue, { id: 'a', partition: '1' }))[0]?.status).toBe('queued');
  });
});

describe('§9.2 row: routes that older editions had', () => {
  it.each([
    ['POST', '/api/v1/queues/q/clear'],
    ['DELETE', '/api/v1/queues/q/clear'],
    ['POST', '/api/v1/messages/1/a/dlq'],
    ['GET', '/api/v1/maintenance'],
  ])('%s %s is 404 no_such_route', async (method, path) => {
    const answer = await broker.send(method, path);
    expect([answer.status, answer.json]).toEqual([
      404,
      { code: 'no_such_route', error: 'not found', path },
    ]);
  });
});

describe('§9.3 row: depth', () => {
  it('of a last-value group counts partitions as what is left to deliver', async () => {
    const queue = freshQueue();
    const items = ['a', 'a', 'a', 'b', 'b', 'c'].map((partition) => ({ partition }));
    await calls.push(queue, ...items);
    const group = { consumerGroup: 'g', subscriptionMode: 'all', conflation: true };
    await calls.pop(queue, { ...group, partitions: 1 });
    expect(await calls.depth(queue, 'g')).toMatchObject({
      ...{ conflation: true, pending: 6, processing: 3, ready: 3 },
      ...{ partitionsPending: 3, partitionsReady: 2, effectivePending: 3, effectiveReady: 2 },
    });
    expect(await calls.depth(queue)).toMatchObject({ group: null, conflation: false });
  });

  it('a registered group without a cursor counts as unread beside one that never registered', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a', 'b', 'c');
    await calls.pop(queue, { consumerGroup: 'registered', subscriptionMode: 'new' });
    const pinned = { consumerGroup: 'pinned', subscriptionMode: 'all', autoAck: true };
    await calls.popPinned(queue, 'Default', pinned);
    expect(await calls.depth(queue)).toMatchObject({ pending: 3, ready: 3 });
    expect(await calls.depth(queue, 'pinned')).toMatchObject({ pending: 0 });
  });

  it('of one group counts its leases alone, without a group those of all', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a', 'b', 'c');
    const all = { subscriptionMode: 'all' };
    await calls.pop(queue, { consumerGroup: 'g', ...all, batch: 1 });
    await calls.pop(queue, { consumerGroup: 'h', ...all, batch: 2 });
    expect(await calls.depth(queue, 'g')).toMatchObject({ processing: 1 });
    expect(await calls.depth(queue, 'h')).toMatchObject({ processing: 2 });
    expect(await calls.depth(queue)).toMatchObject({ pending: 3, processing: 3, ready: 0 });
  });
});

describe('§14.1 row: shape', () => {
  const get = (path: string) => (): Promise<HttpAnswer> => broker.get(`/api/v1${path}`);
  const post = (path: string, body: unknown) => (): Promise<HttpAnswer> =>
    broker.post(`/api/v1${path}`, body);
  const text = expect.any(String) as string;
  const position = '/consumer-groups/g/queues/none/seek';

  it.each<[string, () => Promise<HttpAnswer>, number, object]>([
    ['engine error', post('/push', 5), 400, { error: text, code: 'bad_body' }],
    ['engine error', post('/ack', []), 400, { error: text, code: 'bad_body' }],
    ['engine error', post('/configure', {}), 400, { error: text, code: 'bad_request' }],
    ['no code', post('/configure', { queue: 'q', mode: 'x' }), 400, { error: text }],
    ['no code', get('/resources/queues/none'), 404, { error: 'Queue not found' }],
    ['no code', get('/consumer-groups/none'), 404, { error: text }],
    ['no code', get('/messages/999999/none'), 404, { error: text }],
    ['pop refusal', get('/pop'), 400, { success: false, error: text, messages: [] }],
    [
      'seek',
      post(position, { toEnd: true }),
      404,
      {
        ...{ success: false, error: text, consumerGroup: 'g', queueName: 'none' },
        partitionsUpdated: 0,
      },
    ],
    [
      'transaction envelope',
      post('/transaction', { operations: 5 }),
      400,
      { transactionId: text, success: false, error: text, results: [] },
    ],
  ])('%s', async (_what, call, status, body) => {
    const answer = await call();
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.json).toMatchObject(body);
    if (!('code' in body)) expect(answer.json).not.toHaveProperty('code');
  });

  it('per item: push 201 and ack 200 with an array', async () => {
    const queue = freshQueue();
    const pushed = await broker.post('/api/v1/push', { items: [{ queue, payload: 1 }] });
    expect([pushed.status, Array.isArray(pushed.json)]).toEqual([201, true]);
    const acked = await broker.post('/api/v1/ack', { transactionId: 'x', partitionId: '999999' });
    expect([acked.status, Array.isArray(acked.json)]).toEqual([200, true]);
  });

  it('plain text: a query of a pop that does not parse', async () => {
    const answer = await broker.get('/api/v1/pop/queue/q?batch=x');
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
  });
});

describe('§14.2 row: a push of several groups of which one is to be retried', () => {
  it('is 503 as a whole; sent again, what was stored is a duplicate', async () => {
    await broker.restart({ QUEEN_RAFT_ENTRY_MAX_BYTES: '4096' });
    const [first, second] = [freshQueue(), freshQueue()];
    const items = [first, second].map((queue) => ({
      ...{ queue, transactionId: 't', payload: 'x'.repeat(3_000) },
    }));
    const group = broker.nest.get(Groups).first;
    const submit = group.submit.bind(group);
    let calls = 0;
    jest.spyOn(group, 'submit').mockImplementation((command, options) => {
      calls += 1;
      return calls === 1 ? submit(command, options) : Promise.reject(new QueenError('retry'));
    });
    const refused = await broker.post('/api/v1/push', { items });
    jest.restoreAllMocks();
    expect([refused.status, refused.json.code]).toEqual([503, 'retry']);
    expect(refused.headers.get('retry-after')).toBe('1');
    const again = await broker.post('/api/v1/push', { items });
    const statuses = again.json.map(({ status }: { status: string }) => status);
    expect(statuses.sort()).toEqual(['duplicate', 'queued']);
    await broker.restart({});
  });
});
