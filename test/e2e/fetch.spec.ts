/** Reads by offset (messages.md §12): records, bounds, waits, offsets by time, changed partitions. */
import { fetchOnce } from '../../src/messages/fetch-read.js';
import { FetchService } from '../../src/messages/fetch.service.js';
import { Groups } from '../../src/raft/index.js';
import { DEFAULT_TENANT } from '../../src/tenancy/tenant.js';
import { TestBroker } from '../support/broker.js';
import { eventually, promptly } from './calls.js';

let broker: TestBroker;

beforeAll(async () => {
  broker = await TestBroker.start();
  for (let n = 0; n < 4; n += 1) await push('q', 'p', { n });
  await push('q', '7', 'seven');
  await push('q', 'Default', null);
});

afterAll(() => broker.stop());

const push = (queue: string, partition: string, payload: unknown) =>
  broker.post('/api/v1/push', { items: [{ queue, partition, payload }] });

const fetchEntries = async (entries: readonly object[], more: object = {}) => {
  const answer = await broker.post('/api/v1/fetch', { entries, ...more });
  expect(answer.status).toBe(200);
  return answer.json.entries;
};

describe('fetch', () => {
  it('gives records from an offset, watermarks, in the order of the entries', async () => {
    const entries = await fetchEntries([
      { queue: 'q', partition: 7, offset: 0 },
      { queue: 'q', partition: 'p', offset: 2 },
      { queue: 'q', offset: 0 },
    ]);
    const ts = expect.stringMatching(/\.\d{6}Z$/) as string;
    const transactionId = expect.any(String) as string;
    expect(entries).toEqual([
      {
        ...{ queue: 'q', partition: '7', highWatermark: 1, logStartOffset: 0 },
        records: [{ offset: 0, transactionId, payload: 'seven', ts }],
      },
      {
        ...{ queue: 'q', partition: 'p', highWatermark: 4, logStartOffset: 0 },
        records: [
          { offset: 2, transactionId, payload: { n: 2 }, ts },
          { offset: 3, transactionId, payload: { n: 3 }, ts },
        ],
      },
      expect.objectContaining({
        partition: 'Default',
        records: [{ offset: 0, transactionId, payload: null, ts }],
      }),
    ]);
  });

  it('tells missing queues and offsets out of range per entry', async () => {
    const entries = await fetchEntries([
      { queue: 'none', partition: 'p', offset: 0 },
      { queue: 'q', partition: 'p', offset: 5 },
      { queue: 'q', partition: 'p', offset: 4 },
      { queue: 'q', partition: 'unwritten', offset: 0 },
    ]);
    expect(entries).toEqual([
      expect.objectContaining({ records: [], error: 'UNKNOWN_TOPIC_OR_PARTITION' }),
      expect.objectContaining({ records: [], error: 'OFFSET_OUT_OF_RANGE', highWatermark: 4 }),
      { queue: 'q', partition: 'p', records: [], highWatermark: 4, logStartOffset: 0 },
      { queue: 'q', partition: 'unwritten', records: [], highWatermark: 0, logStartOffset: 0 },
    ]);
  });

  it('stays inside the bytes, but gives at least one record', async () => {
    for (let n = 0; n < 5; n += 1) await push('big', 'p', 'x'.repeat(1000));
    const counts = async (maxBytes: number): Promise<number> =>
      (await fetchEntries([{ queue: 'big', partition: 'p', offset: 0, maxBytes }]))[0].records
        .length;
    expect([await counts(1), await counts(0), await counts(2500), await counts(1e9)]).toEqual([
      1, 1, 2, 5,
    ]);
  });

  it('is woken by an append to its partition, also to one that did not exist', async () => {
    for (const [partition, offset] of [
      ['p', 4],
      ['new', 0],
    ] as const) {
      const started = Date.now();
      const waiting = fetchEntries([{ queue: 'q', partition, offset }], { maxWaitMs: 20_000 });
      await new Promise((resolve) => setTimeout(resolve, 150));
      await push('q', partition, 'woken');
      expect((await waiting)[0].records).toMatchObject([{ offset, payload: 'woken' }]);
      expect(Date.now() - started).toBeLessThan(10_000);
    }
  });

  it('waits for enough bytes, and no longer than it may', async () => {
    const entries = [{ queue: 'gather', partition: 'p', offset: 0 }];
    await broker.post('/api/v1/configure', { queue: 'gather' });
    const waiting = fetchEntries(entries, { maxWaitMs: 30_000, minBytes: 12 });
    const pushes = async (): Promise<void> => {
      for (const payload of ['aaaa', 'bbbb']) {
        await new Promise((resolve) => setTimeout(resolve, 80));
        await push('gather', 'p', payload);
      }
    };
    expect((await promptly(waiting, pushes))[0].records).toHaveLength(2);
    const started = Date.now();
    const none = await fetchEntries([{ queue: 'gather', partition: 'p', offset: 2 }], {
      maxWaitMs: 200,
    });
    expect(none[0].records).toEqual([]);
    expect(Date.now() - started).toBeGreaterThanOrEqual(190);
  });

  it('does not wait with an error, with minBytes 0, or with bytes there', async () => {
    const started = Date.now();
    const wait = { maxWaitMs: 20_000 };
    await fetchEntries([{ queue: 'none', offset: 0 }], wait);
    await fetchEntries([{ queue: 'q', partition: 'x', offset: 0 }], { ...wait, minBytes: 0 });
    await fetchEntries([{ queue: 'q', partition: 'p', offset: 0 }], wait);
    expect(Date.now() - started).toBeLessThan(15_000);
  });

  it('lets the broker stop while fetches wait', async () => {
    const other = await TestBroker.start();
    const body = { entries: [{ queue: 'q', offset: 0 }], maxWaitMs: 30_000 };
    await other.post('/api/v1/configure', { queue: 'q' });
    const answer = other.post('/api/v1/fetch', body);
    const service = other.nest.get(FetchService, { strict: false });
    const { waiting } = service as unknown as { readonly waiting: ReadonlySet<unknown> };
    await eventually(async () => waiting.size === 1 || null);
    const { json } = await promptly(answer, () => other.stop());
    expect(json.entries[0].records).toEqual([]);
  });

  it.each([
    [{}, { code: 'bad_body' }],
    [{ entries: [{ offset: 0 }] }, { code: 'bad_request' }],
    [{ entries: [{ queue: 'q' }] }, { code: 'bad_body' }],
    [{ entries: [{ queue: 'q', offset: 1.5 }] }, { code: 'bad_body' }],
    [{ entries: [{ queue: 'q', offset: -1 }] }, { code: 'bad_request' }],
    [{ entries: [{ queue: 'q', partition: {}, offset: 0 }] }, { code: 'bad_body' }],
  ])('refuses %j', async (body, answer) => {
    const { json, status } = await broker.post('/api/v1/fetch', body);
    expect([status, json]).toMatchObject([400, answer]);
  });

  it('refuses too many entries without a code', async () => {
    const entries = Array.from({ length: 1025 }, () => ({ queue: 'q', offset: 0 }));
    const { json } = await broker.post('/api/v1/fetch', { entries });
    expect(json).toEqual({ error: 'too many entries' });
  });

  it.each(['x', '5', true, {}, []])('takes %j for no number', async (value) => {
    for (const [route, body, at] of [
      ['fetch', { entries: [{ queue: 'q', offset: 0, maxBytes: value }] }, 'entries[0].maxBytes'],
      ['fetch', { entries: [], maxWaitMs: value }, 'maxWaitMs'],
      ['fetch', { entries: [], minBytes: value }, 'minBytes'],
      ['partitions/changed', { entries: [{ queue: 'q', limit: value }] }, 'entries[0].limit'],
    ] as const) {
      const { json, status } = await broker.post(`/api/v1/${route}`, body);
      expect([status, json]).toEqual([400, { error: `${at} must be a number`, code: 'bad_body' }]);
    }
  });

  it('is bounded as a whole: entries beyond come back without records', async () => {
    for (const partition of ['a', 'b', 'c']) await push('full', partition, 'x'.repeat(1000));
    const group = broker.nest.get(Groups).first;
    const entries = ['a', 'b', 'c'].map((partition) => ({ queue: 'full', partition, offset: 0 }));
    const asked = entries.map((entry) => ({ ...entry, maxBytes: 1_000_000 }));
    const counts = async (bytes: number): Promise<readonly [number[], boolean]> => {
      const pass = await fetchOnce(group, DEFAULT_TENANT, asked, bytes);
      expect(pass.entries.map(({ highWatermark, error }) => [highWatermark, error])).toEqual(
        asked.map(() => [1, null]),
      );
      return [pass.entries.map(({ records }) => records.length), pass.isFull];
    };
    expect(await counts(1)).toEqual([[1, 0, 0], true]);
    expect(await counts(1_002)).toEqual([[1, 0, 0], true]);
    expect(await counts(2_000)).toEqual([[1, 1, 0], true]);
    expect(await counts(100_000)).toEqual([[1, 1, 1], false]);
  });
});

