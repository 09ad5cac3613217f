/**
 * Rows of messages.md §2.9 (retention), named by their section: which append goes at which age by which
 * rule. The node's clock is set ahead instead of waiting; a round of the sweeper is known to be over when
 * a queue before and a queue behind the one in question were cut. Reads below the start: retention.spec.ts.
 */
import { Groups } from '../../../src/raft/index.js';
import { TestBroker } from '../../support/broker.js';
import { Calls, eventually, freshQueue, idsOf, messagesOf } from '../calls.js';

const SECOND = 1_000_000;
const SINK = 'archive';

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start({ RETENTION_INTERVAL: '10', RETENTION_BATCH_SIZE: '2' });
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

afterEach(() => jest.restoreAllMocks());

function ahead(seconds: number): void {
  const group = broker.nest.get(Groups, { strict: false }).first;
  const now = group.nowMicros.bind(group);
  jest.spyOn(group, 'nowMicros').mockImplementation(() => now() + seconds * SECOND);
}

const logStart = async (queue: string): Promise<number> => {
  const { json } = await broker.post('/api/v1/fetch', { entries: [{ queue, offset: 0 }] });
  return json.entries[0].logStartOffset;
};

/** A queue of one old message that goes as soon as it is told to. */
async function marker(): Promise<string> {
  const queue = freshQueue('marker');
  await calls.push(queue, 'm');
  return queue;
}

async function cut(queue: string): Promise<void> {
  await calls.configure(queue, { maxWaitTimeSeconds: 1 });
  await eventually(async () => ((await logStart(queue)) === 1 ? true : null));
}

type Consumers = Readonly<Record<string, readonly string[]>>;

interface Row {
  readonly options: object;
  /** Who settled what of a, b | c (a and b are one append). */
  readonly consumed?: Consumers;
  readonly age: number;
  readonly start: number;
}

async function startAfter({ options, consumed = {}, age }: Row): Promise<number> {
  const before = await marker();
  const queue = freshQueue();
  await calls.push(queue, 'a', 'b');
  await calls.push(queue, 'c');
  const behind = await marker();
  for (const [group, ids] of Object.entries(consumed)) {
    const name = group === 'queueMode' ? undefined : group;
    const query = name === undefined ? {} : { consumerGroup: name, subscriptionMode: 'all' };
    const [message] = messagesOf(await calls.pop(queue, { ...query, batch: 3 }));
    if (ids.length > 0) await calls.ack(message!, name, ...ids);
  }
  ahead(age);
  await calls.configure(queue, { ...options });
  await cut(before);
  await cut(behind);
  return logStart(queue);
}

const age = { retentionEnabled: true, retentionSeconds: 100 };
const completed = { retentionEnabled: true, completedRetentionSeconds: 100 };
const held = { ...age, retentionSinkHold: SINK };
const ALL = ['a', 'b', 'c'];

