/**
 * The checkpoint store of one raft group: small rows in LevelDB under `<dir>/store`, the record of
 * the last confirmed checkpoint in `<dir>/checkpoint`. The store is a checkpoint of the log: losing
 * its unconfirmed tail costs a replay, nothing else.
 *
 * Invariants: one checkpoint is ONE batch with sync:true, confirmed only when the record is synced
 * too; one at a time; nothing is written un-synced; every read is checked; a failed write poisons
 * the store for good. Never opens with less than was confirmed.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { CHECKPOINT_FILE, CheckpointFile, readCheckpoint } from './checkpoint-record.js';
import type { CheckpointRecord, CheckpointState } from './checkpoint-record.js';
import { StoreDamageError, StoreWriteError } from './errors.js';
import { breathe } from './key-sort.js';
import { verifyLevel } from './leveldb/verifier.js';
import { findLogEnd, type LogPosition } from './log-position.js';
import type { FrozenLayer } from './overlay-layer.js';
import { seal } from './sealed-row.js';
import { META_KEY, STORE_ID_BYTES, decodeMeta, encodeMeta } from './store-meta.js';
import type { StoreMeta, StoredMeta } from './store-meta.js';
import {
  StoreSnapshot,
  openRow,
  openRows,
  type Level,
  type LevelReader,
} from './store-snapshot.js';
import { syncDirectory } from './sync-directory.js';

export interface StoreOptions {
  /** Directory of the raft group; the store adds `store/` and `checkpoint` to it. */
  directory: string;
  /** Called with the first damage met after opening; the node stops. The read throws too. */
  onDamage?: (error: StoreDamageError) => void;
  /** LevelDB's block cache in bytes. */
  cacheBytes?: number;
  /** LevelDB's memtable in bytes: what a restart replays at most. */
  writeBufferBytes?: number;
}

/** What opening found and did, for the start-up log. */
export interface OpenReport {
  tableCount: number;
  checkedBytes: number;
  /** Bytes cut from LevelDB's files: parts of a batch or edit that was never confirmed. */
  cutBytes: number;
  verifyMs: number;
}

export const STORE_DIRECTORY = 'store';
const CACHE_BYTES = 32 * 1024 * 1024;
const WRITE_BUFFER_BYTES = 16 * 1024 * 1024;
const TABLE_BYTES = 4 * 1024 * 1024;
const BATCH_SLICE_ROWS = 2_000;
const EMPTY = { appliedIndex: 0, appliedTerm: 0, digest: new Uint8Array(8) };

export class Store {
  private writing: Promise<void> | undefined;
  private poison: StoreWriteError | undefined;
  private isClosed = false;

  private constructor(
    private readonly reader: LevelReader,
    readonly openReport: OpenReport,
    private readonly state: OpenState,
  ) {}

  /**
   * Verifies every file, cuts an unconfirmed tail and opens. Rejects with StoreDamageError (file,
   * place, cure) when anything confirmed is damaged or missing.
   */
  static async open(options: StoreOptions): Promise<Store> {
    const { directory } = options;
    const levelDirectory = join(directory, STORE_DIRECTORY);
    await mkdir(levelDirectory, { recursive: true });
    const start = performance.now();
    const known = await readCheckpoint(directory);
    const verified = await verifyLevel({ directory: levelDirectory, known });
    const verifyMs = performance.now() - start;
    const storeId = known?.record.storeId ?? randomBytes(STORE_ID_BYTES);
    if (known === undefined) {
      const record = {
        storeId,
        checkpoint: 0,
        ...EMPTY,
        logNumber: 0,
        logLength: 0,
        levelSequence: 0,
      };
      const created = await CheckpointFile.replace(directory, record);
      await created.close();
    }
    if (verified.isEmpty) await removeAll(levelDirectory);
    const level = await openLevel(levelDirectory, options);
    try {
      const meta = await readMeta(level, directory, known, storeId);
      const position = await findLogEnd(levelDirectory, undefined);
      await syncDirectory(levelDirectory);
      const report = {
        tableCount: verified.tableCount,
        checkedBytes: verified.checkedBytes,
        cutBytes: verified.cutBytes,
        verifyMs,
      };
      const levelSequence = verified.lastSequence;
      const record = recordOf(meta, storeId, position, levelSequence);
      const file = await CheckpointFile.replace(directory, record);
      const state = { storeId, directory, levelDirectory, file, meta, position, levelSequence };
      return new Store(readerOf(level, options), report, state);
    } catch (error) {
      await level.close();
      throw error;
    }
  }

