/**
 * The newest entries of the log, so that reads of fresh messages touch neither file nor store. Bytes
 * are copied into slabs that are allocated once and reused in a circle: buffers of commands die young
 * instead of filling the old generation. Bounded in bytes and entries; a slab that is reused drops the
 * oldest entries with it. What is handed out is a copy, for a slab changes.
 */
import type { LogEntry, PayloadRange } from './ports.js';

const RING_ENTRIES = 1 << 16;
const MAX_SLAB_BYTES = 4 * 1024 * 1024;
/** At least so many, so that a reused one takes only a small share of the cache with it. */
const MIN_SLABS = 8;

export class TailCache {
  private readonly slabs: Uint8Array[] = [];
  private readonly slabCount: number;
  private readonly slabBytes: number;
  /** Slab that is filled, and how far. */
  private slab = 0;
  private used = 0;
  private first = 0;
  private last = -1;
  private bytes = 0;
  /** Where entry i lies: at [i & (RING_ENTRIES − 1)]. */
  private readonly slabOf = new Uint16Array(RING_ENTRIES);
  private readonly startOf = new Uint32Array(RING_ENTRIES);
  private readonly lengthOf = new Uint32Array(RING_ENTRIES);

  constructor(maxBytes: number) {
    this.slabBytes = Math.min(MAX_SLAB_BYTES, Math.floor(maxBytes / MIN_SLABS));
    this.slabCount = this.slabBytes === 0 ? 0 : Math.floor(maxBytes / this.slabBytes);
  }

  /** Bytes of the entries that are held. */
  get sizeBytes(): number {
    return this.bytes;
  }

  /**
   * Adds the entry after the newest one; any other index starts the cache anew. One that is larger
   * than a slab takes its place but not its bytes: it is read from its file.
   */
  add(entry: LogEntry): void {
    const { index } = entry;
    if (index !== this.last + 1) this.clear(index);
    if (index - this.first >= RING_ENTRIES) this.dropFirst();
    const stored = entry.sizeBytes <= this.slabBytes ? entry.sizeBytes : 0;
    if (this.used + stored > this.slabBytes) this.nextSlab();
    const at = index & (RING_ENTRIES - 1);
    this.slabOf[at] = this.slab;
    this.startOf[at] = this.used;
    this.lengthOf[at] = stored;
    if (stored > 0) this.copyParts(entry.parts);
    this.last = index;
    this.bytes += stored;
  }

  /** A copy of a range of an entry's payload. */
  slice(range: PayloadRange): Uint8Array | undefined {
    if (range.index < this.first || range.index > this.last) return undefined;
    const at = range.index & (RING_ENTRIES - 1);
    if (range.start + range.length > (this.lengthOf[at] ?? 0)) return undefined;
    const slab = this.slabs[this.slabOf[at] ?? 0];
    if (slab === undefined) return undefined;
    const start = (this.startOf[at] ?? 0) + range.start;
    const copy = Buffer.allocUnsafe(range.length);
    copy.set(slab.subarray(start, start + range.length));
    return copy;
  }

  private copyParts(parts: readonly Uint8Array[]): void {
    const slab = (this.slabs[this.slab] ??= Buffer.allocUnsafeSlow(this.slabBytes));
    for (const part of parts) {
      slab.set(part, this.used);
      this.used += part.length;
    }
  }

  /** Goes on in the next slab of the circle; what it held is the oldest. */
  private nextSlab(): void {
    this.slab = (this.slab + 1) % this.slabCount;
    this.used = 0;
    while (this.first <= this.last && this.slabOf[this.first & (RING_ENTRIES - 1)] === this.slab) {
      this.dropFirst();
    }
  }

  private clear(next: number): void {
    this.first = next;
    this.last = next - 1;
    this.bytes = 0;
    this.slab = 0;
    this.used = 0;
  }

  private dropFirst(): void {
    this.bytes -= this.lengthOf[this.first & (RING_ENTRIES - 1)] ?? 0;
    this.first += 1;
  }
}
