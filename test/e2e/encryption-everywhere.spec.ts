/**
 * Encryption at rest of what reaches an encrypting queue by another way than a push: timers when they
 * are scheduled, transactions, sinks of streams (messages.md §2.11, cluster.md §9.5). The plaintext is
 * in no file of the data directory; readers get it in clear.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestBroker } from '../support/broker.js';
import { Calls, eventually, freshQueue } from './calls.js';

const KEY = '0123456789abcdef'.repeat(4);
const HOUR_MS = 3_600_000;

let broker: TestBroker;
let calls: Calls;

beforeEach(async () => {
  broker = await TestBroker.start({ QUEEN_ENCRYPTION_KEY: KEY });
  calls = new Calls(broker);
});

afterEach(() => broker.stop());

/** Files below the data directory that contain the text. */
function filesWith(text: string): string[] {
  return readdirSync(broker.directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(text));
}

/** Nothing lingers in memory only: the checkpoint and the log of before are on disk. */
async function expectSealed(text: string): Promise<void> {
  await broker.restart();
  expect(filesWith(text)).toEqual([]);
}

async function encrypting(): Promise<string> {
  const queue = freshQueue('sealed');
  await calls.configure(queue, { encryptionEnabled: true });
  return queue;
}

const base64 = (payload: unknown): string =>
  Buffer.from(JSON.stringify(payload)).toString('base64');

/** Schedules; the payload as the route wants it. */
const timers = async (operation: {
  readonly payload: unknown;
  readonly [field: string]: unknown;
}) => {
  const operations = [{ ...operation, payload: base64(operation.payload) }];
  return (await broker.post('/api/v1/timers', { operations })).json.results[0];
};

const peek = async (queue: string, key: string) =>
  (await broker.get(`/api/v1/timers/${queue}/${key}`)).json;

const dataOf = (queue: string): Promise<unknown[]> =>
  eventually(async () => {
    const answer = await calls.pop(queue, { batch: 10 });
    if (answer.status !== 200) return null;
    return answer.json.messages.map((message: { data: unknown }) => message.data);
  });

it.each([
  ['small, kept in its row', 'timer-secret-small', 1],
  ['large, kept in the log', 'timer-secret-large', 2_000],
])('seals a timer when it is scheduled: %s', async (_size, secret, times) => {
  const queue = await encrypting();
  const payload = { secret: secret.repeat(times) };
  const schedule = { op: 'schedule', queue, timerKey: 'k', txn: 'x', delayMs: HOUR_MS, payload };
  expect(await timers(schedule)).toMatchObject({ ok: true, status: 'scheduled' });
  await expectSealed(secret);
  const shown = await peek(queue, 'k');
  expect(shown).toMatchObject({ found: true, encrypted: true });
  expect(JSON.parse(Buffer.from(shown.payload, 'base64').toString())).toEqual(payload);
  await timers({ ...schedule, delayMs: 50 });
  expect(await dataOf(queue)).toEqual([payload]);
  await expectSealed(secret);
});

it('seals a timer that is due at once, and what a sweeper fires', async () => {
  const queue = await encrypting();
  const at = { op: 'schedule', queue, payload: 'fired-secret' };
  await timers({ ...at, timerKey: 'now', txn: '1', delayMs: 0 });
  await timers({ ...at, timerKey: 'soon', txn: '2', delayMs: 200 });
  expect(await dataOf(queue)).toContain('fired-secret');
  await eventually(async () => ((await peek(queue, 'soon')).found ? null : true));
  await expectSealed('fired-secret');
});

it('delivers in clear what was scheduled before the queue encrypted, and sealed after', async () => {
  const queue = freshQueue();
  const at = { op: 'schedule', queue, txn: 'x', delayMs: HOUR_MS };
  await timers({ ...at, timerKey: 'before', payload: 'clear-before' });
  await calls.configure(queue, { encryptionEnabled: true });
  await timers({ ...at, timerKey: 'after', payload: 'sealed-after' });
  await broker.restart();
  expect(filesWith('clear-before')).not.toEqual([]);
  expect(filesWith('sealed-after')).toEqual([]);
  expect(await peek(queue, 'before')).toMatchObject({ encrypted: false });
});

it('seals every part of a transaction that carries a payload', async () => {
  const queue = await encrypting();
  const clear = freshQueue();
  const answer = await broker.post('/api/v1/transaction', {
    operations: [
      { type: 'push', queue, payload: 'pushed-secret' },
      { type: 'push', queue: clear, payload: 'pushed-clear' },
    ],
    timers: [
      {
        ...{ op: 'schedule', queue, timerKey: 'k', txn: 'x', delayMs: HOUR_MS },
        payload: base64('timer-secret'),
      },
    ],
  });
  expect(answer.json).toMatchObject({ success: true });
  await expectSealed('pushed-secret');
  await expectSealed('timer-secret');
  expect(filesWith('pushed-clear')).not.toEqual([]);
  expect(await dataOf(queue)).toEqual(['pushed-secret']);
  const { payload } = await peek(queue, 'k');
  expect(Buffer.from(payload, 'base64').toString()).toBe('"timer-secret"');
});

it('seals what a stream sends to a sink that encrypts, and nothing else', async () => {
  const [source, sink, clear] = [freshQueue('source'), await encrypting(), freshQueue('clear')];
  await calls.push(source, 'a');
  const { partitionId } = (await calls.pop(source)).json;
  const query = { name: 'q', source_queue: source, config_hash: 'h' };
  const { query_id } = (await broker.post('/streams/v1/queries', query)).json;
  const cycle = await broker.post('/streams/v1/cycle', {
    ...{ query_id, partition_id: partitionId, consumer_group: 'g', state_ops: [] },
    push_items: [
      { queue: sink, transactionId: 's1', payload: { secret: 'sink-secret' } },
      { queue: sink, partition: 'other', transactionId: 's2', payload: 'sink-secret' },
      { queue: clear, transactionId: 's3', payload: 'sink-clear' },
    ],
  });
  expect(cycle.json).toMatchObject({ success: true });
  await expectSealed('sink-secret');
  expect(filesWith('sink-clear')).not.toEqual([]);
  const entries = ['Default', 'other'].map((partition) => ({ queue: sink, partition, offset: 0 }));
  const shown = (await broker.post('/api/v1/fetch', { entries })).json.entries;
  const payloads = shown.map(({ records }: { records: { payload: unknown }[] }) =>
    records.map(({ payload }) => payload),
  );
  expect(payloads).toEqual([[{ secret: 'sink-secret' }], ['sink-secret']]);
});

it('seals a timer dead letter as it was scheduled and shows it in clear', async () => {
  const queue = await encrypting();
  await timers({
    ...{ op: 'schedule', queue, timerKey: 'k', txn: 'x', delayMs: 0, payload: 'dead-secret' },
  });
  const popped = await calls.pop(queue);
  await calls.ack(popped.json.messages[0], undefined, { id: 'x', status: 'dlq', error: 'no' });
  const { messages } = (await broker.get(`/api/v1/dlq?queue=${queue}`)).json;
  expect(messages).toMatchObject([{ transactionId: 'x', data: 'dead-secret' }]);
  await expectSealed('dead-secret');
});
