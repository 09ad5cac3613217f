/**
 * A run file: a sealed table as it lay in memory, page by page, then its tags, then a trailer. All
 * integers little-endian; every page and the tags carry a CRC-32, so does the trailer.
 *
 *   page p     u32 crc | u32 p | u32 0 | 204 x { u32 hi | u32 lo | f64 offset | u32 delta }  4096 B
 *   tags       u16 per slot, padded to a whole page
 *   trailer    u32 crc | "QIDR" | u8 version | u8 bits | u16 0 | u32 slots | u32 count | u32 tagsCrc
 *              | f64 firstSequence | f64 lastSequence | f64 oldest | f64 newest | 0…         4096 B
 *
 * Slot s lies in page floor(s / 204). Tag 0 marks an empty slot; its record is zero.
 */
import { crc32 } from 'node:zlib';

export const PAGE_BYTES = 4096;
export const PAGE_HEADER_BYTES = 12;
export const RECORD_BYTES = 20;
export const PAGE_SLOTS = 204;
const VERSION = 1;
const MAGIC = 0x5244_4951;

/** A run file that cannot be trusted; the index is derived, so the cure is to let it be rebuilt. */
export class IdRunDamage extends Error {
  override readonly name = 'IdRunDamage';
  readonly code = 'id_run_damage';

  constructor(
    readonly file: string,
    readonly byteOffset: number,
    reason: string,
  ) {
    super(
      `damaged id index: ${file}: ${reason} (at byte ${byteOffset}). ` +
        `Stop the node and delete the file; the index is rebuilt from the store at the next start.`,
    );
  }
}

export interface RunHead {
  readonly bits: number;
  readonly slots: number;
  readonly count: number;
  /** Numbers of the sealed tables inside; merged runs cover several. */
  readonly firstSequence: number;
  readonly lastSequence: number;
  /** Range of createdAt, µs. */
  readonly oldest: number;
  readonly newest: number;
}

export function pageCount(slots: number): number {
  return Math.ceil(slots / PAGE_SLOTS);
}

export function tagsPosition(slots: number): number {
  return pageCount(slots) * PAGE_BYTES;
}

export function tagsBytes(slots: number): number {
  return Math.ceil((slots * 2) / PAGE_BYTES) * PAGE_BYTES;
}

/** Closes a page whose records are filled in. */
export function sealPage(page: Uint8Array, view: DataView, pageNumber: number): void {
  view.setUint32(page.byteOffset - view.byteOffset + 4, pageNumber, true);
  view.setUint32(page.byteOffset - view.byteOffset + 8, 0, true);
  view.setUint32(page.byteOffset - view.byteOffset, crc32(page.subarray(4)), true);
}

export function checkPage(file: string, page: Uint8Array, pageNumber: number): DataView {
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
  const whole = page.length === PAGE_BYTES;
  if (!whole || view.getUint32(0, true) !== crc32(page.subarray(4))) {
    throw new IdRunDamage(file, pageNumber * PAGE_BYTES, 'a page does not match its checksum');
  }
  if (view.getUint32(4, true) !== pageNumber) {
    throw new IdRunDamage(file, pageNumber * PAGE_BYTES, 'a page stands in the wrong place');
  }
  return view;
}

export function encodeTrailer(head: RunHead, tagsCrc: number): Uint8Array {
  const bytes = new Uint8Array(PAGE_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(4, MAGIC, true);
  bytes[8] = VERSION;
  bytes[9] = head.bits;
  view.setUint32(12, head.slots, true);
  view.setUint32(16, head.count, true);
  view.setUint32(20, tagsCrc, true);
  view.setFloat64(24, head.firstSequence, true);
  view.setFloat64(32, head.lastSequence, true);
  view.setFloat64(40, head.oldest, true);
  view.setFloat64(48, head.newest, true);
  view.setUint32(0, crc32(bytes.subarray(4)), true);
  return bytes;
}

export function decodeTrailer(
  file: string,
  bytes: Uint8Array,
  position: number,
): { readonly head: RunHead; readonly tagsCrc: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const whole = bytes.length === PAGE_BYTES;
  if (!whole || view.getUint32(0, true) !== crc32(bytes.subarray(4))) {
    throw new IdRunDamage(file, position, 'the trailer does not match its checksum');
  }
  if (view.getUint32(4, true) !== MAGIC || bytes[8] !== VERSION) {
    throw new IdRunDamage(
      file,
      position,
      `format version ${bytes[8]}, this build reads ${VERSION}`,
    );
  }
  const head = {
    bits: bytes[9] as number,
    slots: view.getUint32(12, true),
    count: view.getUint32(16, true),
    firstSequence: view.getFloat64(24, true),
    lastSequence: view.getFloat64(32, true),
    oldest: view.getFloat64(40, true),
    newest: view.getFloat64(48, true),
  };
  return { head, tagsCrc: view.getUint32(20, true) };
}

/** `0000000012-0000000015.run`: the sealed tables inside. */
export function runFileName(firstSequence: number, lastSequence: number): string {
  return `${String(firstSequence).padStart(10, '0')}-${String(lastSequence).padStart(10, '0')}.run`;
}