  /** The last confirmed checkpoint; null before the first. */
  get meta(): StoreMeta | null {
    return this.state.meta ?? null;
  }

  /** Number of the last confirmed checkpoint, 0 before the first. */
  get checkpoint(): number {
    return this.state.meta?.checkpoint ?? 0;
  }

  /** Why the store takes no more writes, if it does not. */
  get poisonedBy(): StoreWriteError | undefined {
    return this.poison;
  }

  /** Reads from the last written checkpoint on this thread, 3-10 us. */
  getSync(key: Uint8Array): Uint8Array | undefined {
    const sealed = this.reader.level.getSync(key);
    return sealed === undefined ? undefined : openRow(this.reader, key, sealed);
  }

  async getMany(keys: Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    return openRows(this.reader, keys, await this.reader.level.getMany(keys));
  }

  snapshot(): StoreSnapshot {
    return new StoreSnapshot(this.reader);
  }

  /** Bytes of the tables that hold the range; what no table holds yet does not count. */
  approximateBytes(range: { readonly from: Uint8Array; readonly to: Uint8Array }): Promise<number> {
    return this.reader.level.approximateSize(range.from, range.to);
  }

  /**
   * Writes one frozen layer and its meta as one synced batch, then the record. When this resolves
   * the checkpoint is durable. Rejects with StoreWriteError and poisons the store when it fails.
   */
  async writeCheckpoint(layer: FrozenLayer, meta: StoreMeta): Promise<void> {
    if (this.poison !== undefined) throw this.poison;
    if (this.isClosed) throw new Error('the store is closed');
    if (this.writing !== undefined) throw new Error('one checkpoint at a time');
    if (!layer.isFrozen) throw new Error('only a frozen layer is written');
    const stored = { ...meta, storeId: this.state.storeId, checkpoint: this.checkpoint + 1 };
    const writing = this.write(layer, stored);
    this.writing = writing;
    try {
      await writing;
    } catch (error) {
      this.poison = new StoreWriteError(this.reader.directory, error);
      throw this.poison;
    } finally {
      this.writing = undefined;
    }
  }

  private async write(layer: FrozenLayer, meta: StoredMeta): Promise<void> {
    const { state } = this;
    const batch = this.reader.level.batch();
    for (let entry = 0; entry < layer.entryCount; entry++) {
      if (entry % BATCH_SLICE_ROWS === BATCH_SLICE_ROWS - 1) await breathe();
      const key = layer.keyOf(entry);
      const sealed = layer.sealedValueOf(entry, key);
      if (sealed === null) batch.del(key);
      else batch.put(key, sealed);
    }
    batch.put(META_KEY, seal(META_KEY, encodeMeta(meta)));
    await batch.write({ sync: true });

    const position = await findLogEnd(state.levelDirectory, state.position);
    if (position.logNumber !== state.position.logNumber) await syncDirectory(state.levelDirectory);
    const levelSequence = state.levelSequence + layer.entryCount + 1;
    await state.file.write(recordOf(meta, state.storeId, position, levelSequence));
    state.position = position;
    state.levelSequence = levelSequence;
    state.meta = meta;
  }

  /**
   * Closes LevelDB and opens it again: it maps its tables and never lets go of one, so a walk over
   * all rows (a restart) leaves every page of them in the memory of the process. No snapshot may be
   * open and no checkpoint under way.
   */
  async remap(): Promise<void> {
    const { state, reader } = this;
    if (this.isClosed || this.writing !== undefined) throw new Error('the store is in use');
    await reader.level.close();
    await reader.level.open();
    state.position = await findLogEnd(state.levelDirectory, undefined);
    await syncDirectory(state.levelDirectory);
    // LevelDB has begun another log: both slots of the record must name it, as after a first open.
    await state.file.close();
    const record = recordOf(state.meta, state.storeId, state.position, state.levelSequence);
    state.file = await CheckpointFile.replace(state.directory, record);
  }

