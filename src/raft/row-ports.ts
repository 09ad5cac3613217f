/**
 * Store, overlay and read set behind the ports of machine and group. A value comes from the overlay,
 * else from what prefetch loaded for this entry, else from the store itself. New append index rows
 * pass by the tail index on their way into the overlay.
 */
import { logIndex, term, type LogIndex } from '../common/ids.js';
import type { StageFigures } from '../common/stage-figures.js';
import { QuantileSummary } from '../common/quantile-summary.js';
import type { RowPort } from '../machine/machine.js';
import { AppendRowView } from '../machine/tables/append-row.js';
import { keyBaseOffset, keyPartition, KEYSPACE } from '../machine/tables/keyspaces.js';
import {
  CheckpointWriter,
  Rows,
  type Overlay,
  type Store,
  type StoreView,
} from '../storage/index.js';
import type { GroupView, ViewRange } from './group/group.js';
import type { CheckpointMeta, RowPage, RowRange, RowsPort, StorePort } from './group/ports.js';
import type { TailIndex } from './group/tail-index.js';

/** What was done with rows since the open. */
export interface RowOperations {
  put: number;
  delete: number;
  /** Rows read from the store, one by one or in a batch. */
  read: number;
  /** Views opened. */
  view: number;
}

export class MachineRows implements RowPort, RowsPort {
  readonly operations: RowOperations = { put: 0, delete: 0, read: 0, view: 0 };
  /** Views open now. */
  openViews = 0;
  /** Traces put minus traces deleted since the open. */
  traceDelta = 0;
  private readonly rows: Rows;
  private readonly readSet = new Map<string, Uint8Array | undefined>();
  private readonly append = new AppendRowView();
  private releasesAtLoad = 0;

  constructor(
    private readonly store: Store,
    private readonly overlay: Overlay,
    private readonly tailIndex: TailIndex,
  ) {
    this.rows = new Rows(store, overlay);
  }

  get(key: Uint8Array): Uint8Array | undefined {
    const value = this.overlay.get(key);
    if (value !== undefined) return value ?? undefined;
    // A layer released since the load may hold newer values in the store now.
    if (this.readSet.size > 0 && this.overlay.releaseCount === this.releasesAtLoad) {
      const text = textOf(key);
      if (this.readSet.has(text)) return this.readSet.get(text);
    }
    this.operations.read += 1;
    return this.store.getSync(key);
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.operations.put += 1;
    this.overlay.put(key, value);
    const keyspace = key[0];
    if (keyspace === KEYSPACE.traces) this.traceDelta += 1;
    if (keyspace !== KEYSPACE.appends) return;
    const { count } = this.append.open(value);
    const span = { partitionId: keyPartition(key), baseOffset: keyBaseOffset(key), count };
    this.tailIndex.add(span, value);
  }

  delete(key: Uint8Array): void {
    this.operations.delete += 1;
    if (key[0] === KEYSPACE.traces) this.traceDelta -= 1;
    this.overlay.delete(key);
  }

  /** A key may be named many times: a hundred signals of one batch speak of the row of one append. */
  load(keys: readonly Uint8Array[]): Promise<void> | undefined {
    const missing = new Map<string, Uint8Array>();
    for (const key of keys) {
      if (this.overlay.get(key) === undefined) missing.set(textOf(key), key);
    }
    return missing.size === 0 ? undefined : this.loadMissing(missing);
  }

  clearReadSet(): void {
    if (this.readSet.size > 0) this.readSet.clear();
  }

  view(appliedIndex: LogIndex): Promise<GroupView> {
    this.operations.view += 1;
    this.openViews += 1;
    const closed = (): void => {
      this.openViews -= 1;
    };
    return Promise.resolve(new RowsView(appliedIndex, this.rows.view(), closed));
  }

  private async loadMissing(keys: ReadonlyMap<string, Uint8Array>): Promise<void> {
    const releases = this.overlay.releaseCount;
    this.operations.read += keys.size;
    const values = await this.store.getMany([...keys.values()]);
    this.releasesAtLoad = releases;
    let at = 0;
    for (const text of keys.keys()) this.readSet.set(text, values[at++]);
  }
}

class RowsView implements GroupView {
  private isOpen = true;

  constructor(
    readonly appliedIndex: LogIndex,
    private readonly view: StoreView,
    private readonly closed: () => void,
  ) {}

  get(key: Uint8Array): Promise<Uint8Array | undefined> {
    return this.view.get(key);
  }

  iterate(range: ViewRange): AsyncIterableIterator<readonly [Uint8Array, Uint8Array]> {
    const { gte, lt, reverse, limit } = range;
    return this.view.iterate(
      { from: gte, to: lt },
      { ...(reverse === undefined ? {} : { reverse }), ...(limit === undefined ? {} : { limit }) },
    );
  }

  close(): Promise<void> {
    if (this.isOpen) this.closed();
    this.isOpen = false;
    return this.view.close();
  }
}

export interface CheckpointStoreOptions {
  readonly intervalMs: number;
  readonly maxBytes: number;
  readonly stages?: StageFigures;
}

export class CheckpointStore implements StorePort {
  /** One checkpoint from the freeze to its sync, µs. */
  readonly commitMicros = new QuantileSummary();
  private readonly writer: CheckpointWriter;

  constructor(
    private readonly store: Store,
    private readonly overlay: Overlay,
    private readonly options: CheckpointStoreOptions,
  ) {
    this.writer = new CheckpointWriter({ store, overlay, ...options });
  }

  get meta(): CheckpointMeta | undefined {
    const meta = this.store.meta;
    if (meta === null) return undefined;
    const { appliedIndex, appliedTerm, digest, extra } = meta;
    return {
      appliedIndex: logIndex(appliedIndex),
      appliedTerm: term(appliedTerm),
      ...{ digest, header: extra },
    };
  }

  get durableIndex(): LogIndex {
    return logIndex(this.writer.durableIndex);
  }

  get isFull(): boolean {
    return this.overlay.isFull;
  }

  due(nowMs: number, appliedIndex: LogIndex): boolean {
    return this.writer.due(nowMs, appliedIndex);
  }

  async checkpoint(nowMs: number, meta: CheckpointMeta): Promise<void> {
    const { appliedIndex, appliedTerm, digest, header } = meta;
    const startMs = performance.now();
    this.options.stages?.size('checkpointRows', this.overlay.pendingRows, startMs);
    await this.writer.write(nowMs, { appliedIndex, appliedTerm, digest, extra: header });
    const endMs = performance.now();
    this.commitMicros.observe((endMs - startMs) * 1000, endMs);
  }

  async *pages(range: RowRange): AsyncIterable<RowPage> {
    const snapshot = this.store.snapshot();
    try {
      const scan = snapshot.scan({ from: range.gte, to: range.lt });
      for (let page = await scan.next(); page !== undefined; page = await scan.next()) yield page;
    } finally {
      await snapshot.close();
    }
  }

  remap(): Promise<void> {
    return this.store.remap();
  }

  async close(): Promise<void> {
    await this.writer.settled();
    await this.store.close();
  }
}

function textOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1');
}
