/** The id index against a plain map: nothing added inside the window is ever missed. */
import fsp, { mkdtemp, open, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { micros, offset, partitionId } from '../../common/ids.js';
import { Prng } from '../../common/prng.js';
import { IdIndex } from './id-index.js';

const SECOND = 1_000_000;
jest.setTimeout(180_000);

class Model {
  readonly prng = new Prng(7);
  readonly places = new Map<string, { offset: number; base: number }[]>();
  readonly rows = new Map<string, Uint8Array>();
  now = 1_000 * SECOND;

  constructor(public index: IdIndex) {}

  hash(): Uint8Array {
    const bytes = new Uint8Array(16);
    this.prng.fill(bytes);
    return bytes;
  }

  add(partition: number, hash: Uint8Array, at: number, base: number): void {
    this.index.beginEntry();
    const place = { offset: offset(at), baseOffset: offset(base), createdAt: micros(this.now) };
    this.index.add(partitionId(partition), { bytes: hash, at: 0 }, place);
    const key = `${partition}:${Buffer.from(hash).toString('hex')}`;
    const known = this.places.get(key) ?? [];
    known.push({ offset: at, base });
    this.places.set(key, known);
  }

  journal(): void {
    const hex = (key: Uint8Array): string => Buffer.from(key).toString('hex');
    this.index.journal({
      put: (key, value) => this.rows.set(hex(key), value),
      delete: (key) => this.rows.delete(hex(key)),
    });
  }

  async restart(directory: string, tableBits: number): Promise<void> {
    await this.index.close();
    this.index = await IdIndex.open({ directory, tableBits });
    for (const key of [...this.rows.keys()].sort()) {
      this.index.loadJournalRow(Buffer.from(key, 'hex'), this.rows.get(key)!);
    }
  }

  /** Newest first, as candidates gives them. */
  async candidates(partition: number, hash: Uint8Array, announced = true) {
    this.index.beginEntry();
    if (announced) {
      this.index.announce(partition, hash, 0);
      await this.index.load();
    }
    const found: { offset: number; base: number }[] = [];
    this.index.candidates(partitionId(partition), { bytes: hash, at: 0 }, (at, base) => {
      found.push({ offset: at, base });
      return false;
    });
    return found;
  }

  async checkAll(announced = true): Promise<void> {
    for (const [key, places] of this.places) {
      const [partition, hex] = key.split(':') as [string, string];
      const found = await this.candidates(Number(partition), Buffer.from(hex, 'hex'), announced);
      expect(new Set(found.map((place) => place.offset))).toEqual(
        new Set(places.map((place) => place.offset)),
      );
      for (const place of found) {
        expect(places).toContainEqual(place);
      }
    }
  }

  async settle(): Promise<void> {
    for (let i = 0; i < 6; i += 1) {
      await this.index.settled();
      this.index.beginEntry();
    }
  }
}

describe('IdIndex', () => {
  let directory: string;
  let model: Model;
  const bits = 8;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'queen-ids-'));
    model = new Model(await IdIndex.open({ directory, tableBits: bits }));
    model.index.expire(model.now, 3600 * SECOND);
  });

  afterEach(async () => {
    await model.index.close();
    await rm(directory, { recursive: true });
  });

  function fill(count: number): void {
    for (let i = 0; i < count; i += 1) {
      model.add(1 + (i % 3), model.hash(), i + 2 ** 33, i - (i % 5) + 2 ** 33);
    }
  }

  it('finds everything while tables are sealed and merged', async () => {
    fill(1500);
    await model.checkAll();
    await model.settle();
    expect(model.index.stats.runs).toBeGreaterThan(0);
    await model.checkAll();
    await model.checkAll(false);
    fill(1500);
    await model.settle();
    // 192 ids a run, merged by four: 15 runs become a handful.
    expect(model.index.stats.runs).toBeLessThanOrEqual(7);
    await model.checkAll();
  });

  it('does not confuse partitions', async () => {
    const hash = model.hash();
    model.add(1, hash, 5, 5);
    expect(await model.candidates(2, hash)).toEqual([]);
    expect(await model.candidates(1 + 2 ** 32, hash)).toEqual([]);
    expect(await model.candidates(1, hash)).toEqual([{ offset: 5, base: 5 }]);
  });

  it('keeps the newest places of an id that is repeated for ever', async () => {
    const hash = model.hash();
    for (let i = 0; i < 5000; i += 1) model.add(1, hash, i, i);
    const found = await model.candidates(1, hash);
    expect(found.map((place) => place.offset).slice(0, 3)).toEqual([4999, 4998, 4997]);
    expect(found.length).toBeLessThanOrEqual(8);
  });

  it('comes back from runs and journal', async () => {
    fill(700);
    model.journal();
    await model.settle();
    await model.restart(directory, bits);
    await model.checkAll();
    fill(700);
    model.journal();
    await model.restart(directory, bits);
    await model.checkAll();
    await model.settle();
    model.journal();
    // Only what no run covers stays in the journal.
    expect(model.rows.size).toBeLessThan(4);
  });

  it('makes the names it finds durable before anything relies on them', async () => {
    fill(700);
    model.journal();
    await model.settle();
    // After a kill they may be in the page cache alone; the next list of runs names them.
    const opens = jest.spyOn(fsp, 'open');
    await model.restart(directory, bits);
    const opened = opens.mock.calls.map(([path]) => path);
    opens.mockRestore();
    const firstRun = opened.findIndex((path) => String(path).endsWith('.run'));
    expect(opened.slice(0, firstRun)).toContain(directory);
  });

  it('loses nothing when the process dies before a run is written', async () => {
    fill(500);
    model.journal();
    await model.settle();
    const rows = new Map(model.rows);
    model.journal();
    // The checkpoint with the deletions never became durable.
    model.rows.clear();
    for (const [key, value] of rows) model.rows.set(key, value);
    await model.restart(directory, bits);
    await model.checkAll();
  });

  it('unlinks runs older than the window', async () => {
    fill(700);
    await model.settle();
    model.now += 4000 * SECOND;
    // The first call seals what is left in memory, the second finds it too old.
    for (let i = 0; i < 2; i += 1) {
      model.index.expire(model.now, 3600 * SECOND);
      await model.settle();
    }
    expect(model.index.stats.runs).toBe(0);
    expect((await readdir(directory)).filter((name) => name.endsWith('.run'))).toEqual([]);
  });

  it('removes what a crash left and refuses a damaged run', async () => {
    fill(200);
    await model.settle();
    await model.index.close();
    await writeFile(join(directory, '0000000099-0000000099.run.tmp'), 'half');
    model.index = await IdIndex.open({ directory, tableBits: bits });
    await model.index.close();
    const names = await readdir(directory);
    expect(names.every((name) => name.endsWith('.run'))).toBe(true);
    await truncate(join(directory, names[0]!), 5000);
    await expect(IdIndex.open({ directory, tableBits: bits })).rejects.toThrow('damaged id index');
    await rm(join(directory, names[0]!));
    model.index = await IdIndex.open({ directory, tableBits: bits });
  });

  it('asks for a rebuild until one reached the disk', async () => {
    fill(700);
    await model.settle();
    model.journal();
    await model.index.close();
    const lost = (await readdir(directory)).sort().at(-1)!;
    await rm(join(directory, lost));
    // Twice: a start that dies while it rebuilds must leave nothing that looks whole.
    for (let start = 0; start < 2; start += 1) {
      await model.restart(directory, bits);
      expect(model.index.needsRebuild).toBe(true);
      fill(500);
      await model.settle();
    }
    model.journal();
    await model.restart(directory, bits);
    expect(model.index.needsRebuild).toBe(false);
  });

  it('names a run in the checkpoint that lets its journal rows go', async () => {
    fill(250);
    // The run is durable, but no entry has taken it in.
    await model.index.settled();
    model.journal();
    await model.index.close();
    const [run] = await readdir(directory);
    await rm(join(directory, run!));
    await model.restart(directory, bits);
    expect(model.index.needsRebuild).toBe(true);
  });

  it('reports a damaged page that a lookup outside of apply meets', async () => {
    fill(250);
    const hash = model.hash();
    model.add(1, hash, 7, 7);
    fill(250);
    await model.settle();
    await model.index.close();
    for (const name of await readdir(directory)) {
      const file = await open(join(directory, name), 'r+');
      // The pages of records; tags and trailer stay whole.
      await file.write(new Uint8Array(2 * 4096), 0, 2 * 4096, 0);
      await file.close();
    }
    const damaged: Error[] = [];
    const onDamage = (error: Error): void => void damaged.push(error);
    model.index = await IdIndex.open({ directory, tableBits: bits, onDamage });
    await expect(model.index.lookup(1, hash, 0)).rejects.toThrow('damaged id index');
    expect(damaged).toHaveLength(1);
  });

  it('answers lookups outside of apply', async () => {
    const hash = model.hash();
    fill(100);
    model.add(4, hash, 7, 3);
    fill(400);
    await model.settle();
    expect(await model.index.lookup(4, hash, 0)).toEqual([{ offset: 7, base: 3 }]);
    expect(await model.index.lookup(5, hash, 0)).toEqual([]);
  });
});
