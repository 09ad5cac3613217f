/**
 * messages.md §6 and §7, the rows no other file shows: which place counts of an id that stands twice,
 * repeats by status, what one lease leaves alone. The rest: ack.spec (§6.1, §6.2, §6.5),
 * ack-resolution.spec (§6.3), ack-repeats.spec (§6.4), leases.spec (§7).
 */
import { TestBroker } from '../../support/broker.js';
import { type AckRow, Calls, eventually, freshQueue, idsOf, type Popped } from '../calls.js';

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

/** Each id is an append of its own, in a queue that does not recognise repeats. */
const pushed = async (...ids: string[]): Promise<string> => {
  const queue = freshQueue();
  await calls.configure(queue, { dedupWindowSeconds: 0, retryLimit: 0 });
  for (const id of ids) await calls.push(queue, id);
  return queue;
};

const unfenced = ({ partitionId }: Popped): Popped => ({ partitionId, leaseId: '' });

const next = async (queue: string): Promise<string[]> => idsOf(await calls.pop(queue));

const filed = async (queue: string): Promise<number[]> =>
  (await broker.get(`/api/v1/dlq?queue=${queue}`)).json.messages.map(
    ({ offset }: { offset: number }) => offset,
  );

describe('§6.3 row: an id that stands twice', () => {
  /** A restart forgets what this node handed out: ids are found in the rows, as on another node. */
  describe.each([
    ['on the node that delivered it', false],
    ['on another node', true],
  ])('%s', (_where, forgets) => {
    const popped = async (...ids: string[]) => {
      const queue = await pushed(...ids);
      const { json } = await calls.pop(queue);
      if (forgets) await broker.restart();
      return { queue, json };
    };

    it.each([
      ['under its lease', (json: Popped) => json],
      ['unfenced', unfenced],
    ])('in a batch, %s: completed settles up to the last', async (_how, as) => {
      const { queue, json } = await popped('a', 'b', 'a', 'c');
      const [row] = await calls.ack(as(json), undefined, 'a');
      expect(row).toMatchObject({ success: true, leaseReleased: false });
      expect(await calls.depth(queue)).toMatchObject({ pending: 1, processing: 1 });
    });

    it.each([
      ['under its lease', (json: Popped) => json],
      ['unfenced', unfenced],
    ])('in a batch, %s: a signal means the first', async (_how, as) => {
      const { queue, json } = await popped('x', 'a', 'b', 'a');
      const [row] = await calls.ack(as(json), undefined, { id: 'a', status: 'failed' });
      expect(row).toMatchObject({ success: true, leaseReleased: true, dlq: true });
      expect(await filed(queue)).toEqual([1]);
      expect(await next(queue)).toEqual(['b', 'a']);
    });

    it('in a batch: a signal means the first that is not settled', async () => {
      const { queue, json } = await popped('a', 'b', 'a', 'c');
      await calls.ack(json, undefined, 'b');
      const [row] = await calls.ack(json, undefined, { id: 'a', status: 'dlq' });
      expect(row).toMatchObject({ success: true, dlq: true });
      expect(await filed(queue)).toEqual([2]);
      expect(await next(queue)).toEqual(['c']);
    });
  });

  it('without a lease: the first, so that nothing undelivered is passed over', async () => {
    const queue = await pushed('a', 'b', 'a');
    const { json } = await calls.pop(queue, { batch: 1, leaseSeconds: 1 });
    await eventually(async () => ((await calls.depth(queue)).processing === 0 ? true : null));
    const [row] = await calls.ack(unfenced(json), undefined, 'a');
    expect(row).toMatchObject({ success: true, noop: false, leaseReleased: false });
    expect(await next(queue)).toEqual(['b', 'a']);
  });

  it('in a last-value batch: the delivered one', async () => {
    const queue = await pushed('a', 'b', 'a');
    const group = { consumerGroup: 'g', subscriptionMode: 'all', conflation: true };
    const { json } = await calls.pop(queue, group);
    const [row] = await calls.ack(json, 'g', { id: 'a', status: 'dlq' });
    expect(row).toMatchObject({ success: true, dlq: true, leaseReleased: true });
    expect(await filed(queue)).toEqual([2]);
  });
});

describe('§6.4 row: a repeat of the call that settled the batch', () => {
  it.each(['completed', 'failed', 'dlq'])('by %s', async (status) => {
    const queue = await pushed('a');
    const { json } = await calls.pop(queue);
    const [first] = await calls.ack(json, undefined, { id: 'a', status });
    expect(first).toMatchObject({ success: true, leaseReleased: true });
    const before = await calls.detail(queue);
    const [again] = await calls.ack(json, undefined, { id: 'a', status });
    expect(again).toEqual({ ...first, dlq: false });
    expect(await calls.detail(queue)).toEqual(before);
  });

  it('a message that was dropped and one that was filed are not acknowledged again', async () => {
    const queue = await pushed('a', 'b');
    await calls.configure(queue, { deadLetterQueue: false, dlqAfterMaxRetries: false });
    const { json } = await calls.pop(queue);
    await calls.ack(json, undefined, { id: 'a', status: 'failed' });
    const again = await calls.ack(json, undefined, { id: 'a', status: 'failed' });
    expect(again[0]).toMatchObject({ success: false, error: 'invalid or expired lease' });
    expect(await next(queue)).toEqual(['b']);
  });
});

describe('§6.5 row: leaseReleased is the same for all items of a target', () => {
  it('also for one that resolves to nothing', async () => {
    const queue = await pushed('a');
    const { json } = await calls.pop(queue);
    const rows = await calls.ack(json, undefined, 'nobody', 'a');
    expect(rows.map(({ success, leaseReleased }: AckRow) => [success, leaseReleased])).toEqual([
      [false, true],
      [true, true],
    ]);
  });
});

describe('§7 row: extend', () => {
  it('leaves other leases alone and shows the earliest end', async () => {
    const queue = freshQueue();
    await calls.push(queue, { id: 'a', partition: '1' }, { id: 'b', partition: '2' });
    const first = await calls.pop(queue, { leaseSeconds: 30 });
    const second = await calls.pop(queue, { leaseSeconds: 30 });
    const extend = (leaseId: string, seconds: number) =>
      broker.post(`/api/v1/lease/${leaseId}/extend`, { seconds });
    const long = await extend(first.json.leaseId, 500);
    const short = await extend(second.json.leaseId, 1);
    expect([long.json.renewed, short.json.renewed]).toEqual([1, 1]);
    expect(Date.parse(long.json.expiresAt) - Date.parse(short.json.expiresAt)).toBeGreaterThan(
      400_000,
    );
  });

  it('of several partitions that end at different times shows the earliest', async () => {
    const queue = freshQueue();
    await calls.push(queue, { id: 'a', partition: '1' }, { id: 'b', partition: '2' });
    const { json } = await calls.pop(queue, { partitions: 2, leaseSeconds: 30 });
    const [a, b] = json.messages;
    const extend = async (seconds: number) =>
      (await broker.post(`/api/v1/lease/${json.leaseId}/extend`, { seconds })).json;
    const both = await extend(100);
    expect(both).toMatchObject({ success: true, renewed: 2 });
    await calls.ack(a, undefined, 'a');
    const one = await extend(1);
    expect(one).toMatchObject({ success: true, renewed: 1, expiresAt: both.expiresAt });
    await calls.ack(b, undefined, 'b');
    expect(await extend(100)).toMatchObject({ success: false, renewed: 0, expiresAt: null });
  });
});
