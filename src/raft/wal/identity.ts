/**
 * The identity file of a data directory: which cluster, which node, and a random directory id minted
 * once. A directory is usable only when it says so itself: `ready` is false until every log in it
 * was created, so a half-created directory is finished, and a ready one with a missing log refused.
 */
import { randomBytes } from 'node:crypto';
import { nodeId, type NodeId } from '../../common/ids.js';
import { decodeDocument, encodeDocument, type DocumentKind } from './document.js';
import { FOREIGN_FILE_CURE, REPLACE_NODE_CURE, WalDamageError } from './errors.js';
import { readWholeFile, replaceFile, type FilePort } from './file-port.js';
import type { DirectoryIdentity } from './types.js';

export const IDENTITY_FILE = 'identity';
const KIND: DocumentKind = { name: 'queen-identity', version: 1 };
const DIRECTORY_ID_BYTES = 16;

export interface ExpectedIdentity {
  readonly clusterId: string;
  readonly nodeId: NodeId;
}

export interface OpenedIdentity {
  readonly identity: DirectoryIdentity;
  /** False: pass `create: true` to `Wal.open`, then call `markDirectoryReady`. */
  readonly ready: boolean;
}

export interface IdentityOptions {
  readonly files: FilePort;
  readonly directory: string;
  readonly expected: ExpectedIdentity;
  /** Mints 16 random bytes; the simulator injects its own. */
  readonly mintDirectoryId?: () => Uint8Array;
}

/** Reads and checks the identity, or creates it in an empty directory (durable on return). */
export async function openIdentity(options: IdentityOptions): Promise<OpenedIdentity> {
  const { files, directory, expected } = options;
  const path = `${directory}/${IDENTITY_FILE}`;
  const bytes = await readWholeFile(files, path);
  if (bytes) {
    const found = decodeIdentity(path, bytes);
    check(path, found.identity, expected);
    // A rename seen after a kill may not have reached the disk yet.
    await files.fsyncDir(directory);
    return found;
  }
  const mint = options.mintDirectoryId ?? ((): Uint8Array => randomBytes(DIRECTORY_ID_BYTES));
  const directoryId = Buffer.from(mint()).toString('hex');
  const identity: DirectoryIdentity = { ...expected, directoryId };
  await replaceFile(files, directory, IDENTITY_FILE, encode(identity, false));
  return { identity, ready: false };
}

/** Records that every log of the directory exists; from now on a missing one is refused. */
export async function markDirectoryReady(
  files: FilePort,
  directory: string,
  identity: DirectoryIdentity,
): Promise<void> {
  await replaceFile(files, directory, IDENTITY_FILE, encode(identity, true));
}

/** Throws when `found` is not the identity `expected`, telling which of the three differs. */
export function checkSameDirectory(
  file: string,
  found: DirectoryIdentity,
  expected: DirectoryIdentity,
): void {
  check(file, found, expected);
  if (found.directoryId === expected.directoryId) return;
  throw foreign(
    file,
    `belongs to data directory ${found.directoryId}, this one is ${expected.directoryId}`,
  );
}

function encode(identity: DirectoryIdentity, ready: boolean): Buffer {
  const { clusterId, nodeId: node, directoryId } = identity;
  return encodeDocument(KIND, { clusterId, nodeId: node, directoryId, ready });
}

/** Throws WalDamageError. */
export function decodeIdentity(path: string, bytes: Buffer): OpenedIdentity {
  const body = decodeDocument(KIND, path, bytes) as Record<string, unknown>;
  const { clusterId, nodeId: node, directoryId, ready } = body;
  const well =
    typeof clusterId === 'string' &&
    Number.isSafeInteger(node) &&
    typeof directoryId === 'string' &&
    /^[0-9a-f]{32}$/.test(directoryId) &&
    typeof ready === 'boolean';
  if (!well) {
    throw new WalDamageError({
      file: path,
      byteOffset: 0,
      reason: 'a field is missing or has the wrong type',
      cure: REPLACE_NODE_CURE,
    });
  }
  return { identity: { clusterId, nodeId: nodeId(node as number), directoryId }, ready };
}

function check(path: string, found: ExpectedIdentity, expected: ExpectedIdentity): void {
  if (found.clusterId !== expected.clusterId) {
    throw foreign(
      path,
      `belongs to cluster "${found.clusterId}", this node is of cluster ` +
        `"${expected.clusterId}" (a directory stays with the replicator that made it: compare ` +
        'QUEEN_RAFT_REPLICATOR and QUEEN_CELL_ID)',
    );
  }
  if (found.nodeId !== expected.nodeId) {
    throw foreign(path, `belongs to node ${found.nodeId}, this node is ${expected.nodeId}`);
  }
}

function foreign(file: string, reason: string): WalDamageError {
  return new WalDamageError({ file, byteOffset: 0, reason, cure: FOREIGN_FILE_CURE });
}
