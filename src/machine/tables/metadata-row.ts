/**
 * Metadata a client left with a position (keyspace 43; queue, partition and group stand in the key).
 *
 *   u8 version=1 | str metadata
 */
import { beginRow, openRow } from './row-codec.js';

const VERSION = 1;

export function encodeMetadataRow(metadata: string): Uint8Array {
  const writer = beginRow(VERSION);
  writer.string(metadata);
  return writer.toBytes();
}

export function decodeMetadataRow(value: Uint8Array): string {
  const reader = openRow(value, VERSION, 'cursor metadata row');
  const metadata = reader.string();
  reader.expectEnd();
  return metadata;
}
