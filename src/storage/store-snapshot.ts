/**
 * The rows of the last checkpoint, held still: LevelDB's explicit snapshot. Later checkpoints do
 * not show. Every row read is checked against its seal; damage goes to the store's damage callback
 * too. A snapshot keeps old versions from being compacted away, so it must be closed.
 */
import type { ClassicLevel } from 'classic-level';
import type { KeyRange } from './byte-order.js';
import { StoreDamageError } from './errors.js';
import { unseal } from './sealed-row.js';

export type Level = ClassicLevel<Uint8Array, Uint8Array>;
export type Row = [key: Uint8Array, value: Uint8Array];

export interface ScanOptions {
  reverse?: boolean;
  /** At most so many rows in all. */
  limit?: number;
}

/** A running scan: pages of rows in key order. */
export interface RowScan {
  /** The next page, never empty; undefined at the end. One call at a time. */
  next(): Promise<Row[] | undefined>;
  close(): Promise<void>;
}

/** What reads need of an open store. */
export interface LevelReader {
  readonly level: Level;
  readonly directory: string;
  reportDamage(error: StoreDamageError): void;
}

/** First key after the store's own keyspace 0. */
const FIRST_KEY = Uint8Array.of(1);
const PAGE_ROWS = 2_000;
const PAGE_BYTES = 1 << 20;

export class StoreSnapshot {
  private readonly snapshot;
  private isClosed = false;

  constructor(private readonly reader: LevelReader) {
    this.snapshot = reader.level.snapshot();
  }

  async get(key: Uint8Array): Promise<Uint8Array | undefined> {
    const sealed = await this.reader.level.get(key, { snapshot: this.snapshot });
    return sealed === undefined ? undefined : openRow(this.reader, key, sealed);
  }

  async getMany(keys: Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    const sealed = await this.reader.level.getMany(keys, { snapshot: this.snapshot });
    return openRows(this.reader, keys, sealed);
  }

  scan(range: KeyRange = {}, options: ScanOptions = {}): RowScan {
    const limit = options.limit ?? Infinity;
    const iterator = this.reader.level.iterator({
      gte: range.from ?? FIRST_KEY,
      ...(range.to === undefined ? {} : { lt: range.to }),
      reverse: options.reverse ?? false,
      limit: Number.isFinite(limit) ? limit : -1,
      fillCache: false,
      highWaterMarkBytes: PAGE_BYTES,
      snapshot: this.snapshot,
    } as Parameters<Level['iterator']>[0] & object);
    return new LevelScan(this.reader, iterator, Math.min(limit, PAGE_ROWS));
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await this.snapshot.close();
  }
}

/** Pages straight from LevelDB; the next page is read by its thread while this one is checked. */
class LevelScan implements RowScan {
  private pending: Promise<Row[]> | undefined;
  private isClosed = false;

  constructor(
    private readonly reader: LevelReader,
    private readonly iterator: ReturnType<Level['iterator']>,
    private readonly pageRows: number,
  ) {}

  async next(): Promise<Row[] | undefined> {
    if (this.isClosed) return undefined;
    const page = await (this.pending ?? this.read(Math.min(this.pageRows, 200)));
    this.pending = undefined;
    if (page.length === 0) {
      await this.close();
      return undefined;
    }
    if (this.isClosed) return undefined;
    this.pending = this.read(this.pageRows);
    // Whoever stops early never awaits this page; its error then concerns nobody.
    this.pending.catch(() => undefined);
    for (const row of page) row[1] = openRow(this.reader, row[0], row[1]);
    return page;
  }

  private read(rows: number): Promise<Row[]> {
    return this.iterator.nextv(rows) as Promise<Row[]>;
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    await this.iterator.close();
  }
}

/** Checks and opens one row read from LevelDB. */
export function openRow(reader: LevelReader, key: Uint8Array, sealed: Uint8Array): Uint8Array {
  try {
    return unseal(key, sealed, reader.directory);
  } catch (error) {
    if (error instanceof StoreDamageError) reader.reportDamage(error);
    throw error;
  }
}

export function openRows(
  reader: LevelReader,
  keys: Uint8Array[],
  sealed: (Uint8Array | undefined)[],
): (Uint8Array | undefined)[] {
  return sealed.map((value, i) =>
    value === undefined ? undefined : openRow(reader, keys[i]!, value),
  );
}
