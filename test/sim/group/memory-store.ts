/**
 * Store and id index of a simulated node. `StoreDisk` is what a crash leaves: rows and meta of the last
 * finished checkpoint, written whole or not at all. Everything else is process memory.
 */
import { logIndex, type LogIndex, type PartitionId } from '../../../src/common/ids.js';
import type { IdIndexPort, RowPort } from '../../../src/machine/machine.js';
import { AppendRowView } from '../../../src/machine/tables/append-row.js';
import { keyBaseOffset, keyPartition, KEYSPACE } from '../../../src/machine/tables/keyspaces.js';
import type { GroupView, ViewRange } from '../../../src/raft/group/group.js';
import type {
  CheckpointMeta,
  IdIndexDriver,
  IdPlace,
  RowPage,
  RowRange,
  RowsPort,
  StorePort,
} from '../../../src/raft/group/ports.js';
import type { TailIndex } from '../../../src/raft/group/tail-index.js';

/** Rows of one node alone. */
export const NODE_KEYSPACE = 0xfb;
const ID_KEYSPACE = NODE_KEYSPACE;

export class StoreDisk {
  rows = new Map<string, Uint8Array>();
  meta: CheckpointMeta | undefined;
}

export interface StoreTiming {
  readonly intervalMs: number;
  /** Virtual delay of one checkpoint. */
  sleep(): Promise<void>;
  /** Virtual delay of a read-set load, or undefined: the rows are at hand. */
  loading(): Promise<void> | undefined;
  /** The process this store belongs to has died. */
  isDead(): boolean;
}

type Layer = Map<string, Uint8Array | null>;

export class MemoryStore implements RowPort, RowsPort, StorePort {
  private current: Layer = new Map();
  private frozen: Layer | null = null;
  private lastMs = 0;
  private readonly append = new AppendRowView();

  constructor(
    private readonly disk: StoreDisk,
    private readonly tailIndex: TailIndex,
    private readonly timing: StoreTiming,
  ) {}

  get meta(): CheckpointMeta | undefined {
    return this.disk.meta;
  }

  get durableIndex(): LogIndex {
    return this.disk.meta?.appliedIndex ?? logIndex(0);
  }

  get isFull(): boolean {
    return false;
  }

  get(key: Uint8Array): Uint8Array | undefined {
    const text = textOf(key);
    const fresh = this.current.get(text) ?? this.frozenValue(text);
    if (this.current.has(text)) return this.current.get(text) ?? undefined;
    return fresh === null ? undefined : (fresh ?? this.disk.rows.get(text));
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.current.set(textOf(key), value.slice());
    if (key[0] !== KEYSPACE.appends) return;
    const { count } = this.append.open(value);
    const span = { partitionId: keyPartition(key), baseOffset: keyBaseOffset(key), count };
    this.tailIndex.add(span, value.slice());
  }

  delete(key: Uint8Array): void {
    this.current.set(textOf(key), null);
  }

  load(): Promise<void> | undefined {
    return this.timing.loading();
  }

  clearReadSet(): void {
    // Reads go to the rows themselves.
  }

  due(nowMs: number, appliedIndex: LogIndex): boolean {
    return nowMs - this.lastMs >= this.timing.intervalMs && appliedIndex > this.durableIndex;
  }

  async checkpoint(nowMs: number, meta: CheckpointMeta): Promise<void> {
    this.lastMs = nowMs;
    this.frozen = this.current;
    this.current = new Map();
    await this.timing.sleep();
    if (this.timing.isDead()) throw new Error('the simulated process is dead');
    const rows = new Map(this.disk.rows);
    for (const [key, value] of this.frozen) {
      if (value === null) rows.delete(key);
      else rows.set(key, value);
    }
    this.disk.rows = rows;
    this.disk.meta = meta;
    this.frozen = null;
  }

  async *pages(range: RowRange): AsyncIterable<RowPage> {
    await Promise.resolve();
    const rows = this.sorted(this.disk.rows, range);
    if (rows.length > 0) yield rows;
  }

  async remap(): Promise<void> {
    // Nothing is mapped here.
  }

  /** The rows as of now, of the keyspaces that are wanted. */
  allRows(wanted: (keyspace: number) => boolean): Map<string, Uint8Array> {
    return new Map([...this.merged()].filter(([key]) => wanted(key.charCodeAt(0))));
  }

