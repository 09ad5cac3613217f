/**
 * Where the raft groups of a data directory lie, and how many it holds. The number is written down once,
 * before anything else, and never changes: with another one tenants would be looked for where they are
 * not. A directory of one group carries no such file.
 *
 *   <dir>/…            group 0        <dir>/raft-groups   {"groups":3}
 *   <dir>/groups/g1/…  group 1
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { GroupId } from '../common/ids.js';
import { namesIn } from '../storage/index.js';
import { decodeDocument, encodeDocument, NodeFilePort, readWholeFile } from './wal/index.js';
import { IDENTITY_FILE, replaceFile, type DocumentKind } from './wal/index.js';

export const COUNT_FILE = 'raft-groups';
export const GROUPS = 'groups';
const KIND: DocumentKind = { name: 'queen-raft-groups', version: 1 };

export function groupDirectory(directory: string, id: GroupId): string {
  return id === 0 ? directory : join(directory, GROUPS, `g${id}`);
}

/** The identity a group's directory and its members carry, so that groups are never mixed up. */
export function groupClusterId(clusterId: string, id: GroupId): string {
  return id === 0 ? clusterId : `${clusterId}/g${id}`;
}

/** Throws when the directory was made for another number of groups. Changes nothing. */
export async function checkGroupCount(directory: string, groups: number): Promise<void> {
  const held = await readGroupCount(directory);
  if (held === null || held === groups) return;
  throw new Error(
    `the data directory ${directory} holds ${named(held)} and QUEEN_RAFT_GROUPS is ${groups}: ` +
      `start it with QUEEN_RAFT_GROUPS=${held}, or this node on an empty directory. The number of ` +
      'groups of a cluster never changes, for a tenant never moves.',
  );
}

/** Durable before any group of a new directory is made; one group needs no record. */
export async function makeGroupCount(directory: string, groups: number): Promise<void> {
  await checkGroupCount(directory, groups);
  await recordGroupCount(directory, groups);
}

/** Written last by a restore: until then the directory is refused. */
export async function recordGroupCount(directory: string, groups: number): Promise<void> {
  if (groups === 1) return;
  await mkdir(join(directory, GROUPS), { recursive: true });
  const files = new NodeFilePort();
  if ((await readWholeFile(files, join(directory, COUNT_FILE))) !== undefined) {
    await files.fsyncDir(directory);
    return;
  }
  await replaceFile(files, directory, COUNT_FILE, encodeDocument(KIND, { groups }));
}

/** Null: the directory holds nothing yet. */
export async function readGroupCount(directory: string): Promise<number | null> {
  const files = new NodeFilePort();
  const path = join(directory, COUNT_FILE);
  const bytes = await readWholeFile(files, path);
  if (bytes !== undefined) {
    const { groups } = decodeDocument(KIND, path, Buffer.from(bytes)) as { groups: unknown };
    if (typeof groups === 'number' && groups > 1) return groups;
    throw new Error(`${path} names no number of groups`);
  }
  if ((await namesIn(join(directory, GROUPS))).length > 0) {
    throw new Error(
      `${join(directory, GROUPS)} holds raft groups and the file ${path} is missing: the directory ` +
        'was only partly restored, or lost that file. Empty it and restore it again.',
    );
  }
  const identity = await readWholeFile(files, join(directory, IDENTITY_FILE));
  return identity === undefined ? null : 1;
}

function named(groups: number): string {
  return groups === 1 ? 'one raft group' : `${groups} raft groups`;
}
