/**
 * From (partition, id hash) to the places that may carry it: an exact superset, bounded in time by the
 * largest recognition window. The newest ids lie in a table in memory, the others in sealed runs with
 * their tags in memory. Lookups of an entry are announced by prefetch and read off this thread; execute
 * finds the answers in memory and reads a page itself only when nobody announced the id.
 */
import type { Micros, Offset, PartitionId } from '../../common/ids.js';
import type { IdIndexPort } from '../../machine/machine.js';
import { EntryLookups } from './entry-lookups.js';
import { fragmentInto, type Fragment } from './fragment.js';
import { pageOfSlot, placeIn, type IdPlace, type IdRun } from './id-run.js';
import { IdTable } from './id-table.js';
import { IdJournal, JOURNAL_KEYSPACE, type JournalRows } from './journal.js';
import { encodeRunManifest, isManifestKey, lastNamed, MANIFEST_KEY } from './run-manifest.js';
import { manifestHolds } from './run-manifest.js';
import { IdRunDamage } from './run-format.js';
import { RunSet, type RunSetHooks } from './run-set.js';

/** Largest in-memory table: 2^20 slots, sealed at 786,432 ids (22 bytes a slot). */
export const DEFAULT_TABLE_BITS = 20;
/** Tables waiting for the disk before apply waits too. */
const MAX_BACKLOG = 3;
/** A table is sealed when it spans so much of the window, however small it is. */
const TIME_BUCKETS = 4;

export interface IdIndexOptions {
  readonly directory: string;
  readonly tableBits?: number;
  /** Called when a lookup outside of apply meets damage; the node stops. The lookup rejects too. */
  readonly onDamage?: (error: Error) => void;
}

interface PendingRead {
  readonly run: IdRun;
  readonly slot: number;
  readonly hi: number;
  readonly lo: number;
}

export class IdIndex implements IdIndexPort {
  readonly journalRange = {
    gte: Uint8Array.of(JOURNAL_KEYSPACE),
    lt: Uint8Array.of(JOURNAL_KEYSPACE + 1),
  };
  private table: IdTable;
  private sequence = 1;
  private sets: RunSet | null = null;
  private failure: Error | null = null;
  private pending: PendingRead[] = [];
  /** The manifest row written last. */
  private named: Uint8Array = new Uint8Array(0);
  /** Until the list of runs is read: rows without one came with a snapshot, their ids did not. */
  private runsAreMissing = true;
  private readonly lookups = new EntryLookups();
  private readonly journalOfAdds = new IdJournal();
  private readonly journaled = { offset: 0, delta: 0, createdAt: 0 };
  private readonly fragment: Fragment = { hi: 0, lo: 0 };

  private constructor(
    private readonly tableBits: number,
    private readonly onDamage: (error: Error) => void,
  ) {
    this.table = new IdTable(tableBits);
  }

  static async open(options: IdIndexOptions): Promise<IdIndex> {
    const index = new IdIndex(
      options.tableBits ?? DEFAULT_TABLE_BITS,
      options.onDamage ?? ((): void => undefined),
    );
    const hooks: RunSetHooks = {
      sealed: (sealed) => index.journalOfAdds.cover(sealed.span),
      failed: (error) => {
        index.failure = error;
      },
    };
    index.sets = await RunSet.open(options.directory, hooks);
    index.sequence = index.sets.lastSequence + 1;
    return index;
  }

  /** Ids in memory and in runs, runs, and bytes of memory: for metrics and tests. */
  get stats(): { readonly ids: number; readonly runs: number; readonly memoryBytes: number } {
    let ids = this.table.count;
    let memoryBytes = this.table.slotCount * 22;
    for (const { table } of this.set.sealing) {
      ids += table.count;
      memoryBytes += table.slotCount * 22;
    }
    for (const run of this.set.runs) {
      ids += run.head.count;
      memoryBytes += run.tags.length * 2;
    }
    return { ids, runs: this.set.runs.length, memoryBytes };
  }