  private merged(): Map<string, Uint8Array> {
    const merged = new Map<string, Uint8Array>(this.disk.rows);
    for (const layer of [this.frozen, this.current]) {
      for (const [key, value] of layer ?? []) {
        if (value === null) merged.delete(key);
        else merged.set(key, value);
      }
    }
    return merged;
  }

  view(appliedIndex: LogIndex): Promise<GroupView> {
    const merged = this.merged();
    return Promise.resolve({
      appliedIndex,
      get: (key: Uint8Array) => Promise.resolve(merged.get(textOf(key))),
      iterate: (range: ViewRange) => this.iterate(merged, range),
      close: () => Promise.resolve(),
    });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private async *iterate(
    rows: ReadonlyMap<string, Uint8Array>,
    range: ViewRange,
  ): AsyncIterableIterator<readonly [Uint8Array, Uint8Array]> {
    await Promise.resolve();
    const found = this.sorted(rows, range);
    if (range.reverse === true) found.reverse();
    yield* range.limit === undefined ? found : found.slice(0, range.limit);
  }

  private sorted(rows: ReadonlyMap<string, Uint8Array>, { gte, lt }: RowRange) {
    const [from, to] = [textOf(gte), textOf(lt)];
    return [...rows]
      .filter(([key]) => key >= from && key < to)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => [Buffer.from(key, 'latin1'), value] as const);
  }

  private frozenValue(text: string): Uint8Array | null | undefined {
    return this.frozen?.get(text);
  }
}

interface StoredPlace extends IdPlace {
  readonly partition: number;
  readonly hash: string;
}

/** Every id for ever, exact; journalled as rows so that a restart finds what the checkpoint covers. */
export class MemoryIds implements IdIndexDriver, IdIndexPort {
  /** No id was journalled here: the rows came with a snapshot. */
  get needsRebuild(): boolean {
    return this.count === 0;
  }

  readonly journalRange: RowRange = {
    gte: Uint8Array.of(ID_KEYSPACE),
    lt: Uint8Array.of(ID_KEYSPACE + 1),
  };
  private readonly places = new Map<string, StoredPlace[]>();
  private fresh: StoredPlace[] = [];
  private count = 0;

  candidates(
    partition: PartitionId,
    hash: { readonly bytes: Uint8Array; readonly at: number },
    visit: Parameters<IdIndexPort['candidates']>[2],
  ): void {
    for (const place of this.find(partition, hash.bytes, hash.at)) {
      if (visit(place.offset as never, place.base as never)) return;
    }
  }

  add(...[partition, hash, place]: Parameters<IdIndexPort['add']>): void {
    const text = hashText(hash.bytes, hash.at);
    const added = { partition, hash: text, offset: place.offset, base: place.baseOffset };
    this.insert(added);
    this.fresh.push(added);
  }

  beginEntry(): void {
    // Lookups are at hand.
  }

  announce(): void {
    // Lookups are at hand.
  }

  load(): Promise<void> | undefined {
    return undefined;
  }

  journal(rows: Pick<RowsPort, 'put' | 'delete'>): void {
    for (const place of this.fresh) {
      const key = Buffer.alloc(9);
      key[0] = ID_KEYSPACE;
      key.writeDoubleBE(this.count++, 1);
      rows.put(key, Buffer.from(JSON.stringify(place)));
    }
    this.fresh = [];
  }

  loadJournalRow(_key: Uint8Array, value: Uint8Array): void {
    this.count += 1;
    this.insert(JSON.parse(Buffer.from(value).toString()) as StoredPlace);
  }

  lookup(partition: number, bytes: Uint8Array, at: number): Promise<readonly IdPlace[]> {
    return Promise.resolve(this.find(partition, bytes, at));
  }

  expire(): void {
    // Nothing ages in a simulation.
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private insert(place: StoredPlace): void {
    const key = `${place.partition}/${place.hash}`;
    const places = this.places.get(key);
    if (places === undefined) this.places.set(key, [place]);
    else places.unshift(place);
  }

  private find(partition: number, bytes: Uint8Array, at: number): readonly StoredPlace[] {
    return this.places.get(`${partition}/${hashText(bytes, at)}`) ?? [];
  }
}

function hashText(bytes: Uint8Array, at: number): string {
  return Buffer.from(bytes.subarray(at, at + 16)).toString('hex');
}

function textOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1');
}
