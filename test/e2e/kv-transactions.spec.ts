/** Keys and values inside transactions: elements, rollbacks, bounds, reads at the call's place, guards. */
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import { freshQueue, type Wire } from './calls.js';

let broker: TestBroker;

beforeAll(async () => {
  broker = await TestBroker.start();
});

afterAll(() => broker.stop());

let spaces = 0;
const fresh = (): string => `tx${++spaces}`;

type Op = Readonly<Record<string, unknown>>;

const push = (queue: string): Op => ({ type: 'push', items: [{ queue, payload: 1 }] });

function transact(kv: unknown, operations: readonly Op[] = []): Promise<HttpAnswer> {
  return broker.post('/api/v1/transaction', { operations, kv });
}

const put = (ns: string, key: string, value: unknown, more: Op = {}): Op => ({
  ...{ op: 'put', ns, key, value, forever: true },
  ...more,
});

async function read(ns: string, key: string): Promise<Wire> {
  return (await broker.get(`/api/v1/kv/${ns}/${key}`)).json;
}

it('writes with the pushes, one flat index space, reads at its own place', async () => {
  const [ns, queue] = [fresh(), freshQueue()];
  await broker.send('PUT', `/api/v1/kv/${ns}/k`, '{"value":"old","forever":true}');
  const answer = await transact(
    [
      { op: 'get', ns, key: 'k' },
      put(ns, 'k', 'new'),
      { op: 'get', ns, key: 'k' },
      { op: 'getMany', ns, keys: ['k', 'none'] },
      { op: 'check', ns, key: 'k9', expect: 4 },
    ],
    [push(queue)],
  );
  expect(answer.json.success).toBe(true);
  expect(answer.json.results).toMatchObject([
    { index: 0, type: 'push' },
    { index: 1, type: 'kv', opIndex: 0, op: 'get', found: true, value: 'old' },
    { index: 2, type: 'kv', opIndex: 1, op: 'put', applied: true, key: 'k', value: 'new' },
    { index: 3, type: 'kv', opIndex: 2, op: 'get', value: 'new' },
    { index: 4, type: 'kv', opIndex: 3, op: 'getMany', missing: ['none'], truncated: false },
    { index: 5, type: 'kv', opIndex: 4, applied: false, reason: 'absent', value: null, version: 0 },
  ]);
  expect(await read(ns, 'k')).toMatchObject({ value: 'new' });
});

it('a required operation that loses rolls pushes and keys back and says what is in its way', async () => {
  const [ns, queue] = [fresh(), freshQueue()];
  await broker.send('PUT', `/api/v1/kv/${ns}/lock`, '{"value":{"owner":"w-2"},"forever":true}');
  const { version } = await read(ns, 'lock');
  const answer = await transact(
    [put(ns, 'a', 1), { op: 'check', ns, key: 'lock', expect: version + 1, required: true }],
    [push(queue), push(queue)],
  );
  expect([answer.status, answer.json]).toEqual([
    200,
    {
      transactionId: expect.any(String) as string,
      ...{ success: false, reason: 'kv_precondition', error: expect.any(String) as string },
      ...{ results: [], ok: false, failedIndex: 3, kvReason: 'version', version },
      value: { owner: 'w-2' },
    },
  ]);
  expect((await read(ns, 'a')).found).toBe(false);
  expect((await broker.get(`/api/v1/pop/queue/${queue}`)).status).toBe(204);
});

it('the guard of a lock lets its holder alone commit', async () => {
  const [name, queue] = [fresh(), freshQueue()];
  const lock = (operation: Op): Promise<HttpAnswer> =>
    broker.post('/api/v1/locks', { operations: [operation] });
  const taken = await lock({ op: 'acquire', name, ttlSeconds: 60, owner: 'w-1' });
  const { guard, token } = taken.json.results[0];
  expect((await transact([guard], [push(queue)])).json.success).toBe(true);
  await lock({ op: 'release', name, token });
  const lost = await transact([guard], [push(queue)]);
  expect(lost.json).toMatchObject({ success: false, failedIndex: 1, kvReason: 'absent' });
  await lock({ op: 'acquire', name, ttlSeconds: 60, owner: 'w-2' });
  expect((await transact([guard], [push(queue)])).json).toMatchObject({
    ...{ success: false, kvReason: 'version', value: { owner: 'w-2' } },
  });
});

it.each([
  [
    'getPrefix',
    [{ op: 'getPrefix', ns: 'n', prefix: 'p' }],
    400,
    'kv_get_prefix_not_allowed_in_transaction',
  ],
  [
    '65 operations',
    Array.from({ length: 65 }, () => ({ op: 'get', ns: 'n', key: 'k' })),
    400,
    'kv_too_many_ops',
  ],
  [
    '257 keys',
    [{ op: 'getMany', ns: 'n', keys: Array.from({ length: 257 }, (_, i) => `${i}`) }],
    400,
    'kv_too_many_keys',
  ],
  ['no expiry', [{ op: 'put', ns: 'n', key: 'k', value: 1 }], 400, 'kv_expiry_not_specified'],
  ['a key twice', [put('n', 'k', 1), put('n', 'k', 2)], 400, 'kv_duplicate_key_in_call'],
  ['a large value', [put('n', 'k', 'x'.repeat(70_000))], 413, 'kv_value_too_large'],
  ['a large key', [put('n', 'k'.repeat(600), 1)], 413, 'kv_key_too_large'],
])('refuses %s', async (_, kv, status, reason) => {
  const answer = await transact(kv);
  expect([answer.status, answer.json.reason, answer.json.success]).toEqual([status, reason, false]);
});

it('the switch refuses it without a time to come back', async () => {
  await broker.post('/api/v1/system/kv-timers', { kv: false });
  try {
    const answer = await transact([put(fresh(), 'k', 1)]);
    expect([answer.status, answer.json.reason]).toEqual([403, 'kv_disabled']);
    expect(answer.headers.get('retry-after')).toBeNull();
  } finally {
    await broker.post('/api/v1/system/kv-timers', { kv: true });
  }
});
