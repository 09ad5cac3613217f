/**
 * Encodes a push batch into one command: sizes first, one piece of memory, one copy per payload. Two
 * passes over the arrays; every group keeps a write position, so input order inside a group is kept
 * without sorting. Layout: see push-builder.ts.
 */
import { invariant } from '../../common/invariant.js';
import { encodeUtf8 } from '../../common/utf8.js';
import { COMMAND_HEADER, CommandKind } from './catalogue.js';
import type { PushCommandLimits } from './catalogue.js';
import { MAX_NAME_BYTES } from './fields.js';
import { putU32, writeCommandHeader } from './header.js';
import type { PushBatch, PushBatchGroup } from './push-batch.js';
import type { Crc32 } from './push-builder.js';
import { PUSH_GROUP_ENCRYPTED, PUSH_LIMITS_BYTES, PUSH_MESSAGE_BYTES } from './push-builder.js';
import { MESSAGE_FLAG, putVarint, TRACE_ID_BYTES, varintBytes } from './push-record.js';

/** Shorter copies are cheaper byte by byte than through a call. */
const COPY_CALL_BYTES = 48;

/** Sizes of one append group inside the command. */
export interface PushGroupSize {
  readonly queue: Uint8Array;
  readonly partition: Uint8Array;
  messages: number;
  blockBytes: number;
}

/** Counts messages and record bytes per group; what refusals of too large groups look at. */
export function measurePushBatch(
  batch: PushBatch,
  groups: readonly PushBatchGroup[],
): PushGroupSize[] {
  const sizes = groups.map((group) => ({
    queue: nameBytes(group.queue),
    partition: nameBytes(group.partition),
    messages: 0,
    blockBytes: 0,
  }));
  for (let i = 0; i < batch.count; i += 1) {
    const group = batch.groups[i]!;
    if (group < 0) continue;
    const size = sizes[group]!;
    size.messages += 1;
    size.blockBytes += recordLength(batch, i);
  }
  return sizes;
}

/** Bytes the group takes in a command. */
export function pushGroupBytes(size: PushGroupSize): number {
  const { queue, partition, messages, blockBytes } = size;
  const names =
    varintBytes(queue.length) + queue.length + varintBytes(partition.length) + partition.length;
  return names + 5 + varintBytes(messages) + messages * PUSH_MESSAGE_BYTES + 4 + blockBytes;
}

export interface PushEncoding {
  readonly tenant: Uint8Array;
  /** Groups with a negative number here stay out of this command. */
  readonly chunk: Int32Array;
  readonly limits: PushCommandLimits;
  /** What `measurePushBatch` said of this batch. */
  readonly sizes: readonly PushGroupSize[];
  /** Memory for the command: exactly so many bytes, content does not matter. */
  readonly allocate: (bytes: number) => Uint8Array;
  readonly crc: Crc32;
  /** Copies a long range; the edge knows a way that allocates no view. */
  readonly copy: CopyRange;
}

export type CopyRange = (
  source: Uint8Array,
  range: { readonly start: number; readonly end: number },
  target: Uint8Array,
  at: number,
) => void;

/** Encodes the groups that have messages, in order; group numbers stay those of `groups`. */
export function encodePushBatch(
  batch: PushBatch,
  groups: readonly PushBatchGroup[],
  encoding: PushEncoding,
): Uint8Array {
  const { sizes, chunk } = encoding;
  const used = sizes.filter((size, number) => size.messages > 0 && chunk[number]! >= 0);
  let total = COMMAND_HEADER.body + PUSH_LIMITS_BYTES + varintBytes(used.length);
  for (const size of used) total += pushGroupBytes(size);
  const target = encoding.allocate(total);
  let at = writePrologue(target, encoding, used.length);
  const tables = new Uint32Array(groups.length);
  const blocks = new Uint32Array(groups.length);
  const starts = new Uint32Array(groups.length);
  groups.forEach((group, number) => {
    const size = sizes[number]!;
    if (size.messages === 0 || chunk[number]! < 0) return;
    at = writeGroupHead(target, at, { group, size });
    tables[number] = at;
    const block = at + size.messages * PUSH_MESSAGE_BYTES + 4;
    putU32(target, block - 4, size.blockBytes);
    starts[number] = block;
    blocks[number] = block;
    at = block + size.blockBytes;
  });
  invariant(at === total, 'push command differs from its computed size');
  writeMessages(target, batch, { tables, blocks, starts, encoding });
  return target;
}

