/** Tables for the log and its unstable tail: the off-by-one insurance. */
import { logIndex, term } from '../../common/ids.js';
import { MemoryLog } from '../../../test/sim/core/memory-log.js';
import { configOf, entriesOf, entry } from '../../../test/sim/core/bench.js';
import { RaftLog } from './log.js';
import type { TraceEvent } from './trace.js';
import { ENTRY_OVERHEAD_BYTES } from './types.js';
import { Unstable } from './unstable.js';

const at = logIndex;
const point = (index: number, pointTerm: number) => ({ index: at(index), term: term(pointTerm) });

interface Setup {
  readonly stable?: readonly number[];
  readonly unstable?: readonly number[];
  readonly compacted?: number;
  readonly committed?: number;
  readonly asyncStorage?: boolean;
  readonly maxApplyingBytes?: number;
}

function logOf(setup: Setup): { log: RaftLog; disk: MemoryLog; events: TraceEvent[] } {
  const disk = new MemoryLog();
  const events: TraceEvent[] = [];
  disk.append(entriesOf(setup.stable ?? []));
  disk.compact(at(setup.compacted ?? 0));
  const log = new RaftLog({
    reader: disk,
    maxApplyingBytes: setup.maxApplyingBytes ?? Number.MAX_SAFE_INTEGER,
    applyOnlyStable: setup.asyncStorage ?? false,
    trace: (event) => void events.push(event),
  });
  log.append(entriesOf(setup.unstable ?? [], (setup.stable ?? []).length + 1));
  log.loadCommit(at(setup.committed ?? 0));
  return { log, disk, events };
}

function terms(log: RaftLog): number[] {
  const found = log.slice({
    from: log.firstIndex(),
    to: at(log.lastIndex() + 1),
    maxBytes: Number.MAX_SAFE_INTEGER,
  });
  return typeof found === 'string' ? [] : found.map((one) => one.term);
}

describe('follower append', () => {
  const base = { stable: [1, 2, 3], committed: 1 };

  it.each([
    // prev not in the log
    ['prev of another term', [3, 2], [4], 3, undefined, 1],
    ['prev beyond the log', [4, 3], [4], 3, undefined, 1],
    // prev matches: commit is capped by the last entry verified here
    ['commit above the verified end', [3, 3], [], 5, 3, 3],
    ['commit below it', [3, 3], [], 2, 3, 2],
    ['commit above, empty at an earlier place', [2, 2], [], 3, 2, 2],
    ['nothing new', [3, 3], [], 0, 3, 1],
    ['one more', [3, 3], [4], 3, 4, 3],
    ['one more, committed with it', [3, 3], [4], 4, 4, 4],
    ['commit beyond what came along', [3, 3], [4], 9, 4, 4],
    ['conflict replaced', [1, 1], [4], 1, 2, 1],
    ['matching prefix, then more', [1, 1], [2, 3, 4], 2, 4, 2],
  ] as const)('%s', (_name, prev, more, commit, last, committed) => {
    const { log } = logOf(base);
    const entries = entriesOf(more, prev[0] + 1);
    expect(log.tryAppend(point(prev[0], prev[1]), entries, at(commit))).toBe(last);
    expect(log.committed).toBe(committed);
  });

  it('a duplicate or late append never shortens the log', () => {
    const { log } = logOf({ stable: [1, 1], unstable: [1, 1] });
    expect(log.tryAppend(point(0, 0), entriesOf([1, 1]), at(0))).toBe(2);
    expect(terms(log)).toEqual([1, 1, 1, 1]);
    expect(log.tryAppend(point(1, 1), [], at(0))).toBe(1);
    expect(terms(log)).toEqual([1, 1, 1, 1]);
  });

  it('a real conflict cuts everything behind it', () => {
    const { log } = logOf({ stable: [1, 1], unstable: [2, 2, 2], committed: 2 });
    expect(log.tryAppend(point(3, 2), entriesOf([3], 4), at(2))).toBe(4);
    expect(terms(log)).toEqual([1, 1, 2, 3]);
  });

  it('a conflict with a committed entry stops the node', () => {
    const { log } = logOf(base);
    expect(() => log.tryAppend(point(0, 0), entriesOf([9]), at(0))).toThrow('committed entry');
    expect(() => log.append(entriesOf([4], 1))).toThrow('below the commit index');
  });

  it('a commit index beyond the log stops the node', () => {
    expect(() => logOf(base).log.commitTo(at(4))).toThrow('beyond the log');
  });
});

