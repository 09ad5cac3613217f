/**
 * The rows as the machine and its readers see them: overlay first, then the store. `Rows` is the
 * present; a `StoreView` is one instant of it, consistent at one applied index, taken in
 * microseconds between two entries and never in the way of writers.
 */
import type { KeyRange } from './byte-order.js';
import { MergeScan } from './merge-scan.js';
import type { LayerCut, Overlay } from './overlay.js';
import type { Store } from './store.js';
import type { RowScan, ScanOptions, StoreSnapshot } from './store-snapshot.js';

export class Rows {
  constructor(
    private readonly store: Store,
    private readonly overlay: Overlay,
  ) {}

  /** The current value, synchronously: nanoseconds from the overlay, 3-10 us from the store. */
  get(key: Uint8Array): Uint8Array | undefined {
    const value = this.overlay.get(key);
    if (value !== undefined) return value ?? undefined;
    return this.store.getSync(key);
  }

  /**
   * The current values, read off this thread where the overlay does not know them. What execute
   * uses later it must first look up in the overlay again (`overlay.get`), and after a release in
   * between (`overlay.releaseCount` changed) with `get`: then the store may know newer than this
   * answer.
   */
  async getMany(keys: Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    const values: (Uint8Array | undefined)[] = new Array(keys.length);
    const missing: number[] = [];
    for (let i = 0; i < keys.length; i++) {
      const value = this.overlay.get(keys[i]!);
      if (value === undefined) missing.push(i);
      else values[i] = value ?? undefined;
    }
    if (missing.length === 0) return values;
    const stored = await this.store.getMany(missing.map((i) => keys[i]!));
    for (let i = 0; i < missing.length; i++) values[missing[i]!] = stored[i];
    return values;
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.overlay.put(key, value);
  }

  delete(key: Uint8Array): void {
    this.overlay.delete(key);
  }

  /** Everything put so far, held still. Close it: it pins overlay layers and LevelDB versions. */
  view(): StoreView {
    return new StoreView(this.overlay.cut(), this.store.snapshot());
  }
}

export class StoreView {
  constructor(
    private readonly cuts: LayerCut[],
    private readonly snapshot: StoreSnapshot,
  ) {}

  async get(key: Uint8Array): Promise<Uint8Array | undefined> {
    const value = this.fromLayers(key);
    return value === undefined ? this.snapshot.get(key) : (value ?? undefined);
  }

  async getMany(keys: Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    const values = keys.map((key) => this.fromLayers(key));
    const missing = keys.filter((_, i) => values[i] === undefined);
    const stored = missing.length === 0 ? [] : await this.snapshot.getMany(missing);
    let next = 0;
    return values.map((value) => (value === undefined ? stored[next++] : (value ?? undefined)));
  }

  /** Rows of a range in byte order, in pages. Rows with from <= key < to. */
  scan(range: KeyRange = {}, options: ScanOptions = {}): RowScan {
    const { cuts, snapshot } = this;
    // Deletions in the overlay may hide any number of stored rows: no limit for LevelDB then.
    const { limit, ...unlimited } = options;
    const storeOptions = cuts.length === 0 && limit !== undefined ? options : unlimited;
    const openStoreScan = (): RowScan => snapshot.scan(range, storeOptions);
    return new MergeScan({ cuts, range, options, openStoreScan });
  }

  /** The rows of a scan one by one; stops the scan when the loop is left. */
  async *iterate(
    range: KeyRange = {},
    options: ScanOptions = {},
  ): AsyncGenerator<[key: Uint8Array, value: Uint8Array]> {
    const scan = this.scan(range, options);
    try {
      for (;;) {
        const page = await scan.next();
        if (page === undefined) return;
        yield* page;
      }
    } finally {
      await scan.close();
    }
  }

  close(): Promise<void> {
    return this.snapshot.close();
  }

  private fromLayers(key: Uint8Array): Uint8Array | null | undefined {
    for (const { layer, entryCount, epoch } of this.cuts) {
      const entry = layer.find(key);
      if (entry < 0 || entry >= entryCount) continue;
      const value = layer.valueOf(entry, epoch);
      if (value !== undefined) return value;
    }
    return undefined;
  }
}
