/**
 * In-memory stable storage of one member for tests: what it holds survives a simulated crash. It
 * implements the core's LogReader and the writes a driver makes. Bad use throws: a test double that
 * forgives would hide bugs.
 */
import { logIndex, type LogIndex, type NodeId, type Term } from '../../../src/common/ids.js';
import { EMPTY_CONFIG } from '../../../src/raft/core/membership.js';
import {
  NO_INDEX,
  NO_NODE,
  NO_TERM,
  entryBytes,
  type ConfigState,
  type Entry,
  type EntryRange,
  type HardState,
  type LogReader,
  type SnapshotMeta,
} from '../../../src/raft/core/types.js';

export class MemoryLog implements LogReader {
  hardState: HardState = { term: NO_TERM, vote: NO_NODE, commit: NO_INDEX };
  /** Membership at `applied`, for restarts. */
  config: ConfigState = EMPTY_CONFIG;
  /** Last snapshot taken or installed. */
  snapshot: SnapshotMeta | undefined;
  /** Overrides what a lagging peer is offered. */
  snapshotSource: ((peer: NodeId) => SnapshotMeta | 'preparing') | undefined;
  /** Entries become readable only after this is cleared (a slow disk). */
  slow = false;
  private baseIndex = 0;
  private baseTerm = NO_TERM;
  private entriesHeld: Entry[] = [];

  initialState(): { hardState: HardState; config: ConfigState } {
    return { hardState: this.hardState, config: this.config };
  }

  firstIndex(): LogIndex {
    return logIndex(this.baseIndex + 1);
  }

  lastIndex(): LogIndex {
    return logIndex(this.baseIndex + this.entriesHeld.length);
  }

  termOf(index: LogIndex): Term | 'compacted' | 'unavailable' {
    if (index === this.baseIndex) return this.baseTerm;
    if (index < this.baseIndex) return 'compacted';
    return this.entriesHeld[index - this.baseIndex - 1]?.term ?? 'unavailable';
  }

  entries(range: EntryRange): readonly Entry[] | 'compacted' | 'loading' {
    if (range.from <= this.baseIndex) return 'compacted';
    if (this.slow) return 'loading';
    const found: Entry[] = [];
    let bytes = 0;
    for (let index = range.from as number; index < range.to; index += 1) {
      const entry = this.entriesHeld[index - this.baseIndex - 1];
      if (entry === undefined) break;
      bytes += entryBytes(entry);
      if (found.length > 0 && bytes > range.maxBytes) break;
      found.push(entry);
    }
    return found;
  }

  snapshotFor(peer: NodeId): SnapshotMeta | 'preparing' {
    return this.snapshotSource?.(peer) ?? this.snapshot ?? 'preparing';
  }

  all(): readonly Entry[] {
    return this.entriesHeld;
  }

  /** Replaces everything from the first given index on, like a log that is truncated and written. */
  append(entries: readonly Entry[]): void {
    const first = entries[0];
    if (first === undefined) return;
    if (first.index <= this.baseIndex) throw new Error(`append below the snapshot: ${first.index}`);
    if (first.index > this.lastIndex() + 1) throw new Error(`gap before ${first.index}`);
    this.entriesHeld = [...this.entriesHeld.slice(0, first.index - this.baseIndex - 1), ...entries];
  }

  installSnapshot(snapshot: SnapshotMeta): void {
    if (this.snapshot !== undefined && snapshot.index <= this.snapshot.index) return;
    this.snapshot = snapshot;
    this.config = snapshot.config;
    this.baseIndex = snapshot.index;
    this.baseTerm = snapshot.term;
    this.entriesHeld = [];
    this.raiseCommit(snapshot.index);
  }

  /** Rule D6: an older write never lowers the commit index. */
  setHardState(hardState: HardState): void {
    const commit = logIndex(Math.max(hardState.commit, this.snapshot?.index ?? 0));
    this.hardState = { ...hardState, commit };
  }

  compact(through: LogIndex): void {
    if (through <= this.baseIndex) return;
    const term = this.termOf(through);
    if (typeof term !== 'number') throw new Error(`cannot compact through ${through}`);
    this.entriesHeld = this.entriesHeld.slice(through - this.baseIndex);
    this.baseIndex = through;
    this.baseTerm = term;
  }

  private raiseCommit(index: LogIndex): void {
    if (index > this.hardState.commit) this.hardState = { ...this.hardState, commit: index };
  }
}
