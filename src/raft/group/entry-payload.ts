/**
 * Packs commands into entry payloads. Large commands stay the parts they came in; small ones are
 * gathered into one part, because an object per command in caches and write vectors costs more than
 * the copy. An entry is cut at 256 KiB or 512 commands, what executes in about 10 ms even when the
 * messages are tiny; one larger command is one entry. Little-endian:
 *
 *   u8 entryVersion=1 | u8 machineVersion | u64 now(µs) | u32 commandCount | command*
 */
import type { LogIndex, Micros, Term } from '../../common/ids.js';
import { invariant } from '../../common/invariant.js';
import { COMMAND_HEADER, CommandKind } from '../../machine/commands/catalogue.js';
import type { LogEntry } from './ports.js';

const TWO_48 = 0x1_0000_0000_0000;

export const ENTRY_VERSION = 1;
export const ENTRY_HEADER_BYTES = 14;
export const ENTRY_MAX_BYTES = 256 * 1024;
export const ENTRY_MAX_COMMANDS = 512;
/** Commands without payload do more work per byte: a claimed range takes 40 bytes and 10 µs. */
const DENSE_WEIGHT = 4;
/** Longer commands are not copied. */
const GATHER_MAX_BYTES = 32 * 1024;

export interface EntryStamp {
  readonly index: LogIndex;
  readonly term: Term;
  readonly now: Micros;
  readonly machineVersion: number;
}

export function buildEntry(stamp: EntryStamp, commands: readonly Uint8Array[]): LogEntry {
  let sizeBytes = ENTRY_HEADER_BYTES;
  for (const command of commands) sizeBytes += command.length;
  return {
    index: stamp.index,
    term: stamp.term,
    parts: partsOf(stamp, commands),
    sizeBytes,
    commandCount: commands.length,
  };
}

function partsOf(stamp: EntryStamp, commands: readonly Uint8Array[]): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let from = 0;
  let gathered = Buffer.allocUnsafeSlow(ENTRY_HEADER_BYTES + smallBytes(commands, 0));
  writeHeader(gathered, stamp, commands.length);
  let at = ENTRY_HEADER_BYTES;
  for (;;) {
    for (; from < commands.length; from += 1) {
      const command = commands[from];
      if (command === undefined || command.length > GATHER_MAX_BYTES) break;
      gathered.set(command, at);
      at += command.length;
    }
    if (at > 0) parts.push(gathered);
    const large = commands[from];
    if (large === undefined) return parts;
    parts.push(large);
    from += 1;
    gathered = Buffer.allocUnsafeSlow(smallBytes(commands, from));
    at = 0;
  }
}

/** Bytes of the small commands from `from` up to the next large one. */
function smallBytes(commands: readonly Uint8Array[], from: number): number {
  let bytes = 0;
  for (let i = from; i < commands.length; i += 1) {
    const length = commands[i]?.length ?? 0;
    if (length > GATHER_MAX_BYTES) break;
    bytes += length;
  }
  return bytes;
}

function writeHeader(target: Uint8Array, stamp: EntryStamp, commandCount: number): void {
  const view = new DataView(target.buffer, target.byteOffset, target.byteLength);
  target[0] = ENTRY_VERSION;
  target[1] = stamp.machineVersion;
  view.setUint32(2, stamp.now % 0x1_0000_0000, true);
  view.setUint32(6, Math.floor(stamp.now / 0x1_0000_0000), true);
  view.setUint32(10, commandCount, true);
}

/** How many commands from `from` on go into the next entry (at least one). */
export function cutEntry(
  commands: readonly { readonly bytes: Uint8Array }[],
  from: number,
): number {
  let bytes = ENTRY_HEADER_BYTES;
  let count = 0;
  while (from + count < commands.length && count < ENTRY_MAX_COMMANDS) {
    const command = commands[from + count]?.bytes;
    if (command === undefined) break;
    const kind = command[COMMAND_HEADER.kind];
    const alone = kind === CommandKind.OpenSession;
    const weight = kind === CommandKind.Push ? command.length : command.length * DENSE_WEIGHT;
    if (count > 0 && (alone || bytes + weight > ENTRY_MAX_BYTES)) break;
    bytes += weight;
    count += 1;
    if (alone) break;
  }
  return count;
}

export interface CommandNumbers {
  readonly session: number;
  readonly sequence: number;
  readonly floor: number;
}

/** Writes session, sequence and floor into the fixed positions of a prepared command. */
export function patchCommand(bytes: Uint8Array, numbers: CommandNumbers): void {
  writeUint48(bytes, COMMAND_HEADER.session, numbers.session);
  writeUint48(bytes, COMMAND_HEADER.sequence, numbers.sequence);
  writeUint48(bytes, COMMAND_HEADER.floor, numbers.floor);
}

function writeUint48(bytes: Uint8Array, at: number, value: number): void {
  invariant(value >= 0 && value < TWO_48, 'a command number takes 48 bits');
  const high = Math.floor(value / 0x1_0000_0000);
  bytes[at] = value;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value >>> 16;
  bytes[at + 3] = value >>> 24;
  bytes[at + 4] = high;
  bytes[at + 5] = high >>> 8;
}
