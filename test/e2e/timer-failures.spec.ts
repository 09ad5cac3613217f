/**
 * Timers that cannot be delivered (state.md §2.3): backoff, what a peek shows meanwhile, and the dead
 * letter at the end with its payload. A payload that fitted an entry when it was scheduled and fits none
 * after the operator lowered the bound is a permanent failure that a client can bring about.
 */
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import { Calls, eventually, freshQueue, idsOf, type Wire } from './calls.js';

const SMALL_ENTRIES = {
  QUEEN_RAFT_ENTRY_MAX_BYTES: String(128 * 1024),
  QUEEN_SWEEPER_BACKOFF_MIN_MS: '150',
  QUEEN_SWEEPER_BACKOFF_MAX_MS: '200',
  QUEEN_SWEEPER_MAX_ATTEMPTS: '3',
};

let broker: TestBroker;
let calls: Calls;

const fires = (timersFire: boolean): Promise<HttpAnswer> =>
  broker.post('/api/v1/system/kv-timers', { timersFire });

beforeEach(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
  await fires(false);
});
afterEach(() => broker.stop());

const PAYLOAD = JSON.stringify({ text: 'x'.repeat(100_000), n: 1 });
const RAW = Buffer.alloc(100_000, 0xfe);

/** Comes due while fires are held back, so that it meets the lowered bound. */
function schedule(queue: string, fields: object = {}): Promise<HttpAnswer> {
  const operation = {
    ...{ op: 'schedule', queue, timerKey: 'k', partition: 'p', delayMs: 50, txn: 'the-txn' },
    payload: Buffer.from(PAYLOAD).toString('base64'),
    ...fields,
  };
  return broker.post('/api/v1/timers', { operations: [operation] });
}

const peek = async (queue: string): Promise<Wire> =>
  (await broker.get(`/api/v1/timers/${queue}/k`)).json;
const letters = async (queue: string): Promise<Wire> =>
  (await broker.get(`/api/v1/dlq?queue=${queue}`)).json;

async function firstLetter(queue: string): Promise<Wire> {
  return eventually(async () => {
    const [letter] = (await letters(queue)).messages;
    return letter ?? null;
  });
}

/** Nothing that large fits an entry from here on. */
async function lower(attempts = 3): Promise<void> {
  await broker.restart({ ...SMALL_ENTRIES, QUEEN_SWEEPER_MAX_ATTEMPTS: String(attempts) });
  await fires(true);
}

const failedRow = (queue: string): Promise<Wire> =>
  eventually(async () => {
    const row = await peek(queue);
    return row.attempts > 0 ? row : null;
  });

it('backs off, shows why in a peek, stays cancellable, and is fired when it fits again', async () => {
  const queue = freshQueue();
  const due = (await schedule(queue)).json.results[0].deliverAt;
  await schedule(queue, { timerKey: 'other', txn: 'o' });
  await lower(1000);
  const failed = await failedRow(queue);
  expect(failed.lastError).toMatch(/^too_large: /);
  expect([failed.deliverAt, failed.txn, failed.claimed]).toEqual([due, 'the-txn', false]);
  expect(Buffer.from(failed.payload, 'base64').toString() === PAYLOAD).toBe(true);
  const { attempts } = failed;
  await eventually(async () => ((await peek(queue)).attempts > attempts ? true : null));
  const other = await broker.send('DELETE', `/api/v1/timers/${queue}/other`);
  expect(other.json.status).toBe('cancelled');
  await broker.restart({});
  const popped = await calls.pop(queue, { wait: true, timeout: 30_000 });
  expect(idsOf(popped)).toEqual(['the-txn']);
  expect(popped.text.includes(PAYLOAD)).toBe(true);
});

it('a reschedule starts anew: no attempts, no error', async () => {
  const queue = freshQueue();
  await schedule(queue);
  await lower(1000);
  const before = await failedRow(queue);
  const small = Buffer.from('{"n":2}').toString('base64');
  const answer = await schedule(queue, { payload: small, delayMs: 3_600_000, txn: 'new' });
  expect(answer.json.results[0].status).toBe('rescheduled');
  expect(await peek(queue)).toMatchObject({
    ...{ attempts: 0, lastError: null, txn: 'new', createdAt: before.createdAt, payload: small },
  });
});

it.each<[string, Buffer, string]>([
  ['JSON', Buffer.from(PAYLOAD), PAYLOAD],
  ['other bytes', RAW, JSON.stringify({ _raw_b64: RAW.toString('base64') })],
])(
  'ends as a dead letter with its payload (%s), and only there',
  async (_what, payload, shown) => {
    const queue = freshQueue();
    const scheduled = await schedule(queue, { payload: payload.toString('base64') });
    const { messageId } = scheduled.json.results[0];
    await lower();
    const letter = await firstLetter(queue);
    expect(letter).toMatchObject({
      ...{ queue, partition: 'p', consumerGroup: '__timer__', offset: -1, messageId },
      ...{ transactionId: 'the-txn', retryCount: 3 },
      errorMessage: expect.stringMatching(/^too_large: /) as string,
    });
    const isShown = ({ data, payload: also }: Wire): boolean[] =>
      [data, also].map((value) => JSON.stringify(value) === shown);
    expect(isShown(letter)).toEqual([true, true]);
    expect((await peek(queue)).found).toBe(false);
    expect((await calls.pop(queue)).status).toBe(204);
    const detail = await broker.get(`/api/v1/messages/${letter.partitionId}/the-txn`);
    expect([detail.status, ...isShown(detail.json)]).toEqual([200, true, true]);
    expect(detail.json).toMatchObject({
      ...{ id: messageId, transactionId: 'the-txn', queue, partition: 'p', traceId: null },
      ...{ status: 'dead_letter', retryCount: 3, errorMessage: letter.errorMessage },
      createdAt: letter.failedAt,
    });
    // Nobody reads past what has no place.
    expect(detail.json.consumerGroups.some(({ consumed }: Wire) => consumed)).toBe(false);
    await broker.restart(SMALL_ENTRIES);
    expect(isShown(await firstLetter(queue))).toEqual([true, true]);
  },
  60_000,
);

it.each<[string, (letter: Wire) => string]>([
  ['by its id', ({ id }) => `/api/v1/dlq/${id}/replay`],
  ['by its message', ({ partitionId }) => `/api/v1/messages/${partitionId}/the-txn/retry`],
])(
  'its dead letter is replayed %s once it fits',
  async (_how, path) => {
    const queue = freshQueue();
    await schedule(queue);
    await lower();
    const letter = await firstLetter(queue);
    await broker.restart({});
    const replay = await broker.post(path(letter), {});
    expect([replay.status, replay.json]).toEqual([200, expect.objectContaining({ success: true })]);
    expect((await letters(queue)).messages).toEqual([]);
    const popped = await calls.pop(queue);
    expect(idsOf(popped)).toEqual([`dlq:${letter.id}`]);
    expect(popped.text.includes(PAYLOAD)).toBe(true);
  },
  60_000,
);
