/**
 * The node's log: stable part (read through LogReader) followed by the unstable tail, with the marks
 *
 *     applied <= applying <= committed <= lastIndex
 *
 * applied = confirmed by the state machine, applying = handed out for it. Nothing at or below
 * `committed` is ever replaced. "Compacted" and "not there yet" are distinct from any term.
 */
import { logIndex, type LogIndex, type Term } from '../../common/ids.js';
import { ApplyWindow } from './apply-window.js';
import { invariant } from './invariant.js';
import type { TraceSink } from './trace.js';
import {
  NO_TERM,
  entryBytes,
  type Entry,
  type EntryRange,
  type LogReader,
  type SnapshotMeta,
} from './types.js';
import { Unstable } from './unstable.js';

export type TermLookup = Term | 'compacted' | 'unavailable';

export interface LogOptions {
  readonly reader: LogReader;
  /** Bound of handed-out, not yet applied entries. */
  readonly maxApplyingBytes: number;
  /** Storage is asynchronous: only entries it confirmed may be applied. */
  readonly applyOnlyStable: boolean;
  readonly trace: TraceSink | undefined;
}

export interface EntryPoint {
  readonly index: LogIndex;
  readonly term: Term;
}

export class RaftLog {
  readonly unstable: Unstable;
  readonly window: ApplyWindow;
  committed: LogIndex;
  private readonly reader: LogReader;
  /** Committed entries are being read from disk; nothing to hand out until `resume`. */
  private loading = false;

  constructor(private readonly options: LogOptions) {
    this.reader = options.reader;
    this.unstable = new Unstable(logIndex(this.reader.lastIndex() + 1), options.trace);
    this.committed = logIndex(this.reader.firstIndex() - 1);
    this.window = new ApplyWindow(this.committed, options.maxApplyingBytes);
  }

  get applied(): LogIndex {
    return this.window.applied;
  }

  firstIndex(): LogIndex {
    const { snapshot } = this.unstable;
    return snapshot === undefined ? this.reader.firstIndex() : logIndex(snapshot.index + 1);
  }

  lastIndex(): LogIndex {
    const last = this.unstable.lastIndex();
    return last > 0 ? last : this.reader.lastIndex();
  }

  last(): EntryPoint {
    const index = this.lastIndex();
    const term = this.termOf(index);
    invariant(typeof term === 'number', 'last entry has no term', () => ({ ...this.dump(), term }));
    return { index, term };
  }

  termOf(index: LogIndex): TermLookup {
    // The tail first: it is authoritative even where storage still holds a replaced entry.
    const unstable = this.unstable.termOf(index);
    if (unstable !== undefined) return unstable;
    if (index + 1 < this.firstIndex()) return 'compacted';
    if (index > this.lastIndex()) return 'unavailable';
    return this.reader.termOf(index);
  }

  matches(point: EntryPoint): boolean {
    return this.termOf(point.index) === point.term;
  }

  /** The candidate's log end is at least as good as ours: by term, then by index. */
  isUpToDate(candidate: EntryPoint): boolean {
    const own = this.last();
    return (
      candidate.term > own.term || (candidate.term === own.term && candidate.index >= own.index)
    );
  }

  /** Entries the caller created or verified; they may replace uncommitted ones. */
  append(entries: readonly Entry[]): LogIndex {
    const first = entries[0];
    if (first === undefined) return this.lastIndex();
    invariant(first.index > this.committed, 'append below the commit index', () => ({
      ...this.dump(),
      first: first.index,
    }));
    this.unstable.truncateAndAppend(entries);
    return this.lastIndex();
  }

  /**
   * Follower's append. Truncates only at a real conflict, so duplicates and late messages never
   * shorten the log; the commit index never moves past the last entry this message verified.
   *
   *   ours     [1][1][2][2]        prev = (2, t1), entries = [t2][t3]
   *   theirs      [1][2][3]   ->   entry 3 matches, entry 4 conflicts, append from 4
   *
   * Undefined when prev is not in our log.
   */
  tryAppend(
    prev: EntryPoint,
    entries: readonly Entry[],
    leaderCommit: LogIndex,
  ): LogIndex | undefined {
    if (!this.matches(prev)) return undefined;
    const lastNew = logIndex(prev.index + entries.length);
    const conflict = this.findConflict(entries);
    if (conflict !== undefined) {
      invariant(conflict > this.committed, 'conflict with a committed entry', () => ({
        ...this.dump(),
        conflict,
      }));
      this.append(entries.slice(conflict - prev.index - 1));
    }
    this.commitTo(logIndex(Math.min(leaderCommit, lastNew)));
    return lastNew;
  }

  /** First of the entries we do not have in this form; undefined when we have all of them. */
  private findConflict(entries: readonly Entry[]): LogIndex | undefined {
    for (const entry of entries) {
      if (this.matches(entry)) continue;
      if (entry.index <= this.lastIndex()) {
        this.options.trace?.({
          type: 'conflict-found',
          index: entry.index,
          existingTerm: this.termOrZero(entry.index),
          conflictingTerm: entry.term,
        });
      }
      return entry.index;
    }
    return undefined;
  }

  /**
   * Largest index at or below `index` whose term is at most `term`: the other side cannot match
   * anything above it. Skips whole terms, so probing costs one round per term, not per entry.
   * Where our log is compacted the answer is that place with an unknown (zero) term.
   */
  lastPossibleMatch(index: LogIndex, term: Term): EntryPoint {
    for (let at = index; at > 0; at = logIndex(at - 1)) {
      const own = this.termOf(at);
      if (typeof own !== 'number') return { index: at, term: NO_TERM };
      if (own <= term) return { index: at, term: own };
    }
    return { index: logIndex(0), term: NO_TERM };
  }