describe('2.9 rules', () => {
  it.each<[string, Row]>([
    ['retentionSeconds: younger stays', { options: age, age: 90, start: 0 }],
    ['retentionSeconds: older goes, consumed or not', { options: age, age: 110, start: 3 }],
    [
      'retentionSeconds needs retentionEnabled',
      { options: { retentionSeconds: 100 }, age: 110, start: 0 },
    ],
    [
      'maxWaitTimeSeconds: younger stays',
      { options: { maxWaitTimeSeconds: 100 }, age: 90, start: 0 },
    ],
    [
      'maxWaitTimeSeconds needs no switch',
      { options: { maxWaitTimeSeconds: 100 }, age: 110, start: 3 },
    ],
    ['completed: without a cursor all stays', { options: completed, age: 110, start: 0 }],
    ['completed: younger stays', { options: completed, consumed: { g: ALL }, age: 90, start: 0 }],
    ['completed: older goes', { options: completed, consumed: { g: ALL }, age: 110, start: 3 }],
    [
      'completed needs retentionEnabled',
      { options: { completedRetentionSeconds: 100 }, consumed: { g: ALL }, age: 110, start: 0 },
    ],
    [
      'completed: the slowest group decides',
      { options: completed, consumed: { g: ALL, h: ['a', 'b'] }, age: 110, start: 2 },
    ],
    [
      'completed: queue mode is a reader like others',
      { options: completed, consumed: { g: ALL, queueMode: [] }, age: 110, start: 0 },
    ],
    [
      'completed: a part of an append is none',
      { options: completed, consumed: { g: ['a'] }, age: 110, start: 0 },
    ],
    [
      'completed beside age: the further one',
      {
        options: { ...age, ...completed, completedRetentionSeconds: 50 },
        consumed: { g: ['a', 'b'] },
        age: 60,
        start: 2,
      },
    ],
    ['sink: nothing committed, nothing goes', { options: held, age: 110, start: 0 }],
    [
      'sink: what it committed goes',
      { options: held, consumed: { [SINK]: ALL }, age: 110, start: 3 },
    ],
    [
      'sink: not what it did not',
      { options: held, consumed: { [SINK]: ['a', 'b'] }, age: 110, start: 2 },
    ],
    [
      'sink: a minute is spared',
      { options: { ...held, retentionSeconds: 10 }, consumed: { [SINK]: ALL }, age: 50, start: 0 },
    ],
    [
      'sink: not longer than a minute',
      { options: { ...held, retentionSeconds: 10 }, consumed: { [SINK]: ALL }, age: 70, start: 3 },
    ],
    [
      'sink: it holds no longer than the maximum',
      { options: { ...held, retentionSinkHoldMaxSeconds: 105 }, age: 110, start: 3 },
    ],
    ['sink: the maximum is a week unless named', { options: held, age: 7 * 86_400 + 10, start: 3 }],
    [
      'sink: completed is held too',
      {
        options: { ...completed, retentionSinkHold: SINK },
        consumed: { g: ALL },
        age: 110,
        start: 0,
      },
    ],
    [
      'sink: maxWaitTimeSeconds knows none',
      { options: { maxWaitTimeSeconds: 100, retentionSinkHold: SINK }, age: 110, start: 3 },
    ],
  ])('2.9 %s', async (_row, row) => {
    expect(await startAfter(row)).toBe(row.start);
  });
});

describe('2.9 effects', () => {
  it('2.9 more than a batch goes in rounds that follow at once', async () => {
    const queue = freshQueue();
    for (let n = 0; n < 9; n += 1) await calls.push(queue, `m${n}`);
    ahead(110);
    await calls.configure(queue, { maxWaitTimeSeconds: 100 });
    await eventually(async () => ((await logStart(queue)) === 9 ? true : null));
  });

  it('2.9 a cursor below the start jumps the gap', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    await calls.pop(queue, { leaseSeconds: 1 });
    ahead(110);
    await calls.configure(queue, { maxWaitTimeSeconds: 100 });
    await eventually(async () => ((await logStart(queue)) === 1 ? true : null));
    jest.restoreAllMocks();
    await calls.configure(queue, { maxWaitTimeSeconds: 0 });
    await calls.push(queue, 'b');
    const popped = await calls.pop(queue, { wait: true, timeout: 10_000 });
    expect(idsOf(popped)).toEqual(['b']);
  });

  it('2.9 nothing left: the next pop seals the cursor to the tail', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a', 'b');
    const group = { consumerGroup: 'sealed', subscriptionMode: 'all' };
    const [message] = messagesOf(await calls.pop(queue, { ...group, batch: 1 }));
    await calls.ack(message!, 'sealed', { id: 'a', status: 'retry' });
    ahead(110);
    await calls.configure(queue, { maxWaitTimeSeconds: 100 });
    await eventually(async () => ((await logStart(queue)) === 2 ? true : null));
    expect((await calls.pop(queue, group)).status).toBe(204);
    const body = { consumerGroup: 'sealed', entries: [{ queue }] };
    await eventually(async () => {
      const { json } = await broker.post('/api/v1/consumer-groups/positions', body);
      return json.entries[0].offset === 2 ? true : null;
    });
  });
});
