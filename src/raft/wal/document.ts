/**
 * Small checked text documents (manifest, identity): one header line naming kind, version, checksum
 * and size, then JSON. Readable for an operator, and no flipped byte passes.
 *
 *   queen-wal-manifest 1 8d2f11aa 412\n
 *   {"clusterId":"c1",...}
 */
import { crc32 } from 'node:zlib';
import { newerFormat, REPLACE_NODE_CURE, WalDamageError } from './errors.js';

export interface DocumentKind {
  readonly name: string;
  /** Newest version this build reads; it writes exactly this one. */
  readonly version: number;
}

/** Longest header line: name, version, checksum, size. */
const MAX_HEADER_BYTES = 120;

export function encodeDocument(kind: DocumentKind, body: unknown): Buffer {
  const json = Buffer.from(`${JSON.stringify(body)}\n`, 'utf8');
  const checksum = documentChecksum(kind.name, kind.version, json);
  return Buffer.concat([
    Buffer.from(`${kind.name} ${kind.version} ${checksum} ${json.length}\n`, 'latin1'),
    json,
  ]);
}

/** Parses and verifies; the shape of the result is the caller's to check. */
export function decodeDocument(kind: DocumentKind, file: string, bytes: Buffer): unknown {
  const end = bytes.subarray(0, MAX_HEADER_BYTES).indexOf(0x0a);
  const match = /^(\S+) ([1-9]\d{0,8}) ([0-9a-f]{8}) (\d{1,9})$/.exec(
    bytes.toString('latin1', 0, Math.max(end, 0)),
  );
  if (!match || match[1] !== kind.name) {
    throw damaged(file, 0, `does not begin with the header of a ${kind.name} file`);
  }
  const version = Number(match[2]);
  const json = bytes.subarray(end + 1);
  if (documentChecksum(kind.name, version, json) !== match[3]) {
    throw damaged(file, end + 1, 'checksum mismatch');
  }
  if (json.length !== Number(match[4])) throw damaged(file, end + 1, 'size mismatch');
  if (version > kind.version) throw newerFormat(file, version, kind.version);
  try {
    return JSON.parse(json.toString('utf8'));
  } catch (error) {
    throw damaged(file, end + 1, `not JSON: ${String(error)}`);
  }
}

function documentChecksum(name: string, version: number, json: Buffer): string {
  const seed = crc32(Buffer.from(`${name} ${version}`, 'latin1'));
  return crc32(json, seed).toString(16).padStart(8, '0');
}

function damaged(file: string, byteOffset: number, reason: string): WalDamageError {
  return new WalDamageError({ file, byteOffset, reason, cure: REPLACE_NODE_CURE });
}
