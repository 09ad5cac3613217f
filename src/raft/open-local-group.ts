/**
 * Opens the data directory of a single voter and everything in it, in this order: lock, identity, log,
 * store, id index, machine; then the group loads, replays and takes the lead. What does not fit
 * together is refused with file and cure; what was opened is closed again.
 *
 *   <dir>/identity   <dir>/lock/   <dir>/wal/   <dir>/store/ checkpoint   <dir>/ids/
 */
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '../common/clock.js';
import { groupId, nodeId } from '../common/ids.js';
import { systemClock } from '../config/index.js';
import { MACHINE_VERSION } from '../machine/machine.js';
import { IdIndex } from '../storage/id-index/index.js';
import { DiskGate, Overlay, Store } from '../storage/index.js';
import { lockDirectory } from './directory-lock.js';
import { LocalGroup } from './group/local-group.js';
import type { GroupLog } from './group/ports.js';
import { TailIndex } from './group/tail-index.js';
import { readFigures, type GroupFigures } from './group-figures.js';
import { createMachineParts } from './machine-parts.js';
import { CheckpointStore, MachineRows } from './row-ports.js';
import { WalLog } from './wal-port.js';
import { markDirectoryReady, NodeFilePort, openIdentity, Wal, type FilePort } from './wal/index.js';

const MIB = 1024 * 1024;

export interface LocalGroupOptions {
  readonly directory: string;
  readonly nodeId: number;
  readonly clusterId?: string;
  readonly segmentBytes?: number;
  readonly overlayMaxBytes?: number;
  readonly checkpointMs?: number;
  readonly checkpointBytes?: number;
  readonly tailCacheBytes?: number;
  readonly windowMinSeconds?: number;
  /** Slots of the id index's in-memory table: 2^bits. */
  readonly idTableBits?: number;
  /** LevelDB's memtable, bytes. */
  readonly storeBufferBytes?: number;
  /** Entries kept in the raft log behind the durable index. */
  readonly logKeepEntries?: number;
  /** Marks of the disk gate, percent used; `null` leaves the gate out. */
  readonly diskGate?: { readonly highPercent: number; readonly lowPercent: number } | null;
  readonly log?: GroupLog;
  readonly clock?: Clock;
  /** Tests put the log on a disk that fails. */
  readonly files?: FilePort;
}

export interface OpenedLocalGroup {
  readonly group: LocalGroup;
  /** Numbers for the metrics, as of now. */
  figures(): GroupFigures;
  /** Stops the group and gives the directory back. */
  close(): Promise<void>;
}

export async function openLocalGroup(options: LocalGroupOptions): Promise<OpenedLocalGroup> {
  const { directory } = options;
  await mkdir(directory, { recursive: true });
  const lock = await lockDirectory(directory);
  const undo: (() => Promise<void>)[] = [() => lock.release()];
  try {
    const { group, figures } = await buildGroup(options, undo);
    await group.start();
    return { group, figures, close: () => unwind(undo, options.log) };
  } catch (error) {
    await unwind(undo, options.log);
    throw error;
  }
}

/** Undoes what was opened, newest first. A step that fails hides neither the others nor the cause. */
async function unwind(undo: (() => Promise<void>)[], log: GroupLog = silentLog): Promise<void> {
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) {
    await step().catch((error: unknown) => {
      log.warn('file not closed cleanly', { error: String(error) });
    });
  }
}

async function buildGroup(
  options: LocalGroupOptions,
  undo: (() => Promise<void>)[],
): Promise<Pick<OpenedLocalGroup, 'group' | 'figures'>> {
  const { directory } = options;
  const log = options.log ?? silentLog;
  const { wal, directoryId } = await openWal(options, undo);
  const damaged: { report: ((error: Error) => void) | null } = { report: null };
  const { storeBufferBytes, logKeepEntries } = options;
  const store = await Store.open({
    directory,
    onDamage: (error) => damaged.report?.(error),
    ...(storeBufferBytes === undefined ? {} : { writeBufferBytes: storeBufferBytes }),
  });
  undo.push(() => store.close());
  const overlay = new Overlay({ maxBytes: options.overlayMaxBytes ?? 64 * MIB });
  const bits = options.idTableBits;
  const ids = await IdIndex.open({
    directory: join(directory, 'ids'),
    ...(bits === undefined ? {} : { tableBits: bits }),
  });
  undo.push(() => ids.close());
  const tailIndex = new TailIndex();
  const rows = new MachineRows(store, overlay, tailIndex);
  const checkpoints = new CheckpointStore(store, overlay, {
    intervalMs: options.checkpointMs ?? 250,
    maxBytes: options.checkpointBytes ?? 8 * MIB,
  });
  const windowMinSeconds = options.windowMinSeconds ?? 900;
  const diskGate = await openDiskGate(options, log);
  if (diskGate !== undefined) undo.push(() => Promise.resolve(diskGate.stop()));
  const group = new LocalGroup({
    id: groupId(0),
    nodeId: nodeId(options.nodeId),
    directoryId,
    // A single voter begins a term with every start, so the term counts its boots.
    bootCount: wal.term + 1,
    kinds: MACHINE_VERSION,
    tailCacheBytes: options.tailCacheBytes ?? 128 * MIB,
    clock: options.clock ?? systemClock,
    log,
    wal,
    store: checkpoints,
    rows,
    ids,
    machine: createMachineParts({ rows, ids, windowMinSeconds }),
    tailIndex,
    ...(diskGate === undefined ? {} : { diskGate }),
    ...(logKeepEntries === undefined ? {} : { logKeepEntries }),
  });
  damaged.report = (error) => group.damaged(error);
  // From here on the group owns what was opened; lock and gate are still ours.
  undo.splice(1, undo.length);
  if (diskGate !== undefined) undo.push(() => Promise.resolve(diskGate.stop()));
  undo.push(() => group.stop());
  return { group, figures: () => readFigures({ wal, checkpoints, overlay, diskGate }) };
}

async function openDiskGate(
  { directory, diskGate }: LocalGroupOptions,
  log: GroupLog,
): Promise<DiskGate | undefined> {
  if (diskGate === undefined || diskGate === null) return undefined;
  const gate = new DiskGate({
    ...{ directory, ...diskGate },
    onError: (error) =>
      log.warn('the filesystem cannot be asked how full it is', { why: String(error) }),
  });
  gate.onChange(({ isFull, usedPercent }) =>
    log.warn('raft storage pressure changed', { full: isFull, used_pct: usedPercent }),
  );
  await gate.start();
  return gate;
}

async function openWal(
  options: LocalGroupOptions,
  undo: (() => Promise<void>)[],
): Promise<{ wal: WalLog; directoryId: Uint8Array }> {
  const { directory, segmentBytes, log } = options;
  const files = options.files ?? new NodeFilePort();
  const expected = { clusterId: options.clusterId ?? 'local', nodeId: nodeId(options.nodeId) };
  await files.fsyncDir(dirname(directory));
  const { identity, ready } = await openIdentity({ files, directory, expected });
  const wal = await Wal.open({
    ...{ files, directory: join(directory, 'wal'), identity },
    ...(ready ? {} : { create: {} }),
    ...(segmentBytes === undefined ? {} : { segmentBytes }),
    log: (event, fields) => log?.info(event, fields),
  });
  undo.push(() => wal.close());
  if (!ready) await markDirectoryReady(files, directory, identity);
  return { wal: new WalLog(wal), directoryId: Buffer.from(identity.directoryId, 'hex') };
}

const silentLog: GroupLog = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
