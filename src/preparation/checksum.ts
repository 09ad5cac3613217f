/** CRC-32 and copying for the push encoder: the two things pure code may not do itself. */
import { crc32 } from 'node:zlib';

/** zlib's CRC-32 of bytes[start, end); the native call beats a table from 64 bytes on. */
export function recordCrc(bytes: Uint8Array, start: number, end: number): number {
  return crc32(bytes.subarray(start, end));
}

/** Copies without a view of the source: one call, no allocation. */
export function copyRange(
  source: Uint8Array,
  range: { readonly start: number; readonly end: number },
  target: Uint8Array,
  at: number,
): void {
  if (Buffer.isBuffer(source)) source.copy(target, at, range.start, range.end);
  else target.set(source.subarray(range.start, range.end), at);
}
