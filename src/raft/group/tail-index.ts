/**
 * Index rows of recent appends, by (partition, offset), so that a consumer at the tail finds its
 * messages without the store. Bounded: two generations, the older one is dropped whole when the newer
 * is full. Typed arrays only. A miss says nothing: the store knows.
 *
 * Offsets are looked up in buckets of 64: the table names the first row that touches the bucket, and
 * rows of one partition are chained in offset order, so a lookup walks at most 64 rows.
 *
 *   (partition 7, bucket 1) ──► row base 60 count 10 ──► row base 70 count 1 ──► …
 */
const BUCKET = 64;
const LAST = -1;
const NONE = -1;
const FIRST_ROWS = 1024;
const FIRST_BYTES = 1 << 18;

export interface IndexedRow {
  readonly baseOffset: number;
  /** A copy of the row's value. */
  readonly value: Uint8Array;
}

export interface AppendSpan {
  readonly partitionId: number;
  readonly baseOffset: number;
  readonly count: number;
}

export class TailIndex {
  private current: Generation;
  private older: Generation;

  constructor(private readonly maxBytes = 32 * 1024 * 1024) {
    this.current = new Generation();
    this.older = new Generation();
  }

  add(span: AppendSpan, value: Uint8Array): void {
    const half = this.maxBytes / 2;
    if (value.length > half / 8) return;
    if (this.current.sizeBytes + value.length > half) {
      const emptied = this.older;
      emptied.clear();
      this.older = this.current;
      this.current = emptied;
    }
    this.current.add(span, value);
  }

  /** The append that holds an offset; undefined when it is not (or no longer) indexed. */
  find(partitionId: number, offset: number): IndexedRow | undefined {
    return this.current.find(partitionId, offset) ?? this.older.find(partitionId, offset);
  }
}

class Generation {
  private bytes = new Uint8Array(FIRST_BYTES);
  private used = 0;
  private rows = 0;
  private rowBase = new Float64Array(FIRST_ROWS);
  private rowCount = new Uint32Array(FIRST_ROWS);
  private rowAt = new Uint32Array(FIRST_ROWS);
  private rowLength = new Uint32Array(FIRST_ROWS);
  private rowNext = new Int32Array(FIRST_ROWS);
  private slots = new Int32Array(FIRST_ROWS * 4);
  private entries = 0;
  private entryPartition = new Float64Array(FIRST_ROWS);
  private entryBucket = new Float64Array(FIRST_ROWS);
  private entryRow = new Int32Array(FIRST_ROWS);

  /** Bytes of values and bookkeeping. */
  get sizeBytes(): number {
    return this.used + this.rows * 24 + this.entries * 28;
  }

  clear(): void {
    this.used = 0;
    this.rows = 0;
    this.entries = 0;
    this.slots.fill(0);
  }

  add(span: AppendSpan, value: Uint8Array): void {
    const { partitionId, baseOffset, count } = span;
    const row = this.addRow(baseOffset, count, value);
    const previous = this.lookup(partitionId, LAST);
    if (previous === NONE) this.insert(partitionId, LAST, row);
    else {
      const last = this.entryRow[previous] ?? NONE;
      const end = (this.rowBase[last] ?? 0) + (this.rowCount[last] ?? 0);
      if (end === baseOffset) this.rowNext[last] = row;
      this.entryRow[previous] = row;
    }
    const lastBucket = Math.floor((baseOffset + count - 1) / BUCKET);
    for (let bucket = Math.floor(baseOffset / BUCKET); bucket <= lastBucket; bucket += 1) {
      if (this.lookup(partitionId, bucket) === NONE) this.insert(partitionId, bucket, row);
    }
  }

  find(partitionId: number, offset: number): IndexedRow | undefined {
    const entry = this.lookup(partitionId, Math.floor(offset / BUCKET));
    let row = entry === NONE ? NONE : (this.entryRow[entry] ?? NONE);
    while (row !== NONE) {
      const baseOffset = this.rowBase[row] ?? 0;
      if (baseOffset > offset) return undefined;
      if (offset < baseOffset + (this.rowCount[row] ?? 0)) {
        const at = this.rowAt[row] ?? 0;
        return { baseOffset, value: this.bytes.slice(at, at + (this.rowLength[row] ?? 0)) };
      }
      row = this.rowNext[row] ?? NONE;
    }
    return undefined;
  }

  private addRow(baseOffset: number, count: number, value: Uint8Array): number {
    if (this.rows === this.rowBase.length) this.growRows();
    while (this.used + value.length > this.bytes.length) this.bytes = doubledBytes(this.bytes);
    const row = this.rows++;
    this.rowBase[row] = baseOffset;
    this.rowCount[row] = count;
    this.rowAt[row] = this.used;
    this.rowLength[row] = value.length;
    this.rowNext[row] = NONE;
    this.bytes.set(value, this.used);
    this.used += value.length;
    return row;
  }

  private lookup(partitionId: number, bucket: number): number {
    const mask = this.slots.length - 1;
    for (let slot = hash(partitionId, bucket) & mask; ; slot = (slot + 1) & mask) {
      const entry = (this.slots[slot] ?? 0) - 1;
      if (entry < 0) return NONE;
      if (this.entryBucket[entry] === bucket && this.entryPartition[entry] === partitionId) {
        return entry;
      }
    }
  }

  private insert(partitionId: number, bucket: number, row: number): void {
    if (this.entries === this.entryRow.length) this.growEntries();
    const entry = this.entries++;
    this.entryPartition[entry] = partitionId;
    this.entryBucket[entry] = bucket;
    this.entryRow[entry] = row;
    if (this.entries * 2 > this.slots.length) this.growSlots();
    else this.place(entry);
  }

  private place(entry: number): void {
    const mask = this.slots.length - 1;
    let slot = hash(this.entryPartition[entry] ?? 0, this.entryBucket[entry] ?? 0) & mask;
    while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
    this.slots[slot] = entry + 1;
  }

  private growSlots(): void {
    this.slots = new Int32Array(this.slots.length * 2);
    for (let entry = 0; entry < this.entries; entry += 1) this.place(entry);
  }

  private growRows(): void {
    const rows = this.rows * 2;
    this.rowBase = grown(this.rowBase, new Float64Array(rows));
    this.rowCount = grown(this.rowCount, new Uint32Array(rows));
    this.rowAt = grown(this.rowAt, new Uint32Array(rows));
    this.rowLength = grown(this.rowLength, new Uint32Array(rows));
    this.rowNext = grown(this.rowNext, new Int32Array(rows));
  }

  private growEntries(): void {
    const entries = this.entries * 2;
    this.entryPartition = grown(this.entryPartition, new Float64Array(entries));
    this.entryBucket = grown(this.entryBucket, new Float64Array(entries));
    this.entryRow = grown(this.entryRow, new Int32Array(entries));
  }
}

function grown<T extends { set(from: T): void }>(from: T, to: T): T {
  to.set(from);
  return to;
}

function doubledBytes(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return grown(bytes, new Uint8Array(bytes.length * 2));
}

function hash(partitionId: number, bucket: number): number {
  const high = Math.floor(partitionId / 0x1_0000_0000);
  let h = Math.imul((partitionId | 0) ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1);
  h = Math.imul(h ^ (bucket | 0) ^ Math.floor(bucket / 0x1_0000_0000), 0xc2b2ae35);
  return h ^ (h >>> 15);
}
