/**
 * Rows of messages.md §15 (limits), named by their section: each limit at its value and one beyond. The
 * limits of transactions, groups, lists and reads stand with their sections (rows-8, -10, -11, -12);
 * the size of one command: test/e2e/push-limits.spec.ts; variables: src/config.
 */
import { TestBroker, type HttpAnswer } from '../../support/broker.js';
import { Calls, freshQueue, messagesOf } from '../calls.js';

/** 447 bytes less the 36 of the default tenant. */
const BUDGET = 447 - 36;

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start({ QUEEN_MAX_BODY_BYTES: '1048576' });
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

const post = (path: string, body: unknown): Promise<HttpAnswer> =>
  broker.post(`/api/v1/${path}`, body);
const item = (queue: string, partition: string): object => ({
  items: [{ queue, partition, payload: 1 }],
});
const of = (bytes: number, letter: string): string => letter.repeat(bytes);

/** Names of 200 bytes and the rest of the budget, one byte more with `over`. */
const Q = of(200, 'q');
const rest = (over: number): string => of(BUDGET - 200 + over, 'x');

describe('15 name budget: queue and the longer of partition and group, 411 bytes of the default tenant', () => {
  const calledWith: readonly (readonly [string, string, (over: number) => Promise<HttpAnswer>])[] =
    [
      ['push', 'partition', (over) => post('push', item(Q, rest(over)))],
      [
        'push, a queue alone',
        'queue',
        (over) => post('push', item(of(BUDGET - 1 + over, 'q'), 'p')),
      ],
      ['configure', 'queue', (over) => post('configure', { queue: of(BUDGET + over, 'q') })],
      [
        'pop of a group',
        'group',
        (over) => broker.get(`/api/v1/pop/queue/${Q}?consumerGroup=${rest(over)}`),
      ],
      [
        'pinned pop',
        'partition',
        (over) => broker.get(`/api/v1/pop/queue/${Q}/partition/${rest(over)}`),
      ],
      ['ack', 'group', (over) => post('ack', { consumerGroup: of(BUDGET + over, 'g') })],
      [
        'seek',
        'group',
        (over) => post(`consumer-groups/${rest(over)}/queues/${Q}/seek`, { toEnd: true }),
      ],
      [
        'delete of a group',
        'group',
        (over) => broker.send('DELETE', `/api/v1/consumer-groups/${rest(over)}/queues/${Q}`),
      ],
      [
        'subscription',
        'group',
        (over) =>
          post(`consumer-groups/${of(BUDGET + over, 'g')}/subscription`, {
            subscriptionTimestamp: '2026-01-01',
          }),
      ],
    ];

  it.each(calledWith)('15 %s', async (_row, field, call) => {
    expect((await call(0)).status).toBeLessThan(300);
    const refused = await call(1);
    expect([refused.status, refused.json]).toEqual([
      413,
      { code: 'name_too_long', error: expect.stringContaining(field) as string },
    ]);
    expect(refused.json.error).toMatch(/447/);
  });

  it('15 bytes count, not characters', async () => {
    expect((await post('push', item('ü'.repeat(200), 'x'.repeat(11)))).status).toBe(201);
    expect((await post('push', item('ü'.repeat(200), 'x'.repeat(12)))).status).toBe(413);
  });
});

it.each([
  [65_535, 201],
  [65_536, 400],
])('15 a transactionId of %i bytes: %i', async (bytes, status) => {
  const items = [{ queue: freshQueue(), transactionId: of(bytes, 't'), payload: 1 }];
  const answer = await post('push', { items });
  expect(answer.status).toBe(status);
  if (status === 400) expect(answer.json.code).toBe('bad_request');
});

it.each([
  [0, 201],
  [1, 413],
])('15 a body of its limit and %i bytes: %i', async (over, status) => {
  const head = `{"items":[{"queue":"${freshQueue()}","payload":"`;
  const tail = '"}]}';
  const body = head + of(1_048_576 - head.length - tail.length + over, 'x') + tail;
  const answer = await broker.send('POST', '/api/v1/push', body);
  expect(answer.status).toBe(status);
  if (status === 413) {
    expect(answer.json).toBeUndefined();
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
  }
});

describe('15 partitions of a pop', () => {
  const PARTITIONS = 70;
  let queue: string;

  beforeAll(async () => {
    queue = freshQueue();
    const items = Array.from({ length: PARTITIONS }, (_, n) => ({
      id: `m${n}`,
      partition: `p${n}`,
    }));
    await calls.push(queue, ...items);
  });

  it.each<[string, object, number]>([
    ['64 is the most', { partitions: 100, batch: 1000 }, 64],
    ['0 is 1', { partitions: 0, batch: 1000 }, 1],
    ['64 messages of a conflating pop', { conflation: true, batch: 1000 }, 64],
    ['of a conflating pop as many as its batch', { conflation: true, batch: 5 }, 5],
  ])('15 %s', async (row, query, claimed) => {
    const group = { consumerGroup: row.replaceAll(' ', '-'), subscriptionMode: 'all' };
    const popped = await calls.pop(queue, { ...group, ...query });
    expect(popped.json.partitionsClaimed).toBe(claimed);
    expect(messagesOf(popped)).toHaveLength(claimed);
  });
});
