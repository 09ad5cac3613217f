/**
 * A scan over a view: LevelDB's pages merged with the overlay layers, newest layer first in case of
 * equal keys, deletions left out. Runs in pages; between pages everything else runs.
 *
 *   layer 0 (newest)   a2        d-
 *   layer 1                 c1
 *   LevelDB page       a0   c0   d0   e0      ─►   a2 c1 e0
 */
import { compareKeys, type KeyRange } from './byte-order.js';
import { sortCut } from './key-sort.js';
import type { LayerCut } from './overlay.js';
import type { Row, RowScan, ScanOptions } from './store-snapshot.js';

const PAGE_ROWS = 2_000;
const PAGE_BYTES = 1 << 20;

/** The rest of one layer's sorted entries; `key` is the head, undefined at the end. */
class LayerCursor {
  key: Uint8Array | undefined;
  private at: number;

  constructor(
    private readonly cut: LayerCut,
    private readonly entries: Int32Array,
    private readonly step: 1 | -1,
  ) {
    this.at = step === 1 ? 0 : entries.length - 1;
    this.load();
  }

  /** Value of the head; null when deleted. */
  value(): Uint8Array | null {
    return this.cut.layer.valueOf(this.entries[this.at]!, this.cut.epoch) ?? null;
  }

  advance(): void {
    this.at += this.step;
    this.load();
  }

  private load(): void {
    const entry = this.entries[this.at];
    this.key = entry === undefined ? undefined : this.cut.layer.keyOf(entry);
  }
}

export interface MergeSource {
  cuts: LayerCut[];
  range: KeyRange;
  options: ScanOptions;
  /** Starts LevelDB's part; called once, lazily. */
  openStoreScan: () => RowScan;
}

export class MergeScan implements RowScan {
  private readonly sign: 1 | -1;
  private remaining: number;
  private cursors: LayerCursor[] | undefined;
  private storeScan: RowScan | undefined;
  private page: Row[] = [];
  private pageAt = 0;
  private storeEnded = false;
  private isClosed = false;

  constructor(private readonly source: MergeSource) {
    this.sign = source.options.reverse === true ? -1 : 1;
    this.remaining = source.options.limit ?? Infinity;
  }

  async next(): Promise<Row[] | undefined> {
    if (this.isClosed) return undefined;
    this.storeScan ??= this.source.openStoreScan();
    this.cursors ??= await this.openCursors();
    const rows: Row[] = [];
    let bytes = 0;
    while (this.remaining > 0 && rows.length < PAGE_ROWS && bytes < PAGE_BYTES) {
      if (this.pageAt >= this.page.length && !this.storeEnded) {
        // A page is handed on before the next is fetched, unless the merge left nothing of it.
        if (rows.length > 0) break;
        await this.fetch();
      }
      if (this.isClosed) return undefined;
      if (this.cursors.length === 0 && rows.length === 0) return this.passOn();
      const row = this.step();
      if (row === undefined) break;
      if (row === 'deleted') continue;
      rows.push(row);
      bytes += row[0].length + row[1].length;
      this.remaining--;
    }
    if (rows.length > 0) return rows;
    await this.close();
    return undefined;
  }

  private async openCursors(): Promise<LayerCursor[]> {
    const cursors: LayerCursor[] = [];
    for (const cut of this.source.cuts) {
      const entries = await sortCut(cut, this.source.range);
      if (entries.length > 0) cursors.push(new LayerCursor(cut, entries, this.sign));
    }
    return cursors;
  }

  private async fetch(): Promise<void> {
    this.page = (await this.storeScan?.next()) ?? [];
    this.pageAt = 0;
    this.storeEnded = this.page.length === 0;
  }

  /** No layer has a say any more: LevelDB's page is the answer. */
  private async passOn(): Promise<Row[] | undefined> {
    const rest = this.pageAt === 0 ? this.page : this.page.slice(this.pageAt);
    const rows = rest.length > this.remaining ? rest.slice(0, this.remaining) : rest;
    this.page = [];
    this.pageAt = 0;
    this.remaining -= rows.length;
    if (rows.length > 0) return rows;
    await this.close();
    return undefined;
  }

  /** The next row of the merge; undefined when a store page is needed or all is done. */
  private step(): Row | 'deleted' | undefined {
    const stored = this.page[this.pageAt];
    const cursors = this.cursors!;
    let first: LayerCursor | undefined;
    for (const cursor of cursors) {
      if (first === undefined || this.sign * compareKeys(cursor.key!, first.key!) < 0) {
        first = cursor;
      }
    }
    if (first === undefined || (stored !== undefined && this.isBefore(stored[0], first.key!))) {
      if (stored !== undefined) this.pageAt++;
      return stored;
    }
    const key = first.key!;
    const value = first.value();
    if (stored !== undefined && compareKeys(stored[0], key) === 0) this.pageAt++;
    let ended = false;
    for (const cursor of cursors) {
      if (compareKeys(cursor.key!, key) !== 0) continue;
      cursor.advance();
      ended ||= cursor.key === undefined;
    }
    if (ended) this.cursors = cursors.filter((cursor) => cursor.key !== undefined);
    return value === null ? 'deleted' : [key, value];
  }

  private isBefore(a: Uint8Array, b: Uint8Array): boolean {
    return this.sign * compareKeys(a, b) < 0;
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    this.page = [];
    await this.storeScan?.close();
  }
}
