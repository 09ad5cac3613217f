/**
 * Rows of messages.md §12 (reads by offset), named by their section: the bounds of entries, bytes and
 * records, what ends a wait, edges of times and cursors. Shapes, refusals and errors of an entry:
 * test/e2e/fetch.spec.ts; below the first retained message: test/e2e/retention.spec.ts.
 */
import { TestBroker } from '../../support/broker.js';
import { Calls, freshQueue, promptly, type Wire } from '../calls.js';

const MIB = 1024 * 1024;

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

const fetchEntries = async (entries: readonly object[], more: object = {}): Promise<Wire[]> => {
  const { status, json } = await broker.post('/api/v1/fetch', { entries, ...more });
  expect(status).toBe(200);
  return json.entries;
};
const offsets = async (...entries: object[]): Promise<Wire[]> =>
  (await broker.post('/api/v1/fetch/offsets', { entries })).json.entries;
const changed = async (entry: object): Promise<Wire> =>
  (await broker.post('/api/v1/partitions/changed', { entries: [entry] })).json.entries[0];
const offsetsOf = ({ records }: Wire): number[] => records.map(({ offset }: Wire) => offset);

describe('12 entries', () => {
  const routes = ['fetch', 'fetch/offsets', 'partitions/changed'] as const;
  const entry = { queue: 'rows12', offset: 0, timestamp: 0 };

  it.each(routes)('12 %s: 1,024 entries pass, 1,025 are 400', async (route) => {
    const send = (count: number) =>
      broker.post(`/api/v1/${route}`, { entries: Array.from({ length: count }, () => entry) });
    const most = await send(1024);
    expect([most.status, most.json.entries.length]).toEqual([200, 1024]);
    const more = await send(1025);
    expect([more.status, more.json]).toEqual([400, { error: 'too many entries' }]);
  });

  it.each([
    ['absent', {}, 'Default'],
    ['null', { partition: null }, 'Default'],
    ['empty', { partition: '' }, 'Default'],
    ['a number', { partition: 12 }, '12'],
    ['a text', { partition: 'p' }, 'p'],
  ])('12 partition: %s', async (_row, partition, name) => {
    const queue = freshQueue();
    await calls.push(queue, { id: 'a', partition: name });
    const at = { queue, ...partition };
    expect(await fetchEntries([{ ...at, offset: 0 }])).toMatchObject([
      { partition: name, records: [{ transactionId: 'a' }] },
    ]);
    expect(await offsets({ ...at, timestamp: 0 })).toMatchObject([{ partition: name, offset: 0 }]);
  });

  it('12 answers keep the order of the entries, repeats included', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a', 'b');
    const entries = [1, 0, 1, 2].map((offset) => ({ queue, offset }));
    const answers = await fetchEntries(entries);
    expect(answers.map(offsetsOf)).toEqual([[1], [0, 1], [1], []]);
  });
});

describe('12.1 fetch', () => {
  it('12.1 maxBytes: 1 MiB unless named, at most 8 MiB, one record whatever its size', async () => {
    const queue = freshQueue();
    const payload = 'x'.repeat(1.5 * MIB);
    for (let n = 0; n < 7; n += 1) await calls.push(queue, { id: `${n}`, payload });
    const count = async (more: object): Promise<number> =>
      (await fetchEntries([{ queue, offset: 0, ...more }]))[0].records.length;
    expect(await count({})).toBe(1);
    expect(await count({ maxBytes: 4 * MIB })).toBe(2);
    expect(await count({ maxBytes: 1024 * MIB })).toBe(5);
  });

  it('12.1 at most 10,000 records an entry', async () => {
    const queue = freshQueue();
    await calls.push(queue, ...Array.from({ length: 10_001 }, (_, n) => ({ payload: n })));
    const [first, last] = await fetchEntries([
      { queue, offset: 0, maxBytes: 8 * MIB },
      { queue, offset: 10_000 },
    ]);
    expect([first.records.length, first.records.at(-1).offset]).toEqual([10_000, 9_999]);
    expect(first.highWatermark).toBe(10_001);
    expect(offsetsOf(last)).toEqual([10_000]);
  });

  it('12.1 minBytes counts over all entries', async () => {
    const [one, other] = [freshQueue(), freshQueue()];
    for (const queue of [one, other]) await calls.push(queue, { payload: 'xxxx' });
    const entries = [one, other].map((queue) => ({ queue, offset: 0 }));
    const from = Date.now();
    await fetchEntries(entries, { maxWaitMs: 20_000, minBytes: 12 });
    expect(Date.now() - from).toBeLessThan(10_000);
    // One byte more is not there: it is waited for.
    const asked = performance.now();
    await fetchEntries(entries, { maxWaitMs: 300, minBytes: 13 });
    expect(performance.now() - asked).toBeGreaterThanOrEqual(290);
  });

  it('12.1 a wait ends when an entry turns wrong, and not for other partitions', async () => {
    const [queue, other] = [freshQueue(), freshQueue()];
    await calls.push(queue, 'a');
    const waiting = fetchEntries([{ queue, offset: 1 }], { maxWaitMs: 30_000 });
    let ended = false;
    void waiting.then(() => (ended = true));
    await calls.push(other, 'a');
    await calls.push(queue, { id: 'b', partition: 'elsewhere' });
    expect(ended).toBe(false);
    const remove = () => broker.send('DELETE', `/api/v1/resources/queues/${queue}`);
    // Looked at again at least every second.
    const entries = await promptly(waiting, remove);
    expect(entries).toMatchObject([{ error: 'UNKNOWN_TOPIC_OR_PARTITION' }]);
  });

  it('12.1 takes no lease and moves no cursor', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    await fetchEntries([{ queue, offset: 0 }]);
    expect(await calls.depth(queue)).toMatchObject({ pending: 1, processing: 0 });
  });
});

