/**
 * The adds that no run covers yet, as rows of the checkpoint that carries the entries they come from:
 * after a restart they fill the in-memory table again. Deleted once the table is sealed.
 *
 *   key    0c | u64 row number (big-endian)
 *   value  u8 version=1 | f64 oldest | f64 newest | n x { u32 hi | u32 lo | f64 offset | u32 delta }
 */
import type { Fragment } from './fragment.js';
import type { IdTable } from './id-table.js';

export const JOURNAL_KEYSPACE = 0x0c;
const VERSION = 1;
const HEAD_BYTES = 17;
const ADD_BYTES = 20;
/** Adds in one row: about 60 KiB. */
const ROW_ADDS = 3000;

export interface JournalRows {
  put(key: Uint8Array, value: Uint8Array): void;
  delete(key: Uint8Array): void;
}

/** The journal rows of one table, from its first add to the run that covers it. */
export interface JournalSpan {
  readonly rows: number[];
  covered: boolean;
}

export class IdJournal {
  private buffer = new Uint8Array(HEAD_BYTES + ROW_ADDS * ADD_BYTES);
  private view = new DataView(this.buffer.buffer);
  private pending: { readonly span: JournalSpan; readonly value: Uint8Array }[] = [];
  private adds = 0;
  private oldest = Infinity;
  private newest = 0;
  private nextRow = 1;
  private span: JournalSpan = { rows: [], covered: false };
  private covered: number[] = [];

  add(fragment: Fragment, place: { offset: number; delta: number; createdAt: number }): void {
    const { view } = this;
    const at = HEAD_BYTES + this.adds * ADD_BYTES;
    view.setUint32(at, fragment.hi, true);
    view.setUint32(at + 4, fragment.lo, true);
    view.setFloat64(at + 8, place.offset, true);
    view.setUint32(at + 16, place.delta, true);
    this.adds += 1;
    if (place.createdAt < this.oldest) this.oldest = place.createdAt;
    if (place.createdAt > this.newest) this.newest = place.createdAt;
    if (this.adds === ROW_ADDS) this.closeRow();
  }

  /** The table filled so far is being sealed; the next adds belong to another one. */
  seal(): JournalSpan {
    this.closeRow();
    const sealed = this.span;
    this.span = { rows: [], covered: false };
    return sealed;
  }

  /** The run of a sealed table is durable: its rows go with the next checkpoint. */
  cover(span: JournalSpan): void {
    span.covered = true;
    for (const row of span.rows) this.covered.push(row);
  }

  /** Writes what was added since the last call, deletes what runs cover. */
  write(rows: JournalRows): void {
    this.closeRow();
    for (const { span, value } of this.pending) {
      if (span.covered) continue;
      rows.put(journalKey(this.nextRow), value);
      span.rows.push(this.nextRow);
      this.nextRow += 1;
    }
    this.pending = [];
    for (const row of this.covered) rows.delete(journalKey(row));
    this.covered = [];
  }

  /** Restart: puts the adds of a row into the table. */
  load(key: Uint8Array, value: Uint8Array, table: IdTable): void {
    if (value[0] !== VERSION) throw new Error(`id journal row has version ${value[0]}`);
    const row = journalRow(key);
    this.span.rows.push(row);
    this.nextRow = row + 1;
    const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
    table.oldest = Math.min(table.oldest, view.getFloat64(1, true));
    table.newest = Math.max(table.newest, view.getFloat64(9, true));
    for (let at = HEAD_BYTES; at + ADD_BYTES <= value.length; at += ADD_BYTES) {
      const hi = view.getUint32(at, true);
      const lo = view.getUint32(at + 4, true);
      table.add(hi, lo, view.getFloat64(at + 8, true), view.getUint32(at + 16, true));
    }
  }

  private closeRow(): void {
    if (this.adds === 0) return;
    this.buffer[0] = VERSION;
    this.view.setFloat64(1, this.oldest, true);
    this.view.setFloat64(9, this.newest, true);
    const value = this.buffer.slice(0, HEAD_BYTES + this.adds * ADD_BYTES);
    this.pending.push({ span: this.span, value });
    this.adds = 0;
    this.oldest = Infinity;
    this.newest = 0;
  }
}

export function journalKey(row: number): Uint8Array {
  const key = new Uint8Array(9);
  const view = new DataView(key.buffer);
  key[0] = JOURNAL_KEYSPACE;
  view.setUint32(1, Math.floor(row / 0x1_0000_0000));
  view.setUint32(5, row % 0x1_0000_0000);
  return key;
}

function journalRow(key: Uint8Array): number {
  const view = new DataView(key.buffer, key.byteOffset, key.byteLength);
  return view.getUint32(1) * 0x1_0000_0000 + view.getUint32(5);
}
