/**
 * Rows of messages.md §2.11 (encryption at rest), named by their section: what is sealed on the disk by
 * which combination of option and key, and that every read shows it in clear. Keys of a cluster and the
 * other ways to a queue: test/e2e/encryption.spec.ts, encryption-everywhere.spec.ts.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestBroker } from '../../support/broker.js';
import { Calls, freshQueue, messagesOf, type Wire } from '../calls.js';

const KEYED = { QUEEN_ENCRYPTION_KEY: '4b'.repeat(32) };

let secrets = 0;
const freshSecret = (): string => `rows-2-11-secret-${(secrets += 1)}-end`;

/** The text stands in a segment of the log. */
function isOnDisk(broker: TestBroker, text: string): boolean {
  const directory = join(broker.directory, 'wal');
  return readdirSync(directory)
    .filter((name) => name.endsWith('.seg'))
    .some((name) => readFileSync(join(directory, name)).includes(text));
}

describe.each([
  ['with a key', KEYED, true],
  ['without a key', {}, false],
] as const)('%s', (_name, env, hasKey) => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start(env);
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  it.each([
    ['2.11 encryptionEnabled', true],
    ['2.11 not enabled', false],
  ])('%s', async (_row, encryptionEnabled) => {
    const [queue, secret] = [freshQueue(), freshSecret()];
    await calls.configure(queue, { encryptionEnabled });
    const [pushed] = await calls.push(queue, { id: 'a', payload: { secret } });
    expect(pushed?.status).toBe('queued');
    const isSealed = hasKey && encryptionEnabled;
    expect(isOnDisk(broker, secret)).toBe(!isSealed);
    const popped = messagesOf(await calls.pop(queue)) as unknown as Wire[];
    expect(popped).toMatchObject([{ data: { secret } }]);
    const entries = [{ queue, offset: 0 }];
    const fetched = (await broker.post('/api/v1/fetch', { entries })).json.entries[0];
    expect(fetched.records).toMatchObject([{ payload: { secret } }]);
    const [row] = (await broker.get(`/api/v1/messages?queue=${queue}`)).json.messages;
    expect(row).toMatchObject({ data: { secret }, isEncrypted: isSealed });
    const detail = await broker.get(`/api/v1/messages/${row.partitionId}/a`);
    expect(detail.json).toMatchObject({ payload: { secret }, isEncrypted: isSealed });
  });

  it('2.11 toggling affects new messages only', async () => {
    const [queue, first, second] = [freshQueue(), freshSecret(), freshSecret()];
    await calls.push(queue, { id: 'a', payload: first });
    await calls.configure(queue, { encryptionEnabled: true });
    await calls.push(queue, { id: 'b', payload: second });
    await calls.configure(queue, { encryptionEnabled: false });
    const third = freshSecret();
    await calls.push(queue, { id: 'c', payload: third });
    expect([first, second, third].map((text) => isOnDisk(broker, text))).toEqual([
      ...[true, !hasKey, true],
    ]);
    const popped = messagesOf(await calls.pop(queue)) as unknown as Wire[];
    expect(popped.map(({ data }) => data)).toEqual([first, second, third]);
  });

  it('2.11 a dead letter shows it in clear; a replay is stored as its target wants', async () => {
    const [queue, target, secret] = [freshQueue(), freshQueue('target'), freshSecret()];
    await calls.push(queue, { id: 'a', payload: { secret } });
    await calls.configure(target, { encryptionEnabled: true });
    const [message] = messagesOf(await calls.pop(queue));
    await calls.ack(message!, undefined, { id: 'a', status: 'dlq' });
    const [letter] = (await broker.get(`/api/v1/dlq?queue=${queue}`)).json.messages;
    expect(letter.data).toEqual({ secret });
    const path = `/api/v1/dlq/${letter.id}/replay`;
    expect((await broker.post(path, { queue: target })).json).toMatchObject({ result: 'moved' });
    const [row] = (await broker.get(`/api/v1/messages?queue=${target}`)).json.messages;
    expect(row).toMatchObject({ data: { secret }, isEncrypted: hasKey });
  });

  it('2.11 duplicates and offsets do not depend on it', async () => {
    const queue = freshQueue();
    await calls.configure(queue, { encryptionEnabled: true });
    const [first] = await calls.push(queue, 'once');
    const [again, next] = await calls.push(queue, 'once', 'next');
    expect([again, next]).toMatchObject([
      { status: 'duplicate', message_id: first?.message_id, offset: 0 },
      { status: 'queued', offset: 1 },
    ]);
  });
});