  /** Starts the lookups of the next entry. Throws when the background work failed. */
  beginEntry(): void {
    if (this.failure !== null) throw this.failure;
    this.set.takeIn();
    this.lookups.begin();
    this.pending = [];
  }

  announce(partition: number, bytes: Uint8Array, at: number): void {
    const { runs } = this.set;
    if (runs.length === 0) return;
    const { fragment } = this;
    fragmentInto(fragment, partition, bytes, at);
    const { hi, lo } = fragment;
    if (!this.lookups.announce(hi, lo)) return;
    for (const run of runs) collect(run, hi, lo, this.pending);
  }

  /** Reads the pages the announced ids may lie in; undefined when there are none. */
  load(): Promise<void> | undefined {
    const waits = this.set.backlog > MAX_BACKLOG;
    if (this.pending.length === 0) return waits ? this.set.settled() : undefined;
    return this.loadPending(this.pending);
  }

  candidates(
    partition: PartitionId,
    hash: { readonly bytes: Uint8Array; readonly at: number },
    visit: (offset: Offset, baseOffset: Offset) => boolean,
  ): void {
    const { fragment, set } = this;
    fragmentInto(fragment, partition, hash.bytes, hash.at);
    const { hi, lo } = fragment;
    const visitor = visit as (offset: number, base: number) => boolean;
    if (this.table.visit(hi, lo, visitor)) return;
    for (let i = set.sealing.length - 1; i >= 0; i -= 1) {
      if (set.sealing[i]?.table.visit(hi, lo, visitor) === true) return;
    }
    if (set.runs.length === 0) return;
    if (this.lookups.isAnnounced(hi, lo)) this.lookups.visit(hi, lo, visitor);
    else visitNow(set.runs, hi, lo, visitor);
  }

  add(
    partition: PartitionId,
    hash: { readonly bytes: Uint8Array; readonly at: number },
    place: { readonly offset: Offset; readonly baseOffset: Offset; readonly createdAt: Micros },
  ): void {
    const { fragment, table } = this;
    fragmentInto(fragment, partition, hash.bytes, hash.at);
    const { offset, createdAt } = place;
    const delta = offset - place.baseOffset;
    table.add(fragment.hi, fragment.lo, offset, delta);
    if (createdAt < table.oldest) table.oldest = createdAt;
    if (createdAt > table.newest) table.newest = createdAt;
    const { journaled } = this;
    journaled.offset = offset;
    journaled.delta = delta;
    journaled.createdAt = createdAt;
    this.journalOfAdds.add(fragment, journaled);
    if (table.isFull) this.sealTable();
  }

  /** Places of one id on this instant's state, newest first; for reads outside of apply. */
  async lookup(partition: number, bytes: Uint8Array, at: number): Promise<IdPlace[]> {
    const fragment: Fragment = { hi: 0, lo: 0 };
    fragmentInto(fragment, partition, bytes, at);
    const { hi, lo } = fragment;
    const places: IdPlace[] = [];
    const take = (offset: number, base: number): boolean => {
      places.push({ offset, base });
      return false;
    };
    this.table.visit(hi, lo, take);
    for (const { table } of this.set.sealing) table.visit(hi, lo, take);
    const reads: PendingRead[] = [];
    for (const run of this.set.runs) collect(run, hi, lo, reads);
    places.push(...(await this.readOutside(reads)).flatMap((place) => place ?? []));
    return places.sort((a, b) => b.offset - a.offset);
  }

  /** Part of each checkpoint: rows that make the table survive a restart. */
  journal(rows: JournalRows): void {
    this.journalOfAdds.write(rows);
    const manifest = encodeRunManifest(this.set.durable.map((run) => run.head));
    if (Buffer.compare(manifest, this.named) === 0) return;
    this.named = manifest;
    rows.put(MANIFEST_KEY, manifest);
  }

