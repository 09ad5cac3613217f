/**
 * The stable log as the core reads it: synchronously. Recent entries stand in a ring bounded in bytes;
 * older ones are read from the WAL asynchronously, and the core is told when they are there. Terms come
 * from the WAL's own run table and never need a read.
 */
import type { LogIndex, NodeId, Term } from '../../../common/ids.js';
import { logIndex } from '../../../common/ids.js';
import type { ConfigState, Entry, EntryRange, HardState, LogReader } from '../../core/index.js';
import type { SnapshotMeta } from '../../core/index.js';
import type { Wal } from '../../wal/index.js';
import { isGone } from '../log-errors.js';

const RING_ENTRIES = 1 << 16;
/** Bytes of one asynchronous read for a member that is far behind. */
const READ_AHEAD_BYTES = 4 * 1024 * 1024;

export interface StableLogOptions {
  readonly cacheBytes: number;
  readonly config: ConfigState;
  readonly snapshotFor: (peer: NodeId) => SnapshotMeta | 'preparing';
  /** Entries of a read asked for earlier are in memory now. */
  readonly loaded: () => void;
  readonly failed: (error: unknown) => void;
}

export class StableLog implements LogReader {
  private readonly ring: (Entry | undefined)[] = new Array<Entry | undefined>(RING_ENTRIES);
  private first = 1;
  private last = 0;
  private bytes = 0;
  /** Entries read back for a slow member, contiguous; replaced by the next read. */
  private readBack: readonly Entry[] = [];
  private reading = false;

  constructor(
    private readonly wal: Wal,
    private readonly options: StableLogOptions,
  ) {}

  initialState(): { readonly hardState: HardState; readonly config: ConfigState } {
    return { hardState: this.wal.hardState, config: this.options.config };
  }

  firstIndex(): LogIndex {
    return this.wal.firstIndex;
  }

  lastIndex(): LogIndex {
    return this.wal.lastIndex;
  }

  termOf(index: LogIndex): Term | 'compacted' | 'unavailable' {
    if (index < this.wal.base.index) return 'compacted';
    return this.wal.termAt(index) ?? 'unavailable';
  }

  entries(range: EntryRange): readonly Entry[] | 'compacted' | 'loading' {
    if (range.from < this.wal.firstIndex) return 'compacted';
    const cached = this.collect(range, (index) => this.cached(index));
    if (cached.length > 0) return cached;
    const base = this.readBack[0]?.index ?? Infinity;
    const found = this.collect(range, (index) => this.readAgain(index, base));
    if (found.length > 0) return found;
    this.read(range.from);
    return 'loading';
  }

  snapshotFor(peer: NodeId): SnapshotMeta | 'preparing' {
    return this.options.snapshotFor(peer);
  }

  /** Entries the WAL has made durable, in order; an index at or below the last one truncates. */
  stored(entries: readonly Entry[]): void {
    const first = entries[0];
    // What was read before a truncation may be gone; terms are compared on the way out as well.
    if (first !== undefined && first.index <= this.last) this.readBack = [];
    for (const entry of entries) this.add(entry);
  }

  private add(entry: Entry): void {
    while (this.last >= entry.index && this.last >= this.first) this.dropLast();
    if (entry.index !== this.last + 1) {
      while (this.first <= this.last) this.dropFirst();
      this.first = entry.index;
    }
    if (entry.index - this.first >= RING_ENTRIES) this.dropFirst();
    this.ring[entry.index & (RING_ENTRIES - 1)] = entry;
    this.last = entry.index;
    this.bytes += entry.data.length;
    while (this.bytes > this.options.cacheBytes && this.first < this.last) this.dropFirst();
  }

  private cached(index: number): Entry | undefined {
    if (index < this.first || index > this.last) return undefined;
    return this.ring[index & (RING_ENTRIES - 1)];
  }

  /** Only while it is still the log's entry: a read may have crossed a truncation. */
  private readAgain(index: number, base: number): Entry | undefined {
    const entry = this.readBack[index - base];
    return entry?.term === this.wal.termAt(logIndex(index)) ? entry : undefined;
  }

  private collect(range: EntryRange, at: (index: number) => Entry | undefined): Entry[] {
    const found: Entry[] = [];
    let bytes = 0;
    for (let index: number = range.from; index < range.to; index += 1) {
      const entry = at(index);
      if (entry === undefined || entry.index !== index) break;
      bytes += entry.data.length;
      if (found.length > 0 && bytes > range.maxBytes) break;
      found.push(entry);
    }
    return found;
  }

  private read(from: LogIndex): void {
    if (this.reading) return;
    this.reading = true;
    this.wal.readEntries(from, READ_AHEAD_BYTES).then(
      (entries) => {
        this.reading = false;
        this.readBack = entries.map(({ index, term, kind, payload }) =>
          Object.freeze({
            index,
            term,
            kind: kind === 'membership' ? 'membership' : 'normal',
            data: payload,
          }),
        );
        this.options.loaded();
      },
      (error: unknown) => {
        this.reading = false;
        // Purged and collected while it was read: the core learns that when it asks again.
        if (isGone(error) && from < this.wal.firstIndex) this.options.loaded();
        else this.options.failed(error);
      },
    );
  }

  private dropFirst(): void {
    const slot = this.first & (RING_ENTRIES - 1);
    this.bytes -= this.ring[slot]?.data.length ?? 0;
    this.ring[slot] = undefined;
    this.first += 1;
  }

  private dropLast(): void {
    const slot = this.last & (RING_ENTRIES - 1);
    this.bytes -= this.ring[slot]?.data.length ?? 0;
    this.ring[slot] = undefined;
    this.last = logIndex(this.last - 1);
  }
}