function writePrologue(target: Uint8Array, encoding: PushEncoding, groups: number): number {
  writeCommandHeader(target, 0, CommandKind.Push, encoding.tenant);
  putU32(target, COMMAND_HEADER.length, target.length - 4);
  const { defaults, windowMinSeconds } = encoding.limits;
  const body = COMMAND_HEADER.body;
  putU32(target, body, defaults.leaseTime);
  putU32(target, body + 4, defaults.retryLimit);
  putU32(target, body + 8, defaults.dedupWindowSeconds);
  putU32(target, body + 12, windowMinSeconds);
  return putVarint(target, body + PUSH_LIMITS_BYTES, groups);
}

function writeGroupHead(
  target: Uint8Array,
  start: number,
  part: { readonly group: PushBatchGroup; readonly size: PushGroupSize },
): number {
  const { group, size } = part;
  let at = putBytes(target, putVarint(target, start, size.queue.length), size.queue);
  at = putBytes(target, putVarint(target, at, size.partition.length), size.partition);
  putU32(target, at, group.optionsVersion);
  target[at + 4] = group.encrypted ? PUSH_GROUP_ENCRYPTED : 0;
  return putVarint(target, at + 5, size.messages);
}

interface WritePositions {
  readonly tables: Uint32Array;
  readonly blocks: Uint32Array;
  readonly starts: Uint32Array;
  readonly encoding: PushEncoding;
}

function writeMessages(target: Uint8Array, batch: PushBatch, positions: WritePositions): void {
  const { tables, blocks, starts, encoding } = positions;
  const payload = { start: 0, end: 0 };
  for (let i = 0; i < batch.count; i += 1) {
    const group = batch.groups[i]!;
    if (group < 0 || encoding.chunk[group]! < 0) continue;
    const record = blocks[group]!;
    const at = writeRecordHead(target, record, batch, i);
    payload.start = batch.payloadStarts[i]!;
    payload.end = batch.payloadEnds[i]!;
    const end = at + payload.end - payload.start;
    if (end - at > COPY_CALL_BYTES) encoding.copy(batch.body, payload, target, at);
    else copyInto(target, at, batch.body, payload);
    const table = tables[group]!;
    copy16(target, table, batch.ids, i * 16);
    copy16(target, table + 16, batch.hashes, i * 16);
    putU32(target, table + 32, record - starts[group]!);
    putU32(target, table + 36, end - record);
    putU32(target, table + 40, encoding.crc(target, record, end));
    target[table + 44] = batch.flags[i]!;
    tables[group] = table + PUSH_MESSAGE_BYTES;
    blocks[group] = end;
  }
}

function recordLength(batch: PushBatch, i: number): number {
  const idLength = batch.idEnds[i]! - batch.idStarts[i]!;
  const payload = batch.payloadEnds[i]! - batch.payloadStarts[i]!;
  const sub = batch.producerSub;
  const subLength = sub === null ? 0 : varintBytes(sub.length) + sub.length;
  const trace = hasTrace(batch, i) ? TRACE_ID_BYTES : 0;
  return 1 + varintBytes(idLength) + idLength + subLength + trace + payload;
}

/** Writes the record up to its payload. */
function writeRecordHead(target: Uint8Array, start: number, batch: PushBatch, i: number): number {
  target[start] = batch.flags[i]!;
  const idStart = batch.idStarts[i]!;
  const idEnd = batch.idEnds[i]!;
  const source = batch.inArena[i] === 1 ? batch.arena : batch.body;
  let at = putVarint(target, start + 1, idEnd - idStart);
  for (let from = idStart; from < idEnd; from += 1) target[at++] = source[from]!;
  const sub = batch.producerSub;
  if (sub !== null) at = putBytes(target, putVarint(target, at, sub.length), sub);
  if (!hasTrace(batch, i)) return at;
  copy16(target, at, batch.traceIds!, i * TRACE_ID_BYTES);
  return at + TRACE_ID_BYTES;
}

function hasTrace(batch: PushBatch, i: number): boolean {
  return batch.traceIds !== null && (batch.flags[i]! & MESSAGE_FLAG.traceId) !== 0;
}

function copyInto(
  target: Uint8Array,
  at: number,
  source: Uint8Array,
  range: { readonly start: number; readonly end: number },
): number {
  let p = at;
  for (let from = range.start; from < range.end; from += 1) target[p++] = source[from]!;
  return p;
}

function putBytes(target: Uint8Array, at: number, bytes: Uint8Array): number {
  target.set(bytes, at);
  return at + bytes.length;
}

function copy16(target: Uint8Array, at: number, source: Uint8Array, sourceAt: number): void {
  for (let i = 0; i < 16; i += 1) target[at + i] = source[sourceAt + i]!;
}

function nameBytes(name: string): Uint8Array {
  const bytes = encodeUtf8(name);
  invariant(bytes.length <= MAX_NAME_BYTES, 'a name is longer than the format allows');
  return bytes;
}
