/** The log as the core reads it: what left the cache comes back, what was replaced or purged does not. */
import { logIndex, nodeId, term } from '../../../common/ids.js';
import { EMPTY_CONFIG, type Entry } from '../../core/index.js';
import { StableLog } from './stable-log.js';

function entry(index: number, ofTerm: number, text = 'x'): Entry {
  const data = Buffer.from(text);
  return { index: logIndex(index), term: term(ofTerm), kind: 'normal', data };
}

async function settle(): Promise<void> {
  for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('stable log', () => {
  const wal = (entries: readonly Entry[]) => ({
    lastIndex: logIndex(entries.length),
    firstIndex: logIndex(1),
    base: { index: logIndex(0), term: term(0) },
    hardState: { term: term(1), vote: nodeId(0), commit: logIndex(0) },
    termAt: (index: number) => (index === 0 ? term(0) : entries[index - 1]?.term),
    readEntries: (from: number) =>
      Promise.resolve(entries.slice(from - 1).map((e) => ({ ...e, payload: e.data }))),
  });
  const options = {
    cacheBytes: 1,
    config: EMPTY_CONFIG,
    snapshotFor: () => 'preparing' as const,
    failed: () => undefined,
  };
  const range = { from: logIndex(1), to: logIndex(4), maxBytes: 1_000 };

  it('reads back what left the cache, and keeps the whole log after a restart', async () => {
    const entries = [entry(1, 1), entry(2, 1), entry(3, 1)];
    let loaded = 0;
    const stable = new StableLog(wal(entries) as never, { ...options, loaded: () => loaded++ });
    expect(stable.lastIndex()).toBe(3);
    expect(stable.entries(range)).toBe('loading');
    await settle();
    expect(loaded).toBe(1);
    expect(stable.entries(range)).toHaveLength(3);
    stable.stored([entry(4, 1)]);
    expect(stable.entries(range)).toHaveLength(3);
  });

  it.each([
    ['was purged', 4, 'compacted'],
    ['is in the log still', 1, 'loading'],
  ])(
    'fails for entries that are not found only when their place %s',
    async (_name, first, told) => {
      const seen: string[] = [];
      const gone = Object.assign(new Error('not in the log'), { name: 'EntryNotFoundError' });
      const log = { ...wal([]), readEntries: () => Promise.reject(gone) };
      const stable = new StableLog(log as never, {
        ...{ ...options, loaded: () => seen.push('loaded'), failed: () => seen.push('failed') },
      });
      expect(stable.entries(range)).toBe('loading');
      log.firstIndex = logIndex(first);
      await settle();
      expect(seen).toEqual([first > 1 ? 'loaded' : 'failed']);
      expect(stable.entries(range)).toBe(told);
    },
  );

  it('never serves entries that a later term replaced while they were read', async () => {
    const entries = [entry(1, 1, 'old'), entry(2, 1, 'old'), entry(3, 1, 'old')];
    const stable = new StableLog(wal(entries) as never, { ...options, loaded: () => undefined });
    expect(stable.entries(range)).toBe('loading');
    await settle();
    entries.splice(0, 3, entry(1, 2, 'new'), entry(2, 2, 'new'), entry(3, 2, 'new'));
    expect(stable.entries(range)).toBe('loading');
  });
});
