/** Management of ephemeral queues over HTTP: configure, reset, delete, listing, depth (state.md §5.5), ages and collection. */
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import { eventually, promptly } from './calls.js';

const API = '/api/v1/ephemeral';
const LIMITS = { maxBytes: 100_000, maxLength: 500 };
const DEFAULTS = {
  ...{ ...LIMITS, policy: 'reject', ttlSeconds: 0, leaseSeconds: 20, retryLimit: 3 },
  windowBuffer: { ms: 0, count: 0 },
};
let broker: TestBroker;
let names = 0;

beforeAll(async () => {
  broker = await TestBroker.start({
    QUEEN_EPHEMERAL_QUEUE_MAX_BYTES: String(LIMITS.maxBytes),
    QUEEN_EPHEMERAL_QUEUE_MAX_LENGTH: String(LIMITS.maxLength),
    QUEEN_EPHEMERAL_LEASE_S: '20',
    QUEEN_EPHEMERAL_RETRY_LIMIT: '3',
    QUEEN_EPHEMERAL_IMPLICIT_IDLE_S: '1',
  });
});

afterAll(() => broker.stop());

const fresh = (): string => `m-${(names += 1)}`;

interface Message {
  readonly id: string;
  readonly payload: unknown;
}

const configure = (queue: string, options?: object): Promise<HttpAnswer> =>
  broker.post(`${API}/configure`, options === undefined ? { queue } : { queue, options });

async function push(queue: string, payloads: unknown[], partition = 'p'): Promise<void> {
  const messages = payloads.map((payload) => ({ payload }));
  const answer = await broker.post(`${API}/push`, { queue, partition, messages });
  expect(answer.status).toBe(201);
}

async function pop(queue: string, query = ''): Promise<Message[]> {
  const answer = await broker.get(`${API}/pop?queue=${queue}&batch=100&${query}`);
  expect(answer.status).toBe(200);
  return answer.json.messages as Message[];
}

async function listed(queue: string): Promise<Record<string, unknown> | undefined> {
  const answer = await broker.get(`${API}/queues`);
  const queues = answer.json.queues as Record<string, unknown>[];
  expect(answer.json.count).toBe(queues.length);
  return queues.find((one) => one['queue'] === queue);
}

const depth = (queue: string, query = ''): Promise<HttpAnswer> =>
  broker.get(`${API}/queues/${queue}/depth?${query}`);

describe('configure', () => {
  it('answers what was sent, lists what is in force', async () => {
    const queue = fresh();
    const options = { maxBytes: 10_000_000, maxLength: 0, ttlSeconds: 1.5, retryLimit: null };
    const answer = await configure(queue, options);
    expect([answer.status, answer.json]).toEqual([201, { queue, options, declared: true }]);
    expect(await listed(queue)).toEqual({
      ...{ queue, tier: 'declared', depth: 0, bytes: 0, partitions: 0, groups: 0 },
      drops: { bounds: 0, ttl: 0, retry: 0 },
      options: { ...DEFAULTS, maxLength: 1, ttlSeconds: 1.5 },
    });
  });

  it.each([[undefined], [{}]])('without options (%j) declares the defaults', async (options) => {
    const queue = fresh();
    expect((await configure(queue, options)).json).toEqual({ queue, options: {}, declared: true });
    expect((await listed(queue))?.['options']).toEqual(DEFAULTS);
  });

  it('replaces what was set before, also for what is in the queue', async () => {
    const queue = fresh();
    await push(queue, [1, 2, 3]);
    expect(await listed(queue)).toMatchObject({ tier: 'implicit', options: DEFAULTS });
    await configure(queue, { maxLength: 3, policy: 'dropOldest' });
    await push(queue, [4]);
    expect((await pop(queue, 'group=a')).map(({ payload }) => payload)).toEqual([2, 3, 4]);
    await configure(queue, { maxLength: 4 });
    const full = await broker.post(`${API}/push`, {
      ...{ queue, partition: 'p' },
      messages: [{ payload: 5 }, { payload: 6 }],
    });
    expect([full.status, full.json.code]).toEqual([429, 'queue_full']);
    expect((await listed(queue))?.['options']).toEqual({ ...DEFAULTS, maxLength: 4 });
  });
});

describe('reset', () => {
  it('drops the messages, voids the leases, puts every group to the tail', async () => {
    const queue = fresh();
    await pop(queue, 'group=unread&partition=p');
    await push(queue, [1, 2, 3]);
    await push(queue, [4], 'other');
    const [leased] = await pop(queue, 'group=g&partition=p&batch=1');
    const answer = await broker.post(`${API}/reset`, { queue });
    expect([answer.status, answer.json]).toEqual([200, { queue, dropped: 4 }]);
    const acked = await broker.post(`${API}/ack`, {
      queue,
      group: 'g',
      acks: [{ id: leased!.id }],
    });
    expect(acked.json.results).toEqual([{ id: leased!.id, outcome: 'unknown' }]);
    for (const group of ['g', 'unread', 'new'])
      expect(await pop(queue, `group=${group}`)).toEqual([]);
    expect(await listed(queue)).toMatchObject({ depth: 0, bytes: 0, partitions: 2 });
    expect((await depth(queue, 'group=unread')).json.groups).toContainEqual({
      ...{ group: 'unread', pending: 0, skipped: 0 },
    });
    await push(queue, [5]);
    expect((await pop(queue, 'group=unread')).map(({ payload }) => payload)).toEqual([5]);
  });

  it('of an unknown queue drops nothing', async () => {
    const answer = await broker.post(`${API}/reset`, { queue: 'nobody' });
    expect([answer.status, answer.json]).toEqual([200, { queue: 'nobody', dropped: 0 }]);
  });
});

