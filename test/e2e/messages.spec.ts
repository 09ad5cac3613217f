/** Browsing messages (messages.md §11.1, §11.2): fields, order, filters, statuses. */
import { TestBroker } from '../support/broker.js';

let broker: TestBroker;

beforeAll(async () => {
  broker = await TestBroker.start();
});

afterAll(() => broker.stop());

const UUID = expect.stringMatching(/^[0-9a-f-]{36}$/) as string;

const push = (queue: string, partition: string, ids: readonly string[]) =>
  broker.post('/api/v1/push', {
    items: ids.map((id) => ({ queue, partition, transactionId: id, payload: { id } })),
  });

interface Row {
  readonly transactionId: string;
  readonly status: string;
  readonly partitionId: string;
}

async function list(query: string): Promise<{ messages: Row[]; total: number; mode: unknown }> {
  const { json, status } = await broker.get(`/api/v1/messages?${query}`);
  expect(status).toBe(200);
  return json;
}

const ids = async (query: string): Promise<string[]> =>
  (await list(query)).messages.map((row) => row.transactionId);

const pop = async (queue: string, query = '') =>
  (await broker.get(`/api/v1/pop/queue/${queue}?subscriptionMode=all&${query}`)).json;

async function ack(
  popped: { leaseId: string; partitionId: string },
  transactionId: string,
  more: object = {},
): Promise<void> {
  const { leaseId, partitionId } = popped;
  const body = { transactionId, leaseId, partitionId, status: 'completed', ...more };
  expect((await broker.post('/api/v1/ack', body)).json[0].success).toBe(true);
}

describe('list', () => {
  it('shows every field', async () => {
    await push('shop.mail', 'a', ['f-0', 'f-1']);
    const { json } = await broker.get('/api/v1/messages?queue=shop.mail&limit=1');
    expect(json).toEqual({
      messages: [
        {
          ...{ id: UUID, transactionId: 'f-1', txnHash: expect.stringMatching(/^[0-9a-f]{32}$/) },
          ...{ data: { id: 'f-1' }, payload: { id: 'f-1' }, traceId: null, producerSub: null },
          createdAt: expect.stringMatching(/\.\d{3}Z$/),
          ...{ offset: 1, queue: 'shop.mail', partition: 'a', partitionId: UUID },
          ...{ status: 'pending', queueStatus: 'pending', queuePath: 'shop.mail/a' },
          ...{ busStatus: { consumedBy: 0, totalGroups: 0 }, namespace: 'shop', task: 'mail' },
          ...{ queuePriority: 0, payloadAvailable: true, leaseExpiresAt: null },
          ...{ segment: { seq: 0, frameIdx: 1 }, isEncrypted: false },
        },
      ],
      ...{ total: 1, pagination: { limit: 1, offset: 0 } },
      mode: { hasQueueMode: false, busGroupsCount: 0, type: 'none' },
    });
  });

  it('is newest first over partitions, and pages without gaps or repeats', async () => {
    for (let n = 0; n < 12; n += 1) await push('pages', `p${n % 3}`, [`n${n}-0`, `n${n}-1`]);
    const all = await ids('queue=pages');
    expect(all).toEqual(
      Array.from({ length: 12 }, (_, i) => [`n${11 - i}-1`, `n${11 - i}-0`]).flat(),
    );
    const paged: string[] = [];
    for (let offset = 0; offset < 24; offset += 5) {
      paged.push(...(await ids(`queue=pages&limit=5&offset=${offset}`)));
    }
    expect(paged).toEqual(all);
    expect(await ids('queue=pages&offset=24')).toEqual([]);
  });

  it('orders messages of one instant by offset, over partitions', async () => {
    const item = (partition: string, id: string) => ({
      ...{ queue: 'ties', partition, transactionId: id, payload: 1 },
    });
    await broker.post('/api/v1/push', {
      items: [item('a', 'a0'), item('a', 'a1'), item('b', 'b0'), item('b', 'b1')],
    });
    expect(await ids('queue=ties')).toEqual(['b1', 'a1', 'b0', 'a0']);
  });

  it('filters by names, labels and time', async () => {
    await push('other.task', 'x', ['o-0']);
    expect(await ids('namespace=other')).toEqual(['o-0']);
    expect(await ids('namespace=other&task=none')).toEqual([]);
    expect(await ids('task=task&queue=&partition=')).toEqual(['o-0']);
    expect(await ids('queue=pages&partition=p1&limit=2')).toEqual(['n10-1', 'n10-0']);
    expect(await ids('queue=pages&partition=none')).toEqual([]);
    expect(await ids('queue=none')).toEqual([]);
    expect(await ids('queue=pages&from=2200-01-01')).toEqual([]);
    expect(await ids('queue=pages&to=2020-01-01')).toEqual([]);
    expect(await ids('queue=pages&limit=0')).toHaveLength(1);
    const earlier = encodeURIComponent(new Date(Date.now() - 3_700_000).toISOString());
    expect(await ids(`queue=pages&from=${earlier}&limit=1`)).toEqual(['n11-1']);
  });

  it('knows dead letters, completed, processing and pending', async () => {
    await push('st', 'p', ['s0', 's1', 's2', 's3']);
    await ack(await pop('st', 'batch=1'), 's0', { status: 'dlq' });
    await ack(await pop('st', 'batch=1'), 's1');
    const statuses = async () => (await list('queue=st')).messages.map((row) => row.status);
    expect(await statuses()).toEqual(['pending', 'pending', 'completed', 'dead_letter']);
    await pop('st', 'batch=1');
    expect(await statuses()).toEqual(['processing', 'processing', 'completed', 'dead_letter']);
    const { messages } = await list('queue=st&limit=1');
    expect(messages[0]).toMatchObject({ leaseExpiresAt: expect.stringMatching(/\.\d{3}Z$/) });
    expect(await ids('queue=st&status=dead_letter')).toEqual(['s0']);
    expect(await ids('queue=st&status=completed')).toEqual(['s1']);
    expect(await ids('queue=st&status=processing&limit=1&offset=1')).toEqual(['s2']);
    expect(await ids('queue=st&status=odd')).toEqual([]);
  });

  it('asks the named groups first, and says who reads', async () => {
    await push('bus', 'p', ['b0']);
    await ack(await pop('bus', 'consumerGroup=g'), 'b0', { consumerGroup: 'g' });
    await pop('bus');
    const { messages, mode } = await list('queue=bus');
    expect(mode).toEqual({ hasQueueMode: true, busGroupsCount: 1, type: 'hybrid' });
    expect(messages[0]).toMatchObject({
      ...{ status: 'completed', busStatus: { consumedBy: 1, totalGroups: 1 } },
    });
    await push('bus2', 'p', ['x']);
    await pop('bus2', 'consumerGroup=h');
    expect((await list('queue=bus2')).mode).toMatchObject({ type: 'bus' });
    expect((await list('queue=st')).mode).toMatchObject({ type: 'queue' });
  });
});

