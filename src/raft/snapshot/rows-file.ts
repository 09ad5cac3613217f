/**
 * The rows of one view as a file: blocks of rows with a checksum each, in key order.
 *
 *   block: u32 LE payload bytes | u32 LE crc32 of the payload | payload
 *   payload: rows x (u32 LE key bytes | u32 LE value bytes | key | value)
 */
import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { SteadySync } from './steady-sync.js';

const BLOCK_BYTES = 256 * 1024;
const FRAME_BYTES = 8;
const ROW_BYTES = 8;
const MAX_BLOCK_BYTES = 1024 * 1024 * 1024;

export type FileRow = readonly [key: Uint8Array, value: Uint8Array];

/** A rows file that does not verify. */
export class RowsDamage extends Error {
  override readonly name = 'RowsDamage';
}

export class RowsWriter {
  private parts: Buffer[] = [];
  private pendingBytes = 0;
  sizeBytes = 0;
  count = 0;

  private readonly sync = new SteadySync();

  constructor(private readonly file: FileHandle) {}

  /** Undefined while the block has room. */
  add(key: Uint8Array, value: Uint8Array): Promise<void> | undefined {
    const head = Buffer.allocUnsafe(ROW_BYTES);
    head.writeUInt32LE(key.length, 0);
    head.writeUInt32LE(value.length, 4);
    this.parts.push(head, Buffer.from(key), Buffer.from(value));
    this.pendingBytes += ROW_BYTES + key.length + value.length;
    this.count += 1;
    return this.pendingBytes >= BLOCK_BYTES ? this.flush() : undefined;
  }

  async flush(): Promise<void> {
    if (this.pendingBytes === 0) return;
    const payload = Buffer.concat(this.parts, this.pendingBytes);
    this.parts = [];
    this.pendingBytes = 0;
    const frame = Buffer.alloc(FRAME_BYTES);
    frame.writeUInt32LE(payload.length, 0);
    frame.writeUInt32LE(crc32(payload), 4);
    for (const part of [frame, payload]) await this.write(part);
  }

  private async write(bytes: Buffer): Promise<void> {
    let at = 0;
    while (at < bytes.length) {
      const { bytesWritten } = await this.file.write(bytes, at, bytes.length - at);
      at += bytesWritten;
    }
    this.sizeBytes += bytes.length;
    await this.sync.wrote(this.file, bytes.length);
  }
}

/** The rows block by block; throws RowsDamage. */
export async function* readRows(file: FileHandle, path: string): AsyncGenerator<FileRow[]> {
  const frame = Buffer.alloc(FRAME_BYTES);
  let at = 0;
  for (;;) {
    const { bytesRead } = await file.read(frame, 0, FRAME_BYTES, at);
    if (bytesRead === 0) return;
    if (bytesRead < FRAME_BYTES) throw damage(path, at, 'the file is cut');
    const size = frame.readUInt32LE(0);
    if (size > MAX_BLOCK_BYTES) throw damage(path, at, 'a block of impossible size');
    const payload = Buffer.alloc(size);
    const read = await file.read(payload, 0, size, at + FRAME_BYTES);
    if (read.bytesRead < size) throw damage(path, at, 'the file is cut');
    if (crc32(payload) !== frame.readUInt32LE(4)) throw damage(path, at, 'checksum mismatch');
    yield rowsOf(payload, path, at);
    at += FRAME_BYTES + size;
  }
}

function rowsOf(payload: Buffer, path: string, blockAt: number): FileRow[] {
  const rows: FileRow[] = [];
  let at = 0;
  while (at < payload.length) {
    if (at + ROW_BYTES > payload.length) throw damage(path, blockAt, 'a row is cut');
    const keyEnd = at + ROW_BYTES + payload.readUInt32LE(at);
    const end = keyEnd + payload.readUInt32LE(at + 4);
    if (end > payload.length) throw damage(path, blockAt, 'a row is cut');
    rows.push([payload.subarray(at + ROW_BYTES, keyEnd), payload.subarray(keyEnd, end)]);
    at = end;
  }
  return rows;
}

function damage(path: string, at: number, reason: string): RowsDamage {
  return new RowsDamage(`damaged record at byte ${at} of ${path}: ${reason}`);
}
