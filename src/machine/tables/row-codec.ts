/**
 * What all row codecs share: one writer, one reader (rows are coded one at a time, synchronously), and
 * the form of "offset or −1". Every row value starts with its version; a newer one is refused.
 */
import { BinaryReader } from '../../common/binary-reader.js';
import { BinaryWriter } from '../../common/binary-writer.js';

const writer = new BinaryWriter(512);
const reader = new BinaryReader();

/** The shared writer, emptied, with the version written. Take the row with `toBytes`. */
export function beginRow(version: number): BinaryWriter {
  writer.clear();
  writer.u8(version);
  return writer;
}

/** The shared reader behind the checked version byte. */
export function openRow(value: Uint8Array, newest: number, what: string): BinaryReader {
  reader.reset(value);
  reader.version(newest, what);
  return reader;
}

/** Offsets from −1 up stand as u48 shifted by one. */
export function writeOffset(target: BinaryWriter, offset: number): void {
  target.u48(offset + 1);
}

export function readOffset(source: BinaryReader): number {
  return source.u48() - 1;
}
