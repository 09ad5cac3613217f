/**
 * Unsigned 64-bit little-endian numbers as JS safe integers. A stored value above 2^53 - 1 reads as
 * NaN, which no check accepts; nothing here allocates.
 */

const TWO_32 = 0x1_0000_0000;

export function putU64(target: Buffer, position: number, value: number): void {
  target.writeUInt32LE(value >>> 0, position);
  target.writeUInt32LE(Math.floor(value / TWO_32), position + 4);
}

export function getU64(source: Buffer, position: number): number {
  const value = source.readUInt32LE(position + 4) * TWO_32 + source.readUInt32LE(position);
  return Number.isSafeInteger(value) ? value : Number.NaN;
}
