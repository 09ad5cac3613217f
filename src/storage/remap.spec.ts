/** Opening LevelDB again after the walk of a restart: nothing is lost, the mapped tables are given back. */
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Overlay } from './overlay.js';
import { Store } from './store.js';

const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');
const row = bytes('\x02row');
const meta = (appliedIndex: number) => ({
  ...{ appliedIndex, appliedTerm: 1, digest: new Uint8Array(8), extra: new Uint8Array() },
});

function layerOf(value: string): ReturnType<Overlay['freeze']> {
  const overlay = new Overlay();
  overlay.put(row, bytes(value));
  return overlay.freeze();
}

describe('remap', () => {
  let directory: string;
  let stores: Store[];

  const open = async (where = directory): Promise<Store> => {
    const store = await Store.open({ directory: where });
    stores.push(store);
    return store;
  };
  const valueIn = (store: Store): string =>
    Buffer.from(store.getSync(row) ?? []).toString('latin1');
  const mappedTables = async (): Promise<number> =>
    (await readFile('/proc/self/maps', 'latin1'))
      .split('\n')
      .filter((line) => line.includes(directory) && line.includes('.ldb')).length;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'queen-remap-'));
    stores = [];
  });
  afterEach(async () => {
    await Promise.allSettled(stores.map((store) => store.close()));
    await rm(directory, { recursive: true, force: true });
  });

  test('reads and writes go on, and what was confirmed opens again', async () => {
    const store = await open();
    await store.writeCheckpoint(layerOf('first'), meta(1));
    await store.remap();
    expect([store.checkpoint, valueIn(store)]).toEqual([1, 'first']);
    await store.writeCheckpoint(layerOf('second'), meta(2));
    await store.close();
    const again = await open();
    expect([again.meta?.appliedIndex, valueIn(again)]).toEqual([2, 'second']);
  });

  test('a process that ends right after it leaves a directory that opens', async () => {
    const store = await open();
    await store.writeCheckpoint(layerOf('first'), meta(1));
    await store.remap();
    const copy = join(directory, 'copy');
    await cp(join(directory, 'store'), join(copy, 'store'), { recursive: true });
    await cp(join(directory, 'checkpoint'), join(copy, 'checkpoint'));
    const killed = await open(copy);
    expect([killed.checkpoint, valueIn(killed)]).toEqual([1, 'first']);
  });

  test('gives back the tables that a walk has mapped', async () => {
    if (process.platform !== 'linux') return;
    const first = await open();
    await first.writeCheckpoint(layerOf('first'), meta(1));
    await first.close();
    const store = await open(); // The log of the first opening is a table now.
    await store.getMany([row]);
    expect(await mappedTables()).toBeGreaterThan(0);
    await store.remap();
    expect(await mappedTables()).toBe(0);
  });

  test('is refused while a checkpoint is written and after the end', async () => {
    const store = await open();
    const writing = store.writeCheckpoint(layerOf('first'), meta(1));
    await expect(store.remap()).rejects.toThrow('the store is in use');
    await writing;
    await store.close();
    await expect(store.remap()).rejects.toThrow('the store is in use');
  });
});
