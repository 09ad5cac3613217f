/**
 * Opens what every group stands on, in this order: identity, log, store, id index, disk gate; then the
 * machine over them. What was opened is undone by the caller's list, newest first.
 *
 *   <dir>/identity   <dir>/lock/   <dir>/wal/   <dir>/store/ checkpoint   <dir>/ids/
 */
import { dirname, join } from 'node:path';
import { nodeId } from '../common/ids.js';
import { StageFigures } from '../common/stage-figures.js';
import { IdIndex } from '../storage/id-index/index.js';
import { DiskGate, Overlay, Store } from '../storage/index.js';
import { BackgroundScrub, type ScrubPace } from './background-scrub.js';
import type { CollectorOptions } from './group/collector/collector.js';
import { ReadPins } from './group/collector/read-pins.js';
import type { PayloadCipher } from './group/group.js';
import type { GroupLog, LogEntry, MachineParts } from './group/ports.js';
import { TailIndex } from './group/tail-index.js';
import { readFigures, type GroupFigures } from './group-figures.js';
import { openRepaired, type RepairPeers } from './log-repair.js';
import { settleLostStore } from './lost-store.js';
import { createMachineParts } from './machine-parts.js';
import { refuseHalfRestored } from './own-directory.js';
import { CheckpointStore, MachineRows } from './row-ports.js';
import { SegmentSealer } from './segment-sealer.js';
import { WalLog } from './wal-port.js';
import { installPending } from './snapshot/install.js';
import { markDirectoryReady, NodeFilePort, openIdentity, Wal, type FilePort } from './wal/index.js';
import { IDENTITY_FILE, readWholeFile, decodeIdentity, type OpenedIdentity } from './wal/index.js';

const MIB = 1024 * 1024;
/** Cluster id of a directory that a single-node broker made. */
export const LOCAL = 'local';

export interface GroupFilesOptions {
  readonly directory: string;
  readonly nodeId: number;
  readonly clusterId?: string;
  /** A directory of a single-node broker is taken over; it keeps the id it was made with. */
  readonly adoptLocal?: boolean;
  readonly segmentBytes?: number;
  /** Age at which the active segment is sealed; 0, absent: never. */
  readonly sealAgeMs?: number;
  readonly overlayMaxBytes?: number;
  readonly checkpointMs?: number;
  readonly checkpointBytes?: number;
  readonly windowMinSeconds?: number;
  /** Append rows of what retention cut off stay for ever. */
  readonly keepRows?: boolean;
  /** Encrypts payloads; null, absent: this node has no key. */
  readonly cipher?: PayloadCipher | null;
  /** What frees log segments; absent: nothing does. */
  readonly collector?: CollectorOptions;
  /** Slots of the id index's in-memory table: 2^bits. */
  readonly idTableBits?: number;
  /** LevelDB's memtable, bytes. */
  readonly storeBufferBytes?: number;
  /** Marks of the disk gate, percent used; `null` leaves the gate out. */
  readonly diskGate?: { readonly highPercent: number; readonly lowPercent: number } | null;
  /** Pace of the background checks; absent: none run. */
  readonly scrub?: ScrubPace;
  readonly log?: GroupLog;
  /** Whom to ask for entries of a damaged log; absent: a damaged log is refused. */
  readonly repairFrom?: RepairPeers;
  /** Runs once the directory is locked, before anything in it is opened. */
  readonly locked?: () => Promise<void>;
  /** An entry that takes longer to judge counts as slow. */
  readonly slowCommandMs?: number;
  /** For tests: throws at an entry that is to fail at apply. */
  readonly refuse?: (entry: LogEntry) => void;
  /** Tests put the log on a disk that fails. */
  readonly files?: FilePort;
}

export interface GroupFiles {
  readonly wal: Wal;
  readonly walLog: WalLog;
  readonly directoryId: Uint8Array;
  /** As the directory says; `local` for one that a single-node broker made. */
  readonly clusterId: string;
  readonly store: CheckpointStore;
  readonly rows: MachineRows;
  readonly ids: IdIndex;
  readonly machine: MachineParts;
  readonly tailIndex: TailIndex;
  /** Whoever reads log bytes enters here; the collector waits for them. */
  readonly pins: ReadPins;
  readonly diskGate: DiskGate | undefined;
  readonly stages: StageFigures;
  /** Set by the group: damage found by a later read of the store. */
  readonly damaged: { report: ((error: Error) => void) | null };
  figures(): GroupFigures;
}

export type Undo = (() => Promise<void>)[];

