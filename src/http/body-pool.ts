/**
 * Memory for request bodies that arrive in several pieces, used again for the next one: a fresh buffer
 * of this size per request costs page faults and, as memory outside the heap, whole garbage
 * collections. Handing a body back is voluntary; what nobody hands back is collected as usual.
 */

const SMALLEST_BYTES = 64 * 1024;
const LARGEST_BYTES = 1024 * 1024;
const KEPT_BYTES = 16 * 1024 * 1024;

/** Pool of every body that is lent out. */
const LENT_BY = new WeakMap<Uint8Array, BodyPool>();

export class BodyPool {
  /** Idle memory by size class: 64 KiB, 128 KiB, … 1 MiB. */
  private readonly idle: ArrayBuffer[][] = [];
  private idleBytes = 0;

  /** A buffer of exactly so many bytes with old content; undefined when they are too many to keep. */
  take(bytes: number): Buffer | undefined {
    if (bytes > LARGEST_BYTES) return undefined;
    const size = sizeClassOf(bytes);
    let memory = this.idle[size]?.pop();
    if (memory === undefined) memory = new ArrayBuffer(SMALLEST_BYTES << size);
    else this.idleBytes -= memory.byteLength;
    const body = Buffer.from(memory, 0, bytes);
    LENT_BY.set(body, this);
    return body;
  }

  /** Takes the memory of a lent body back. */
  give(body: Uint8Array): void {
    const memory = body.buffer as ArrayBuffer;
    if (this.idleBytes + memory.byteLength > KEPT_BYTES) return;
    this.idleBytes += memory.byteLength;
    (this.idle[sizeClassOf(memory.byteLength)] ??= []).push(memory);
  }
}

/** Nobody looks at this body any more: its memory may serve the next request. Once is enough. */
export function releaseBody(body: Uint8Array): void {
  const pool = LENT_BY.get(body);
  if (pool === undefined) return;
  LENT_BY.delete(body);
  pool.give(body);
}

function sizeClassOf(bytes: number): number {
  let size = 0;
  while (SMALLEST_BYTES << size < bytes) size += 1;
  return size;
}