describe('12.2 fetch/offsets', () => {
  it('12.2 a time is resolved to the append at or after it; all of an append share it', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a', 'b');
    await calls.push(queue, 'c');
    const [{ records }] = await fetchEntries([{ queue, offset: 0 }]);
    expect(records[0].ts).toBe(records[1].ts);
    const found = await offsets(
      { queue, timestamp: records[0].ts },
      { queue, timestamp: records[2].ts },
      { queue, timestamp: Date.parse(records[0].ts) },
      { queue, timestamp: 4_102_444_800_000 },
    );
    expect(found.map(({ offset, ts }) => [offset, ts])).toEqual([
      [0, records[0].ts],
      [2, records[2].ts],
      [0, records[0].ts],
      [null, null],
    ]);
  });

  it('12.2 an empty partition: nothing, and no error', async () => {
    const queue = freshQueue();
    await calls.configure(queue, {});
    expect(await offsets({ queue, timestamp: 0 })).toEqual([
      {
        ...{ queue, partition: 'Default', offset: null, ts: null },
        ...{ highWatermark: 0, logStartOffset: 0 },
      },
    ]);
  });
});

describe('12.3 partitions/changed', () => {
  const lanes = ['a', 'b', 'c'];
  const queue = 'rows12-changed';

  beforeAll(async () => {
    for (const partition of lanes) await calls.push(queue, { id: 'x', partition });
  });

  const names = ({ partitions }: Wire): string[] => partitions.map(({ name }: Wire) => name);

  it.each([
    ['0 is 1', 0, ['a'], 'n|a'],
    ['a full page names the next', 3, lanes, 'n|c'],
    ['a page that is not full does not', 4, lanes, null],
    ['more than 1,000 is 1,000', 5_000, lanes, null],
  ])('12.3 limit: %s', async (_row, limit, listed, next) => {
    const page = await changed({ queue, limit });
    expect([names(page), page.next]).toEqual([listed, next]);
  });

  it('12.3 since is inclusive; the cursor carries µs and the name', async () => {
    const { partitions } = await changed({ queue });
    const since = partitions[1].lastWriteAt;
    expect(names(await changed({ queue, since }))).toEqual(['b', 'c']);
    const page = await changed({ queue, since, limit: 1 });
    const micros = `${Date.parse(since)}${since.slice(23, 26)}`;
    expect(page.next).toBe(`t|${micros}|b`);
    expect(names(await changed({ queue, since, after: page.next }))).toEqual(['c']);
  });

  it.each(['', 'x|a', 'a', 't|', 't|x|a'])('12.3 the cursor %j is wrong', async (after) => {
    const since = '2020-01-01T00:00:00Z';
    expect(await changed({ queue, after })).toEqual({ queue, error: 'BAD_CURSOR' });
    expect(await changed({ queue, since, after })).toEqual({ queue, error: 'BAD_CURSOR' });
  });

  it('12.3 a cursor behind everything gives an empty page', async () => {
    expect(await changed({ queue, after: 'n|z' })).toEqual({ queue, partitions: [], next: null });
  });
});
