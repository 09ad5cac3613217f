/**
 * A transaction of all its parts over HTTP (state.md §1.9, §2.5): one index space, one reason in the order
 * of the parts, and nothing of any part when one of them loses.
 */
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import { Calls, freshQueue, idsOf, type Popped, type Wire } from './calls.js';

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});
afterAll(() => broker.stop());

type Op = Readonly<Record<string, unknown>>;
type Body = Readonly<Record<string, readonly object[]>>;

const transact = (body: object): Promise<HttpAnswer> => broker.post('/api/v1/transaction', body);

interface Scene {
  readonly inbox: string;
  readonly outbox: string;
  readonly ns: string;
  readonly popped: Popped;
  readonly kept: Wire;
}

/** A leased message, a stored result, a key, and a timer. */
async function scene(): Promise<Scene> {
  const [inbox, outbox] = [freshQueue('in'), freshQueue('out')];
  await calls.push(inbox, 'a');
  await calls.push(outbox, 'stored');
  const popped = (await calls.pop(inbox)).json;
  await broker.send('PUT', `/api/v1/kv/${inbox}/held`, '{"value":"w-2","forever":true}');
  await transact({ timers: [schedule(outbox, 'old', 'first')] });
  const kept = (await broker.get(`/api/v1/timers/${outbox}/old`)).json;
  return { inbox, outbox, ns: inbox, popped, kept };
}

const schedule = (queue: string, timerKey: string, txn = timerKey): Op => ({
  ...{ op: 'schedule', queue, timerKey, txn, delayMs: 3_600_000, payload: 'MQ==' },
});

/** Every part succeeds. */
function whole({ outbox, ns, popped }: Scene): Body {
  const { partitionId, leaseId } = popped;
  return {
    operations: [
      { type: 'ack', transactionId: 'a', partitionId, leaseId },
      { type: 'push', queue: outbox, transactionId: 'new', payload: 1 },
    ],
    positions: [{ queue: outbox, consumerGroup: 'reader', offset: 1 }],
    kv: [
      { op: 'put', ns, key: 'k', value: 1, forever: true, required: true, expect: 0 },
      { op: 'get', ns, key: 'held' },
    ],
    timers: [
      schedule(outbox, 'old', 'second'),
      schedule(outbox, 'more'),
      { op: 'cancel', queue: outbox, timerKey: 'none', txn: 'x' },
    ],
  };
}

/** Parts in the order they are judged, each with what makes it lose. */
const TRAPS: readonly [string, (body: Body, scene: Scene) => Body][] = [
  [
    'rejected_ack',
    (body, { popped }) => {
      const leaseId = '0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff';
      const ack = { type: 'ack', transactionId: 'a', partitionId: popped.partitionId, leaseId };
      return { ...body, operations: [ack, ...(body['operations'] ?? []).slice(1)] };
    },
  ],
  [
    'duplicate',
    (body, { outbox }) => {
      const push = { type: 'push', queue: outbox, transactionId: 'stored', payload: 1 };
      return { ...body, operations: [...(body['operations'] ?? []), push] };
    },
  ],
  [
    'queue_not_found',
    (body) => {
      const position = { queue: 'no-such-queue', consumerGroup: 'reader', offset: 0 };
      return { ...body, positions: [...(body['positions'] ?? []), position] };
    },
  ],
  [
    'kv_precondition',
    (body, { ns }) => {
      const check = { op: 'check', ns, key: 'held', expect: 0, required: true };
      return { ...body, kv: [check, ...(body['kv'] ?? [])] };
    },
  ],
];

/** What a client can see of every part. */
async function seen({ inbox, outbox, ns }: Scene): Promise<unknown> {
  const { pending, processing } = await calls.depth(inbox);
  const [key, timers, groups] = await Promise.all([
    broker.get(`/api/v1/kv/${ns}/k`),
    broker.get(`/api/v1/timers/${outbox}`),
    calls.depth(outbox, 'reader'),
  ]);
  const { totals } = await calls.detail(outbox);
  return [pending, processing, key.json, timers.json, groups, totals.total];
}

it('numbers all parts in one space: pushes and acks, keys, timers, positions', async () => {
  const source = await scene();
  const { json } = await transact(whole(source));
  expect(json.success).toBe(true);
  expect(json.results).toMatchObject([
    { index: 0, type: 'ack', transactionId: 'a' },
    { index: 1, type: 'push' },
    { index: 2, type: 'kv', opIndex: 0, op: 'put', applied: true, key: 'k', value: 1 },
    { index: 3, type: 'kv', opIndex: 1, op: 'get', found: true, value: 'w-2' },
    {
      ...{ index: 4, type: 'timer', opIndex: 0, ok: true, status: 'rescheduled' },
      ...{ queue: source.outbox, timerKey: 'old', txn: 'second' },
    },
    { index: 5, type: 'timer', opIndex: 1, ok: true, status: 'scheduled', timerKey: 'more' },
    // Nothing to cancel rolls nothing back.
    { index: 6, type: 'timer', opIndex: 2, ok: false, status: 'absent', txn: 'x' },
    { index: 7, type: 'position', opIndex: 0, success: true },
  ]);
  expect(json.results).toHaveLength(8);
  expect(idsOf(await calls.pop(source.outbox))).toEqual(['stored', 'new']);
});

it.each(TRAPS.map(([reason], first) => [reason, first] as const))(
  '%s alone undoes every part',
  async (reason, at) => {
    const source = await scene();
    const before = await seen(source);
    const [, spoil] = TRAPS[at]!;
    const { status, json } = await transact(spoil(whole(source), source));
    expect([status, json.success, json.reason, json.results]).toEqual([200, false, reason, []]);
    expect(await seen(source)).toEqual(before);
    const timer = (await broker.get(`/api/v1/timers/${source.outbox}/old`)).json;
    expect(timer).toEqual(source.kept);
    // The lease and everything else still stand: without the trap it commits.
    expect((await transact(whole(source))).json.success).toBe(true);
  },
);

