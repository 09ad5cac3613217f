/**
 * The manifest: which segment files exist, in which state, holding which entries. It is replaced
 * atomically and before a change is used, so what it does not list was never used. Ranges in it are
 * the effective ones: a truncation that reached back into a sealed segment shortens them here only.
 */
import { nodeId } from '../../common/ids.js';
import { decodeDocument, encodeDocument, type DocumentKind } from './document.js';
import { REPLACE_NODE_CURE, WalDamageError } from './errors.js';
import { readWholeFile, replaceFile, type FilePort } from './file-port.js';
import type { DirectoryIdentity } from './types.js';

export const MANIFEST_FILE = 'manifest';
const KIND: DocumentKind = { name: 'queen-wal-manifest', version: 1 };

/**
 * active: appended to, exactly one, the last. sealed: immutable, part of the raft log. retired:
 * immutable, kept only for the messages in it. removing: its file is being unlinked.
 */
export type SegmentState = 'active' | 'sealed' | 'retired' | 'removing';

export interface SegmentRow {
  readonly sequence: number;
  /** 0; each rewrite of a retired segment makes the next revision in a new file. */
  readonly revision: number;
  readonly state: SegmentState;
  /** First and last entry that count; last = first - 1 when none. Active: the range when created. */
  readonly first: number;
  readonly last: number;
  /** Of the whole file; 0 while active. */
  readonly sizeBytes: number;
  /** The checksum of the footer; 0 while active. */
  readonly checksum: number;
  /** Directory id of the node whose log wrote it, when a snapshot brought it here; retired only. */
  readonly origin?: string;
}

export interface Manifest {
  readonly identity: DirectoryIdentity;
  /** Counts replacements. */
  readonly edit: number;
  /** Ascending by sequence. */
  readonly segments: readonly SegmentRow[];
}

/** `00000000000000000042.seg`; a rewritten one `00000000000000000042-r1.seg`. */
export function segmentFileName(sequence: number, revision: number): string {
  const stem = String(sequence).padStart(20, '0');
  return revision === 0 ? `${stem}.seg` : `${stem}-r${revision}.seg`;
}

export function parseSegmentFileName(
  name: string,
): { sequence: number; revision: number } | undefined {
  const match = /^(\d{20})(?:-r([1-9]\d{0,8}))?\.seg$/.exec(name);
  if (!match) return undefined;
  return { sequence: Number(match[1]), revision: Number(match[2] ?? 0) };
}

export async function readManifest(
  files: FilePort,
  directory: string,
): Promise<Manifest | undefined> {
  const path = `${directory}/${MANIFEST_FILE}`;
  const bytes = await readWholeFile(files, path);
  if (!bytes) return undefined;
  const body = decodeDocument(KIND, path, bytes) as Record<string, unknown>;
  const problem = shapeProblem(body);
  if (problem) {
    throw new WalDamageError({
      file: path,
      byteOffset: 0,
      reason: problem,
      cure: REPLACE_NODE_CURE,
    });
  }
  return {
    identity: {
      clusterId: body['clusterId'] as string,
      nodeId: nodeId(body['nodeId'] as number),
      directoryId: body['directoryId'] as string,
    },
    edit: body['edit'] as number,
    segments: body['segments'] as SegmentRow[],
  };
}

/** Durable when it resolves. */
export function writeManifest(
  files: FilePort,
  directory: string,
  manifest: Manifest,
): Promise<void> {
  const { identity, edit, segments } = manifest;
  const bytes = encodeDocument(KIND, { ...identity, edit, segments });
  return replaceFile(files, directory, MANIFEST_FILE, bytes);
}

const STATES: ReadonlySet<unknown> = new Set(['active', 'sealed', 'retired', 'removing']);

function shapeProblem(body: Record<string, unknown>): string | undefined {
  const { clusterId, nodeId: node, directoryId, edit, segments } = body;
  if (typeof clusterId !== 'string' || typeof directoryId !== 'string') return 'identity missing';
  if (!Number.isSafeInteger(node) || !Number.isSafeInteger(edit)) return 'number missing';
  if (!Array.isArray(segments) || segments.length === 0) return 'no segments';
  let previous = 0;
  for (const row of segments as Record<string, unknown>[]) {
    const numbers = ['sequence', 'revision', 'first', 'last', 'sizeBytes', 'checksum'];
    if (numbers.some((name) => !Number.isSafeInteger(row[name]) || (row[name] as number) < 0)) {
      return 'a segment row lacks a number';
    }
    const { origin } = row;
    if (origin !== undefined && typeof origin !== 'string')
      return 'a segment row has an odd origin';
    if (!STATES.has(row['state'])) return `unknown segment state ${String(row['state'])}`;
    if ((row['sequence'] as number) <= previous) return 'segments are not ascending';
    previous = row['sequence'] as number;
  }
  const active = (segments as SegmentRow[]).filter((row) => row.state === 'active');
  if (active.length !== 1 || active[0] !== segments.at(-1)) return 'the last segment is not active';
  return undefined;
}
