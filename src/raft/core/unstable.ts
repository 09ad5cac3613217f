/**
 * Tail of the log that storage has not confirmed yet, plus a snapshot being installed.
 *
 *      stable | handed out, in progress | not handed out
 *      .......^offset                   ^offsetInProgress      (entries[i] has index offset + i)
 *
 * A truncation must pull `offsetInProgress` back at once, or replaced entries would never be handed
 * to storage again. Entries leave only when storage confirms exactly their (term, index).
 */
import { logIndex, type LogIndex, type Term } from '../../common/ids.js';
import { invariant } from './invariant.js';
import type { TraceSink } from './trace.js';
import { NO_INDEX, type Entry, type SnapshotMeta } from './types.js';

export class Unstable {
  entries: Entry[] = [];
  snapshot: SnapshotMeta | undefined;
  snapshotInProgress = false;
  offsetInProgress: LogIndex;

  constructor(
    public offset: LogIndex,
    private readonly trace: TraceSink | undefined,
  ) {
    this.offsetInProgress = offset;
  }

  /** Last index this part knows of, NO_INDEX when it holds nothing. */
  lastIndex(): LogIndex {
    if (this.entries.length > 0) return logIndex(this.offset + this.entries.length - 1);
    return this.snapshot?.index ?? NO_INDEX;
  }

  termOf(index: LogIndex): Term | undefined {
    if (index < this.offset) {
      return this.snapshot !== undefined && this.snapshot.index === index
        ? this.snapshot.term
        : undefined;
    }
    return this.entries[index - this.offset]?.term;
  }

  /** Entries [from, to) as a fresh array; the caller keeps inside the bounds. */
  slice(from: LogIndex, to: LogIndex): Entry[] {
    const upper = this.offset + this.entries.length;
    invariant(from >= this.offset && from <= to && to <= upper, 'unstable slice bounds', () => ({
      from,
      to,
      offset: this.offset,
      upper,
    }));
    return this.entries.slice(from - this.offset, to - this.offset);
  }

  /** Entries not yet handed to storage. */
  nextEntries(): Entry[] {
    return this.entries.slice(this.offsetInProgress - this.offset);
  }

  hasNextEntries(): boolean {
    return this.offsetInProgress - this.offset < this.entries.length;
  }

  nextSnapshot(): SnapshotMeta | undefined {
    return this.snapshotInProgress ? undefined : this.snapshot;
  }

  /** Everything known now has been handed to storage. */
  markInProgress(): void {
    this.offsetInProgress = logIndex(this.offset + this.entries.length);
    if (this.snapshot !== undefined) this.snapshotInProgress = true;
  }

  /** Storage holds everything up to this entry, provided it still is the same entry. */
  stableTo(index: LogIndex, term: Term): void {
    const own = this.termOf(index);
    if (own === undefined) {
      this.trace?.({ type: 'ack-entry-missing', index });
      return;
    }
    if (index < this.offset) {
      this.trace?.({ type: 'ack-entry-in-snapshot', index });
      return;
    }
    if (own !== term) {
      // Written, but replaced in memory meanwhile: a newer write for this place is on its way.
      this.trace?.({
        type: 'ack-entry-mismatched',
        acked: { index, term },
        own: { index, term: own },
      });
      return;
    }
    this.entries = this.entries.slice(index + 1 - this.offset);
    this.offset = logIndex(index + 1);
    this.offsetInProgress = logIndex(Math.max(this.offsetInProgress, this.offset));
  }

  snapshotStableTo(index: LogIndex): void {
    if (this.snapshot?.index !== index) return;
    this.snapshot = undefined;
    this.snapshotInProgress = false;
  }

  /** The snapshot replaces everything. */
  restore(snapshot: SnapshotMeta): void {
    this.offset = logIndex(snapshot.index + 1);
    this.offsetInProgress = this.offset;
    this.entries = [];
    this.snapshot = snapshot;
    this.snapshotInProgress = false;
  }

  truncateAndAppend(entries: readonly Entry[]): void {
    const first = entries[0]?.index;
    if (first === undefined) return;
    const end = this.offset + this.entries.length;
    if (first === end) {
      for (const entry of entries) this.entries.push(entry);
      return;
    }
    if (first <= this.offset) {
      // Also covers a truncation of entries that are stable already.
      this.trace?.({ type: 'unstable-replaced', index: first });
      this.entries = entries.slice();
      this.offset = first;
      this.offsetInProgress = first;
      return;
    }
    invariant(first < end, 'gap in the log', () => ({ first, end }));
    this.trace?.({ type: 'unstable-truncated', index: first });
    this.entries = [...this.slice(this.offset, first), ...entries];
    this.offsetInProgress = logIndex(Math.min(this.offsetInProgress, first));
  }
}
