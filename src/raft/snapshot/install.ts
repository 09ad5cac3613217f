/**
 * Loads a received snapshot before anything of the directory is opened. The new store and log are
 * built beside the old ones, then moved into place one by one; every step can be repeated after a kill,
 * and nothing of the old state is touched before the new one is whole and synced.
 *
 *   snapshot.pending names snapshots/recv-N      recv-N/{snapshot,rows,wal}   as received
 *   recv-N/new/{store,checkpoint,wal,ready}      built here, `ready` last
 *   snapshots/replaced/*                         what was moved out; removed at the end
 */
import { access, copyFile, link, mkdir, open, readdir, rename, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { logIndex, nodeId, term } from '../../common/ids.js';
import { Overlay, Store, syncDirectory, type StoreMeta } from '../../storage/index.js';
import type { GroupLog } from '../group/ports.js';
import {
  createWal,
  decodeDocument,
  markDirectoryReady,
  NodeFilePort,
  readWholeFile,
  segmentFileName,
  Wal,
  type DirectoryIdentity,
  type HardState,
} from '../wal/index.js';
import { decodeDescriptor, DESCRIPTOR_FILE, ROWS_FILE } from './descriptor.js';
import { SEGMENTS_DIRECTORY, type SnapshotDescriptor } from './descriptor.js';
import { writeSynced } from './export.js';
import { readRows } from './rows-file.js';
import { PENDING_FILE, PENDING_KIND, SNAPSHOTS_DIRECTORY } from './snapshot-files.js';

const LAYER_BYTES = 16 * 1024 * 1024;
const NEW = 'new';
const READY_FILE = 'ready';
const REPLACED = 'replaced';
/** Moved into place; `ids` is only moved out: the id index is rebuilt from the rows. */
const MOVED_IN = ['store', 'checkpoint', 'wal'] as const;
const MOVED_OUT = [...MOVED_IN, 'ids'] as const;

export interface InstallOptions {
  readonly directory: string;
  readonly identity: DirectoryIdentity;
  /** False while the directory was never used: it has no log yet. */
  readonly ready: boolean;
  readonly log: GroupLog;
  /** Called between two changes of the directory; tests end the start there. */
  readonly step?: () => void;
}

/** True when a snapshot was loaded. Leftovers of snapshots that do not count are removed. */
export async function installPending(options: InstallOptions): Promise<boolean> {
  const { directory } = options;
  const files = new NodeFilePort();
  const path = join(directory, PENDING_FILE);
  const pending = await pendingSnapshot(directory);
  await removeLeftovers(join(directory, SNAPSHOTS_DIRECTORY), pending);
  if (pending === null) return false;
  const staged = join(directory, SNAPSHOTS_DIRECTORY, pending);
  const descriptorPath = join(staged, DESCRIPTOR_FILE);
  const text = await readWholeFile(files, descriptorPath);
  if (text === undefined) throw new Error(`${descriptorPath} is missing; ${PENDING_FILE} names it`);
  const descriptor = decodeDescriptor(descriptorPath, text);
  if (!(await exists(join(staged, NEW, READY_FILE)))) await build(options, staged, descriptor);
  const step = options.step ?? ((): void => undefined);
  await swap(directory, join(staged, NEW), step);
  if (!options.ready) await markDirectoryReady(files, directory, options.identity);
  step();
  await unlink(path);
  await syncDirectory(directory);
  step();
  await removeLeftovers(join(directory, SNAPSHOTS_DIRECTORY), null);
  options.log.info('raft: a received snapshot was loaded', { index: descriptor.appliedIndex });
  return true;
}

/** Name under snapshots/ of the received one that the next start loads; null: none waits. */
export async function pendingSnapshot(directory: string): Promise<string | null> {
  const path = join(directory, PENDING_FILE);
  const bytes = await readWholeFile(new NodeFilePort(), path);
  return bytes === undefined ? null : pendingName(path, bytes);
}

function pendingName(path: string, bytes: Buffer): string {
  const { directory } = decodeDocument(PENDING_KIND, path, bytes) as { directory?: unknown };
  if (typeof directory === 'string' && /^recv-\d+$/.test(directory)) return directory;
  throw new Error(`${path} names no snapshot`);
}

async function build(
  { directory, identity, ready, step }: InstallOptions,
  staged: string,
  descriptor: SnapshotDescriptor,
): Promise<void> {
  const target = join(staged, NEW);
  await rm(target, { recursive: true, force: true });
  await mkdir(target);
  step?.();
  await buildStore(target, staged, { descriptor });
  step?.();
  const old = ready ? await oldHardState(directory, identity) : null;
  await buildLog(target, staged, { identity, descriptor, old });
  await syncDirectory(target);
  step?.();
  await writeSynced(join(target, READY_FILE), new Uint8Array(0));
  await syncDirectory(target);
}

export interface StoreSeed {
  readonly descriptor: SnapshotDescriptor;
  /** Stands for the snapshot's row of this key; null leaves it out. */
  readonly row?: { readonly key: Uint8Array; readonly value: Uint8Array | null };
}

/** A store in `target` with the rows of a snapshot; used by restore too. */
export async function buildStore(target: string, staged: string, seed: StoreSeed): Promise<void> {
  const { descriptor, row } = seed;
  const meta: StoreMeta = {
    appliedIndex: descriptor.appliedIndex,
    appliedTerm: descriptor.appliedTerm,
    digest: Buffer.from(descriptor.digest, 'hex'),
    extra: Buffer.from(descriptor.header, 'hex'),
  };
  const store = await Store.open({ directory: target });
  const path = join(staged, ROWS_FILE);
  const file = await open(path, 'r');
  let count = 0;
  try {
    let overlay = new Overlay({ maxBytes: 2 * LAYER_BYTES });
    for await (const rows of readRows(file, path)) {
      for (const [key, value] of rows) {
        if (row === undefined || Buffer.compare(key, row.key) !== 0) overlay.put(key, value);
      }
      count += rows.length;
      if (overlay.pendingByteSize < LAYER_BYTES) continue;
      await store.writeCheckpoint(overlay.freeze(), meta);
      overlay = new Overlay({ maxBytes: 2 * LAYER_BYTES });
    }
    if (count !== descriptor.rowCount) {
      throw new Error(`${path} holds ${count} rows, the snapshot says ${descriptor.rowCount}`);
    }
    if (row !== undefined && row.value !== null) overlay.put(row.key, row.value);
    await store.writeCheckpoint(overlay.freeze(), meta);
  } finally {
    await file.close();
    await store.close();
  }
}

interface LogSeed {
  readonly identity: DirectoryIdentity;
  readonly descriptor: SnapshotDescriptor;
  /** Term and vote this node must not forget. */
  readonly old: HardState | null;
  /** Recovery generation; the snapshot's when absent. */
  readonly generation?: number;
}

/** An empty log after the snapshot, with its segments beside it; used by restore too. */
export async function buildLog(target: string, staged: string, seed: LogSeed): Promise<void> {
  const { identity, descriptor, old } = seed;
  const directory = join(target, 'wal');
  await mkdir(directory);
  for (const { sequence, revision } of descriptor.segments) {
    const name = segmentFileName(sequence, revision);
    await linkOrCopy(join(staged, SEGMENTS_DIRECTORY, name), join(directory, name));
  }
  const base = { index: logIndex(descriptor.appliedIndex), term: term(descriptor.appliedTerm) };
  const keeps = old !== null && old.term >= base.term;
  await createWal(
    { files: new NodeFilePort(), directory, identity },
    {
      base,
      hardState: {
        term: keeps ? old.term : base.term,
        vote: keeps ? old.vote : nodeId(0),
        commit: base.index,
      },
      generation: seed.generation ?? descriptor.generation,
      imported: descriptor.segments,
    },
  );
}

/** A backup may lie on another filesystem. */
async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
    return;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code !== 'EXDEV' && code !== 'EPERM') throw error;
  }
  await copyFile(from, to);
  const file = await open(to, 'r');
  await file.datasync();
  await file.close();
}

