/**
 * Which key the cluster's payloads are encrypted with: a check value of it, noted at its first use and
 * never changed. Row (keyspace 45, no further key bytes):
 *
 *   u8 version=1 | 16B check value
 */
import type { RowPort } from '../machine.js';
import { encryptionKey } from './keyspaces.js';
import { beginRow, openRow } from './row-codec.js';
import type { EncryptionTable } from './tables.js';

const VERSION = 1;
const CHECK_BYTES = 16;

export class EncryptionTableImpl implements EncryptionTable {
  private bound: Uint8Array | null = null;
  private dirty = false;

  get check(): Uint8Array | null {
    return this.bound;
  }

  bind(check: Uint8Array): void {
    this.bound = check.slice();
    this.dirty = true;
  }

  flush(rows: RowPort): void {
    if (!this.dirty || this.bound === null) return;
    this.dirty = false;
    const writer = beginRow(VERSION);
    writer.raw(this.bound);
    rows.put(encryptionKey(), writer.toBytes());
  }

  load(value: Uint8Array): void {
    const reader = openRow(value, VERSION, 'encryption row');
    this.bound = reader.raw(CHECK_BYTES).slice();
    reader.expectEnd();
  }
}
