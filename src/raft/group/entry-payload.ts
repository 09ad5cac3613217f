/**
 * Packs commands into entry payloads. The commands stay the parts they came in; only the header is
 * new. An entry is cut at 4 MiB or 4,096 commands; one larger command is one entry.
 *
 * Little-endian:
 *
 *   u8 entryVersion=1 | u8 machineVersion | u64 now(µs) | u32 commandCount | command*
 */
import type { LogIndex, Micros, Term } from '../../common/ids.js';
import { COMMAND_HEADER, CommandKind } from '../../machine/commands/catalogue.js';
import type { LogEntry } from './ports.js';

export const ENTRY_VERSION = 1;
export const ENTRY_HEADER_BYTES = 14;
export const ENTRY_MAX_BYTES = 4 * 1024 * 1024;
export const ENTRY_MAX_COMMANDS = 4096;

export interface EntryStamp {
  readonly index: LogIndex;
  readonly term: Term;
  readonly now: Micros;
  readonly machineVersion: number;
}

export function buildEntry(stamp: EntryStamp, commands: readonly Uint8Array[]): LogEntry {
  const header = new Uint8Array(ENTRY_HEADER_BYTES);
  const view = new DataView(header.buffer);
  header[0] = ENTRY_VERSION;
  header[1] = stamp.machineVersion;
  view.setUint32(2, stamp.now % 0x1_0000_0000, true);
  view.setUint32(6, Math.floor(stamp.now / 0x1_0000_0000), true);
  view.setUint32(10, commands.length, true);
  let sizeBytes = ENTRY_HEADER_BYTES;
  for (const command of commands) sizeBytes += command.length;
  return {
    index: stamp.index,
    term: stamp.term,
    parts: [header, ...commands],
    sizeBytes,
    commandCount: commands.length,
  };
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
    const alone = command[COMMAND_HEADER.kind] === CommandKind.OpenSession;
    if (count > 0 && (alone || bytes + command.length > ENTRY_MAX_BYTES)) break;
    bytes += command.length;
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
  const high = Math.floor(value / 0x1_0000_0000);
  bytes[at] = value;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value >>> 16;
  bytes[at + 3] = value >>> 24;
  bytes[at + 4] = high;
  bytes[at + 5] = high >>> 8;
}
