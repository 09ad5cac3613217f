/**
 * The newest entries of the log, kept as the parts they came in, so that reads of fresh messages touch
 * neither file nor store. A ring by entry index, bounded in bytes and entries; the oldest leave first.
 * Parts are never changed after they were added, so slices handed out stay valid.
 */
import type { LogEntry, PayloadRange } from './ports.js';

const RING_ENTRIES = 1 << 16;

export class TailCache {
  private readonly ring: (LogEntry | undefined)[] = new Array<LogEntry | undefined>(RING_ENTRIES);
  private first = 0;
  private last = -1;
  private bytes = 0;

  constructor(private readonly maxBytes: number) {}

  get sizeBytes(): number {
    return this.bytes;
  }

  /** Adds the entry after the newest one; any other index starts the cache anew. */
  add(entry: LogEntry): void {
    if (entry.index !== this.last + 1) this.clear(entry.index);
    if (entry.index - this.first >= RING_ENTRIES) this.dropFirst();
    this.ring[entry.index & (RING_ENTRIES - 1)] = entry;
    this.last = entry.index;
    this.bytes += entry.sizeBytes;
    while (this.bytes > this.maxBytes && this.first <= this.last) this.dropFirst();
  }

  get(index: number): LogEntry | undefined {
    if (index < this.first || index > this.last) return undefined;
    return this.ring[index & (RING_ENTRIES - 1)];
  }

  /** Bytes of a range of an entry's payload; a slice when one part holds it all. */
  slice(range: PayloadRange): Uint8Array | undefined {
    const entry = this.get(range.index);
    return entry === undefined ? undefined : sliceParts(entry.parts, range.start, range.length);
  }

  private clear(next: number): void {
    while (this.first <= this.last) this.dropFirst();
    this.first = next;
    this.last = next - 1;
    this.bytes = 0;
  }

  private dropFirst(): void {
    const slot = this.first & (RING_ENTRIES - 1);
    this.bytes -= this.ring[slot]?.sizeBytes ?? 0;
    this.ring[slot] = undefined;
    this.first += 1;
  }
}

/** Bytes [start, start + length) of the concatenated parts; undefined when they end before. */
export function sliceParts(
  parts: readonly Uint8Array[],
  start: number,
  length: number,
): Uint8Array | undefined {
  let skip = start;
  for (let i = 0; i < parts.length; i += 1) {
    const part = parts[i];
    if (part === undefined) break;
    if (skip + length <= part.length) return part.subarray(skip, skip + length);
    if (skip < part.length) return copyAcross(parts.slice(i), skip, length);
    skip -= part.length;
  }
  return undefined;
}

function copyAcross(
  parts: readonly Uint8Array[],
  start: number,
  length: number,
): Uint8Array | undefined {
  const target = new Uint8Array(length);
  let done = 0;
  let skip = start;
  for (const part of parts) {
    const piece = part.subarray(skip, Math.min(part.length, skip + length - done));
    target.set(piece, done);
    done += piece.length;
    skip = 0;
    if (done === length) return target;
  }
  return undefined;
}