describe('detail', () => {
  it('shows the message, its readers and its queue, by number or UUID', async () => {
    await push('det', 'p', ['a/b', 'c']);
    const popped = await pop('det', 'batch=2');
    const at = `/api/v1/messages/${popped.partitionId}/${encodeURIComponent('a/b')}`;
    const { json, status } = await broker.get(at);
    expect(status).toBe(200);
    expect(json).toEqual({
      ...{ id: UUID, transactionId: 'a/b', data: { id: 'a/b' }, payload: { id: 'a/b' } },
      ...{ traceId: null, producerSub: null, partitionId: UUID, partition: 'p', queue: 'det' },
      createdAt: expect.stringMatching(/\.\d{6}Z$/),
      ...{ queuePath: 'det/p', namespace: 'det', task: '', status: 'processing' },
      ...{ errorMessage: null, retryCount: 0, isEncrypted: false },
      queueConfig: (await broker.get('/api/v1/resources/queues/det')).json.options,
      mode: { hasQueueMode: true, busGroupsCount: 0, type: 'queue' },
      consumerGroups: [
        {
          ...{ name: '__QUEUE_MODE__', committed: -1, consumed: false },
          leaseExpiresAt: expect.stringMatching(/\.\d{6}Z$/),
        },
      ],
    });
    const byUuid = await broker.get(`/api/v1/messages/${json.partitionId}/c`);
    expect(byUuid.json).toMatchObject({ transactionId: 'c', status: 'processing' });
  });

  it('tells why a message is dead', async () => {
    const [dead] = (await list('queue=st&status=dead_letter')).messages;
    const { json } = await broker.get(`/api/v1/messages/${dead!.partitionId}/s0`);
    expect(json).toMatchObject({
      ...{ status: 'dead_letter', errorMessage: 'Retries exhausted', retryCount: 0 },
    });
  });

  it('finds the first of several with one id, and minted ids', async () => {
    await broker.post('/api/v1/configure', { queue: 'twice', dedupWindowSeconds: 0 });
    await push('twice', 'p', ['t']);
    await push('twice', 'p', ['t']);
    await broker.post('/api/v1/push', { items: [{ queue: 'twice', partition: 'p', payload: 9 }] });
    const [minted, second, first] = (await list('queue=twice')).messages as (Row & {
      id: string;
    })[];
    const at = `/api/v1/messages/${first!.partitionId}`;
    expect((await broker.get(`${at}/t`)).json.id).toBe(first!.id);
    expect(first!.id).not.toBe(second!.id);
    expect((await broker.get(`${at}/${minted!.transactionId}`)).json.data).toBe(9);
  });

  it.each(['1/none', '999/a', 'zzz/a', '0199c0de-dddd-7bbb-8ccc-ddddeeeeffff/a'])(
    'answers 404 for %s',
    async (path) => {
      const { json, status } = await broker.get(`/api/v1/messages/${path}`);
      expect([status, json]).toEqual([404, { error: 'Message not found' }]);
    },
  );
});
