/** The store on the real LevelDB: checked reads, poisoned writes, refused openings. */
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CheckpointWriter } from './checkpoint-writer.js';
import { StoreDamageError, StoreWriteError } from './errors.js';
import { Overlay } from './overlay.js';
import { Rows } from './rows.js';
import { seal } from './sealed-row.js';
import { Store } from './store.js';
import type { LevelReader } from './store-snapshot.js';

jest.setTimeout(180_000);

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const meta = (appliedIndex: number) => ({
  appliedIndex,
  appliedTerm: 1,
  digest: new Uint8Array(8).fill(appliedIndex),
  extra: new Uint8Array(),
});
const readerOf = (store: Store): LevelReader => Reflect.get(store, 'reader') as LevelReader;

/** A layer with one row per text. */
function layerOf(...keys: string[]): ReturnType<Overlay['freeze']> {
  const overlay = new Overlay();
  for (const key of keys) overlay.put(bytes(`\x02${key}`), bytes(`value of ${key}`));
  return overlay.freeze();
}

describe('store', () => {
  let directory: string;
  let damages: StoreDamageError[];
  let stores: Store[];

  const open = async (where = directory): Promise<Store> => {
    const onDamage = (error: StoreDamageError): void => void damages.push(error);
    const store = await Store.open({ directory: where, onDamage });
    stores.push(store);
    return store;
  };

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'queen-store-'));
    damages = [];
    stores = [];
  });
  afterEach(async () => {
    await Promise.allSettled(stores.map((store) => store.close()));
    await rm(directory, { recursive: true, force: true });
  });

  describe('every read is checked', () => {
    const key = bytes('\x02row');
    let store: Store;

    beforeEach(async () => {
      store = await open();
      await store.writeCheckpoint(layerOf('row'), meta(1));
    });

    const wrong: [string, () => Uint8Array][] = [
      ['a flipped bit', () => flipped(seal(key, bytes('value of row')), 9)],
      ['a flipped checksum', () => flipped(seal(key, bytes('value of row')), 2)],
      ['the value of another key', () => seal(bytes('\x02rov'), bytes('value of row'))],
      ['an unknown version', () => flipped(seal(key, bytes('value of row')), 0)],
      ['nothing', () => new Uint8Array()],
    ];

    test.each(wrong)('%s under a key is damage, on every way of reading', async (_name, make) => {
      await readerOf(store).level.put(key, make());
      const expected = { code: 'store_damage', keyspace: 2, keyHex: '02726f77' };
      const view = new Rows(store, new Overlay()).view();
      expect(() => store.getSync(key)).toThrow(StoreDamageError);
      await expect(store.getMany([key])).rejects.toMatchObject(expected);
      await expect(view.get(key)).rejects.toMatchObject(expected);
      await expect(view.getMany([key])).rejects.toMatchObject(expected);
      await expect(view.scan().next()).rejects.toMatchObject(expected);
      await expect(view.scan({}, { reverse: true }).next()).rejects.toMatchObject(expected);
      await view.close();
      expect(damages).toHaveLength(1);
      expect(damages[0]).toMatchObject({ file: join(directory, 'store'), ...expected });
    });
  });

  describe('writing', () => {
    test('one checkpoint at a time', async () => {
      const store = await open();
      const first = store.writeCheckpoint(layerOf('a'), meta(1));
      await expect(store.writeCheckpoint(layerOf('b'), meta(2))).rejects.toThrow('one checkpoint');
      await first;
      expect(store.meta?.appliedIndex).toBe(1);
    });

    test('close waits for the checkpoint under way', async () => {
      const store = await open();
      const written = store.writeCheckpoint(layerOf('a'), meta(1));
      await store.close();
      await written;
      expect((await open()).meta?.appliedIndex).toBe(1);
    });

    test('a failed write poisons the store for good, and reads still see every layer', async () => {
      const store = await open();
      const overlay = new Overlay();
      const writer = new CheckpointWriter({ store, overlay });
      const rows = new Rows(store, overlay);
      overlay.put(bytes('\x02a'), bytes('1'));
      const { level } = readerOf(store);
      const batch = level.batch;
      Reflect.set(level, 'batch', () => {
        const chained = batch.call(level) as unknown as { write: () => Promise<void> };
        chained.write = () => Promise.reject(new Error('no space left on device'));
        return chained;
      });
      await expect(writer.write(0, meta(1))).rejects.toThrow(/no space left on device/);
      Reflect.set(level, 'batch', batch);
      expect(writer.durableIndex).toBe(0);
      expect(writer.due(10_000, 2)).toBe(false);
      expect(store.poisonedBy).toBeInstanceOf(StoreWriteError);
      await expect(store.writeCheckpoint(layerOf('b'), meta(2))).rejects.toBe(store.poisonedBy);
      expect(rows.get(bytes('\x02a'))).toEqual(bytes('1'));
    });

    test('a checkpoint whose record is not durable is not confirmed', async () => {
      const store = await open();
      await store.writeCheckpoint(layerOf('a'), meta(1));
      const { file } = Reflect.get(store, 'state') as { file: { close(): Promise<void> } };
      await file.close();
      await expect(store.writeCheckpoint(layerOf('b'), meta(2))).rejects.toThrow(StoreWriteError);
      expect(store.meta?.appliedIndex).toBe(1);
    });
  });

  describe('opening', () => {
    test('checkpoint numbers go on across restarts', async () => {
      for (let n = 1; n <= 4; n++) {
        const store = await open();
        expect(store.checkpoint).toBe(n - 1);
        await store.writeCheckpoint(layerOf(`k${n}`), meta(n));
        await store.close();
      }
      const store = await open();
      expect(store.getSync(bytes('\x02k1'))).toEqual(Buffer.from('value of k1'));
      expect(store.getSync(bytes('\x02k4'))).toEqual(Buffer.from('value of k4'));
    });

    test('a first start that died between record and LevelDB starts afresh', async () => {
      await (await open()).close();
      const record = await readFile(join(directory, 'checkpoint'));
      // The record as it is before LevelDB exists: no log named yet.
      const { encodeSlot } = await import('./checkpoint-record.js');
      const slot = encodeSlot({
        storeId: record.subarray(8, 24),
        checkpoint: 0,
        appliedIndex: 0,
        appliedTerm: 0,
        digest: new Uint8Array(8),
        logNumber: 0,
        logLength: 0,
        levelSequence: 0,
      });
      await writeFile(join(directory, 'checkpoint'), Buffer.concat([slot, slot]));
      await rm(join(directory, 'store', 'CURRENT'));
      const store = await open();
      expect(store.meta).toBeNull();
      await store.writeCheckpoint(layerOf('a'), meta(1));
    });

    const refusals: [string, (file: (name: string) => string) => Promise<unknown>, string][] = [
      ['the record is missing', (file) => rm(file('checkpoint')), 'checkpoint'],
      ['LevelDB is missing', (file) => rm(file('store'), { recursive: true }), 'store/CURRENT'],
      ['CURRENT is missing', (file) => rm(file('store/CURRENT')), 'store/CURRENT'],
      [
        'CURRENT names another file',
        (file) => writeFile(file('store/CURRENT'), 'MANIFEST-000099\n'),
        'store/MANIFEST-000099',
      ],
    ];

    test.each(refusals)('is refused when %s', async (_name, damage, named) => {
      const store = await open();
      await store.writeCheckpoint(layerOf('a'), meta(1));
      await store.close();
      await damage((name) => join(directory, name));
      const error: unknown = await open().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(StoreDamageError);
      expect((error as StoreDamageError).file).toBe(join(directory, named));
      expect((error as StoreDamageError).message).toContain('replace this node');
    });

    test('the record of another store is refused', async () => {
      const other = join(directory, 'other');
      for (const where of [directory, other]) {
        const store = await open(where);
        await store.writeCheckpoint(layerOf('a'), meta(1));
        await store.close();
      }
      await copyFile(join(other, 'checkpoint'), join(directory, 'checkpoint'));
      await expect(open()).rejects.toThrow(/another store|different stores/);
    });

    test('an older copy of the whole LevelDB under the newer record is refused', async () => {
      const store = await open();
      await store.writeCheckpoint(layerOf('a'), meta(1));
      await store.close();
      const { cp } = await import('node:fs/promises');
      await cp(join(directory, 'store'), join(directory, 'old'), { recursive: true });
      const again = await open();
      await again.writeCheckpoint(layerOf('b'), meta(2));
      await again.close();
      await rm(join(directory, 'store'), { recursive: true });
      await cp(join(directory, 'old'), join(directory, 'store'), { recursive: true });
      await expect(open()).rejects.toMatchObject({ code: 'store_damage' });
    });

    test('an older record beside the newer LevelDB is refused', async () => {
      const store = await open();
      await store.writeCheckpoint(layerOf('a'), meta(1));
      const old = await readFile(join(directory, 'checkpoint'));
      for (let n = 2; n < 6; n++) await store.writeCheckpoint(layerOf('b'), meta(n));
      await store.close();
      await writeFile(join(directory, 'checkpoint'), old);
      await expect(open()).rejects.toMatchObject({ code: 'store_damage' });
    });
  });
});

function flipped(sealed: Uint8Array, at: number): Uint8Array {
  sealed[at]! ^= 4;
  return sealed;
}
