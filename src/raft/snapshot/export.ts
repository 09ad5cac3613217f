/**
 * Writes a snapshot of a group's state into a directory: the rows of one view and hard links of the
 * segments their messages lie in. Taken between two entries, without stopping apply; the view is
 * closed as soon as its rows are in the file. Synced when it resolves.
 */
import { link, mkdir, open, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { syncDirectory } from '../../storage/index.js';
import type { ConfigState } from '../core/index.js';
import type { ReadPins } from '../group/collector/read-pins.js';
import type { GroupView } from '../group/group.js';
import type { MachineParts, RowRange, RowsPort } from '../group/ports.js';
import { isMissing, segmentFileName, type SegmentFile, type Wal } from '../wal/index.js';
import { DESCRIPTOR_FILE, encodeDescriptor, ROWS_FILE, SEGMENTS_DIRECTORY } from './descriptor.js';
import type { SegmentEntry, SnapshotDescriptor } from './descriptor.js';
import { RowsWriter } from './rows-file.js';

/** Rows written between two turns of the event loop. */
const ROWS_PER_SLICE = 1_000;
/** A segment may be collected between the listing and its link: the listing is taken anew. */
const LINK_ATTEMPTS = 5;
const FIRST_KEY = Uint8Array.of(1);
const LAST_KEY = Uint8Array.of(0xff);

export interface ExportSource {
  readonly machine: MachineParts;
  readonly rows: Pick<RowsPort, 'view'>;
  readonly wal: Wal;
  /** The collector of log segments waits for an export: its rows need the bytes of their moment. */
  readonly pins: Pick<ReadPins, 'enter' | 'leave'>;
  readonly clusterId: string;
  /** Rows of this node alone. */
  readonly localRange: RowRange;
}

interface Moment {
  readonly view: GroupView;
  readonly descriptor: Omit<SnapshotDescriptor, 'rowCount' | 'rowsBytes' | 'segments'>;
}

/** `config` must be the membership as of this very moment. */
export async function exportSnapshot(
  source: ExportSource,
  config: ConfigState,
  directory: string,
): Promise<SnapshotDescriptor> {
  const pin = source.pins.enter();
  try {
    return await exportPinned(source, config, directory);
  } finally {
    source.pins.leave(pin);
  }
}

async function exportPinned(
  source: ExportSource,
  config: ConfigState,
  directory: string,
): Promise<SnapshotDescriptor> {
  const moment = await takeMoment(source, config);
  let rows: Pick<SnapshotDescriptor, 'rowCount' | 'rowsBytes'>;
  try {
    await rm(directory, { recursive: true, force: true });
    await mkdir(join(directory, SEGMENTS_DIRECTORY), { recursive: true });
    rows = await writeRows(source, moment.view, join(directory, ROWS_FILE));
  } finally {
    await moment.view.close();
  }
  await source.wal.roll();
  const upTo = moment.descriptor.appliedIndex;
  const segments = await linkSegments(source.wal, upTo, join(directory, SEGMENTS_DIRECTORY));
  const descriptor = { ...moment.descriptor, ...rows, segments };
  await writeSynced(join(directory, DESCRIPTOR_FILE), encodeDescriptor(descriptor));
  await syncDirectory(join(directory, SEGMENTS_DIRECTORY));
  await syncDirectory(directory);
  return descriptor;
}

/** No await before the view stands: rows, header and membership are of one index. */
function takeMoment(source: ExportSource, config: ConfigState): Promise<Moment> {
  const { machine } = source.machine;
  machine.flushDirtyRows();
  const descriptor = {
    clusterId: source.clusterId,
    clusterVersion: machine.clusterVersion(),
    generation: source.wal.generation,
    appliedIndex: machine.appliedIndex,
    appliedTerm: machine.appliedTerm,
    digest: Buffer.from(machine.digest()).toString('hex'),
    header: Buffer.from(machine.encodeHeader()).toString('hex'),
    config,
  };
  return source.rows.view(machine.appliedIndex).then((view) => ({ view, descriptor }));
}

async function writeRows(
  { localRange }: ExportSource,
  view: GroupView,
  path: string,
): Promise<Pick<SnapshotDescriptor, 'rowCount' | 'rowsBytes'>> {
  const file = await open(path, 'w');
  try {
    const writer = new RowsWriter(file);
    const ranges = [
      { gte: FIRST_KEY, lt: localRange.gte },
      { gte: localRange.lt, lt: LAST_KEY },
    ];
    for (const range of ranges) {
      for await (const [key, value] of view.iterate(range)) {
        await writer.add(key, value);
        if (writer.count % ROWS_PER_SLICE === 0) await breathe();
      }
    }
    await writer.flush();
    await file.datasync();
    return { rowCount: writer.count, rowsBytes: writer.sizeBytes };
  } finally {
    await file.close();
  }
}

async function linkSegments(wal: Wal, upTo: number, directory: string): Promise<SegmentEntry[]> {
  for (let attempt = 1; ; attempt += 1) {
    const wanted = wal.segments().filter((segment) => isNeeded(segment, upTo));
    try {
      for (const { path, sequence, revision } of wanted) {
        await linkOnce(path, join(directory, segmentFileName(sequence, revision)));
      }
      return wanted.map(({ path: _path, ...row }) => ({ origin: wal.directoryId, ...row }));
    } catch (error) {
      if (!isMissing(error) || attempt === LINK_ATTEMPTS) throw error;
    }
  }
}

function isNeeded({ state, first, last }: SegmentFile, upTo: number): boolean {
  return (state === 'sealed' || state === 'retired') && first <= last && first <= upTo;
}

async function linkOnce(existing: string, created: string): Promise<void> {
  try {
    await link(existing, created);
  } catch (error) {
    const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    if (!exists) throw error;
  }
}

export async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  const file: FileHandle = await open(path, 'w');
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

function breathe(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
