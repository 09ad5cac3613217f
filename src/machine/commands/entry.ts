/**
 * The entry: one batch of commands, stamped once with the log clock, as it stands in the WAL.
 *
 *   0               1                 2            10               14
 *   ┌───────────────┬─────────────────┬────────────┬────────────────┬───────────┬───
 *   │ u8 version = 1│ u8 machineVers. │ u64 now µs │ u32 count      │ command 0 │ …
 *   └───────────────┴─────────────────┴────────────┴────────────────┴───────────┴───
 *
 * In memory an entry is a list of parts: the header, then one part per command (never copied); read
 * back from disk it is one part. A command never crosses a part. Offsets count over all parts.
 */
import { DecodeError } from '../../common/binary-reader.js';
import { invariant } from '../../common/invariant.js';
import { MACHINE_VERSION } from '../machine.js';
import { COMMAND_HEADER } from './catalogue.js';
import { checkCommandFrame, commandU32, putU32 } from './header.js';

export const ENTRY_VERSION = 1;
export const ENTRY_HEADER_BYTES = 14;

const TWO_32 = 0x1_0000_0000;
const NOTHING = new Uint8Array(0);

/** Header part of an entry of `count` commands, stamped `now` (integer µs of the log clock). */
export function encodeEntryHeader(
  now: number,
  count: number,
  machineVersion = MACHINE_VERSION,
): Uint8Array {
  invariant(Number.isSafeInteger(now) && now >= 0, 'the stamp of an entry is a safe integer');
  const bytes = new Uint8Array(ENTRY_HEADER_BYTES);
  bytes[0] = ENTRY_VERSION;
  bytes[1] = machineVersion;
  putU32(bytes, 2, now % TWO_32);
  putU32(bytes, 6, Math.floor(now / TWO_32));
  putU32(bytes, 10, count);
  return bytes;
}

/** Walks the commands of an entry without copying or allocating. Reusable: `open`, then `next`. */
export class EntryReader {
  machineVersion = 0;
  /** Stamp of the entry, µs. */
  now = 0;
  /** Commands in the entry. */
  count = 0;

  /** Of the current command: index in the entry, range in `bytes`, offset in the whole entry. */
  index = -1;
  bytes: Uint8Array = NOTHING;
  start = 0;
  end = 0;
  entryOffset = 0;

  private parts: readonly Uint8Array[] = [];
  private part = 0;
  private position = 0;
  /** Offset of the current part in the whole entry. */
  private partOffset = 0;

  /** False when the entry is empty (a raft no-op). Throws DecodeError on anything malformed. */
  open(parts: readonly Uint8Array[]): boolean {
    this.parts = parts;
    this.index = -1;
    this.part = 0;
    this.position = 0;
    this.partOffset = 0;
    this.bytes = NOTHING;
    this.skipFinishedParts();
    if (this.part === parts.length) return false;
    this.readHeader(parts[this.part]!);
    return true;
  }

  /** Moves to the next command; false after the last one. */
  next(): boolean {
    if (this.index + 1 === this.count) {
      this.skipFinishedParts();
      if (this.part !== this.parts.length) {
        throw new DecodeError('bytes follow the last command', this.partOffset + this.position);
      }
      return false;
    }
    this.skipFinishedParts();
    const part = this.parts[this.part];
    if (part === undefined || part.length - this.position < COMMAND_HEADER.body) {
      throw new DecodeError('command expected', this.partOffset + this.position);
    }
    const start = this.position;
    const end = start + 4 + commandU32(part, start);
    if (end > part.length)
      throw new DecodeError('command crosses its part', this.partOffset + start);
    checkCommandFrame(part, start, end);
    this.index += 1;
    this.bytes = part;
    this.start = start;
    this.end = end;
    this.entryOffset = this.partOffset + start;
    this.position = end;
    return true;
  }

  private readHeader(header: Uint8Array): void {
    if (header.length < ENTRY_HEADER_BYTES) throw new DecodeError('entry header expected', 0);
    if (header[0] !== ENTRY_VERSION) {
      throw new DecodeError(`entry has version ${header[0]}, this build reads ${ENTRY_VERSION}`, 0);
    }
    this.machineVersion = header[1]!;
    this.now = commandU32(header, 6) * TWO_32 + commandU32(header, 2);
    if (!Number.isSafeInteger(this.now)) throw new DecodeError('entry stamp out of range', 2);
    this.count = commandU32(header, 10);
    this.position = ENTRY_HEADER_BYTES;
  }

  private skipFinishedParts(): void {
    for (;;) {
      const part = this.parts[this.part];
      if (part === undefined || this.position < part.length) return;
      this.partOffset += part.length;
      this.part += 1;
      this.position = 0;
    }
  }
}
