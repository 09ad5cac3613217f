/**
 * G25 and G26 of messages.md §16 on one node. What is refused leaves the state as it was: the digest of
 * the whole state is compared, route by route. A 503 promises nothing, and its repeat does no harm. What
 * only consumes is served under any pressure. The other guarantees: guarantees.spec.ts.
 */
import { QueenError, type ErrorCode } from '../../src/common/errors.js';
import { Admission } from '../../src/http/admission.js';
import { Groups } from '../../src/raft/index.js';
import { stateOf } from '../cluster/operations/state-digests.js';
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import { Calls, eventually, freshQueue, idsOf, messagesOf, type Message } from './calls.js';
import { RawClient } from './raw-http.js';

const MIB = 1024 * 1024;
const ALL = { consumerGroup: 'g', subscriptionMode: 'all' };
const PRESSURE = {
  QUEEN_RAFT_ADMIT_MAX_MB: '1',
  QUEEN_RAFT_ADMIT_HOLD_MS: '100',
  QUEEN_MAX_BODY_BYTES: String(MIB),
};
const FULL = { QUEEN_RAFT_DISK_HIGH_PCT: '1', QUEEN_RAFT_DISK_LOW_PCT: '1' };

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start(PRESSURE);
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

afterEach(() => jest.restoreAllMocks());

/** What a call may work on: a leased message and a dead letter, each on a queue of its own. */
interface Stage {
  readonly queue: string;
  readonly message: Message;
  readonly letter: string;
}

type Call = (stage: Stage) => Promise<HttpAnswer>;

async function stage(): Promise<Stage> {
  const [queue, dead] = [freshQueue(), freshQueue('dead')];
  await calls.push(queue, 'a', 'b');
  await calls.push(dead, 'x');
  const [spoiled] = messagesOf(await calls.pop(dead, ALL));
  await calls.ack(spoiled!, 'g', { id: 'x', status: 'dlq', error: 'no' });
  const { messages } = (await broker.get(`/api/v1/dlq?queue=${dead}`)).json;
  const [message] = messagesOf(await calls.pop(queue, { ...ALL, batch: 1 }));
  return { queue, message: message!, letter: messages[0].id };
}

const post = (path: string, body: unknown): Promise<HttpAnswer> =>
  broker.post(`/api/v1/${path}`, body);
const item = (queue: string, more: object = {}): object => ({ queue, payload: 1, ...more });
const put = { op: 'put', ns: 'n', key: 'k', value: 1, forever: true };
const schedule = (queue: string): object => ({
  ...{ op: 'schedule', queue, timerKey: 't', txn: 't', delayMs: 3_600_000, payload: 'MQ==' },
});
const ackOf = ({ transactionId, partitionId, leaseId }: Message): object => ({
  ...{ transactionId, partitionId, leaseId },
});
const ackOperation = (message: Message): object => ({
  ...{ type: 'ack', consumerGroup: 'g' },
  ...ackOf(message),
});

const digest = async (): Promise<string> => (await stateOf(broker.url)).digest;

async function expectNothingHappened(call: () => Promise<HttpAnswer>): Promise<HttpAnswer> {
  const before = await digest();
  const answer = await call();
  expect(await digest()).toBe(before);
  return answer;
}

/** The whole budget of admission is held by a body that never comes, while the calls run. */
async function underPressure<T>(run: () => Promise<T>): Promise<T> {
  const admission = broker.nest.get(Admission, { strict: false });
  await eventually(async () => (admission.heldBytes === 0 ? true : null));
  const holder = await RawClient.open(broker.portNumber);
  holder.request('POST /api/v1/push', [`Content-Length: ${MIB}`]);
  await eventually(async () => (admission.heldBytes === MIB ? true : null));
  try {
    return await run();
  } finally {
    holder.destroy();
  }
}

/** The disk is too full while the calls run; the broker starts again before and after. */
async function onFullDisk<T>(run: () => Promise<T>): Promise<T> {
  await broker.restart({ ...PRESSURE, ...FULL });
  try {
    return await run();
  } finally {
    await broker.restart(PRESSURE);
  }
}

const GROWING: readonly [string, Call][] = [
  ['a push', ({ queue }) => post('push', { items: [item(queue)] })],
  [
    'a transaction of an ack and a push',
    ({ queue, message }) =>
      post('transaction', {
        operations: [ackOperation(message), { type: 'push', ...item(queue) }],
      }),
  ],
  [
    'a transaction of a key',
    ({ message }) => post('transaction', { operations: [ackOperation(message)], kv: [put] }),
  ],
  [
    'a transaction of a timer',
    ({ queue, message }) =>
      post('transaction', { operations: [ackOperation(message)], timers: [schedule(queue)] }),
  ],
  ['a put', () => post('kv', [put])],
  [
    'a put by path',
    () => broker.send('PUT', '/api/v1/kv/n/k', JSON.stringify({ value: 1, forever: true })),
  ],
  ['a timer', ({ queue }) => post('timers', [schedule(queue)])],
  [
    'a lock',
    ({ queue }) => post('locks', [{ op: 'acquire', name: queue, owner: 'w', ttlSeconds: 60 }]),
  ],
  ['a trace', () => post('traces', { transactionId: 'a', traceNames: ['n'] })],
  ['a replay', ({ letter }) => post(`dlq/${letter}/replay`, {})],
];

