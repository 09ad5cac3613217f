/**
 * Row of a dropped partition whose append index rows may still be in the store (keyspace 44; queue and
 * partition stand in the key). It goes, node-locally, when they are gone.
 *
 *   u8 version=1
 */
import { beginRow, openRow } from './row-codec.js';

const VERSION = 1;

export function encodeGarbagePartition(): Uint8Array {
  return beginRow(VERSION).toBytes();
}

export function checkGarbagePartition(value: Uint8Array): void {
  openRow(value, VERSION, 'garbage partition row').expectEnd();
}
