/**
 * Disk space of what retention removed (cluster.md §2.7): log segments go or shrink while the broker
 * serves, what lives, is dead-lettered or was just read stays, and a restart finds it the same.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { TestBroker } from '../support/broker.js';
import { Calls, eventually, freshQueue, messagesOf } from './calls.js';

const SEGMENT_BYTES = 1024 * 1024;
const ENV = {
  RETENTION_INTERVAL: '20',
  QUEEN_RAFT_SEGMENT_BYTES: String(SEGMENT_BYTES),
  QUEEN_RAFT_LOG_KEEP: '16',
  QUEEN_RAFT_DURABLE_EVERY_MS: '20',
};
const PAYLOAD = 'x'.repeat(16 * 1024);

let broker: TestBroker;
let calls: Calls;

beforeEach(async () => {
  broker = await TestBroker.start(ENV);
  calls = new Calls(broker);
});

afterEach(() => broker.stop());

function logBytes(): number {
  const directory = join(broker.directory, 'wal');
  return readdirSync(directory)
    .filter((name) => name.endsWith('.seg'))
    .reduce(
      (sum, name) => sum + (statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
}

/** Pushes about so many megabytes, in batches of 16 messages. */
async function fill(queue: string, megabytes: number, tag = 'm'): Promise<void> {
  for (let n = 0; n < megabytes * 4; n += 1) {
    const items = Array.from({ length: 16 }, (_, i) => ({
      id: `${tag}${n}-${i}`,
      payload: PAYLOAD,
    }));
    await calls.push(queue, ...items);
  }
}

/** What the log files take on the disk, as `du` counts it. */
function logDiskBytes(): number {
  const directory = join(broker.directory, 'wal');
  return readdirSync(directory)
    .map((name) => statSync(join(directory, name), { throwIfNoEntry: false })?.blocks ?? 0)
    .reduce((sum, blocks) => sum + blocks * 512, 0);
}

const shrinksTo = (bytes: number) =>
  eventually(async () => {
    // The log lets go of entries only as new ones come.
    await calls.push('ticker', 't');
    return logBytes() <= bytes ? true : null;
  }, 60_000);

jest.setTimeout(120_000);

it('stays bounded however much passes through', async () => {
  const queue = freshQueue();
  await calls.configure(queue, { maxWaitTimeSeconds: 1, dedupWindowSeconds: 0 });
  let peak = 0;
  for (let round = 0; round < 4; round += 1) {
    await fill(queue, 6, `r${round}-`);
    await shrinksTo(4 * SEGMENT_BYTES);
    peak = Math.max(peak, logBytes());
  }
  expect(peak).toBeLessThanOrEqual(4 * SEGMENT_BYTES);
  await broker.restart();
  await eventually(async () => ((await calls.depth(queue)).pending === 0 ? true : null));
  await calls.configure(queue, { maxWaitTimeSeconds: 0 });
  await calls.push(queue, 'after');
  expect(messagesOf(await calls.pop(queue, { batch: 10 })).map((m) => m.transactionId)).toEqual([
    'after',
  ]);
});

it('frees the space of a deleted queue', async () => {
  const queue = freshQueue();
  await fill(queue, 6);
  expect(logBytes()).toBeGreaterThan(5 * SEGMENT_BYTES);
  await broker.send('DELETE', `/api/v1/resources/queues/${queue}`);
  await shrinksTo(3 * SEGMENT_BYTES);
});

it('rewrites what is mostly dead and keeps every live message and dead letter', async () => {
  const [kept, dying] = [freshQueue('kept'), freshQueue('dying')];
  await calls.configure(dying, { dedupWindowSeconds: 0 });
  await calls.push(dying, { id: 'dead', payload: PAYLOAD });
  const [dead] = messagesOf(
    await calls.pop(dying, { consumerGroup: 'g', subscriptionMode: 'all' }),
  );
  await calls.ack(dead!, 'g', { id: 'dead', status: 'dlq', error: 'boom' });
  for (let n = 0; n < 6; n += 1) {
    await calls.push(kept, { id: `k${n}`, payload: { n } });
    await fill(dying, 1, `d${n}-`);
  }
  await calls.configure(dying, { maxWaitTimeSeconds: 1 });
  await shrinksTo(4 * SEGMENT_BYTES);
  const check = async (): Promise<void> => {
    const { entries } = (
      await broker.post('/api/v1/fetch', { entries: [{ queue: kept, offset: 0 }] })
    ).json;
    expect(entries[0].records.map((record: { payload: unknown }) => record.payload)).toEqual(
      Array.from({ length: 6 }, (_, n) => ({ n })),
    );
    const { messages } = (await broker.get(`/api/v1/dlq?queue=${dying}`)).json;
    expect(messages).toEqual([expect.objectContaining({ transactionId: 'dead', data: PAYLOAD })]);
    expect((await broker.get('/health')).status).toBe(200);
  };
  await check();
  await broker.restart();
  await check();
  const { messages } = (await broker.get(`/api/v1/dlq?queue=${dying}`)).json;
  const replay = await broker.post(`/api/v1/dlq/${messages[0].id}/replay`, { queue: kept });
  expect(replay.status).toBe(200);
});

it('keeps of an entry only the messages that dead letters need', async () => {
  const queue = freshQueue();
  await calls.configure(queue, { dedupWindowSeconds: 0 });
  const query = { batch: 16, consumerGroup: 'g', subscriptionMode: 'all' };
  // One letter in every 256 KiB: whole entries would stay.
  for (let n = 0; n < 24; n += 1) {
    await fill(queue, 0.25, `e${n}-`);
    const [head, ...rest] = messagesOf(await calls.pop(queue, query));
    const settled = rest.map(({ transactionId }) => ({ id: transactionId }));
    const id = head!.transactionId;
    await calls.ack(head!, 'g', { id, status: 'dlq', error: 'spoiled' }, ...settled);
  }
  expect(logDiskBytes()).toBeGreaterThan(5 * SEGMENT_BYTES);
  await calls.configure(queue, { maxWaitTimeSeconds: 1 });
  const letters = 24 * (PAYLOAD.length + 2 * 4096);
  await eventually(async () => {
    await calls.push('ticker', 't');
    return logDiskBytes() <= letters + 3 * SEGMENT_BYTES ? true : null;
  }, 60_000);
  for (let restart = 0; restart < 2; restart += 1) {
    const { messages } = (await broker.get(`/api/v1/dlq?queue=${queue}&limit=100`)).json;
    expect(messages).toHaveLength(24);
    expect(messages.every(({ data }: { data: string }) => data === PAYLOAD)).toBe(true);
    await broker.restart();
  }
});

it('seals a segment by its age, so that a log which fills slowly is freed too', async () => {
  const slow = { ...ENV, QUEEN_RAFT_SEGMENT_BYTES: String(64 * SEGMENT_BYTES) };
  await broker.restart({ ...slow, QUEEN_QLOG_SEAL_AGE_S: '1' });
  const queue = freshQueue();
  await calls.configure(queue, { dedupWindowSeconds: 0 });
  await fill(queue, 3);
  expect(logBytes()).toBeGreaterThan(2.5 * SEGMENT_BYTES);
  await calls.configure(queue, { maxWaitTimeSeconds: 1, dedupWindowSeconds: 0 });
  await shrinksTo(SEGMENT_BYTES);
});