describe('G25 what is refused was not applied', () => {
  it('429: everything that grows', async () => {
    const scene = await stage();
    for (const [name, call] of GROWING) {
      const answer = await underPressure(() => expectNothingHappened(() => call(scene)));
      expect([name, answer.status]).toEqual([name, 429]);
    }
    // And it was no fault of the calls.
    for (const [name, call] of GROWING) {
      const { status } = await call(await stage());
      expect([name, status < 300]).toEqual([name, true]);
    }
  });

  it('507: everything that grows', async () => {
    const scene = await stage();
    await onFullDisk(async () => {
      for (const [name, call] of GROWING) {
        const answer = await expectNothingHappened(() => call(scene));
        expect([name, answer.status]).toEqual([name, 507]);
      }
    });
  });

  const long = 'n'.repeat(500);
  const longId = 'x'.repeat(65_536);
  it.each<[string, number, Call]>([
    ['a push', 400, ({ queue }) => post('push', { items: [item(queue), { queue }] })],
    [
      'a push',
      400,
      ({ queue }) => broker.send('POST', '/api/v1/push', `{"items":[{"queue":"${queue}"`),
    ],
    [
      'a push of a long id',
      400,
      ({ queue }) => post('push', { items: [item(queue), item(queue, { transactionId: longId })] }),
    ],
    [
      'a push of a long name',
      413,
      ({ queue }) => post('push', { items: [item(queue), item(long)] }),
    ],
    [
      'a push of a long body',
      413,
      ({ queue }) => post('push', { items: [item(queue, { payload: 'x'.repeat(MIB) })] }),
    ],
    [
      'a batch of acks',
      400,
      ({ message }) =>
        post('ack/batch', {
          consumerGroup: 'g',
          acknowledgments: [ackOf(message), { transactionId: 'b', partitionId: 5 }],
        }),
    ],
    [
      'an ack of a long group',
      413,
      ({ message }) => post('ack', { consumerGroup: long, ...ackOf(message) }),
    ],
    [
      'a transaction of a wrong operation',
      400,
      ({ message }) => post('transaction', { operations: [ackOperation(message), { type: 'kv' }] }),
    ],
    [
      'a transaction of a wrong key',
      400,
      ({ message }) =>
        post('transaction', {
          operations: [ackOperation(message)],
          kv: [{ ...put, forever: false }],
        }),
    ],
    [
      'a transaction of a long name',
      413,
      ({ message }) =>
        post('transaction', {
          operations: [ackOperation(message), { type: 'push', ...item(long) }],
        }),
    ],
    [
      'a wrong option',
      400,
      ({ queue }) => post('configure', { queue, options: { leaseTime: 5, retryLimit: 'x' } }),
    ],
    ['a queue of a long name', 413, () => post('configure', { queue: long })],
    ['a seek to nowhere', 400, ({ queue }) => post(`consumer-groups/g/queues/${queue}/seek`, {})],
    [
      'a seek of a long name',
      413,
      ({ queue }) => post(`consumer-groups/${long}/queues/${queue}/seek`, {}),
    ],
    ['a subscription at no time', 400, () => post('consumer-groups/g/subscription', {})],
    ['a purge of no queue', 400, () => broker.send('DELETE', '/api/v1/dlq')],
    ['a replay to nowhere', 400, ({ letter }) => post(`dlq/${letter}/replay`, { queue: ' ' })],
    ['a replay to a long name', 413, ({ letter }) => post(`dlq/${letter}/replay`, { queue: long })],
    ['a trace of nothing', 400, () => post('traces', { traceNames: ['n'] })],
    [
      'keys, one without an expiry',
      400,
      () => post('kv', [put, { op: 'put', ns: 'n', key: 'o', value: 1 }]),
    ],
    [
      'timers, one without a time',
      400,
      ({ queue }) => post('timers', [schedule(queue), { op: 'schedule', queue }]),
    ],
  ])('%s: %i', async (_name, status, call) => {
    const scene = await stage();
    const answer = await expectNothingHappened(() => call(scene));
    expect([answer.status, answer.text]).toEqual([status, expect.any(String)]);
  });
});