  /**
   * After the journal was loaded: runs or their list are missing, the owner adds all ids of the append
   * rows. Not asked of a store that never held a checkpoint.
   */
  get needsRebuild(): boolean {
    return this.runsAreMissing;
  }

  loadJournalRow(key: Uint8Array, value: Uint8Array): void {
    if (isManifestKey(key)) {
      const present = this.set.runs.map((run) => run.head);
      this.runsAreMissing = !manifestHolds(value, present);
      // Numbers of lost runs are not given again: half a rebuild must not look like the whole.
      this.sequence = Math.max(this.sequence, lastNamed(value) + 1);
      return;
    }
    this.journalOfAdds.load(key, value, this.table);
    if (this.table.isFull) this.sealTable();
  }

  expire(nowMicros: number, windowMicros: number): void {
    this.set.expire(nowMicros, windowMicros);
    const { count, oldest } = this.table;
    if (count > 0 && nowMicros - oldest > windowMicros / TIME_BUCKETS) this.sealTable();
  }

  /** Resolves when no run is being written. */
  settled(): Promise<void> {
    return this.set.settled();
  }

  close(): Promise<void> {
    return this.set.close();
  }

  private get set(): RunSet {
    if (this.sets === null) throw new Error('the id index is not open');
    return this.sets;
  }

  private sealTable(): void {
    const sealed = { table: this.table, sequence: this.sequence, span: this.journalOfAdds.seal() };
    this.sequence += 1;
    this.table = sealed.table.isFull
      ? new IdTable(this.tableBits, this.tableBits)
      : new IdTable(this.tableBits);
    this.set.seal(sealed);
  }

  private async readOutside(reads: readonly PendingRead[]): Promise<(IdPlace | undefined)[]> {
    try {
      return await readPlaces(reads);
    } catch (error) {
      if (error instanceof IdRunDamage) this.onDamage(error);
      throw error;
    }
  }

  private async loadPending(reads: readonly PendingRead[]): Promise<void> {
    const places = await readPlaces(reads);
    reads.forEach(({ hi, lo }, i) => {
      const place = places[i];
      if (place !== undefined) this.lookups.addResult(hi, lo, place);
    });
  }
}

function collect(run: IdRun, hi: number, lo: number, into: PendingRead[]): void {
  let slot = run.nextMatch(hi, lo, -1);
  for (; slot >= 0; slot = run.nextMatch(hi, lo, slot)) into.push({ run, slot, hi, lo });
}

/** Reads every page once; a place for each read that proved right, in the same order. */
async function readPlaces(reads: readonly PendingRead[]): Promise<(IdPlace | undefined)[]> {
  const pages = new Map<IdRun, Map<number, Promise<DataView>>>();
  for (const { run, slot } of reads) {
    let ofRun = pages.get(run);
    if (ofRun === undefined) {
      ofRun = new Map();
      pages.set(run, ofRun);
      run.pin();
    }
    const page = pageOfSlot(slot);
    if (!ofRun.has(page)) ofRun.set(page, run.readPage(page));
  }
  try {
    return await Promise.all(
      reads.map(async ({ run, slot, hi, lo }) => {
        const page = await pages.get(run)?.get(pageOfSlot(slot));
        return page === undefined ? undefined : placeIn(page, slot, hi, lo);
      }),
    );
  } finally {
    for (const run of pages.keys()) run.unpin();
  }
}

function visitNow(
  runs: readonly IdRun[],
  hi: number,
  lo: number,
  visit: (offset: number, base: number) => boolean,
): void {
  for (let i = runs.length - 1; i >= 0; i -= 1) {
    const run = runs[i];
    if (run === undefined) continue;
    let slot = run.nextMatch(hi, lo, -1);
    for (; slot >= 0; slot = run.nextMatch(hi, lo, slot)) {
      const place = placeIn(run.readPageSync(pageOfSlot(slot)), slot, hi, lo);
      if (place !== undefined && visit(place.offset, place.base)) return;
    }
  }
}