  /** Waits for a checkpoint under way, then closes the files. Snapshots must be closed before. */
  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    if (this.writing !== undefined) await Promise.allSettled([this.writing]);
    await this.reader.level.close();
    await this.state.file.close();
  }
}

interface OpenState {
  readonly storeId: Uint8Array;
  readonly directory: string;
  readonly levelDirectory: string;
  file: CheckpointFile;
  meta: StoredMeta | undefined;
  position: LogPosition;
  levelSequence: number;
}

/** Tells the owner of the first damage; the node stops then. */
function readerOf(level: Level, options: StoreOptions): LevelReader {
  let isReported = false;
  const reportDamage = (error: StoreDamageError): void => {
    if (isReported) return;
    isReported = true;
    options.onDamage?.(error);
  };
  return { level, directory: join(options.directory, STORE_DIRECTORY), reportDamage };
}

async function openLevel(levelDirectory: string, options: StoreOptions): Promise<Level> {
  const level: Level = new ClassicLevel(levelDirectory, {
    keyEncoding: 'view',
    valueEncoding: 'view',
    compression: false,
    cacheSize: options.cacheBytes ?? CACHE_BYTES,
    writeBufferSize: options.writeBufferBytes ?? WRITE_BUFFER_BYTES,
    maxFileSize: TABLE_BYTES,
  });
  await level.open();
  return level;
}

/** Removes what is left of a LevelDB that never confirmed anything. */
async function removeAll(levelDirectory: string): Promise<void> {
  await rm(levelDirectory, { recursive: true });
  await mkdir(levelDirectory);
}

/** The meta row, held against the record: the last net under the verifier. */
async function readMeta(
  level: Level,
  directory: string,
  known: CheckpointState | undefined,
  storeId: Uint8Array,
): Promise<StoredMeta | undefined> {
  const file = join(directory, CHECKPOINT_FILE);
  const reader = { level, directory, reportDamage: (): void => undefined };
  const sealed = await level.get(META_KEY);
  const required = known?.required ?? 0;
  if (sealed === undefined) {
    if (required === 0) return undefined;
    const reason = `checkpoint ${required} was confirmed, the store holds none`;
    throw new StoreDamageError({ file: join(directory, STORE_DIRECTORY), reason });
  }
  const meta = decodeMeta(openRow(reader, META_KEY, sealed));
  if (meta === undefined) {
    const reason = 'the meta row has a format this build cannot read';
    throw new StoreDamageError({ file: join(directory, STORE_DIRECTORY), reason });
  }
  if (!Buffer.from(meta.storeId).equals(storeId)) {
    const reason = 'the checkpoint record and the store beside it are of different stores';
    throw new StoreDamageError({ file, reason });
  }
  if (meta.checkpoint < required) {
    const reason = `checkpoint ${required} was confirmed, the store holds ${meta.checkpoint}`;
    throw new StoreDamageError({ file: join(directory, STORE_DIRECTORY), reason });
  }
  const record = known?.record;
  if (record !== undefined && meta.checkpoint === record.checkpoint && !agrees(meta, record)) {
    const reason = `store and record disagree about checkpoint ${meta.checkpoint}`;
    throw new StoreDamageError({ file, reason });
  }
  if (meta.checkpoint > required + 1) {
    const reason = `the record is of checkpoint ${required}, the store holds ${meta.checkpoint}`;
    throw new StoreDamageError({ file, reason });
  }
  return meta;
}

function agrees(meta: StoredMeta, record: CheckpointRecord): boolean {
  return (
    meta.appliedIndex === record.appliedIndex &&
    meta.appliedTerm === record.appliedTerm &&
    Buffer.from(meta.digest).equals(record.digest)
  );
}

function recordOf(
  meta: StoredMeta | undefined,
  storeId: Uint8Array,
  position: LogPosition,
  levelSequence: number,
): CheckpointRecord {
  const { appliedIndex, appliedTerm, digest } = meta ?? EMPTY;
  const checkpoint = meta?.checkpoint ?? 0;
  return { storeId, checkpoint, appliedIndex, appliedTerm, digest, ...position, levelSequence };
}
