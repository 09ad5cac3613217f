/**
 * The synced mark: how far the active segment was confirmed by the disk, written in place after
 * every sync and before the answer, never synced itself. It survives kill -9 and may be old after a
 * power loss, never ahead of the truth. Two slots in two pages alternate, so one is always whole.
 *
 *   0      4      8          16             24         32     36     40
 *   +------+------+----------+--------------+----------+------+------+
 *   | u32  | u32  | u64      | u64          | u64      | u32  | u32  |
 *   | magic| vers.| segment  | synced bytes | batch    | salt | crc  |
 *   +------+------+----------+--------------+----------+------+------+
 */
import { crc32 } from 'node:zlib';
import { getU64, putU64 } from './bytes.js';
import { newerFormat, WalDamageError } from './errors.js';
import { readWholeFile, replaceFile, type FilePort, type OpenFile } from './file-port.js';

export const SYNCED_FILE = 'synced';
const MAGIC = 0x4d535151;
const VERSION = 1;
const MARK_BYTES = 40;
const SLOT_BYTES = 4096;
const SLOTS = 2;

export interface SyncedMark {
  readonly segment: number;
  readonly syncedBytes: number;
  readonly batch: number;
  /** Of the segment, so that a mark of another directory's segment is not believed. */
  readonly salt: number;
}

/** Writes marks; owns the open file and one reused buffer. */
export class SyncedMarkFile {
  private readonly bytes = Buffer.alloc(MARK_BYTES);
  private slot = 0;

  private constructor(private readonly file: OpenFile) {}

  /** Opens the file, or creates it durably with two empty slots when `present` is false. */
  static async open(files: FilePort, directory: string, present: boolean): Promise<SyncedMarkFile> {
    const path = `${directory}/${SYNCED_FILE}`;
    if (!present) {
      // Atomically, or a crash would leave a file that looks damaged.
      await replaceFile(files, directory, SYNCED_FILE, Buffer.alloc(SLOT_BYTES * SLOTS));
    }
    return new SyncedMarkFile(await files.open(path, 'update'));
  }

  /** Synchronous on purpose: a few microseconds, and the answer may follow at once. */
  write(segment: number, syncedBytes: number, batch: number, salt: number): void {
    const { bytes } = this;
    bytes.writeUInt32LE(MAGIC, 0);
    bytes.writeUInt32LE(VERSION, 4);
    putU64(bytes, 8, segment);
    putU64(bytes, 16, syncedBytes);
    putU64(bytes, 24, batch);
    bytes.writeUInt32LE(salt, 32);
    bytes.writeUInt32LE(crc32(bytes.subarray(0, 36)), 36);
    const written = this.file.writeSync(bytes, this.slot * SLOT_BYTES);
    if (written !== MARK_BYTES) throw new Error(`synced mark: wrote ${written} bytes`);
    this.slot = (this.slot + 1) % SLOTS;
  }

  /** A clean stop syncs the last mark, so that damage done while stopped is always noticed. */
  async close(sync: boolean): Promise<void> {
    try {
      if (sync) await this.file.fdatasync();
    } finally {
      await this.file.close();
    }
  }
}

/**
 * The newest mark. `absent`: no file; `empty`: never written (or its pages were lost with the power).
 * Anything else that does not verify is damage.
 */
export async function readSyncedMark(
  files: FilePort,
  directory: string,
): Promise<SyncedMark | 'absent' | 'empty'> {
  const path = `${directory}/${SYNCED_FILE}`;
  const bytes = await readWholeFile(files, path);
  if (!bytes) return 'absent';
  let newest: SyncedMark | undefined;
  for (let slot = 0; slot < SLOTS; slot += 1) {
    const mark = decodeSlot(path, bytes, slot * SLOT_BYTES);
    if (mark && (!newest || mark.batch > newest.batch)) newest = mark;
  }
  return newest ?? 'empty';
}

function decodeSlot(path: string, bytes: Buffer, at: number): SyncedMark | undefined {
  if (bytes.length !== SLOT_BYTES * SLOTS) throw damaged(path, at, `size is ${bytes.length}`);
  const slot = bytes.subarray(at, at + MARK_BYTES);
  if (slot.every((byte) => byte === 0)) return undefined;
  if (crc32(slot.subarray(0, 36)) !== slot.readUInt32LE(36)) {
    throw damaged(path, at, 'checksum mismatch');
  }
  if (slot.readUInt32LE(0) !== MAGIC) throw damaged(path, at, 'not a synced mark');
  const version = slot.readUInt32LE(4);
  if (version > VERSION) throw newerFormat(path, version, VERSION);
  return {
    segment: getU64(slot, 8),
    syncedBytes: getU64(slot, 16),
    batch: getU64(slot, 24),
    salt: slot.readUInt32LE(32),
  };
}

function damaged(file: string, byteOffset: number, reason: string): WalDamageError {
  return new WalDamageError({
    file,
    byteOffset,
    reason,
    cure:
      'The disk or another program changed it. If every other file is known to be good, move this ' +
      'file away and start again (the log is then checked by its batch numbers alone); ' +
      'otherwise remove this member, empty its data directory and add it again.',
  });
}
