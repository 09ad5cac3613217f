/**
 * The one row the store keeps for itself, in keyspace 0: which checkpoint the rows are of. It is
 * written in the same batch as the rows, so rows and meta are never of different checkpoints.
 *
 *   key    = 00 'm'
 *   value  = version u8 (1) | storeId 16 | checkpoint u64 | applied index u64 | applied term u64 |
 *            digest 8 | extra (rest)                                            integers big-endian
 */

export interface StoreMeta {
  /** Raft index of the last entry whose changes are in the rows. */
  appliedIndex: number;
  appliedTerm: number;
  /** Running digest of the machine after that entry, 8 bytes. */
  digest: Uint8Array;
  /** The machine's own header row, opaque here. */
  extra: Uint8Array;
}

/** Meta as stored: with the identity of the store and the number of the checkpoint. */
export interface StoredMeta extends StoreMeta {
  storeId: Uint8Array;
  checkpoint: number;
}

export const META_KEY = Uint8Array.of(0, 0x6d);
export const STORE_ID_BYTES = 16;
export const DIGEST_BYTES = 8;
const VERSION = 1;
const HEADER_BYTES = 1 + STORE_ID_BYTES + 24 + DIGEST_BYTES;

export function encodeMeta(meta: StoredMeta): Uint8Array {
  if (meta.digest.length !== DIGEST_BYTES) throw new RangeError('a digest has 8 bytes');
  const bytes = Buffer.alloc(HEADER_BYTES + meta.extra.length);
  bytes[0] = VERSION;
  bytes.set(meta.storeId, 1);
  bytes.writeBigUInt64BE(BigInt(meta.checkpoint), 17);
  bytes.writeBigUInt64BE(BigInt(meta.appliedIndex), 25);
  bytes.writeBigUInt64BE(BigInt(meta.appliedTerm), 33);
  bytes.set(meta.digest, 41);
  bytes.set(meta.extra, HEADER_BYTES);
  return bytes;
}

/** Undefined when the bytes are not a meta row this build can read. */
export function decodeMeta(value: Uint8Array): StoredMeta | undefined {
  if (value.length < HEADER_BYTES || value[0] !== VERSION) return undefined;
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.length);
  return {
    storeId: Uint8Array.from(bytes.subarray(1, 17)),
    checkpoint: Number(bytes.readBigUInt64BE(17)),
    appliedIndex: Number(bytes.readBigUInt64BE(25)),
    appliedTerm: Number(bytes.readBigUInt64BE(33)),
    digest: Uint8Array.from(bytes.subarray(41, 49)),
    extra: Uint8Array.from(bytes.subarray(HEADER_BYTES)),
  };
}
