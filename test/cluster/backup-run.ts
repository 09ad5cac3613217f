/**
 * `queen backup` of a node that is written to all the time: writers push batches at an even rate over many
 * partitions while the command copies the state. Afterwards the backup is restored and loaded; its digest
 * must be that of the source at the backup's index, which the source's own log tells: it is replayed from
 * its first entry. Told is also how long the slowest push waited, without and with a backup under way.
 */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readBackup } from '../../src/raft/snapshot/restore.js';
import { ClusterProcesses, pause } from '../support/cluster-processes.js';
import { replayedState } from '../support/replayed-state.js';
import { EvenWriters, percentile99 } from './even-writers.js';
import { SINGLE } from './operations/damage-scene.js';

const LOAD = { partitions: 64, payloadBytes: 200 };
/** Everything but the log is left out: the state is to come from its entries alone. */
const BESIDE_THE_LOG = ['store', 'checkpoint', 'ids', 'lock', 'analytics'];

export interface BackupLoad {
  readonly perSecond: number;
  readonly batch: number;
  /** Before the backup, and again after it. */
  readonly seconds: number;
}

export interface BackupReport {
  readonly pushed: number;
  readonly perSecond: number;
  /** Slowest push, ms. */
  readonly slowestBeforeMs: number;
  readonly slowestDuringMs: number;
  /** The 99th of a hundred, ms. */
  readonly p99BeforeMs: number;
  readonly p99DuringMs: number;
  readonly backupSeconds: number;
  readonly index: number;
  readonly sourceDigest: string | null;
  readonly backupDigest: string;
  readonly restoredDigest: string;
}

export async function backupUnderLoad(load: BackupLoad): Promise<BackupReport> {
  // The log keeps everything, so that the source's state at any index can be made again.
  const env = { ...SINGLE, QUEEN_RAFT_LOG_KEEP: '1000000000' };
  const cluster = await ClusterProcesses.start({ size: 1, env });
  try {
    await cluster.ready(1);
    return await measured(cluster, load);
  } finally {
    await cluster.remove();
  }
}

async function measured(cluster: ClusterProcesses, load: BackupLoad): Promise<BackupReport> {
  const copy = join(cluster.directory, 'backup');
  const url = cluster.url(1);
  const startMs = performance.now();
  const measures = await EvenWriters.beside(url, { ...LOAD, ...load }, async (writers) => {
    await pause(load.seconds * 1_000);
    const before = await writers.take();
    const backupMs = performance.now();
    const made = await cluster.node(1).command(['backup', '--to', copy, '--url', url]);
    const endMs = performance.now();
    const during = await writers.take();
    if (made.code !== 0) throw new Error(made.output);
    await pause(load.seconds * 1_000);
    const spanSeconds = (performance.now() - startMs) / 1_000;
    return { writers, spanSeconds, before, during, backupSeconds: (endMs - backupMs) / 1_000 };
  });
  const { writers, spanSeconds, before, during, backupSeconds } = measures;
  await cluster.stop(1, 'SIGKILL');
  const { appliedIndex: index, digest: backupDigest } = await readBackup(copy);
  const { digestAt } = await replayedState(logOf(cluster), index);
  return {
    ...{ pushed: writers.pushed, perSecond: writers.pushed / spanSeconds },
    ...{ slowestBeforeMs: before.at(-1) ?? 0, slowestDuringMs: during.at(-1) ?? 0 },
    ...{ p99BeforeMs: percentile99(before), p99DuringMs: percentile99(during) },
    ...{ backupSeconds, index },
    ...{ sourceDigest: digestAt, backupDigest, restoredDigest: await restored(cluster, copy) },
  };
}

/** A copy of the source's directory with nothing but its log. */
function logOf(cluster: ClusterProcesses): string {
  const directory = join(cluster.directory, 'log');
  cpSync(cluster.directoryOf(1), directory, { recursive: true });
  for (const name of BESIDE_THE_LOG)
    rmSync(join(directory, name), { recursive: true, force: true });
  return directory;
}

async function restored(cluster: ClusterProcesses, copy: string): Promise<string> {
  await cluster.wipe(1);
  const made = await cluster.node(1).command(['restore', '--from', copy]);
  if (made.code !== 0) throw new Error(made.output);
  const { digest } = await replayedState(cluster.directoryOf(1));
  // And it serves.
  cluster.node(1).start();
  await cluster.ready(1);
  return digest;
}
