/**
 * The header of a segment file. It repeats everything that must not depend on older segments: hard
 * state, the position before the first entry, configuration. Written and synced before first use,
 * never changed afterwards. Magic, version, size and checksum keep their places in every version.
 *
 *   0        8      12      16     20     24        32            48       56
 *   +--------+------+-------+------+------+---------+-------------+--------+-----------+
 *   | QUEENWAL| u32 | u32   | u32  | u32  | u64     | 16 bytes    | u64    | u64       |
 *   |        | vers.| size  | crc  | salt | sequence| directory id| node id| generation|
 *   +--------+------+-------+------+------+---------+-------------+--------+-----------+
 *   64 u64 term, 72 u64 vote, 80 u64 commit, 88 u64 base index, 96 u64 base term,
 *   104 u64 first batch, 112 u32 cluster id size, 116 u32 configuration size, then those bytes
 *   crc covers [0, 16) and [20, size)
 */
import { crc32 } from 'node:zlib';
import { logIndex, nodeId, term } from '../../common/ids.js';
import { getU64, putU64 } from './bytes.js';
import { newerFormat, REPLACE_NODE_CURE, WalDamageError } from './errors.js';
import { readUpTo, type OpenFile } from './file-port.js';
import type { DirectoryIdentity, HardState, LogPosition } from './types.js';

const MAGIC = Buffer.from('QUEENWAL', 'latin1');
const VERSION = 1;
const FIXED_BYTES = 120;
const FRAME_BYTES = 20;
/** Room for the largest header; a file at most this long, never used, may be dropped at start. */
export const MAX_HEADER_BYTES = 1024 * 1024;
/** Read at once when a segment is opened; longer headers take a second read. */
const FIRST_READ_BYTES = 4096;

export interface SegmentHeader {
  readonly sequence: number;
  readonly salt: number;
  readonly identity: DirectoryIdentity;
  /** Recovery generation, raised by forced recovery and restore. */
  readonly generation: number;
  readonly hardState: HardState;
  /** The entry before the first one of this segment. */
  readonly base: LogPosition;
  /** The first batch written to this segment has this number. */
  readonly firstBatch: number;
  /** Opaque; the membership known when the segment was begun. */
  readonly configuration: Uint8Array;
}

/** The salt only has to differ between segments and directories; it needs no randomness. */
export function segmentSalt(directoryId: string, sequence: number, firstBatch: number): number {
  return crc32(`${directoryId}/${sequence}/${firstBatch}`);
}

export function encodeSegmentHeader(header: SegmentHeader): Buffer {
  const clusterId = Buffer.from(header.identity.clusterId, 'utf8');
  const sizeBytes = FIXED_BYTES + clusterId.length + header.configuration.length;
  if (sizeBytes > MAX_HEADER_BYTES) throw new RangeError(`segment header of ${sizeBytes} bytes`);
  const bytes = Buffer.alloc(sizeBytes);
  MAGIC.copy(bytes, 0);
  bytes.writeUInt32LE(VERSION, 8);
  bytes.writeUInt32LE(sizeBytes, 12);
  bytes.writeUInt32LE(header.salt, 20);
  putU64(bytes, 24, header.sequence);
  bytes.write(header.identity.directoryId, 32, 'hex');
  putU64(bytes, 48, header.identity.nodeId);
  putU64(bytes, 56, header.generation);
  putU64(bytes, 64, header.hardState.term);
  putU64(bytes, 72, header.hardState.vote);
  putU64(bytes, 80, header.hardState.commit);
  putU64(bytes, 88, header.base.index);
  putU64(bytes, 96, header.base.term);
  putU64(bytes, 104, header.firstBatch);
  bytes.writeUInt32LE(clusterId.length, 112);
  bytes.writeUInt32LE(header.configuration.length, 116);
  clusterId.copy(bytes, FIXED_BYTES);
  bytes.set(header.configuration, FIXED_BYTES + clusterId.length);
  bytes.writeUInt32LE(checksum(bytes), 16);
  return bytes;
}

/** Reads and verifies the header; `sizeBytes` of the result is where the records begin. */
export async function readSegmentHeader(
  file: OpenFile,
  path: string,
): Promise<{ header: SegmentHeader; sizeBytes: number }> {
  let bytes = await readUpTo(file, 0, FIRST_READ_BYTES);
  if (bytes.length < FIXED_BYTES) throw damaged(path, bytes.length, 'the header is cut short');
  if (!bytes.subarray(0, 8).equals(MAGIC)) throw damaged(path, 0, 'not a segment file');
  const sizeBytes = bytes.readUInt32LE(12);
  if (sizeBytes < FIXED_BYTES || sizeBytes > MAX_HEADER_BYTES) {
    throw damaged(path, 12, `impossible header size ${sizeBytes}`);
  }
  if (sizeBytes > bytes.length) bytes = await readUpTo(file, 0, sizeBytes);
  if (sizeBytes > bytes.length) throw damaged(path, bytes.length, 'the header is cut short');
  return { header: decode(path, bytes.subarray(0, sizeBytes)), sizeBytes };
}

function decode(path: string, bytes: Buffer): SegmentHeader {
  if (checksum(bytes) !== bytes.readUInt32LE(16)) {
    throw damaged(path, 16, 'header checksum mismatch');
  }
  const version = bytes.readUInt32LE(8);
  if (version > VERSION) throw newerFormat(path, version, VERSION);
  const clusterIdBytes = bytes.readUInt32LE(112);
  const configurationBytes = bytes.readUInt32LE(116);
  if (FIXED_BYTES + clusterIdBytes + configurationBytes !== bytes.length) {
    throw damaged(path, 112, 'the sizes in the header disagree');
  }
  const configurationAt = FIXED_BYTES + clusterIdBytes;
  return {
    sequence: getU64(bytes, 24),
    salt: bytes.readUInt32LE(20),
    identity: {
      clusterId: bytes.toString('utf8', FIXED_BYTES, configurationAt),
      nodeId: nodeId(getU64(bytes, 48)),
      directoryId: bytes.toString('hex', 32, 48),
    },
    generation: getU64(bytes, 56),
    hardState: {
      term: term(getU64(bytes, 64)),
      vote: nodeId(getU64(bytes, 72)),
      commit: logIndex(getU64(bytes, 80)),
    },
    base: { index: logIndex(getU64(bytes, 88)), term: term(getU64(bytes, 96)) },
    firstBatch: getU64(bytes, 104),
    configuration: Uint8Array.from(bytes.subarray(configurationAt)),
  };
}

function checksum(bytes: Buffer): number {
  return crc32(bytes.subarray(FRAME_BYTES), crc32(bytes.subarray(0, 16)));
}

function damaged(file: string, byteOffset: number, reason: string): WalDamageError {
  return new WalDamageError({ file, byteOffset, reason, cure: REPLACE_NODE_CURE });
}