describe('looking things up', () => {
  it.each([
    [2, 'compacted'],
    [3, 3],
    [5, 5],
    [6, 6],
    [8, 'unavailable'],
  ] as const)('term of %i is %s', (index, expected) => {
    // Entries 1..3 are compacted, so 3 is the place just before the log: its term is still known.
    const { log } = logOf({ stable: [1, 2, 3, 4, 5], unstable: [6, 7], compacted: 3 });
    expect(log.termOf(at(index))).toBe(expected);
  });

  it('prefers the unstable tail over what storage still holds', () => {
    const { log } = logOf({ stable: [1, 1, 1], committed: 1 });
    log.append(entriesOf([2], 2));
    expect([log.termOf(at(2)), log.termOf(at(3)), log.lastIndex()]).toEqual([2, 'unavailable', 2]);
  });

  it.each([
    [1, 3, 'compacted'],
    [4, 6, [4, 5]],
    [4, 8, [4, 5, 6, 7]],
    [6, 8, [6, 7]],
    [8, 8, []],
  ] as const)('slice [%i, %i)', (from, to, expected) => {
    const { log } = logOf({ stable: [1, 2, 3, 4, 5], unstable: [6, 7], compacted: 3 });
    const found = log.slice({ from: at(from), to: at(to), maxBytes: 1e9 });
    expect(typeof found === 'string' ? found : found.map((one) => one.term)).toEqual(expected);
  });

  it('a slice is cut by bytes but never empty, and never has a gap', () => {
    const { log, disk } = logOf({ stable: [1, 2, 3], unstable: [4, 5] });
    const count = (maxBytes: number) => {
      const found = log.slice({ from: at(1), to: at(6), maxBytes });
      return typeof found === 'string' ? found : found.length;
    };
    expect(count(0)).toBe(1);
    expect(count(2 * (ENTRY_OVERHEAD_BYTES + 2))).toBe(2);
    expect(count(4 * (ENTRY_OVERHEAD_BYTES + 2))).toBe(4);
    disk.entries = () => entriesOf([1]);
    expect(count(1e9)).toBe(1);
    disk.entries = () => [];
    expect(count(1e9)).toBe('loading');
  });

  it('the last possible match skips the terms the other side cannot hold', () => {
    const { log } = logOf({ stable: [1, 1, 3, 3, 3, 6, 6] });
    expect(log.lastPossibleMatch(at(7), term(5))).toEqual(point(5, 3));
    expect(log.lastPossibleMatch(at(5), term(2))).toEqual(point(2, 1));
    expect(log.lastPossibleMatch(at(7), term(9))).toEqual(point(7, 6));
    expect(log.lastPossibleMatch(at(7), term(0))).toEqual(point(0, 0));
  });

  it('the last possible match meets compaction without a throw and without inventing a term', () => {
    const { log } = logOf({ stable: [3, 3, 3, 3], compacted: 2 });
    expect(log.lastPossibleMatch(at(4), term(1))).toEqual(point(1, 0));
  });

  it.each([
    [[5, 3], true],
    [[3, 3], true],
    [[1, 4], true],
    [[9, 2], false],
    [[2, 3], false],
  ] as const)('candidate log end %j up to date: %s', (last, expected) => {
    const { log } = logOf({ stable: [1, 2, 3] });
    expect(log.isUpToDate(point(last[0], last[1]))).toBe(expected);
  });
});

