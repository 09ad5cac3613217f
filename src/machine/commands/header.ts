/**
 * The header every command starts with, and the patching of its submit fields. All integers are
 * little-endian. A command is one contiguous byte range that begins with its own length, so it can
 * be a part of an entry without being copied.
 *
 *   0        4      5             6         12         18       24           40
 *   ┌────────┬──────┬─────────────┬─────────┬──────────┬────────┬────────────┬──────────
 *   │ u32 len│ kind │ bodyVersion │ session │ sequence │ floor  │ tenant 16B │ body …
 *   └────────┴──────┴─────────────┴─────────┴──────────┴────────┴────────────┴──────────
 */
import { DecodeError } from '../../common/binary-reader.js';
import { BinaryWriter } from '../../common/binary-writer.js';
import { invariant } from '../../common/invariant.js';
import { COMMAND_HEADER, CommandKind } from './catalogue.js';
import type { CommandHeader } from './catalogue.js';

/** Newest body layout of each kind this build reads and the one it writes. */
export const BODY_VERSION = 1;
export const TENANT_BYTES = 16;

const TWO_32 = 0x1_0000_0000;
const TWO_48 = 0x1_0000_0000_0000;
const LENGTH_BYTES = 4;
const KNOWN_KINDS: ReadonlySet<number> = new Set(
  Object.values(CommandKind).filter((kind) => typeof kind === 'number'),
);

/** A writer that already holds the header; submit fields are zero until patched. */
export function beginCommand(kind: CommandKind, tenant: Uint8Array): BinaryWriter {
  const writer = new BinaryWriter();
  const at = writer.reserve(COMMAND_HEADER.body);
  writeCommandHeader(writer.bytes, at, kind, tenant);
  return writer;
}

/** Closes a command begun with beginCommand. */
export function finishCommand(writer: BinaryWriter): Uint8Array {
  writer.patchU32(COMMAND_HEADER.length, writer.length - LENGTH_BYTES);
  return writer.toBytes();
}

/** Writes kind, version and tenant, zeroes the submit fields; the length is left to the caller. */
export function writeCommandHeader(
  target: Uint8Array,
  at: number,
  kind: CommandKind,
  tenant: Uint8Array,
): void {
  invariant(tenant.length === TENANT_BYTES, 'a tenant is 16 bytes');
  target.fill(0, at, at + COMMAND_HEADER.body);
  target[at + COMMAND_HEADER.kind] = kind;
  target[at + COMMAND_HEADER.bodyVersion] = BODY_VERSION;
  target.set(tenant, at + COMMAND_HEADER.tenant);
}

/**
 * Stamps the submit fields in place. `bytes` starts at the command. A re-submit of the same command
 * keeps session and sequence, only the floor moves.
 */
export function patchCommandHeader(
  bytes: Uint8Array,
  session: number,
  sequence: number,
  floor: number,
): void {
  putU48(bytes, COMMAND_HEADER.session, session);
  putU48(bytes, COMMAND_HEADER.sequence, sequence);
  putU48(bytes, COMMAND_HEADER.floor, floor);
}

/** Header of the command at `start`; the range [start, end) must be exactly one command. */
export function readCommandHeader(bytes: Uint8Array, start: number, end: number): CommandHeader {
  checkCommandFrame(bytes, start, end);
  return {
    kind: bytes[start + COMMAND_HEADER.kind] as CommandKind,
    session: commandU48(bytes, start + COMMAND_HEADER.session),
    sequence: commandU48(bytes, start + COMMAND_HEADER.sequence),
    floor: commandU48(bytes, start + COMMAND_HEADER.floor),
    tenant: bytes.subarray(
      start + COMMAND_HEADER.tenant,
      start + COMMAND_HEADER.tenant + TENANT_BYTES,
    ),
  };
}

/** Throws DecodeError unless length, kind and body version are ones this build reads. */
export function checkCommandFrame(bytes: Uint8Array, start: number, end: number): void {
  if (end - start < COMMAND_HEADER.body) throw new DecodeError('command header expected', start);
  if (commandU32(bytes, start) !== end - start - LENGTH_BYTES) {
    throw new DecodeError('command length differs from its range', start);
  }
  const kind = bytes[start + COMMAND_HEADER.kind]!;
  if (!KNOWN_KINDS.has(kind)) {
    throw new DecodeError(`unknown command kind ${kind}`, start + COMMAND_HEADER.kind);
  }
  const version = bytes[start + COMMAND_HEADER.bodyVersion]!;
  if (version === 0 || version > BODY_VERSION) {
    throw new DecodeError(
      `command body has version ${version}, this build reads ${BODY_VERSION}`,
      start + COMMAND_HEADER.bodyVersion,
    );
  }
}

/** Little-endian u32 at `at`; the caller has checked the range. */
export function commandU32(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0
  );
}

/** Little-endian u48 at `at`; the caller has checked the range. */
export function commandU48(bytes: Uint8Array, at: number): number {
  return (bytes[at + 4]! | (bytes[at + 5]! << 8)) * TWO_32 + commandU32(bytes, at);
}

export function putU32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value >>> 16;
  bytes[at + 3] = value >>> 24;
}

function putU48(bytes: Uint8Array, at: number, value: number): void {
  invariant(Number.isSafeInteger(value) && value >= 0 && value < TWO_48, 'u48 out of range');
  const high = Math.floor(value / TWO_32);
  putU32(bytes, at, value % TWO_32);
  bytes[at + 4] = high;
  bytes[at + 5] = high >>> 8;
}
