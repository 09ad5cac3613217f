/**
 * `<dir>/checkpoint`: the separate, synced record of the last confirmed checkpoint. It catches a
 * LevelDB whose files are older than what was confirmed, and tells the confirmed part of LevelDB's
 * log from a tail that was never confirmed. Two slots on pages of their own, written in turn in
 * place with fdatasync, so that the previous record survives a torn write.
 *
 *   slot (4096 bytes) = 'QCKP' | version u8 (1) | 3 zero | storeId 16 | checkpoint u64 |
 *                       applied index u64 | applied term u64 | digest 8 |
 *                       log number u64 | log length u64 | level sequence u64 | crc32c u32 | zeros
 *   checkpoint n lies in slot n & 1; a new file holds the same record in both     (big-endian)
 */
import { open, readFile, rename, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32c } from './crc32c.js';
import { StoreDamageError } from './errors.js';
import { syncDirectory } from './sync-directory.js';

export interface CheckpointRecord {
  storeId: Uint8Array;
  /** Number of the checkpoint, from 1; 0: nothing was ever confirmed. */
  checkpoint: number;
  appliedIndex: number;
  appliedTerm: number;
  digest: Uint8Array;
  /** LevelDB log file that ends with this checkpoint, and its length after it; 0: none yet. */
  logNumber: number;
  logLength: number;
  /** LevelDB's sequence number after it. */
  levelSequence: number;
}

/** What the file says at start. */
export interface CheckpointState {
  record: CheckpointRecord;
  /**
   * Lowest checkpoint the store must hold: the record's, or one more when the other slot is broken:
   * its batch was synced before the slot was touched.
   */
  required: number;
}

export const CHECKPOINT_FILE = 'checkpoint';
const SLOT_BYTES = 4096;
const CRC_OFFSET = 80;
const MAGIC = Buffer.from('QCKP');
const VERSION = 1;

/** Reads both slots. Undefined: no such file. Throws StoreDamageError when none is whole. */
export async function readCheckpoint(directory: string): Promise<CheckpointState | undefined> {
  const file = join(directory, CHECKPOINT_FILE);
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (bytes === undefined) return undefined;
  const damage = (reason: string, byteOffset: number): StoreDamageError =>
    new StoreDamageError({ file, byteOffset, reason });
  if (bytes.length !== SLOT_BYTES * 2) {
    throw damage(`the checkpoint record has ${bytes.length} bytes, not 8192`, bytes.length);
  }
  const slots = [0, 1].map((slot) => decodeSlot(bytes.subarray(slot * SLOT_BYTES), file));
  const [first, second] = slots;
  if (first === undefined && second === undefined) {
    throw damage('both slots of the checkpoint record are damaged', 0);
  }
  if (first === undefined || second === undefined) {
    const record = (first ?? second)!;
    // Checkpoint n is written to slot n & 1. Found elsewhere it is the second copy of a new file,
    // so the broken slot is its first copy. Else the broken slot is that of checkpoint n + 1.
    const isSecondCopy = (first === undefined ? 1 : 0) !== (record.checkpoint & 1);
    return { record, required: record.checkpoint + (isSecondCopy ? 0 : 1) };
  }
  if (!Buffer.from(first.storeId).equals(second.storeId)) {
    throw damage('the two slots of the checkpoint record are of different stores', SLOT_BYTES);
  }
  if (Math.abs(first.checkpoint - second.checkpoint) > 1) {
    throw damage('the two slots of the checkpoint record do not follow each other', 0);
  }
  const record = first.checkpoint >= second.checkpoint ? first : second;
  return { record, required: record.checkpoint };
}

/** Applied index of the last confirmed checkpoint; 0 when none is known. */
export async function appliedIndexOf(directory: string): Promise<number> {
  try {
    return (await readCheckpoint(directory))?.record.appliedIndex ?? 0;
  } catch (error) {
    // A damaged record is refused when the store opens; here it only means that nothing is known.
    if (error instanceof StoreDamageError) return 0;
    throw error;
  }
}

/** The open record of a running store. */
export class CheckpointFile {
  private constructor(private readonly handle: FileHandle) {}

  /** Replaces the file as a whole, both slots alike, and keeps it open. */
  static async replace(directory: string, record: CheckpointRecord): Promise<CheckpointFile> {
    const file = join(directory, CHECKPOINT_FILE);
    const temporary = `${file}.tmp`;
    const slot = encodeSlot(record);
    const handle = await open(temporary, 'w+');
    try {
      await handle.write(Buffer.concat([slot, slot]), 0, SLOT_BYTES * 2, 0);
      await handle.sync();
      await rename(temporary, file);
      await syncDirectory(directory);
    } catch (error) {
      await handle.close();
      throw error;
    }
    return new CheckpointFile(handle);
  }

  /** Writes the next record over the older slot; durable when resolved. */
  async write(record: CheckpointRecord): Promise<void> {
    const position = (record.checkpoint & 1) * SLOT_BYTES;
    const { bytesWritten } = await this.handle.write(encodeSlot(record), 0, SLOT_BYTES, position);
    if (bytesWritten !== SLOT_BYTES) throw new Error('short write of the checkpoint record');
    await this.handle.datasync();
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}

export function encodeSlot(record: CheckpointRecord): Buffer {
  const slot = Buffer.alloc(SLOT_BYTES);
  slot.set(MAGIC, 0);
  slot[4] = VERSION;
  slot.set(record.storeId, 8);
  const numbers = [record.checkpoint, record.appliedIndex, record.appliedTerm];
  numbers.forEach((value, i) => slot.writeBigUInt64BE(BigInt(value), 24 + i * 8));
  slot.set(record.digest, 48);
  const position = [record.logNumber, record.logLength, record.levelSequence];
  position.forEach((value, i) => slot.writeBigUInt64BE(BigInt(value), 56 + i * 8));
  slot.writeUInt32BE(crc32c(slot, 0, CRC_OFFSET), CRC_OFFSET);
  return slot;
}

/** Undefined when the slot is torn or damaged; a whole slot of a newer format is refused. */
function decodeSlot(slot: Buffer, file: string): CheckpointRecord | undefined {
  if (!slot.subarray(0, 4).equals(MAGIC)) return undefined;
  if (slot.readUInt32BE(CRC_OFFSET) !== crc32c(slot, 0, CRC_OFFSET)) return undefined;
  if (slot[4] !== VERSION) {
    const reason = `the checkpoint record has format ${slot[4]}, this build reads ${VERSION}`;
    throw new StoreDamageError({ file, reason, cure: 'Start the newer build again.' });
  }
  const number = (offset: number): number => Number(slot.readBigUInt64BE(offset));
  return {
    storeId: Uint8Array.from(slot.subarray(8, 24)),
    checkpoint: number(24),
    appliedIndex: number(32),
    appliedTerm: number(40),
    digest: Uint8Array.from(slot.subarray(48, 56)),
    logNumber: number(56),
    logLength: number(64),
    levelSequence: number(72),
  };
}
