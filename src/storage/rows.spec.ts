/** Overlay, views and checkpoints against a plain model. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CheckpointWriter } from './checkpoint-writer.js';
import { Overlay } from './overlay.js';
import { Rows, type StoreView } from './rows.js';
import { Store } from './store.js';
import type { Row } from './store-snapshot.js';

jest.setTimeout(180_000);

/** Reference: a sorted list of [hex key, value text], sharing nothing with the code under test. */
type Model = Map<string, string>;

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const text = (value: Uint8Array): string => Buffer.from(value).toString('latin1');

function expected(model: Model, from?: string, to?: string): [string, string][] {
  return [...model]
    .filter(([key]) => (from === undefined || key >= from) && (to === undefined || key < to))
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

async function scanned(
  view: StoreView,
  range: { from?: string; to?: string } = {},
  options: { reverse?: boolean; limit?: number } = {},
): Promise<[string, string][]> {
  const rows: [string, string][] = [];
  const keys = {
    ...(range.from === undefined ? {} : { from: bytes(range.from) }),
    ...(range.to === undefined ? {} : { to: bytes(range.to) }),
  };
  for await (const [key, value] of view.iterate(keys, options)) rows.push([text(key), text(value)]);
  return rows;
}

/** Small deterministic generator, so that a failure repeats. */
function randomOf(seed: number): (bound: number) => number {
  let state = seed >>> 0 || 1;
  return (bound) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % bound;
  };
}

