/**
 * Checks one LevelDB table byte by byte against its checksums and the manifest. LevelDB itself, as
 * we open it, returns flipped bytes of a table as data, so nothing in the file may go unchecked:
 * the blocks must tile it without a gap.
 *
 *   data block* | [filter block] | metaindex block | index block | footer 48
 *   block  = bytes | type u8 (0: not compressed) | masked crc32c(bytes, type) u32 LE
 *   footer = metaindex handle | index handle | zeros to 40 | magic 8    handle = offset, size varint
 */
import { crc32c, unmaskCrc } from '../crc32c.js';
import { ByteCursor, MalformedBytes } from './byte-cursor.js';
import type { TableFact } from './manifest.js';

const FOOTER_BYTES = 48;
const TRAILER_BYTES = 5;
const MAGIC = Buffer.from('57fb808b247547db', 'hex');

interface Handle {
  offset: number;
  size: number;
}

/** Throws MalformedBytes with the offset in the file at the first thing that is not right. */
export function checkTable(bytes: Buffer, fact: TableFact): void {
  if (bytes.length !== fact.sizeBytes) {
    const reason = `the table has ${bytes.length} bytes, the manifest says ${fact.sizeBytes}`;
    throw new MalformedBytes(Math.min(bytes.length, fact.sizeBytes), reason);
  }
  const { metaindex, index, footerOffset } = readFooter(bytes);
  checkBlock(bytes, index);
  checkBlock(bytes, metaindex);
  const dataHandles = blockEntries(bytes, index).map(([, value]) => readHandle(value));
  const metaHandles = blockEntries(bytes, metaindex).map(([, value]) => readHandle(value));

  let end = 0;
  for (const handle of [...dataHandles, ...metaHandles, metaindex, index]) {
    if (handle.offset !== end) throw new MalformedBytes(end, 'the blocks leave a gap or overlap');
    end = handle.offset + handle.size + TRAILER_BYTES;
  }
  if (end !== footerOffset)
    throw new MalformedBytes(end, 'bytes between the blocks and the footer');
  for (const handle of [...dataHandles, ...metaHandles]) checkBlock(bytes, handle);
  checkBounds(bytes, dataHandles, fact);
}

function readFooter(bytes: Buffer): { metaindex: Handle; index: Handle; footerOffset: number } {
  const footerOffset = bytes.length - FOOTER_BYTES;
  if (footerOffset < 0) throw new MalformedBytes(0, 'shorter than a footer');
  if (!bytes.subarray(bytes.length - 8).equals(MAGIC)) {
    throw new MalformedBytes(bytes.length - 8, 'not a table: wrong magic');
  }
  const cursor = new ByteCursor(bytes, footerOffset, bytes.length - 8);
  const metaindex = handleAt(cursor);
  const index = handleAt(cursor);
  while (!cursor.atEnd) {
    if (cursor.byte() !== 0) throw new MalformedBytes(cursor.position - 1, 'footer padding is set');
  }
  return { metaindex, index, footerOffset };
}

function handleAt(cursor: ByteCursor): Handle {
  return { offset: cursor.varint(), size: cursor.varint() };
}

function readHandle(value: Buffer): Handle {
  return handleAt(new ByteCursor(value));
}

function checkBlock(bytes: Buffer, handle: Handle): void {
  const end = handle.offset + handle.size;
  if (end + TRAILER_BYTES > bytes.length) {
    throw new MalformedBytes(handle.offset, 'a block runs over the end of the table');
  }
  if (crc32c(bytes, handle.offset, end + 1) !== unmaskCrc(bytes.readUInt32LE(end + 1))) {
    throw new MalformedBytes(handle.offset, 'block checksum mismatch');
  }
  if (bytes[end] !== 0) throw new MalformedBytes(end, 'a compressed block; we write none');
}

/** Entries of a block whose checksum held: shared key length, rest length, value length. */
function blockEntries(bytes: Buffer, handle: Handle): [key: Buffer, value: Buffer][] {
  const end = handle.offset + handle.size;
  if (handle.size < 4) throw new MalformedBytes(handle.offset, 'a block without restart points');
  const restartCount = bytes.readUInt32LE(end - 4);
  const entriesEnd = end - 4 - restartCount * 4;
  if (entriesEnd < handle.offset)
    throw new MalformedBytes(handle.offset, 'too many restart points');
  const cursor = new ByteCursor(bytes, handle.offset, entriesEnd);
  const entries: [Buffer, Buffer][] = [];
  let key = Buffer.alloc(0);
  while (!cursor.atEnd) {
    const shared = cursor.varint();
    const rest = cursor.varint();
    const valueLength = cursor.varint();
    if (shared > key.length) throw new MalformedBytes(cursor.position, 'a key shares too much');
    key = Buffer.concat([key.subarray(0, shared), cursor.slice(rest)]);
    entries.push([key, cursor.slice(valueLength)]);
  }
  return entries;
}

/** First and last key must be the manifest's: a whole table of another place is found here. */
function checkBounds(bytes: Buffer, dataHandles: Handle[], fact: TableFact): void {
  const first = dataHandles[0];
  const last = dataHandles.at(-1);
  if (first === undefined || last === undefined)
    throw new MalformedBytes(0, 'a table without rows');
  const smallest = blockEntries(bytes, first)[0]?.[0];
  const largest = blockEntries(bytes, last).at(-1)?.[0];
  if (smallest === undefined || !smallest.equals(fact.smallest)) {
    throw new MalformedBytes(first.offset, 'the first key is not the one the manifest names');
  }
  if (largest === undefined || !largest.equals(fact.largest)) {
    throw new MalformedBytes(last.offset, 'the last key is not the one the manifest names');
  }
}
