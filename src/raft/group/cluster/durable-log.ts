/**
 * The durable log as the raft loop writes it. A commit index may run ahead of this node's own disk (a
 * majority of others is enough), but the log only remembers commits of entries it was given: the rest
 * of a commit is noted once those entries are written. Never goes back (rule D6).
 */
import type { LogIndex, Term } from '../../../common/ids.js';
import { logIndex } from '../../../common/ids.js';
import type { Entry, HardState } from '../../core/index.js';
import type { Wal } from '../../wal/index.js';
import { isEmptyEntry } from './log-entries.js';
import type { StableLog } from './stable-log.js';

/** Told of every write with entries. */
export interface WriteWatch {
  nowMs(): number;
  wrote(entries: readonly Entry[], tookMs: number): void;
}

export class DurableLog {
  private commit = 0;
  /** Last entry handed to the log, durable or under way. */
  private given: number;

  constructor(
    private readonly wal: Pick<Wal, 'append' | 'setCommit' | 'lastIndex'>,
    private readonly stable: Pick<StableLog, 'stored'>,
    private readonly watch: WriteWatch,
  ) {
    this.given = wal.lastIndex;
  }

  /** Resolves when entries and hard state are on disk. */
  async append(entries: readonly Entry[], hardState: HardState | undefined): Promise<void> {
    const last = entries[entries.length - 1];
    const startMs = this.watch.nowMs();
    const written = this.wal.append({
      entries: entries.map(toWalEntry),
      ...(hardState === undefined ? {} : { hardState }),
    });
    if (last !== undefined) this.given = last.index;
    this.note();
    await written;
    this.stable.stored(entries);
    if (last !== undefined) this.watch.wrote(entries, this.watch.nowMs() - startMs);
  }

  /** Only the commit moved: it becomes durable with the next write. */
  commitMoved(commit: LogIndex): void {
    this.commit = Math.max(this.commit, commit);
    this.note();
  }

  private note(): void {
    if (this.commit > 0) this.wal.setCommit(logIndex(Math.min(this.commit, this.given)));
  }
}

function toWalEntry(entry: Entry): {
  readonly index: LogIndex;
  readonly term: Term;
  readonly kind: 'normal' | 'membership' | 'empty';
  readonly parts: readonly Uint8Array[];
} {
  const { index, term, data } = entry;
  const kind = isEmptyEntry(entry) ? 'empty' : entry.kind;
  return { index, term, kind, parts: data.length === 0 ? [] : [data] };
}