describe('rows over overlay and store', () => {
  let directory: string;
  let store: Store;
  let overlay: Overlay;
  let rows: Rows;
  let writer: CheckpointWriter;
  const meta = (appliedIndex: number) => ({
    appliedIndex,
    appliedTerm: 1,
    digest: new Uint8Array(8),
    extra: bytes(`extra ${appliedIndex}`),
  });

  const openAll = async (): Promise<void> => {
    store = await Store.open({ directory });
    overlay = new Overlay();
    rows = new Rows(store, overlay);
    writer = new CheckpointWriter({ store, overlay });
  };

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'queen-rows-'));
    await openAll();
  });

  afterEach(async () => {
    await writer.settled();
    await store.close();
    await rm(directory, { recursive: true, force: true });
  });

  test('a row is read from the overlay, then from the store, and survives a restart', async () => {
    rows.put(bytes('\x02a'), bytes('1'));
    rows.put(bytes('\x02b'), bytes('2'));
    expect(text(rows.get(bytes('\x02a'))!)).toBe('1');
    await writer.write(0, meta(7));
    expect(overlay.get(bytes('\x02a'))).toBeUndefined();
    expect(text(rows.get(bytes('\x02a'))!)).toBe('1');
    rows.delete(bytes('\x02a'));
    expect(rows.get(bytes('\x02a'))).toBeUndefined();
    expect(writer.durableIndex).toBe(7);
    await store.close();
    await openAll();
    expect(store.meta).toMatchObject({ appliedIndex: 7, appliedTerm: 1, extra: bytes('extra 7') });
    const found = await rows.getMany([bytes('\x02a'), bytes('\x02zz'), bytes('\x02b')]);
    expect(found.map((value) => value && text(value))).toEqual(['1', undefined, '2']);
  });

  test('a value handed out never changes', () => {
    const value = bytes('abc');
    rows.put(bytes('\x02k'), value);
    const held = rows.get(bytes('\x02k'))!;
    value[0] = 0;
    rows.put(bytes('\x02k'), bytes('xyz'));
    rows.delete(bytes('\x02k'));
    expect(text(held)).toBe('abc');
  });

  test('keyspace 0 and the empty key are the store’s own', () => {
    expect(() => rows.put(bytes('\0m'), bytes(''))).toThrow(RangeError);
    expect(() => rows.delete(new Uint8Array())).toThrow(RangeError);
  });

  test.each([1, 2, 3, 4])(
    'views are instants: random writes against a model, seed %i',
    async (seed) => {
      const random = randomOf(seed * 7919);
      const model: Model = new Map();
      const held: { view: StoreView; model: Model }[] = [];
      let index = 0;
      for (let step = 0; step < 400; step++) {
        for (let i = 0; i < 20; i++) {
          const key = String.fromCharCode(1 + random(3)) + random(300).toString(36);
          if (random(4) === 0) {
            rows.delete(bytes(key));
            model.delete(key);
          } else {
            const value = `${step}.${i}.${'x'.repeat(random(90))}`;
            rows.put(bytes(key), bytes(value));
            model.set(key, value);
          }
        }
        index++;
        if (random(8) === 0) held.push({ view: rows.view(), model: new Map(model) });
        if (random(10) === 0 && !writer.isWriting) void writer.write(index, meta(index));
        if (held.length > 4 || step === 399) {
          const { view, model: then } = held.shift() ?? { view: rows.view(), model };
          await checkView(view, then, random);
          await view.close();
        }
      }
      for (const [key, value] of model) expect(text(rows.get(bytes(key))!)).toBe(value);
      await Promise.all(held.map(({ view }) => view.close()));
    },
  );

  async function checkView(
    view: StoreView,
    model: Model,
    random: (bound: number) => number,
  ): Promise<void> {
    const all = expected(model);
    expect(await scanned(view)).toEqual(all);
    const from = String.fromCharCode(1 + random(3)) + random(300).toString(36);
    const to = from[0]! + 'z';
    const part = expected(model, from, to);
    expect(await scanned(view, { from, to })).toEqual(part);
    expect(await scanned(view, { from, to }, { reverse: true })).toEqual(part.toReversed());
    const limit = 1 + random(20);
    expect(await scanned(view, { from }, { limit })).toEqual(expected(model, from).slice(0, limit));
    expect(await scanned(view, { to }, { limit, reverse: true })).toEqual(
      expected(model, undefined, to).toReversed().slice(0, limit),
    );
    const keys = [all[0]?.[0] ?? from, from, '\x02none'];
    const found = await view.getMany(keys.map(bytes));
    expect(found.map((value) => value && text(value))).toEqual(keys.map((key) => model.get(key)));
    const single = await view.get(bytes(keys[0]!));
    expect(single && text(single)).toBe(model.get(keys[0]!));
  }

  test('a scan of many rows runs in pages and stays right across the sliced sort', async () => {
    const model: Model = new Map();
    const random = randomOf(5);
    for (let i = 0; i < 30_000; i++) {
      const key = `\x03${random(1 << 30).toString(36)}`;
      model.set(key, `${i}`);
      rows.put(bytes(key), bytes(`${i}`));
      if (i === 12_000) await writer.write(i, meta(i));
    }
    const view = rows.view();
    const scan = view.scan();
    const seen: Row[] = [];
    let pages = 0;
    for (let page = await scan.next(); page !== undefined; page = await scan.next()) {
      pages++;
      seen.push(...page);
    }
    await view.close();
    expect(pages).toBeGreaterThan(10);
    expect(seen.map(([key, value]) => [text(key), text(value)])).toEqual(expected(model));
  });

  test('a scan left early closes its iterator', async () => {
    for (let i = 0; i < 5_000; i++) rows.put(bytes(`\x02${i}`), bytes('v'));
    await writer.write(0, meta(1));
    const view = rows.view();
    for await (const [key] of view.iterate()) {
      expect(key[0]).toBe(2);
      break;
    }
    await view.close();
  });

  test('the overlay says when it is full and when it has room again', async () => {
    overlay = new Overlay({ maxBytes: 4_000 });
    writer = new CheckpointWriter({ store, overlay });
    let drained = 0;
    overlay.onDrain(() => drained++);
    for (let i = 0; !overlay.isFull; i++) overlay.put(bytes(`\x02${i}`), bytes('value'));
    expect(writer.due(0, 1)).toBe(true);
    const written = writer.write(0, meta(1));
    expect(overlay.isFull).toBe(true);
    expect(drained).toBe(0);
    await written;
    expect(overlay.isFull).toBe(false);
    expect(drained).toBe(1);
  });

  test('a checkpoint is due by time or bytes, never twice, never for nothing', async () => {
    writer = new CheckpointWriter({ store, overlay, intervalMs: 250, maxBytes: 2_000 });
    expect(writer.due(1_000, 0)).toBe(false);
    rows.put(bytes('\x02a'), bytes('1'));
    expect(writer.due(1_000, 1)).toBe(true);
    const written = writer.write(1_000, meta(1));
    rows.put(bytes('\x02b'), bytes('1'));
    expect(writer.due(9_000, 2)).toBe(false);
    await written;
    expect(writer.due(1_249, 2)).toBe(false);
    expect(writer.due(1_250, 2)).toBe(true);
    for (let i = 0; i < 40; i++) rows.put(bytes(`\x02x${i}`), bytes('1'));
    expect(writer.due(1_001, 2)).toBe(true);
    await writer.write(1_001, meta(2));
    expect(writer.due(9_000, 2)).toBe(false);
    expect(writer.due(9_000, 3)).toBe(true);
  });
});
