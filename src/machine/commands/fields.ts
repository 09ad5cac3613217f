/**
 * Fields that several command bodies share: names, 16-byte ids, optional texts, creation defaults.
 * Names are bounded here on both sides so that no name in the log can break a table or a store key.
 */
import { DecodeError } from '../../common/binary-reader.js';
import type { BinaryReader } from '../../common/binary-reader.js';
import type { BinaryWriter } from '../../common/binary-writer.js';
import { invariant } from '../../common/invariant.js';
import type { ImplicitDefaults } from './catalogue.js';

/** Hard bound of the format; the edge refuses names far below it (447 bytes). */
export const MAX_NAME_BYTES = 1024;
export const ID_BYTES = 16;

const NO_ID = new Uint8Array(0);

/** varint length | UTF-8. */
export function writeName(writer: BinaryWriter, name: string): void {
  const before = writer.length;
  writer.string(name);
  invariant(
    writer.length - before <= MAX_NAME_BYTES + 2,
    'a name is longer than the format allows',
  );
}

export function readName(reader: BinaryReader): string {
  const at = reader.position;
  const name = reader.string();
  if (reader.position - at > MAX_NAME_BYTES + 2) throw new DecodeError('name too long', at);
  return name;
}

export function writeId(writer: BinaryWriter, id: Uint8Array): void {
  invariant(id.length === ID_BYTES, 'an id is 16 bytes');
  writer.raw(id);
}

/** A copy: ids outlive the command (leases, dead letters, outcomes). */
export function readId(reader: BinaryReader): Uint8Array {
  return reader.raw(ID_BYTES).slice();
}

/** u8 0, or u8 1 and 16 bytes. */
export function writeOptionalId(writer: BinaryWriter, id: Uint8Array): void {
  writer.boolean(id.length > 0);
  if (id.length > 0) writeId(writer, id);
}

/** Empty when absent. */
export function readOptionalId(reader: BinaryReader): Uint8Array {
  return reader.boolean() ? readId(reader) : NO_ID;
}

/** u8 0, or u8 1 and the text. */
export function writeOptionalText(writer: BinaryWriter, text: string | null): void {
  writer.boolean(text !== null);
  if (text !== null) writer.string(text);
}

export function readOptionalText(reader: BinaryReader): string | null {
  return reader.boolean() ? reader.string() : null;
}

/** i32 leaseTime | i32 retryLimit | i32 dedupWindowSeconds. */
export function writeDefaults(writer: BinaryWriter, defaults: ImplicitDefaults): void {
  writer.i32(defaults.leaseTime);
  writer.i32(defaults.retryLimit);
  writer.i32(defaults.dedupWindowSeconds);
}

export function readDefaults(reader: BinaryReader): ImplicitDefaults {
  const leaseTime = reader.i32();
  const retryLimit = reader.i32();
  const dedupWindowSeconds = reader.i32();
  return { leaseTime, retryLimit, dedupWindowSeconds };
}

/** A count whose elements take at least `leastBytes` each, so that no count can exceed its bytes. */
export function readCount(reader: BinaryReader, leastBytes: number): number {
  const at = reader.position;
  const count = reader.varint();
  if (count * leastBytes > reader.remaining) throw new DecodeError('count exceeds its bytes', at);
  return count;
}