export const silentLog: GroupLog = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export async function openGroupFiles(options: GroupFilesOptions, undo: Undo): Promise<GroupFiles> {
  const { directory } = options;
  await refuseHalfRestored(directory);
  const log = options.log ?? silentLog;
  const stages = new StageFigures(options.slowCommandMs);
  const { wal, directoryId, clusterId } = await openWal(options, stages, undo);
  const walLog = new WalLog(wal);
  const damaged: GroupFiles['damaged'] = { report: null };
  const { storeBufferBytes, idTableBits } = options;
  await settleLostStore({ directory, wal, isAlone: options.adoptLocal !== true, log });
  const store = await Store.open({
    directory,
    onDamage: (error) => damaged.report?.(error),
    ...(storeBufferBytes === undefined ? {} : { writeBufferBytes: storeBufferBytes }),
  });
  undo.push(() => store.close());
  const overlay = new Overlay({ maxBytes: options.overlayMaxBytes ?? 64 * MIB });
  const ids = await IdIndex.open({
    directory: join(directory, 'ids'),
    onDamage: (error) => damaged.report?.(error),
    ...(idTableBits === undefined ? {} : { tableBits: idTableBits }),
  });
  undo.push(() => ids.close());
  const tailIndex = new TailIndex();
  const rows = new MachineRows(store, overlay, tailIndex);
  const checkpoints = new CheckpointStore(store, overlay, {
    intervalMs: options.checkpointMs ?? 250,
    maxBytes: options.checkpointBytes ?? 8 * MIB,
    stages,
  });
  const diskGate = await openDiskGate(options, log);
  if (diskGate !== undefined) undo.push(() => Promise.resolve(diskGate.stop()));
  const windowMinSeconds = options.windowMinSeconds ?? 900;
  return {
    ...{ wal, walLog, directoryId, clusterId, rows, ids, tailIndex, diskGate, stages, damaged },
    pins: new ReadPins(),
    store: checkpoints,
    machine: createMachineParts({
      ...{ rows, ids, windowMinSeconds },
      keepRows: options.keepRows ?? false,
    }),
    figures: () =>
      readFigures({
        ...{ wal: walLog, checkpoints, overlay, diskGate, stages, rows, ids, store },
      }),
  };
}

/** The group owns what was opened: only its own stop, the gate and the lock remain to be undone. */
export function handOver(undo: Undo, files: GroupFiles, stop: () => Promise<void>): void {
  undo.splice(1, undo.length);
  const { diskGate } = files;
  if (diskGate !== undefined) undo.push(() => Promise.resolve(diskGate.stop()));
  undo.push(stop);
}

/** What looks after the files of a group that serves; it ends before the group does. */
export function startCare(options: GroupFilesOptions, files: GroupFiles, undo: Undo): void {
  const { wal, store, damaged } = files;
  const log = options.log ?? silentLog;
  const { sealAgeMs } = options;
  if (sealAgeMs !== undefined && sealAgeMs > 0) {
    const sealer = new SegmentSealer({ wal, log, nowMs: () => performance.now() }, sealAgeMs);
    sealer.start();
    undo.push(() => sealer.stop());
  }
  if (options.scrub === undefined) return;
  const report = (error: Error): void => damaged.report?.(error);
  const scrub = new BackgroundScrub({ wal, store, log, damaged: report }, options.scrub);
  scrub.start();
  undo.push(() => scrub.stop());
}

/** Undoes what was opened, newest first. A step that fails hides neither the others nor the cause. */
export async function unwind(undo: Undo, log: GroupLog = silentLog): Promise<void> {
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) {
    await step().catch((error: unknown) => {
      log.warn('file not closed cleanly', { error: String(error) });
    });
  }
}

async function openDiskGate(
  { directory, diskGate }: GroupFilesOptions,
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
  options: GroupFilesOptions,
  stages: StageFigures,
  undo: Undo,
): Promise<{ wal: Wal; directoryId: Uint8Array; clusterId: string }> {
  const { directory, segmentBytes, log } = options;
  const files = options.files ?? timedFiles(stages);
  await files.fsyncDir(dirname(directory));
  const { identity, ready: wasReady } = await identityOf(options, files);
  const installed = await installPending({
    ...{ directory, identity, ready: wasReady, log: log ?? silentLog },
  });
  const ready = wasReady || installed;
  const open = (): Promise<Wal> =>
    Wal.open({
      ...{ files, directory: join(directory, 'wal'), identity },
      ...(ready ? {} : { create: {} }),
      ...(segmentBytes === undefined ? {} : { segmentBytes }),
      log: (event, fields) => log?.info(event, fields),
    });
  const peers = options.repairFrom ?? null;
  const wal = await openRepaired({ directory, identity, peers, log: log ?? silentLog }, open);
  undo.push(() => wal.close());
  if (!ready) await markDirectoryReady(files, directory, identity);
  const { clusterId } = identity;
  return { wal, directoryId: Buffer.from(identity.directoryId, 'hex'), clusterId };
}

function timedFiles(stages: StageFigures): NodeFilePort {
  return new NodeFilePort((what, tookMs) => {
    stages.took(what === 'file' ? 'fileSync' : 'directorySync', tookMs, performance.now());
  });
}

async function identityOf(options: GroupFilesOptions, files: FilePort): Promise<OpenedIdentity> {
  const { directory, adoptLocal } = options;
  const expected = { clusterId: options.clusterId ?? LOCAL, nodeId: nodeId(options.nodeId) };
  const path = `${directory}/${IDENTITY_FILE}`;
  const bytes = adoptLocal === true ? await readWholeFile(files, path) : undefined;
  const isLocal = bytes !== undefined && decodeIdentity(path, bytes).identity.clusterId === LOCAL;
  const clusterId = isLocal ? LOCAL : expected.clusterId;
  return openIdentity({ files, directory, expected: { ...expected, clusterId } });
}
