/**
 * Messages of many partitions, newest first by (createdAt, offset), from append rows in a view. A
 * partition costs nothing until the merge reaches the stamp of its newest append, which the columns
 * know; its rows are then read backwards, page by page.
 */
import type { PartitionId, QueueId } from '../common/ids.js';
import { micros } from '../common/ids.js';
import { AppendRowView } from '../machine/tables/append-row.js';
import { appendKey, keyBaseOffset } from '../machine/tables/keyspaces.js';
import type { RowView } from './append-rows.js';
import { firstOffsetAtOrAfter } from './append-rows.js';
import { ObjectHeap } from './object-heap.js';
import { Slices } from './slices.js';

const ROWS_PER_PAGE = 32;

export interface MessageSource {
  readonly queueId: QueueId;
  readonly partitionId: PartitionId;
  readonly logStart: number;
  readonly lastOffset: number;
  readonly lastAppendAt: number;
}

export interface ListedMessage {
  readonly queueId: QueueId;
  readonly partitionId: PartitionId;
  readonly offset: number;
  readonly baseOffset: number;
  readonly createdAt: number;
  readonly id: Uint8Array;
  readonly hash: Uint8Array;
}

/** Appended at or after `from` and before `to`, µs. */
export interface AppendedBetween {
  readonly from: number;
  readonly to: number;
}

export async function* newestMessages(
  view: RowView,
  sources: Iterable<MessageSource>,
  between: AppendedBetween,
): AsyncGenerator<ListedMessage> {
  const heap = new ObjectHeap<BackwardReader>((a, b) => a.isNewerThan(b));
  const slices = new Slices();
  for (const source of sources) {
    heap.push(new BackwardReader(view, source, between));
    if (slices.isSpent()) await slices.pause();
  }
  for (let reader = heap.pop(); reader !== undefined; reader = heap.pop()) {
    if (slices.isSpent()) await slices.pause();
    if (reader.isLoaded) {
      yield reader.message();
      reader.advance();
    }
    if (reader.isLoaded || (await reader.load())) heap.push(reader);
  }
}

interface Append {
  readonly baseOffset: number;
  readonly row: AppendRowView;
}

class BackwardReader {
  /** Key of the heap: stamp and offset of the current message, or the newest it may have. */
  createdAt: number;
  offset: number;
  private page: Append[] = [];
  /** Offsets below this one are still to be read. */
  private below: number;
  private isPlaced = false;

  constructor(
    private readonly view: RowView,
    private readonly source: MessageSource,
    private readonly between: AppendedBetween,
  ) {
    this.createdAt = Math.min(source.lastAppendAt, between.to - 1);
    this.offset = source.lastOffset;
    this.below = source.lastOffset + 1;
  }

  get isLoaded(): boolean {
    return this.page.length > 0;
  }

  isNewerThan(other: BackwardReader): boolean {
    if (this.createdAt !== other.createdAt) return this.createdAt > other.createdAt;
    // What is not loaded goes first: it may hold the newer one.
    if (this.isLoaded !== other.isLoaded) return !this.isLoaded;
    if (this.offset !== other.offset) return this.offset > other.offset;
    return this.source.partitionId > other.source.partitionId;
  }

  /** Reads the next appends below; false when there are none in the interval. */
  async load(): Promise<boolean> {
    const { source, view, between } = this;
    if (!this.isPlaced) await this.place();
    const { queueId, partitionId, logStart } = source;
    const range = {
      gte: appendKey(queueId, partitionId, 0),
      lt: appendKey(queueId, partitionId, this.below),
      ...{ reverse: true, limit: ROWS_PER_PAGE },
    };
    if (this.below <= logStart) return false;
    for await (const [key, value] of view.iterate(range)) {
      const row = new AppendRowView().open(value);
      const baseOffset = keyBaseOffset(key);
      if (row.createdAt < between.from || baseOffset + row.count <= logStart) break;
      this.page.push({ baseOffset, row });
    }
    const last = this.page.at(-1);
    this.below = last === undefined ? 0 : last.baseOffset;
    this.page.reverse();
    return this.start();
  }

  message(): ListedMessage {
    const { queueId, partitionId } = this.source;
    const { baseOffset, row } = this.current();
    const item = this.offset - baseOffset;
    const hashAt = row.hashAt(item);
    return {
      queueId,
      partitionId,
      offset: this.offset,
      baseOffset,
      createdAt: row.createdAt,
      id: row.copyId(item),
      hash: row.bytes.slice(hashAt, hashAt + 16),
    };
  }

  advance(): void {
    const { baseOffset } = this.current();
    if (this.offset > Math.max(baseOffset, this.source.logStart)) {
      this.offset -= 1;
      return;
    }
    this.page.pop();
    if (this.start()) return;
    // The next page is older than this message, by at least a microsecond.
    this.createdAt -= 1;
    this.offset = baseOffset - 1;
  }

  /** Skips what was appended after the interval. */
  private async place(): Promise<void> {
    this.isPlaced = true;
    const { source, between, view } = this;
    if (source.lastAppendAt < between.to) return;
    const { queueId, partitionId, logStart: first, lastOffset: last } = source;
    const span = { queueId, partitionId, first, last };
    this.below = await firstOffsetAtOrAfter(view, span, micros(between.to));
  }

  /** Points at the newest message of the page's last append; false when the page is through. */
  private start(): boolean {
    const append = this.page.at(-1);
    if (append === undefined) return false;
    this.createdAt = append.row.createdAt;
    this.offset = append.baseOffset + append.row.count - 1;
    return true;
  }

  private current(): Append {
    const append = this.page.at(-1);
    if (append === undefined) throw new Error('no append is loaded');
    return append;
  }
}

/** How many appends are searched oldest first before the id index is asked. */
const FIRST_ROWS = 10_000;

/**
 * Offset of the first retained message whose transactionId has this hash, -1 when there is none. The
 * oldest appends are searched in order; beyond them `resolve` (the id index) may name a place, else
 * the rest is searched too.
 */
export async function firstWithHash(
  view: RowView,
  source: Omit<MessageSource, 'lastAppendAt'>,
  hash: Uint8Array,
  resolve: () => Promise<number>,
): Promise<number> {
  const { queueId, partitionId, logStart, lastOffset } = source;
  const row = new AppendRowView();
  let rows = 0;
  const range = {
    gte: appendKey(queueId, partitionId, 0),
    lt: appendKey(queueId, partitionId, lastOffset + 1),
  };
  for await (const [key, value] of view.iterate(range)) {
    const base = keyBaseOffset(key);
    row.open(value);
    if (base + row.count <= logStart) continue;
    const item = row.findHash(hash, 0);
    if (item >= 0 && base + item >= logStart) return base + item;
    rows += 1;
    if (rows !== FIRST_ROWS) continue;
    const known = await resolve();
    if (known >= logStart) return known;
  }
  return -1;
}