describe('committing and applying', () => {
  it('a leader commits by counting only entries of its own term', () => {
    const { log } = logOf({ stable: [1, 2] });
    expect(log.tryCommit(point(2, 3))).toBe(false);
    expect(log.tryCommit(point(1, 2))).toBe(false);
    expect(log.tryCommit(point(2, 2))).toBe(true);
    expect(log.tryCommit(point(2, 2))).toBe(false);
  });

  it('asynchronous storage: nothing is applied before it is stable', () => {
    const setup = { stable: [1], unstable: [1, 1], committed: 3, asyncStorage: true };
    const { log, disk } = logOf(setup);
    expect(log.takeCommitted().map((one) => one.index)).toEqual([1]);
    log.appliedTo(at(1));
    expect(log.hasNextCommitted()).toBe(false);
    log.unstable.markInProgress();
    expect(log.hasNextCommitted()).toBe(false);
    disk.append(entriesOf([1], 2));
    log.unstable.stableTo(at(2), term(1));
    expect(log.takeCommitted().map((one) => one.index)).toEqual([2]);
  });

  it('synchronous storage applies entries of the same Ready', () => {
    const { log } = logOf({ unstable: [1, 1], committed: 2 });
    expect(log.takeCommitted()).toHaveLength(2);
  });

  it('pages are bounded across Readys and leave the commit index alone', () => {
    const page = 2 * (ENTRY_OVERHEAD_BYTES + 2);
    const { log } = logOf({ stable: [1, 1, 1, 1, 1], committed: 5, maxApplyingBytes: page });
    expect(log.takeCommitted().map((one) => one.index)).toEqual([1, 2]);
    expect(log.hasNextCommitted()).toBe(false);
    log.appliedTo(at(1));
    log.appliedTo(at(2));
    expect(log.takeCommitted().map((one) => one.index)).toEqual([3, 4]);
    expect([log.committed, log.applied]).toEqual([5, 2]);
  });

  it('applying reports payload bytes once and never moves back', () => {
    const { log } = logOf({ stable: [1, 1], committed: 2 });
    log.takeCommitted();
    expect(log.appliedTo(at(2))).toBe(4);
    expect(log.appliedTo(at(1))).toBe(0);
    expect(log.applied).toBe(2);
    expect(() => log.appliedTo(at(3))).toThrow('beyond the commit index');
  });

  it('nothing is handed out while a snapshot is on its way in', () => {
    const { log } = logOf({ stable: [1, 1], committed: 2 });
    log.restore({ ...point(9, 2), config: configOf({ voters: [1] }) });
    expect([log.hasNextCommitted(), log.committed, log.lastIndex()]).toEqual([false, 9, 9]);
    expect(log.termOf(at(9))).toBe(2);
    expect(log.termOf(at(8))).toBe('compacted');
  });

  it('a slow disk pauses applying until it has read', () => {
    const { log, disk } = logOf({ stable: [1], committed: 1 });
    disk.slow = true;
    expect(log.takeCommitted()).toEqual([]);
    expect(log.hasNextCommitted()).toBe(false);
    disk.slow = false;
    log.resume();
    expect(log.takeCommitted()).toHaveLength(1);
  });
});

describe('unstable tail', () => {
  function tail(): Unstable {
    const unstable = new Unstable(at(5), undefined);
    unstable.truncateAndAppend(entriesOf([1, 1], 5));
    return unstable;
  }

  it.each([
    // [name, in progress first, appended, offset, in progress offset, terms]
    ['append at the end', true, [7, [2]], 5, 7, [1, 1, 2]],
    ['replace all', true, [5, [2]], 5, 5, [2]],
    ['replace from before the tail', true, [4, [2, 2, 2]], 4, 4, [2, 2, 2]],
    ['truncate in the middle', true, [6, [2]], 5, 6, [1, 2]],
    ['truncate what is not in progress', false, [6, [2]], 5, 5, [1, 2]],
  ] as const)('%s', (_name, inProgress, [first, more], offset, progressOffset, expected) => {
    const unstable = tail();
    if (inProgress) unstable.markInProgress();
    unstable.truncateAndAppend(entriesOf(more, first));
    expect([unstable.offset, unstable.offsetInProgress]).toEqual([offset, progressOffset]);
    expect(unstable.entries.map((one) => one.term)).toEqual(expected);
  });

  it('hands out replaced entries again', () => {
    const unstable = tail();
    unstable.markInProgress();
    expect(unstable.hasNextEntries()).toBe(false);
    unstable.truncateAndAppend(entriesOf([2], 6));
    expect(unstable.nextEntries().map((one) => one.term)).toEqual([2]);
  });

  it.each([
    ['the last', 6, 1, 7, 0],
    ['the first', 5, 1, 6, 1],
    ['another term there (ABA)', 6, 9, 5, 2],
    ['before the tail', 4, 1, 5, 2],
    ['after the tail', 7, 1, 5, 2],
  ] as const)('confirming %s', (_name, index, entryTerm, offset, left) => {
    const unstable = tail();
    unstable.markInProgress();
    unstable.stableTo(at(index), term(entryTerm));
    expect([unstable.offset, unstable.entries.length]).toEqual([offset, left]);
    expect(unstable.offsetInProgress).toBeGreaterThanOrEqual(offset);
  });

  it('only the snapshot that was stored is released', () => {
    const unstable = tail();
    unstable.restore({ ...point(9, 2), config: configOf({ voters: [1] }) });
    expect([unstable.offset, unstable.entries.length, unstable.lastIndex()]).toEqual([10, 0, 9]);
    unstable.snapshotStableTo(at(8));
    expect(unstable.nextSnapshot()?.index).toBe(9);
    unstable.markInProgress();
    expect(unstable.nextSnapshot()).toBeUndefined();
    unstable.snapshotStableTo(at(9));
    expect(unstable.snapshot).toBeUndefined();
  });

  it('a gap stops the node', () => {
    expect(() => tail().truncateAndAppend([entry(1, 9)])).toThrow('gap');
  });
});
