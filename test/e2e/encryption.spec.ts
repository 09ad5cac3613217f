/** Encryption at rest (messages.md §2.11): on disk nothing in clear, everywhere else nothing sealed. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestBroker } from '../support/broker.js';
import { Calls, freshQueue, messagesOf } from './calls.js';

const KEY = '0123456789abcdef'.repeat(4);
const OTHER_KEY = 'f'.repeat(64);

let broker: TestBroker;
let calls: Calls;

beforeEach(async () => {
  broker = await TestBroker.start({ QUEEN_ENCRYPTION_KEY: KEY });
  calls = new Calls(broker);
});

afterEach(() => broker.stop());

/** Whether a text stands in any file of the log. */
function isOnDisk(text: string): boolean {
  const directory = join(broker.directory, 'wal');
  return readdirSync(directory).some((name) => readFileSync(join(directory, name)).includes(text));
}

const encrypted = async (): Promise<string> => {
  const queue = freshQueue();
  await calls.configure(queue, { encryptionEnabled: true });
  return queue;
};

const fetched = async (queue: string) =>
  (await broker.post('/api/v1/fetch', { entries: [{ queue, offset: 0 }] })).json.entries[0].records;

it('keeps payloads sealed on disk and gives them back in clear, also after a restart', async () => {
  const queue = await encrypted();
  const payload = { secret: 'sealed-away', big: 9007199254740993 };
  const items = `{"items":[{"queue":"${queue}","transactionId":"t","payload":{"secret":"sealed-away","n":9007199254740993}}]}`;
  expect((await broker.send('POST', '/api/v1/push', items)).json[0].status).toBe('queued');
  await calls.push(queue, { id: 'empty', payload: '' }, { id: 'null', payload: null });
  expect(payload.secret).toBe('sealed-away');
  for (let restart = 0; restart < 2; restart += 1) {
    expect(isOnDisk('sealed-away')).toBe(false);
    const raw = await broker.post('/api/v1/fetch', { entries: [{ queue, offset: 0 }] });
    expect(raw.text).toContain('{"secret":"sealed-away","n":9007199254740993}');
    const list = (await broker.get(`/api/v1/messages?queue=${queue}`)).json.messages;
    expect(list.map((row: { isEncrypted: boolean }) => row.isEncrypted)).toEqual([
      true,
      true,
      true,
    ]);
    expect(list[2].payload).toMatchObject({ secret: 'sealed-away' });
    const shown = await broker.get(`/api/v1/messages/${list[2].partitionId}/t`);
    expect(shown.json).toMatchObject({ isEncrypted: true, data: { secret: 'sealed-away' } });
    await broker.restart();
  }
  const popped = await calls.pop(queue, { batch: 10 });
  expect(popped.json.messages.map((message: { data: unknown }) => message.data)).toEqual([
    expect.objectContaining({ secret: 'sealed-away' }),
    '',
    null,
  ]);
});

it('affects new messages only, whichever way it is switched', async () => {
  const queue = freshQueue();
  await calls.push(queue, { id: 'a', payload: 'clear-before' });
  await calls.configure(queue, { encryptionEnabled: true });
  await calls.push(queue, { id: 'b', payload: 'sealed-between' });
  await calls.configure(queue, { encryptionEnabled: false });
  await calls.push(queue, { id: 'c', payload: 'clear-after' });
  expect(['clear-before', 'sealed-between', 'clear-after'].map(isOnDisk)).toEqual([
    true,
    false,
    true,
  ]);
  const payloads = (await fetched(queue)).map((record: { payload: unknown }) => record.payload);
  expect(payloads).toEqual(['clear-before', 'sealed-between', 'clear-after']);
});

it('seals in one request what goes to the queues that want it', async () => {
  const [sealed, clear] = [await encrypted(), freshQueue()];
  const items = [
    { queue: sealed, transactionId: '1', payload: 'mixed-sealed' },
    { queue: clear, transactionId: '2', payload: 'mixed-clear' },
    { queue: sealed, transactionId: '1', payload: 'repeat' },
  ];
  const rows = (await broker.post('/api/v1/push', { items })).json;
  expect(rows.map((row: { status: string }) => row.status)).toEqual([
    'queued',
    'queued',
    'duplicate',
  ]);
  expect([isOnDisk('mixed-sealed'), isOnDisk('mixed-clear')]).toEqual([false, true]);
});

it('covers pushes of transactions', async () => {
  const queue = await encrypted();
  const operations = [{ type: 'push', items: [{ queue, payload: 'in-a-transaction' }] }];
  const answer = await broker.post('/api/v1/transaction', { operations });
  expect(answer.json.success).toBe(true);
  expect(isOnDisk('in-a-transaction')).toBe(false);
  expect((await fetched(queue))[0].payload).toBe('in-a-transaction');
});

it('shows dead letters in clear and encrypts a replay as its target wants', async () => {
  const [queue, clear] = [await encrypted(), freshQueue()];
  await calls.push(queue, { id: 'x', payload: 'dead-and-sealed' });
  const query = { consumerGroup: 'g', subscriptionMode: 'all' };
  const [message] = messagesOf(await calls.pop(queue, query));
  await calls.ack(message!, 'g', { id: 'x', status: 'dlq', error: 'boom' });
  const { messages } = (await broker.get(`/api/v1/dlq?queue=${queue}`)).json;
  expect(messages[0].data).toBe('dead-and-sealed');
  await broker.post(`/api/v1/dlq/${messages[0].id}/replay`);
  expect((await fetched(queue))[1].payload).toBe('dead-and-sealed');
  expect(isOnDisk('dead-and-sealed')).toBe(false);
  const [again] = messagesOf(await calls.pop(queue, query));
  const dead = `dlq:${messages[0].id}`;
  await calls.ack(again!, 'g', { id: dead, status: 'dlq', error: 'boom' });
  const second = (await broker.get(`/api/v1/dlq?queue=${queue}`)).json.messages;
  await broker.post(`/api/v1/dlq/${second[0].id}/replay`, { queue: clear });
  expect((await fetched(clear))[0].payload).toBe('dead-and-sealed');
  expect(isOnDisk('dead-and-sealed')).toBe(true);
});

it.each([
  ['another key', { QUEEN_ENCRYPTION_KEY: OTHER_KEY }, 'is not the key of this cluster'],
  ['no key', {}, 'QUEEN_ENCRYPTION_KEY is unset'],
  ['a malformed key', { QUEEN_ENCRYPTION_KEY: 'abc' }, 'must be 64 hex characters'],
])('refuses to start with %s where payloads are encrypted', async (_, env, text) => {
  await calls.push(await encrypted(), 'a');
  await expect(broker.restart(env)).rejects.toThrow(text);
  await broker.restart({ QUEEN_ENCRYPTION_KEY: KEY });
  expect((await broker.get('/health')).status).toBe(200);
});

it('without a key stores what the queue wants encrypted in clear, and takes one later', async () => {
  await broker.restart({});
  const queue = await encrypted();
  await calls.push(queue, { id: 'a', payload: 'no-key-here' });
  expect(isOnDisk('no-key-here')).toBe(true);
  await broker.restart({ QUEEN_ENCRYPTION_KEY: OTHER_KEY });
  await calls.push(queue, { id: 'b', payload: 'now-with-key' });
  expect(isOnDisk('now-with-key')).toBe(false);
  const payloads = (await fetched(queue)).map((record: { payload: unknown }) => record.payload);
  expect(payloads).toEqual(['no-key-here', 'now-with-key']);
  await broker.restart({ QUEEN_ENCRYPTION_KEY: OTHER_KEY });
});