  commitTo(index: LogIndex): void {
    if (index <= this.committed) return;
    invariant(index <= this.lastIndex(), 'commit index beyond the log', () => ({
      ...this.dump(),
      index,
    }));
    this.committed = index;
  }

  /** Leader's commit: only an entry of its own term commits by counting (figure 8). */
  tryCommit(point: EntryPoint): boolean {
    if (point.term === NO_TERM || point.index <= this.committed) return false;
    if (!this.matches(point)) return false;
    this.commitTo(point.index);
    return true;
  }

  /** State found at start. The snapshot may be ahead of the stored commit index (rule D6). */
  loadCommit(commit: LogIndex): void {
    if (commit > this.committed) this.commitTo(commit);
  }

  restore(snapshot: SnapshotMeta): void {
    this.options.trace?.({
      type: 'restore-started',
      committed: this.committed,
      applied: this.applied,
      applying: this.window.applying,
      offset: this.unstable.offset,
      offsetInProgress: this.unstable.offsetInProgress,
      unstableCount: this.unstable.entries.length,
      snapshot: { index: snapshot.index, term: snapshot.term },
    });
    this.committed = snapshot.index;
    this.loading = false;
    this.unstable.restore(snapshot);
  }

  /** Confirmed by the state machine; returns the payload bytes that left the window. */
  appliedTo(index: LogIndex): number {
    invariant(index <= this.committed, 'applied beyond the commit index', () => ({
      ...this.dump(),
      index,
    }));
    return this.window.appliedTo(index);
  }

  snapshotPending(): boolean {
    return this.unstable.snapshot !== undefined;
  }

  hasNextCommitted(): boolean {
    return (
      !this.loading &&
      !this.window.paused &&
      !this.snapshotPending() &&
      this.window.applying < this.maxAppliable()
    );
  }

  /** Next committed entries for the state machine, marked as handed out. */
  takeCommitted(): Entry[] {
    if (!this.hasNextCommitted()) return [];
    const found = this.slice({
      from: logIndex(this.window.applying + 1),
      to: logIndex(this.maxAppliable() + 1),
      maxBytes: this.window.room(),
    });
    invariant(found !== 'compacted', 'unapplied entries compacted', () => this.dump());
    if (found === 'loading') {
      this.loading = true;
      return [];
    }
    this.window.handOut(found, this.maxAppliable());
    return found;
  }

  /** The entries storage was reading are in memory now. */
  resume(): void {
    this.loading = false;
  }

  /** Entries [from, to), at least one, cut at maxBytes. Fewer when storage returns fewer. */
  slice(range: EntryRange): Entry[] | 'compacted' | 'loading' {
    if (range.from >= range.to) return [];
    if (range.from < this.firstIndex()) return 'compacted';
    invariant(range.to <= this.lastIndex() + 1, 'slice beyond the log', () => ({
      ...this.dump(),
      ...range,
    }));
    const { offset } = this.unstable;
    if (range.from >= offset) {
      return limitBytes(this.unstable.slice(range.from, range.to), range.maxBytes);
    }
    const stableTo = logIndex(Math.min(range.to, offset));
    const stable = this.reader.entries({ ...range, to: stableTo });
    if (typeof stable === 'string') return stable;
    if (stable.length === 0) return 'loading';
    const whole = stable.length === stableTo - range.from;
    const tail = whole && range.to > offset ? this.unstable.slice(offset, range.to) : [];
    return limitBytes([...stable, ...tail], range.maxBytes);
  }

  /** A committed entry that may change the membership waits to be applied; unreadable counts. */
  hasUnappliedChange(pageBytes: number): boolean {
    let from = logIndex(this.applied + 1);
    while (from <= this.committed) {
      const page = this.slice({ from, to: logIndex(this.committed + 1), maxBytes: pageBytes });
      if (typeof page === 'string') return true;
      if (page.some((entry) => entry.kind === 'membership')) return true;
      from = logIndex(from + page.length);
    }
    return false;
  }

  snapshotFor(peer: Parameters<LogReader['snapshotFor']>[0]): SnapshotMeta | 'preparing' {
    return this.reader.snapshotFor(peer);
  }

  /** For events and dumps only, where "no such entry" may read as 0. */
  termOrZero(index: LogIndex): Term {
    const found = this.termOf(index);
    return typeof found === 'number' ? found : NO_TERM;
  }

  dump(): Record<string, unknown> {
    return {
      committed: this.committed,
      applied: this.applied,
      applying: this.window.applying,
      firstIndex: this.firstIndex(),
      lastIndex: this.lastIndex(),
      offset: this.unstable.offset,
      offsetInProgress: this.unstable.offsetInProgress,
      unstableCount: this.unstable.entries.length,
    };
  }

  private maxAppliable(): LogIndex {
    if (!this.options.applyOnlyStable) return this.committed;
    return logIndex(Math.min(this.committed, this.unstable.offset - 1));
  }
}

function limitBytes(entries: Entry[], maxBytes: number): Entry[] {
  let bytes = 0;
  for (let i = 0; i < entries.length; i += 1) {
    const entry = entries[i];
    bytes += entry === undefined ? 0 : entryBytes(entry);
    if (i > 0 && bytes > maxBytes) return entries.slice(0, i);
  }
  return entries;
}