it.each(TRAPS.map(([reason], first) => [reason, first] as const))(
  '%s is the reason before all that follow',
  async (reason, first) => {
    const source = await scene();
    const before = await seen(source);
    const body = TRAPS.slice(first).reduce((all, [, spoil]) => spoil(all, source), whole(source));
    const { json } = await transact(body);
    expect(json.reason).toBe(reason);
    expect(await seen(source)).toEqual(before);
  },
);

it('a guard that loses is named in the space of all parts', async () => {
  const source = await scene();
  const { version } = (await broker.get(`/api/v1/kv/${source.ns}/held`)).json;
  const [, spoil] = TRAPS[3]!;
  const { json } = await transact(spoil(whole(source), source));
  expect(json).toMatchObject({
    ...{ ok: false, failedIndex: 2, kvReason: 'exists', version, value: 'w-2' },
  });
});

it.each<[string, object, number, string]>([
  ['kv that is no array', { kv: {} }, 400, 'bad_request'],
  ['kv among the operations', { operations: [{ type: 'kv', op: 'get' }] }, 400, 'bad_request'],
  ['timers that are no array', { timers: 'x' }, 400, 'bad_request'],
  [
    'a field the server owns',
    { timers: [{ ...schedule('q', 'k'), messageId: 'x' }] },
    ...([400, 'timers_server_owned_field'] as const),
  ],
  [
    'a field with _',
    { timers: [{ ...schedule('q', 'k'), _tenant: 'x' }] },
    ...([400, 'timers_server_owned_field'] as const),
  ],
  ['a timer without queue', { timers: [schedule('', 'k')] }, 400, 'bad_request'],
  ['a timer twice', { timers: [schedule('q', 'k'), schedule('q', 'k')] }, 400, 'bad_request'],
  ['an unknown timer operation', { timers: [{ op: 'snooze' }] }, 400, 'bad_request'],
])('refuses %s', async (_what, body, status, reason) => {
  const { status: told, json } = await transact(body);
  expect([told, json.success, json.reason, json.results]).toEqual([status, false, reason, []]);
});

it('has neither horizon nor payload ceiling nor a bound on timers', async () => {
  const queue = freshQueue('timers');
  const far = { ...schedule(queue, 'far'), delayMs: 1000 * 86_400_000 };
  const payload = Buffer.from(`"${'x'.repeat(2 * 1024 * 1024)}"`).toString('base64');
  const large = { ...schedule(queue, 'large'), payload };
  const many = Array.from({ length: 300 }, (_, i) => schedule(queue, `k${i}`));
  const { json } = await transact({ timers: [far, large, ...many] });
  expect([json.success, json.results.length]).toEqual([true, 302]);
  const count = await broker.get(`/api/v1/timers/${queue}?mode=count&prefix=k`);
  expect(count.json.count).toBe(300);
});

describe('a refusal names the element of the body', () => {
  const push = (fields: object): object => ({ type: 'push', ...fields });
  const fine = push({ queue: 'q', payload: 1 });
  const timer = schedule('q', 'k');

  it.each<[string, object]>([
    [
      'operations[1]: partition must be',
      { operations: [fine, push({ queue: 'q', payload: 1, partition: 3 })] },
    ],
    ['operations[1]: queue must not', { operations: [fine, push({ queue: '', payload: 1 })] }],
    ['operations[1].items must be', { operations: [fine, push({ items: {} })] }],
    ['operations[0].items[0]: must be', { operations: [push({ items: [7] })] }],
    [
      'operations[2].items[1]: payload is',
      {
        operations: [
          fine,
          push({ items: [{ queue: 'q', payload: 1 }] }),
          push({ items: [{ queue: 'q', payload: 1 }, { queue: 'q' }] }),
        ],
      },
    ],
    [
      'operations[1].items[0].transactionId is longer',
      {
        operations: [
          push({ items: [{ queue: 'q', payload: 1 }] }),
          push({ items: [{ queue: 'q', payload: 1, transactionId: 'x'.repeat(65_536) }] }),
        ],
      },
    ],
    [
      'operations[1].transactionId is longer',
      { operations: [fine, push({ queue: 'q', payload: 1, transactionId: 'x'.repeat(65_536) })] },
    ],
    ['timers[1].messageId is owned', { timers: [timer, { ...timer, messageId: 'x' }] }],
    ['timers[1]._a is owned', { timers: [timer, { ...timer, _a: 1 }] }],
    ['timers[1].delayMs must be', { timers: [timer, { ...timer, delayMs: '1' }] }],
    ['timers[1].txn must not', { timers: [timer, { ...timer, timerKey: 'l', txn: '' }] }],
    ['timers[1] names a timer', { timers: [timer, timer] }],
    ['timers[0] is not an object', { timers: [7] }],
  ])('%s', async (text, body) => {
    const { status, json } = await transact(body);
    expect([status, json.error.slice(0, text.length)]).toEqual([400, text]);
  });

  it('of a push and of a timer call by its own array', async () => {
    const pushed = await broker.post('/api/v1/push', { items: [7] });
    expect(pushed.json.error).toBe('items[0]: must be an object');
    const timed = await broker.post('/api/v1/timers', [{ ...timer, messageId: 'x' }]);
    expect(timed.json.reason).toBe('operations[0].messageId is owned by the server');
  });
});