async function oldHardState(directory: string, identity: DirectoryIdentity): Promise<HardState> {
  const wal = await Wal.open({
    files: new NodeFilePort(),
    directory: join(directory, 'wal'),
    identity,
  });
  const { hardState } = wal;
  await wal.close();
  return hardState;
}

async function swap(directory: string, source: string, step: () => void): Promise<void> {
  const replaced = join(directory, SNAPSHOTS_DIRECTORY, REPLACED);
  await mkdir(replaced, { recursive: true });
  for (const name of MOVED_OUT) {
    const isNew = MOVED_IN.includes(name as (typeof MOVED_IN)[number]);
    // Moved in already, by a start that was killed afterwards.
    if (isNew && !(await exists(join(source, name)))) continue;
    await rm(join(replaced, name), { recursive: true, force: true });
    if (await exists(join(directory, name))) {
      await rename(join(directory, name), join(replaced, name));
      step();
    }
    if (!isNew) continue;
    await rename(join(source, name), join(directory, name));
    step();
  }
  await syncDirectory(source);
  await syncDirectory(directory);
}

async function removeLeftovers(directory: string, keep: string | null): Promise<void> {
  if (!(await exists(directory))) return;
  for (const name of await readdir(directory)) {
    if (name !== keep && !(keep !== null && name === REPLACED)) {
      await rm(join(directory, name), { recursive: true, force: true });
    }
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    // Not there, or not to be seen: both mean that nothing can be moved.
    return false;
  }
}