describe('G25 a 503 may have been applied: the repeat does no harm', () => {
  /** Everything the log does is answered with this error from now on. */
  function losingAnswers(code: ErrorCode): void {
    const group = broker.nest.get(Groups, { strict: false }).first;
    const submit = group.submit.bind(group);
    jest.spyOn(group, 'submit').mockImplementation(async (command, options) => {
      await submit(command, options);
      throw new QueenError(code);
    });
  }

  it.each(['timeout', 'retry', 'outcome_unknown'] as const)('%s', async (code) => {
    const { queue, message, letter } = await stage();
    const [other] = messagesOf(await calls.pop(queue));
    const push = (): Promise<HttpAnswer> =>
      post('push', { items: [item(queue, { transactionId: 'c' })] });
    const ack = (): Promise<HttpAnswer> => post('ack', { consumerGroup: 'g', ...ackOf(message) });
    const replay = (): Promise<HttpAnswer> => post(`dlq/${letter}/replay`, {});
    const step = (): Promise<HttpAnswer> =>
      post('transaction', {
        operations: [
          { ...ackOperation(other!), consumerGroup: '__QUEUE_MODE__' },
          { type: 'push', ...item(queue, { transactionId: 'd' }) },
        ],
      });
    losingAnswers(code);
    for (const call of [push, ack, replay, step]) {
      const { status, json } = await call();
      expect([status, json.code]).toEqual([503, code]);
    }
    jest.restoreAllMocks();
    expect((await push()).json).toMatchObject([{ status: 'duplicate', offset: 2 }]);
    expect((await ack()).json).toMatchObject([{ success: true, leaseReleased: true, noop: false }]);
    expect((await replay()).json).toMatchObject({ result: 'gone' });
    expect((await step()).json).toMatchObject({ reason: 'rejected_ack' });
    const rest = await calls.pop(queue, { ...ALL, consumerGroup: 'fresh' });
    expect(idsOf(rest)).toEqual(['a', 'b', 'c', 'd']);
    expect(await calls.depth(queue, 'g')).toMatchObject({ pending: 3, processing: 0 });
    expect(await calls.depth(queue, '__QUEUE_MODE__')).toMatchObject({ pending: 3, processing: 1 });
  });
});

describe('G26 pressure never touches what consumes', () => {
  /** Every call that takes, settles or prolongs, one after the other on messages of their own. */
  async function consume(queue: string, others: string): Promise<void> {
    const take = async (query: object, path = `/queue/${queue}`): Promise<Message> => {
      const text = new URLSearchParams({ batch: '1', ...query }).toString();
      const [message] = messagesOf(await broker.get(`/api/v1/pop${path}?${text}`));
      if (message === undefined) throw new Error(`nothing from ${path}?${text}`);
      return message;
    };
    const group = { consumerGroup: 'g', subscriptionMode: 'all' };
    const first = await take(group);
    const extended = await post(`lease/${first.leaseId}/extend`, { seconds: 90 });
    expect(extended.json).toMatchObject({ success: true, renewed: 1 });
    for (const status of ['retry', 'failed', 'completed']) {
      const message = status === 'retry' ? first : await take(group);
      const [row] = await calls.ack(message, 'g', { id: message.transactionId, status });
      expect(row).toMatchObject({ success: true, leaseReleased: true });
    }
    const pinned = await take(group, `/queue/${queue}/partition/Default`);
    const dead = await calls.ack(pinned, 'g', { id: pinned.transactionId, status: 'dlq' });
    expect(dead[0]).toMatchObject({ success: true, dlq: true });
    const unfenced = { ...ackOf(await take(group)), leaseId: '' };
    const acked = await post('ack', { consumerGroup: 'g', ...unfenced });
    expect(acked.json).toMatchObject([{ success: true, leaseReleased: true }]);
    await take({ ...group, commitOnDelivery: 'true' });
    await take({ namespace: others, ...group }, '');
    expect((await calls.pop(queue, { ...ALL })).status).toBe(204);
    const waiting = await calls.pop(queue, { ...ALL, wait: true, timeout: 200 });
    expect(waiting.status).toBe(204);
    const sought = await post(`consumer-groups/g/queues/${queue}/seek`, {
      timestamp: '2020-01-01',
    });
    expect(sought.json).toMatchObject({ success: true, partitionsUpdated: 1 });
    expect((await broker.send('DELETE', `/api/v1/dlq?queue=${queue}`)).json.deleted).toBe(1);
    expect((await broker.send('DELETE', `/api/v1/resources/queues/${queue}`)).status).toBe(200);
  }

  async function filled(): Promise<[string, string]> {
    const [queue, others] = [freshQueue(), freshQueue('others')];
    await calls.push(queue, 'a', 'b', 'c', 'd');
    await calls.push(others, 'o');
    return [queue, others];
  }

  it('429', async () => {
    const [queue, others] = await filled();
    await underPressure(async () => {
      expect((await post('push', { items: [item('refused')] })).status).toBe(429);
      await consume(queue, others);
      expect((await post('push', { items: [item('refused')] })).status).toBe(429);
    });
  });

  it('507, and a transaction of acks alone', async () => {
    const [queue, others] = await filled();
    const { message: settled } = await stage();
    await onFullDisk(async () => {
      expect((await post('push', { items: [item('refused')] })).status).toBe(507);
      const operations = [ackOperation(settled)];
      expect((await post('transaction', { operations })).json).toMatchObject({ success: true });
      await consume(queue, others);
      expect((await post('push', { items: [item('refused')] })).status).toBe(507);
    });
  });
});
