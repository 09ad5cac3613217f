/**
 * The snapshots of one data directory: those being sent (`snapshots/send-*`) and those received
 * (`snapshots/recv-*`). A received one counts only with the marker `snapshot.pending`, which is
 * written last; without it everything under snapshots/ is left over and removed at the next start.
 */
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { logIndex, term } from '../../common/ids.js';
import { syncDirectory } from '../../storage/index.js';
import type {
  ExportedSnapshot,
  SnapshotFile,
  SnapshotOffer,
  SnapshotPort,
  StagedSnapshot,
} from '../group/cluster/snapshot-port.js';
import type { ConfigState } from '../core/index.js';
import { encodeDocument, parseSegmentFileName, segmentFileName } from '../wal/index.js';
import type { DocumentKind } from '../wal/index.js';
import { DESCRIPTOR_FILE, encodeDescriptor, ROWS_FILE, SEGMENTS_DIRECTORY } from './descriptor.js';
import type { SnapshotDescriptor } from './descriptor.js';
import { exportSnapshot, writeSynced, type ExportSource } from './export.js';
import { SteadySync } from './steady-sync.js';

export const SNAPSHOTS_DIRECTORY = 'snapshots';
export const PENDING_FILE = 'snapshot.pending';
export const PENDING_KIND: DocumentKind = { name: 'queen-snapshot-pending', version: 1 };

export class SnapshotFiles implements SnapshotPort {
  private made = 0;

  constructor(
    private readonly directory: string,
    private readonly source: ExportSource,
    /** Of the names under snapshots/; two users of one directory need two. */
    private readonly prefix = 'send',
  ) {}

  async create({ config }: { readonly config: ConfigState }): Promise<ExportedSnapshot> {
    this.made += 1;
    const directory = join(this.directory, SNAPSHOTS_DIRECTORY, `${this.prefix}-${this.made}`);
    const descriptor = await exportSnapshot(this.source, config, directory);
    const files = filesOf(descriptor);
    return {
      meta: {
        index: logIndex(descriptor.appliedIndex),
        term: term(descriptor.appliedTerm),
        config: descriptor.config,
      },
      clusterVersion: descriptor.clusterVersion,
      files,
      bytes: () => readFiles(directory, files),
      release: () => rm(directory, { recursive: true, force: true }),
    };
  }

  async stage(offer: SnapshotOffer, bytes: AsyncIterable<Uint8Array>): Promise<StagedSnapshot> {
    const { index, term: at } = offer;
    const name = `recv-${index}`;
    const directory = join(this.directory, SNAPSHOTS_DIRECTORY, name);
    const discard = (): Promise<void> => rm(directory, { recursive: true, force: true });
    try {
      await writeFiles(directory, offer.files, { bytes });
    } catch (error) {
      await discard();
      throw error;
    }
    return {
      ...{ index, term: at, discard },
      commit: async () => {
        const marker = encodeDocument(PENDING_KIND, { directory: name, index, term: at });
        await writeSynced(join(this.directory, `${PENDING_FILE}.tmp`), marker);
        await rename(
          join(this.directory, `${PENDING_FILE}.tmp`),
          join(this.directory, PENDING_FILE),
        );
        await syncDirectory(this.directory);
      },
    };
  }
}

/** Every file of a snapshot, the descriptor last. */
export function filesOf(descriptor: SnapshotDescriptor): SnapshotFile[] {
  const segments = descriptor.segments.map(({ sequence, revision, sizeBytes }) => ({
    path: `${SEGMENTS_DIRECTORY}/${segmentFileName(sequence, revision)}`,
    sizeBytes,
  }));
  const own = { path: DESCRIPTOR_FILE, sizeBytes: encodeDescriptor(descriptor).length };
  return [{ path: ROWS_FILE, sizeBytes: descriptor.rowsBytes }, ...segments, own];
}

/** The bytes of the files, one after another. */
export async function* readFiles(
  directory: string,
  files: readonly SnapshotFile[],
): AsyncGenerator<Uint8Array> {
  for (const { path, sizeBytes } of files) {
    let left = sizeBytes;
    for await (const piece of createReadStream(join(directory, path))) {
      const bytes = piece as Buffer;
      left -= bytes.length;
      yield bytes;
    }
    if (left !== 0) throw new Error(`${path} has another size than the snapshot says`);
  }
}

/**
 * Writes announced files below `directory`; all synced when it resolves. What was there before goes,
 * but for the names to be spared.
 */
export async function writeFiles(
  directory: string,
  files: readonly SnapshotFile[],
  {
    bytes,
    spare,
  }: { readonly bytes: AsyncIterable<Uint8Array>; readonly spare?: readonly string[] },
): Promise<void> {
  for (const { path } of files) checkPath(path);
  await mkdir(directory, { recursive: true });
  for (const name of await readdir(directory)) {
    if (spare?.includes(name) !== true)
      await rm(join(directory, name), { recursive: true, force: true });
  }
  await mkdir(join(directory, SEGMENTS_DIRECTORY), { recursive: true });
  const pieces = bytes[Symbol.asyncIterator]();
  const rest = await writePieces(directory, files, pieces);
  // What follows the last byte is the check of them all: it throws when they are not those sent.
  const end = await pieces.next();
  if (end.done !== true || rest.length > 0)
    throw new Error('the snapshot is longer than announced');
  for (const name of [join(directory, SEGMENTS_DIRECTORY), directory, dirname(directory)]) {
    await syncDirectory(name);
  }
}

/** All synced when it resolves, with what the last piece holds beyond the files. */
async function writePieces(
  directory: string,
  files: readonly SnapshotFile[],
  pieces: AsyncIterator<Uint8Array>,
): Promise<Uint8Array> {
  const sync = new SteadySync();
  let rest: Uint8Array = new Uint8Array(0);
  try {
    for (const { path, sizeBytes } of files) {
      const file = await open(join(directory, path), 'w');
      try {
        let left = sizeBytes;
        while (left > 0) {
          if (rest.length === 0) {
            const next = await pieces.next();
            if (next.done === true) throw new Error('the snapshot ends early');
            rest = next.value;
          }
          const { bytesWritten } = await file.write(rest.subarray(0, left));
          rest = rest.subarray(bytesWritten);
          left -= bytesWritten;
          await sync.wrote(file, bytesWritten);
        }
      } finally {
        sync.end(file);
      }
    }
    await sync.sync();
  } finally {
    await sync.close();
  }
  return rest;
}

/** Nothing but the names a snapshot has: a path from another machine never leads elsewhere. */
function checkPath(path: string): void {
  if (path === DESCRIPTOR_FILE || path === ROWS_FILE) return;
  const [directory, name = '', ...more] = path.split('/');
  const isSegment = directory === SEGMENTS_DIRECTORY && more.length === 0;
  if (!isSegment || parseSegmentFileName(name) === undefined) {
    throw new Error(`a snapshot has no file ${JSON.stringify(path)}`);
  }
}
