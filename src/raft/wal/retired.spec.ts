/** Retired segments on the real file system: read, rewritten, removed, also under readers and restarts. */
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { logIndex, nodeId, term } from '../../common/ids.js';
import { NodeFilePort, Wal, type WalOptions } from './index.js';

const identity = { clusterId: 'c1', nodeId: nodeId(1), directoryId: '0123456789abcdef'.repeat(2) };
const ENTRIES = 40;
const breathe = (): Promise<void> => Promise.resolve();
const settled = (): Promise<boolean> => Promise.resolve(true);

const payloadOf = (index: number): string => `${index}`.padEnd(500, '.');

describe('retired segments', () => {
  let root: string;
  let options: WalOptions;
  let wal: Wal;

  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), 'queen-retired-'));
    options = {
      files: new NodeFilePort(),
      directory: join(root, 'wal'),
      identity,
      create: {},
      segmentBytes: 4096,
    };
    wal = await Wal.open(options);
    for (let i = 1; i <= ENTRIES; i += 1) {
      const parts = [Buffer.from(payloadOf(i))];
      await wal.append({
        entries: [{ index: logIndex(i), term: term(1 + (i >> 3)), kind: 'normal', parts }],
      });
    }
    wal.setCommit(logIndex(ENTRIES));
    await wal.releaseTo(logIndex(ENTRIES));
  });

  afterEach(async () => {
    await wal.close();
    rmSync(root, { recursive: true, force: true });
  });

  const reopen = async (): Promise<void> => {
    await wal.close();
    wal = await Wal.open({ ...options, create: undefined as never });
  };
  const retired = () => wal.segments().filter(({ state }) => state === 'retired');
  const files = (): string[] =>
    readdirSync(join(root, 'wal'))
      .filter((name) => name.endsWith('.seg'))
      .sort();
  const indexesOf = async (sequence: number): Promise<number[]> => {
    const seen: number[] = [];
    await wal.readRetired(sequence, { visit: ({ index }) => seen.push(index), breathe });
    return seen;
  };
  const read = async (index: number): Promise<string> =>
    (await wal.readEntry(logIndex(index))).payload.toString();
  const scrub = () => {
    const damages: string[] = [];
    const onDamage = (damage: Error): number => damages.push(damage.message);
    return wal.scrub({ bytesPerSecond: 1e12, onDamage }).then(() => damages);
  };

  it('are read entry by entry', async () => {
    const [first] = retired();
    expect(await indexesOf(first!.sequence)).toEqual(
      Array.from({ length: first!.last - first!.first + 1 }, (_, i) => first!.first + i),
    );
    expect(await wal.readRetired(999, { visit: () => undefined, breathe })).toBe(false);
  });

  it('keep what is wanted, where it was, through a restart and another rewrite', async () => {
    const [first] = retired();
    const { sequence } = first!;
    const all = await indexesOf(sequence);
    const odd = all.filter((index) => index % 2 === 1);
    const won = await wal.rewriteRetired(sequence, {
      keep: ({ index }) => index % 2 === 1,
      settled,
      breathe,
    });
    expect(won).toBeGreaterThan(500 * (all.length - odd.length));
    for (let restart = 0; restart < 2; restart += 1) {
      expect(await indexesOf(sequence)).toEqual(odd);
      expect(files()[0]).toMatch(/-r1\.seg$/);
      for (const index of odd) expect(await read(index)).toBe(payloadOf(index));
      await expect(wal.readEntry(logIndex(all.find((i) => i % 2 === 0)!))).rejects.toThrow(
        'is not in',
      );
      expect((await wal.readRange(logIndex(odd[0]!), 0, 2)).toString()).toBe(
        payloadOf(odd[0]!).slice(0, 2),
      );
      expect(await scrub()).toEqual([]);
      await reopen();
    }
    await wal.rewriteRetired(sequence, { keep: ({ index }) => index === odd[0], settled, breathe });
    await reopen();
    expect(await indexesOf(sequence)).toEqual([odd[0]]);
    expect(await read(ENTRIES)).toBe(payloadOf(ENTRIES));
  });

  it('go with their files, and only they', async () => {
    const gone = retired().map(({ sequence }) => sequence);
    const live = wal.segments().length - gone.length;
    await wal.removeRetired([...gone, wal.segments().at(-1)!.sequence, 999]);
    expect(files()).toHaveLength(live);
    await reopen();
    expect(wal.segments()).toHaveLength(live);
    await expect(wal.readEntry(logIndex(1))).rejects.toThrow('entry 1 is not in');
    expect(await read(ENTRIES)).toBe(payloadOf(ENTRIES));
  });

  it('are no damage to a scrub that comes to them while they go', async () => {
    const port = options.files;
    const before = files().length;
    const [, second] = retired();
    const gone = retired().map(({ sequence }) => sequence);
    const [open, fsyncDir] = [port.open.bind(port), port.fsyncDir.bind(port)];
    let scrubbed: () => void = () => undefined;
    const isScrubbed = new Promise<void>((resolve) => (scrubbed = resolve));
    const removals: Promise<void>[] = [];
    // Between the unlinks and the manifest that forgets them.
    jest.spyOn(port, 'fsyncDir').mockImplementation(async (directory) => {
      if (files().length < before) await isScrubbed;
      await fsyncDir(directory);
    });
    jest.spyOn(port, 'open').mockImplementation(async (path, mode) => {
      if (removals.length === 0 && path.includes(`${second!.sequence}.seg`)) {
        removals.push(wal.removeRetired(gone));
        while (files().length > before - gone.length) await new Promise(setImmediate);
      }
      return open(path, mode);
    });
    expect(await scrub()).toEqual([]);
    expect(removals).toHaveLength(1);
    scrubbed();
    await Promise.all(removals);
    jest.restoreAllMocks();
    expect(files()).toHaveLength(before - gone.length);
  });

  it('are gone for readers, never damaged, while they go', async () => {
    const reads: Promise<unknown>[] = [];
    const last = retired().at(-1)!.last;
    const work = (async () => {
      for (const { sequence } of retired()) {
        await wal.rewriteRetired(sequence, {
          keep: ({ index }) => index % 2 === 1,
          settled,
          breathe,
        });
      }
      await wal.removeRetired(retired().map(({ sequence }) => sequence));
    })();
    let isDone = false;
    void work.finally(() => (isDone = true));
    while (!isDone) {
      for (let index = 1; index <= last; index += 1) {
        reads.push(
          read(index).then(
            (text) => expect(text).toBe(payloadOf(index)),
            (error: Error) => expect(error.name).toBe('EntryNotFoundError'),
          ),
        );
      }
      await Promise.all(reads.splice(0));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await work;
    await Promise.all(reads);
    expect(files()).toHaveLength(wal.segments().length);
  });

  it('keep everything until what a rewrite saw is settled, and for good when it is not', async () => {
    const [first] = retired();
    const { sequence, last } = first!;
    const all = await indexesOf(sequence);
    let kept = 0;
    const keep = (): boolean => {
      kept += 1;
      return false;
    };
    const unsettled = async (): Promise<boolean> => {
      expect(kept).toBe(all.length);
      expect(await read(last)).toBe(payloadOf(last));
      return false;
    };
    expect(await wal.rewriteRetired(sequence, { keep, settled: unsettled, breathe })).toBe(0);
    const stopped = (): Promise<boolean> => Promise.reject(new Error('stopped'));
    const failing = wal.rewriteRetired(sequence, { keep, settled: stopped, breathe });
    await expect(failing).rejects.toThrow('stopped');
    expect(files().some((name) => name.includes('-r'))).toBe(false);
    expect(await indexesOf(sequence)).toEqual(all);
    await wal.rewriteRetired(sequence, { keep, settled, breathe });
    expect(await indexesOf(sequence)).toEqual([]);
  });

  it('survive a rewrite that fails, and what it leaves', async () => {
    const [first] = retired();
    const failing = wal.rewriteRetired(first!.sequence, {
      keep: () => true,
      settled,
      breathe: () => Promise.reject(new Error('stopped')),
    });
    await expect(failing).rejects.toThrow('stopped');
    expect(files().some((name) => name.includes('-r'))).toBe(false);
    const leftover = files()[0]!.replace('.seg', '-r1.seg');
    writeFileSync(join(root, 'wal', leftover), 'half a rewrite');
    await reopen();
    expect(files()).not.toContain(leftover);
    expect(await indexesOf(first!.sequence)).toHaveLength(first!.last - first!.first + 1);
  });

  it('keep ranges of an entry where they were, and the rest of it takes no space', async () => {
    const index = ENTRIES + 1;
    const payload = Buffer.alloc(256 * 1024, 'x');
    const parts = [payload];
    await wal.append({
      entries: [{ index: logIndex(index), term: term(9), kind: 'normal', parts }],
    });
    await wal.roll();
    wal.setCommit(logIndex(index));
    await wal.releaseTo(logIndex(index));
    const { sequence } = retired().at(-1)!;
    const taken = (): number => statSync(retired().at(-1)!.path).blocks * 512;
    const before = taken();
    const ranges = [
      { start: 100_000, length: 500 },
      { start: 200_000, length: 10 },
    ];
    await wal.rewriteRetired(sequence, {
      keep: (entry) => (entry.index === logIndex(index) ? ranges : true),
      settled,
      breathe,
    });
    expect(taken()).toBeLessThan(before / 4);
    for (let restart = 0; restart < 2; restart += 1) {
      for (const { start, length } of ranges) {
        const bytes = await wal.readRange(logIndex(index), start, length);
        expect(bytes.equals(payload.subarray(start, start + length))).toBe(true);
      }
      const { payload: whole } = await wal.readEntry(logIndex(index));
      expect(whole).toHaveLength(payload.length);
      expect(whole.filter((byte) => byte !== 0)).toHaveLength(510);
      expect(await scrub()).toEqual([]);
      await reopen();
    }
  });

  it('are told by what follows an entry in bytes', async () => {
    for (let i = ENTRIES + 1; i <= ENTRIES + 20; i += 1) {
      const parts = [Buffer.from(payloadOf(i))];
      await wal.append({ entries: [{ index: logIndex(i), term: term(9), kind: 'normal', parts }] });
    }
    wal.setCommit(logIndex(ENTRIES + 20));
    const before = wal.indexBefore(5_000);
    expect(before).toBeGreaterThan(ENTRIES);
    expect(before).toBeLessThanOrEqual(ENTRIES + 20 - 5_000 / 600);
    expect(wal.indexBefore(1e9)).toBe(0);
    expect(wal.canRelease(logIndex(before))).toBe(true);
    await wal.releaseTo(logIndex(before));
    expect(wal.firstIndex).toBe(before + 1);
    expect(wal.canRelease(logIndex(before))).toBe(false);
  });
});