describe('delete', () => {
  it.each([
    ['unknown', false, false, { deleted: false, declared: false }],
    ['declared and empty', true, false, { deleted: true, declared: true }],
    ['implicit', false, true, { deleted: true, declared: false }],
    ['declared and filled', true, true, { deleted: true, declared: true }],
  ])('of one that is %s', async (_, isDeclared, isFilled, expected) => {
    const queue = fresh();
    if (isDeclared) await configure(queue, { maxLength: 7 });
    if (isFilled) await push(queue, [1, 2]);
    const answer = await broker.send('DELETE', `${API}/queue/${queue}`);
    expect([answer.status, answer.json]).toEqual([200, { queue, ...expected }]);
    expect(await listed(queue)).toBeUndefined();
    expect((await depth(queue)).status).toBe(404);
    expect(await pop(queue)).toEqual([]);
    expect(await listed(queue)).toMatchObject({ tier: 'implicit', options: DEFAULTS });
  });

  it('makes acks of its messages unknown', async () => {
    const queue = fresh();
    await push(queue, [1]);
    const [message] = await pop(queue);
    await broker.send('DELETE', `${API}/queue/${queue}`);
    await push(queue, [2]);
    const acked = await broker.post(`${API}/ack`, { queue, acks: [{ id: message!.id }] });
    expect(acked.json.results).toEqual([{ id: message!.id, outcome: 'unknown' }]);
    expect(await pop(queue)).toHaveLength(1);
  });
});

describe('depth', () => {
  const rows = async (queue: string, query = ''): Promise<unknown> => {
    const { pending, partitionsPending, partitions } = (await depth(queue, query)).json;
    const pairs = (partitions as { partition: string; pending: number }[]).map((one) => [
      ...[one.partition, one.pending],
    ]);
    return [pending, partitionsPending, pairs];
  };

  it('is of the asked group, else of the worst named one, else of queue mode, else of the rings', async () => {
    const queue = fresh();
    await push(queue, [1, 2, 3], 'a');
    await push(queue, [4], 'b');
    expect(await rows(queue)).toEqual([
      4,
      2,
      [
        ['a', 3],
        ['b', 1],
      ],
    ]);
    await pop(queue, 'partition=a&batch=1&commitOnDelivery=true');
    expect(await rows(queue)).toEqual([
      3,
      2,
      [
        ['a', 2],
        ['b', 1],
      ],
    ]);
    await pop(queue, 'group=fast&commitOnDelivery=true');
    await pop(queue, 'group=slow&partition=a&batch=2');
    // What both had passed is freed; leased messages are not passed yet.
    const owed = [
      2,
      1,
      [
        ['a', 2],
        ['b', 0],
      ],
    ];
    expect(await rows(queue)).toEqual(owed);
    expect(await rows(queue, 'group=fast')).toEqual([
      0,
      0,
      [
        ['a', 0],
        ['b', 0],
      ],
    ]);
    // A group no ring knows owes all of them.
    expect(await rows(queue, 'group=never')).toEqual(owed);
    const { json } = await depth(queue, 'group=slow');
    expect(json).toMatchObject({ queue, group: 'slow', tier: 'implicit', bytes: 2 });
    expect(json.groups).toEqual([
      { group: '__QUEUE_MODE__', pending: 2, skipped: 0 },
      { group: 'fast', pending: 0, skipped: 0 },
      { group: 'slow', pending: 2, skipped: 0 },
    ]);
  });

  it('of what is declared and not here is 0, of an unknown queue 404', async () => {
    const queue = fresh();
    await configure(queue, {});
    expect((await depth(queue)).json).toEqual({
      ...{ queue, group: null, tier: 'declared', pending: 0, partitionsPending: 0, bytes: 0 },
      ...{ partitions: [], groups: [] },
    });
    const unknown = await depth('nobody');
    expect([unknown.status, unknown.json.code]).toEqual([404, 'ephemeral_queue_not_found']);
  });
});

describe('time', () => {
  it('drops what is older than the ttl, read or not, and counts it', async () => {
    const queue = fresh();
    await configure(queue, { ttlSeconds: 0.3 });
    await push(queue, [1, 2]);
    await eventually(async () => {
      const drops = (await listed(queue))?.['drops'] as { ttl: number };
      return drops.ttl === 2 ? true : null;
    });
    expect(await pop(queue)).toEqual([]);
    expect(await listed(queue)).toMatchObject({ depth: 0, bytes: 0 });
  });

  it('an implicit queue that is empty and untouched goes; what is declared, filled or waited for stays', async () => {
    const [idle, declared, filled, waited] = [fresh(), fresh(), fresh(), fresh()];
    await configure(declared, {});
    await push(filled, [1]);
    for (const queue of [idle, declared]) await pop(queue);
    const waiting = pop(waited, 'wait=true&timeout=60000&partition=inbox');
    await eventually(async () => ((await listed(idle)) === undefined ? true : null));
    expect([await listed(declared), await listed(filled)].map((one) => one?.['tier'])).toEqual([
      ...['declared', 'implicit'],
    ]);
    const found = await promptly(waiting, () => push(waited, ['x'], 'inbox'));
    expect(found.map(({ payload }) => payload)).toEqual(['x']);
  });
});
