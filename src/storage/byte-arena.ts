/**
 * Append-only bytes for one overlay layer: no object per row, nothing is ever moved or overwritten,
 * so a slice handed out stays true for as long as somebody holds it.
 *
 *   position = chunk number * 2^20 + offset in the chunk     (a large record has its own chunk)
 */

const CHUNK_BITS = 20;
const CHUNK_BYTES = 1 << CHUNK_BITS;
const FIRST_CHUNK_BYTES = 1 << 14;
const CHUNK_COUNT_MAX = 1 << 11;

export class ByteArena {
  private readonly chunks: Uint8Array[] = [];
  private free = 0;
  private current = -1;

  /** Room for `length` bytes, contiguous; answers its position. */
  allocate(length: number): number {
    const chunk = this.current >= 0 ? this.chunks[this.current]! : undefined;
    if (chunk !== undefined && this.free + length <= chunk.length) {
      const position = this.current * CHUNK_BYTES + this.free;
      this.free += length;
      return position;
    }
    return this.allocateChunk(length);
  }

  private allocateChunk(length: number): number {
    const number = this.chunks.length;
    if (number >= CHUNK_COUNT_MAX) throw new RangeError('an overlay layer is full');
    if (length > CHUNK_BYTES >> 2) {
      this.chunks.push(new Uint8Array(length));
      return number * CHUNK_BYTES;
    }
    const size = number === 0 && length < FIRST_CHUNK_BYTES ? FIRST_CHUNK_BYTES : CHUNK_BYTES;
    this.chunks.push(new Uint8Array(size));
    this.current = number;
    this.free = length;
    return number * CHUNK_BYTES;
  }

  chunkOf(position: number): Uint8Array {
    return this.chunks[position >>> CHUNK_BITS]!;
  }

  offsetOf(position: number): number {
    return position & (CHUNK_BYTES - 1);
  }

  /** The bytes at a position, not copied. */
  slice(position: number, length: number): Uint8Array {
    const offset = position & (CHUNK_BYTES - 1);
    return this.chunks[position >>> CHUNK_BITS]!.subarray(offset, offset + length);
  }
}