describe('fetch/offsets', () => {
  const offsets = (entries: object[]) => broker.post('/api/v1/fetch/offsets', { entries });

  it('finds the first offset at or after a time', async () => {
    await push('times', 'p', 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const between = Date.now();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await push('times', 'p', 2);
    const at = { queue: 'times', partition: 'p' };
    const { json } = await offsets([
      { ...at, timestamp: 0 },
      { ...at, timestamp: between },
      { ...at, timestamp: new Date(between).toISOString() },
      { ...at, timestamp: '2200-01-01T00:00:00Z' },
      { queue: 'times', partition: 'none', timestamp: 0 },
      { queue: 'none', timestamp: 0 },
    ]);
    const found = json.entries.map((e: { offset: number; error?: string }) => e.error ?? e.offset);
    expect(found).toEqual([0, 1, 1, null, null, 'UNKNOWN_TOPIC_OR_PARTITION']);
    expect(json.entries[1]).toEqual({
      ...{ ...at, offset: 1, highWatermark: 2, logStartOffset: 0 },
      ts: expect.stringMatching(/\.\d{6}Z$/) as string,
    });
    expect(json.entries[3]).toMatchObject({ ts: null, highWatermark: 2 });
  });

  it.each([-1, 1.5, 'yesterday', null, {}])('refuses the time %j', async (timestamp) => {
    expect((await offsets([{ queue: 'q', timestamp }])).status).toBe(400);
  });
});

describe('partitions/changed', () => {
  const changed = async (entry: object) => {
    const answer = await broker.post('/api/v1/partitions/changed', { entries: [entry] });
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({
      safeTime: expect.stringMatching(/\.\d{6}Z$/) as string,
      safeTimeDegraded: false,
    });
    return { ...answer.json.entries[0], safeTime: answer.json.safeTime };
  };
  const names = (page: { partitions: { name: string }[] }): string[] =>
    page.partitions.map(({ name }) => name);

  beforeAll(async () => {
    for (const partition of ['c', 'a', 'b']) await push('ch', partition, 1);
    await push('ch', 'c', 2);
  });

  it('pages by name', async () => {
    const first = await changed({ queue: 'ch', limit: 2 });
    expect([names(first), first.next]).toEqual([['a', 'b'], 'n|b']);
    expect(first.partitions[0]).toEqual({
      ...{ name: 'a', lastOffset: 0, logStart: 0 },
      lastWriteAt: expect.stringMatching(/\.\d{6}Z$/) as string,
    });
    const second = await changed({ queue: 'ch', limit: 2, after: first.next });
    expect([names(second), second.next]).toEqual([['c'], null]);
  });

  it('pages by time of the last write, from an instant on', async () => {
    const since = '2020-01-01T00:00:00Z';
    const first = await changed({ queue: 'ch', since, limit: 2 });
    expect([names(first), first.next]).toEqual([['a', 'b'], expect.stringMatching(/^t\|\d+\|b$/)]);
    const second = await changed({ queue: 'ch', since, limit: 2, after: first.next });
    expect(names(second)).toEqual(['c']);
    expect(names(await changed({ queue: 'ch', since: '2200-01-01' }))).toEqual([]);
    expect(second.safeTime >= second.partitions[0].lastWriteAt).toBe(true);
  });

  it('is bounded as a whole: pages beyond have one lane and say where to go on', async () => {
    const items = Array.from({ length: 128 }, (_, i) => ({
      ...{ queue: 'wide', partition: String(i).padStart(3, '0'), payload: 1 },
    }));
    await broker.post('/api/v1/push', { items });
    const entries = Array.from({ length: 1024 }, () => ({ queue: 'wide' }));
    const { json } = await broker.post('/api/v1/partitions/changed', { entries });
    const pages = json.entries as { partitions: { name: string }[]; next: string | null }[];
    const lanes = pages.map(({ partitions, next }) => [partitions.length, next]);
    const whole = Math.floor(100_000 / 128);
    expect(lanes.slice(0, whole)).toEqual(Array.from({ length: whole }, () => [128, null]));
    expect(lanes[whole]).toEqual([100_000 % 128, expect.stringMatching(/^n\|/)]);
    expect(lanes.slice(whole + 1)).toEqual(
      Array.from({ length: 1024 - whole - 1 }, () => [1, 'n|000']),
    );
  });

  it('tells wrong cursors and missing queues per entry', async () => {
    const since = '2020-01-01T00:00:00Z';
    expect(await changed({ queue: 'ch', after: 't|1|a' })).toMatchObject({ error: 'BAD_CURSOR' });
    expect(await changed({ queue: 'ch', since, after: 'n|a' })).toMatchObject({
      error: 'BAD_CURSOR',
    });
    expect(await changed({ queue: 'none' })).toMatchObject({
      error: 'UNKNOWN_TOPIC_OR_PARTITION',
    });
    const refused = await broker.post('/api/v1/partitions/changed', {
      entries: [{ queue: 'ch', since: 'soon' }],
    });
    expect([refused.status, refused.json.code]).toEqual([400, 'bad_request']);
  });
});
