/**
 * Snapshots of a simulated node: the rows and meta of one moment and the bytes of its segments. What was
 * staged and committed survives a crash; the next start puts a new log and store in place of the old.
 */
import { logIndex, nodeId, term } from '../../../src/common/ids.js';
import type { ConfigState } from '../../../src/raft/core/index.js';
import type { CheckpointMeta, MachineParts } from '../../../src/raft/group/ports.js';
import type {
  ExportedSnapshot,
  SnapshotOffer,
  SnapshotPort,
  StagedSnapshot,
} from '../../../src/raft/group/cluster/snapshot-port.js';
import { createWal, segmentFileName } from '../../../src/raft/wal/index.js';
import type { DirectoryIdentity, FilePort, SegmentRow, Wal } from '../../../src/raft/wal/index.js';
import type { HardState } from '../../../src/raft/wal/index.js';
import type { FaultyFilePort } from '../../support/faulty-file-port.js';
import { NODE_KEYSPACE, type MemoryStore, type StoreDisk } from './memory-store.js';

interface Content {
  readonly meta: CheckpointMeta;
  readonly rows: ReadonlyMap<string, Uint8Array>;
  readonly segments: readonly { readonly row: SegmentRow; readonly bytes: Uint8Array }[];
}

/** What a power loss leaves of received snapshots. */
export class SnapshotDisk {
  pending: Content | null = null;
  installs = 0;
}

export interface SimSnapshotsParts {
  readonly disk: SnapshotDisk;
  readonly files: FaultyFilePort;
  readonly machine: MachineParts;
  readonly store: MemoryStore;
  readonly wal: Wal;
  sleep(): Promise<void>;
  isDead(): boolean;
}

/** Contents on their way, by the offer that announces them: bytes are not encoded here. */
const contents = new WeakMap<SnapshotOffer['files'], Content>();

export class SimSnapshots implements SnapshotPort {
  constructor(private readonly parts: SimSnapshotsParts) {}

  async create({ config }: { readonly config: ConfigState }): Promise<ExportedSnapshot> {
    const { machine, store, wal, files } = this.parts;
    const own = machine.machine;
    own.flushDirtyRows();
    const meta: CheckpointMeta = {
      appliedIndex: own.appliedIndex,
      appliedTerm: own.appliedTerm,
      digest: own.digest(),
      header: own.encodeHeader(),
    };
    const rows = store.allRows((keyspace) => keyspace !== NODE_KEYSPACE);
    await this.parts.sleep();
    await wal.roll();
    const segments = wal
      .segments()
      .filter(({ state, first, last }) => state !== 'active' && first <= last)
      .filter(({ first }) => first <= meta.appliedIndex)
      .map(({ path, ...row }) => ({ origin: wal.directoryId, ...row, path }))
      .map(({ path, ...row }) => ({ row, bytes: Uint8Array.from(files.peek(path)) }));
    const announced = [{ path: 'rows', sizeBytes: 1 }];
    contents.set(announced, { meta, rows, segments });
    return {
      meta: { index: meta.appliedIndex, term: meta.appliedTerm, config },
      clusterVersion: own.clusterVersion(),
      files: announced,
      bytes: () => noBytes(),
      release: () => Promise.resolve(),
    };
  }

  async stage(offer: SnapshotOffer): Promise<StagedSnapshot> {
    const content = contents.get(offer.files);
    if (content === undefined) throw new Error('nobody made this snapshot');
    await this.parts.sleep();
    return {
      index: offer.index,
      term: offer.term,
      commit: async () => {
        await this.parts.sleep();
        if (this.parts.isDead()) throw new Error('the simulated process is dead');
        this.parts.disk.pending = content;
      },
      discard: () => Promise.resolve(),
    };
  }
}

async function* noBytes(): AsyncGenerator<Uint8Array> {
  await Promise.resolve();
  yield Uint8Array.of(0);
}

export interface InstallPlace {
  readonly files: FilePort;
  readonly identity: DirectoryIdentity;
  /** Where the new log is to be. */
  readonly directory: string;
  /** Term and vote of the old log. */
  readonly old: HardState | null;
}

/** The log after the snapshot, in a directory of its own; the caller makes it the node's log. */
export async function installLog(place: InstallPlace, content: Content): Promise<void> {
  const { files, identity, directory, old } = place;
  await files.mkdir(directory);
  for (const { row, bytes } of content.segments) {
    const path = `${directory}/${segmentFileName(row.sequence, row.revision)}`;
    const file = await files.open(path, 'replace');
    await file.writev([bytes], 0);
    await file.fdatasync();
    await file.close();
  }
  await files.fsyncDir(directory);
  const base = { index: logIndex(content.meta.appliedIndex), term: term(content.meta.appliedTerm) };
  const keeps = old !== null && old.term >= base.term;
  await createWal(
    { files, directory, identity },
    {
      base,
      hardState: {
        term: keeps ? old.term : base.term,
        vote: keeps ? old.vote : nodeId(0),
        commit: base.index,
      },
      imported: content.segments.map(({ row }) => row),
    },
  );
}

export function installRows(store: StoreDisk, content: Content): void {
  store.rows = new Map(content.rows);
  store.meta = content.meta;
}
