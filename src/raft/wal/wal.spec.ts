/** The log on the real file system: what an append promises, and that a restart gives it back. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { logIndex, nodeId, term } from '../../common/ids.js';
import { NodeFilePort, Wal, type WalEntry, type WalOptions } from './index.js';

const identity = { clusterId: 'c1', nodeId: nodeId(1), directoryId: '0123456789abcdef'.repeat(2) };

function entry(index: number, entryTerm: number, ...parts: string[]): WalEntry {
  return {
    index: logIndex(index),
    term: term(entryTerm),
    kind: 'normal',
    parts: parts.map((part) => Buffer.from(part)),
  };
}

function run(from: number, to: number, entryTerm: number, tag = 'e'): WalEntry[] {
  const entries: WalEntry[] = [];
  for (let i = from; i <= to; i += 1) entries.push(entry(i, entryTerm, `${tag}${i}`));
  return entries;
}

describe('Wal', () => {
  let root: string;
  let options: WalOptions;
  let wal: Wal;

  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), 'queen-wal-'));
    options = {
      files: new NodeFilePort(),
      directory: join(root, 'wal'),
      identity,
      create: { configuration: Buffer.from('cfg'), generation: 3 },
      segmentBytes: 4096,
    };
    wal = await Wal.open(options);
  });

  afterEach(async () => {
    await wal.close();
    rmSync(root, { recursive: true, force: true });
  });

  async function reopen(): Promise<void> {
    await wal.close();
    wal = await Wal.open({ ...options, create: undefined as never });
  }

  const texts = async (): Promise<string[]> => {
    if (wal.lastIndex < wal.firstIndex) return [];
    return (await wal.readEntries(wal.firstIndex, 1e9)).map((e) => e.payload.toString());
  };

  it('starts empty and survives a restart empty', async () => {
    expect([wal.firstIndex, wal.lastIndex, wal.generation]).toEqual([1, 0, 3]);
    await reopen();
    expect([wal.firstIndex, wal.lastIndex, wal.generation]).toEqual([1, 0, 3]);
    expect(Buffer.from(wal.configuration).toString()).toBe('cfg');
    expect(wal.hardState).toEqual({ term: 0, vote: 0, commit: 0 });
  });

  it('gives back entries and hard state after a restart', async () => {
    const hardState = { term: term(2), vote: nodeId(3), commit: logIndex(1) };
    await wal.append({ entries: run(1, 3, 1), hardState });
    await wal.append({ entries: [entry(4, 2, 'a', '', 'bc')] });
    await reopen();
    expect(wal.hardState).toEqual(hardState);
    expect(await texts()).toEqual(['e1', 'e2', 'e3', 'abc']);
    expect([wal.lastIndex, wal.lastTerm, wal.termAt(logIndex(3))]).toEqual([4, 2, 1]);
    expect((await wal.readRange(logIndex(4), 1, 2)).toString()).toBe('bc');
    await expect(wal.readRange(logIndex(4), 1, 3)).rejects.toThrow(RangeError);
    await expect(wal.readEntry(logIndex(5))).rejects.toThrow('entry 5 is not in');
  });

  it('merges appends of one turn into one synced batch', async () => {
    await Promise.all([
      wal.append({ entries: run(1, 2, 1) }),
      wal.append({ entries: run(3, 3, 1) }),
    ]);
    expect(wal.lastIndex).toBe(3);
    expect(await texts()).toEqual(['e1', 'e2', 'e3']);
  });

  it('rolls by size and reads across segments', async () => {
    for (let i = 1; i <= 40; i += 1) {
      await wal.append({ entries: [entry(i, 1 + Math.floor(i / 10), `${i}`.padEnd(500, '.'))] });
    }
    expect(wal.segments().length).toBeGreaterThan(4);
    const check = async (): Promise<void> => {
      const entries = await wal.readEntries(logIndex(1), 1e9);
      expect(entries.map((e) => parseInt(e.payload.toString(), 10))).toEqual(
        Array.from({ length: 40 }, (_, i) => i + 1),
      );
      expect(entries.map((e) => e.term)).toEqual(entries.map((e) => wal.termAt(e.index)));
      expect((await wal.readEntries(logIndex(5), 1200)).map((e) => e.index)).toEqual([5, 6]);
      expect((await wal.readEntries(logIndex(5), 1)).map((e) => e.index)).toEqual([5]);
    };
    await check();
    await reopen();
    await check();
  });

  it.each([
    ['inside the active segment', 4096, 7],
    ['back into sealed segments', 300, 3],
    ['everything', 300, 1],
  ])('truncates %s', async (_name, segmentBytes, from) => {
    await wal.close();
    wal = await Wal.open({ ...options, segmentBytes });
    for (let i = 1; i <= 9; i += 1) await wal.append({ entries: [entry(i, 1, `${i}`.padEnd(60))] });
    await wal.append({ entries: run(from, from + 1, 2, 'n') });
    const expected = Array.from({ length: from - 1 }, (_, i) => `${i + 1}`.padEnd(60));
    expected.push(`n${from}`, `n${from + 1}`);
    expect(await texts()).toEqual(expected);
    await reopen();
    expect(await texts()).toEqual(expected);
    expect([wal.lastIndex, wal.lastTerm]).toEqual([from + 1, 2]);
    if (from > 1) expect(wal.termAt(logIndex(from - 1))).toBe(1);
    await wal.append({ entries: run(from + 2, from + 2, 2, 'n') });
    expect(await texts()).toEqual([...expected, `n${from + 2}`]);
  });

  it('releases whole segments, keeps their messages readable, and removes them on request', async () => {
    for (let i = 1; i <= 30; i += 1) await wal.append({ entries: [entry(i, 1, 'x'.repeat(500))] });
    await expect(wal.releaseTo(logIndex(20))).rejects.toThrow(RangeError);
    wal.setCommit(logIndex(20));
    await wal.releaseTo(logIndex(20));
    expect(wal.firstIndex).toBeGreaterThan(1);
    expect(wal.firstIndex).toBeLessThanOrEqual(21);
    expect(wal.termAt(wal.base.index)).toBe(1);
    expect((await wal.readEntry(logIndex(1))).payload.length).toBe(500);
    await reopen();
    expect((await wal.readRange(logIndex(2), 10, 5)).toString()).toBe('xxxxx');
    const retired = wal.segments().filter((s) => s.state === 'retired');
    await wal.removeRetired([(retired[0] as { sequence: number }).sequence]);
    await expect(wal.readEntry(logIndex(1))).rejects.toThrow('entry 1 is not in');
    await reopen();
    expect(wal.segments().length).toBeGreaterThan(1);
    expect(await wal.readEntries(wal.firstIndex, 1e9)).toHaveLength(30 - wal.firstIndex + 1);
  });

  it('goes on after a snapshot', async () => {
    await wal.append({ entries: run(1, 10, 1) });
    wal.setCommit(logIndex(4));
    await wal.append({ entries: run(11, 11, 1) });
    await wal.reset({ index: logIndex(100), term: term(7) });
    await wal.append({ entries: run(101, 102, 8) });
    for (const step of [async () => undefined, reopen]) {
      await step();
      expect([wal.firstIndex, wal.lastIndex, wal.base.term]).toEqual([101, 102, 7]);
      expect(wal.hardState.commit).toBe(100);
      expect((await wal.readEntry(logIndex(4))).payload.toString()).toBe('e4');
      await expect(wal.readEntry(logIndex(5))).rejects.toThrow('entry 5 is not in');
    }
  });

  it('stores a lazily told commit with the next append', async () => {
    await wal.append({ entries: run(1, 5, 1) });
    wal.setCommit(logIndex(5));
    await wal.append({ entries: run(6, 6, 1) });
    await reopen();
    expect(wal.hardState.commit).toBe(5);
  });

  it('keeps the generation and configuration of the newest segment', async () => {
    wal.setConfiguration(Buffer.from('other'));
    await wal.startGeneration(4);
    await reopen();
    expect([wal.generation, Buffer.from(wal.configuration).toString()]).toEqual([4, 'other']);
    await expect(wal.startGeneration(4)).rejects.toThrow(RangeError);
  });

  it.each([
    ['a gap', run(7, 7, 1), undefined],
    ['a hole inside', [...run(6, 6, 1), ...run(8, 8, 1)], undefined],
    ['a falling term', run(6, 6, 0), undefined],
    ['a committed entry', run(2, 2, 2), undefined],
    ['a falling hard state term', [], { term: 1, vote: 1, commit: 0 }],
    ['a second vote', [], { term: 2, vote: 2, commit: 0 }],
    ['a commit above the log', [], { term: 2, vote: 1, commit: 9 }],
  ])('refuses %s and stays usable', async (_name, entries, hardState) => {
    await wal.append({
      entries: run(1, 5, 1),
      hardState: { term: term(2), vote: nodeId(1), commit: logIndex(2) },
    });
    const batch = hardState ? { entries, hardState: hardState as never } : { entries };
    await expect(wal.append(batch)).rejects.toThrow(RangeError);
    await wal.append({ entries: run(6, 6, 1) });
    expect(await texts()).toEqual(['e1', 'e2', 'e3', 'e4', 'e5', 'e6']);
  });

  it('takes nothing after close', async () => {
    await wal.close();
    await expect(wal.append({ entries: run(1, 1, 1) })).rejects.toThrow('closed');
    wal = await Wal.open(options);
  });

  it('scrubs sealed segments', async () => {
    for (let i = 1; i <= 30; i += 1) await wal.append({ entries: [entry(i, 1, 'x'.repeat(500))] });
    const onDamage = jest.fn();
    const report = await wal.scrub({ bytesPerSecond: 1e9, onDamage });
    expect(report).toMatchObject({ segments: wal.segments().length - 1, damaged: 0 });
    expect(onDamage).not.toHaveBeenCalled();
  });
});
