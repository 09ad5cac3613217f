/**
 * The rows applied since the last checkpoint, in memory: one layer that takes writes and the frozen
 * ones whose checkpoint is not durable yet. Reads go newest to oldest; what no layer knows, the
 * store knows. Bounded in bytes: at the bound the group stops applying until a checkpoint is done.
 *
 *   put/delete ─► [ current ] ──freeze()──► [ frozen ] ──checkpoint durable, release()──► gone
 */
import { OverlayLayer, type FrozenLayer } from './overlay-layer.js';

export const OVERLAY_MAX_BYTES = 64 * 1024 * 1024;

export interface OverlayOptions {
  /** Bound over all layers not yet durable (`QUEEN_RAFT_OVERLAY_MAX_MB`), in bytes. */
  maxBytes?: number;
}

/** What a view sees of one layer: the entries it had, and their values up to an epoch. */
export interface LayerCut {
  readonly layer: OverlayLayer;
  readonly entryCount: number;
  readonly epoch: number;
}

export class Overlay {
  private readonly maxBytes: number;
  private current = new OverlayLayer();
  /** Oldest first. */
  private frozen: OverlayLayer[] = [];
  private frozenBytes = 0;
  private wasFull = false;
  private readonly drainListeners = new Set<() => void>();
  private releases = 0;

  constructor(options: OverlayOptions = {}) {
    this.maxBytes = options.maxBytes ?? OVERLAY_MAX_BYTES;
  }

  /** Sets a row. The first key byte is the keyspace; 0 is the store's own. Both are copied. */
  put(key: Uint8Array, value: Uint8Array): void {
    checkKey(key);
    this.current.write(key, value);
  }

  delete(key: Uint8Array): void {
    checkKey(key);
    this.current.write(key, null);
  }

  /** The value (a slice that never changes), null when deleted, undefined: ask the store. */
  get(key: Uint8Array): Uint8Array | null | undefined {
    const value = this.current.get(key);
    if (value !== undefined) return value;
    for (let i = this.frozen.length - 1; i >= 0; i--) {
      const older = this.frozen[i]!.get(key);
      if (older !== undefined) return older;
    }
    return undefined;
  }

  /** Bytes in all layers that are not durable yet. */
  get byteSize(): number {
    return this.current.byteSize + this.frozenBytes;
  }

  /** Bytes changed since the last freeze, what the next checkpoint would write. */
  get pendingByteSize(): number {
    return this.current.byteSize;
  }

  /** Rows changed since the last freeze. */
  get pendingRows(): number {
    return this.current.entryCount;
  }

  /** Rows of all layers that are not durable yet; one that changed in two layers counts twice. */
  get rowCount(): number {
    return this.frozen.reduce((rows, layer) => rows + layer.entryCount, this.current.entryCount);
  }

  /** Whether the current layer holds a change. */
  get hasChanges(): boolean {
    return this.current.entryCount > 0;
  }

  /** How often a layer was released; while it stands still, "not in the overlay" stays true. */
  get releaseCount(): number {
    return this.releases;
  }

  /** At the bound: apply waits for `onDrain`. One entry may overshoot it. */
  get isFull(): boolean {
    const full = this.byteSize >= this.maxBytes;
    if (full) this.wasFull = true;
    return full;
  }

  /** Calls back whenever the overlay, seen full, has room again; answers the unsubscriber. */
  onDrain(listener: () => void): () => void {
    this.drainListeners.add(listener);
    return () => this.drainListeners.delete(listener);
  }

  /** Closes the current layer and starts a new one. Reads still see the closed one. */
  freeze(): FrozenLayer {
    const layer = this.current;
    layer.freeze();
    // The next layer is likely as large; sized so, it need not grow while the broker works.
    this.current = new OverlayLayer(layer.entryCount);
    this.frozen.push(layer);
    this.frozenBytes += layer.byteSize;
    return layer;
  }

  /** Forgets the oldest frozen layer, whose checkpoint is durable now. */
  release(layer: FrozenLayer): void {
    if (this.frozen[0] !== layer) throw new Error('overlay layers are released in order');
    this.frozen.shift();
    this.frozenBytes -= layer.byteSize;
    this.releases++;
    if (this.wasFull && !this.isFull) {
      this.wasFull = false;
      for (const listener of [...this.drainListeners]) listener();
    }
  }

  /** The state at this instant, newest layer first. Costs nothing but a few integers. */
  cut(): LayerCut[] {
    const cuts: LayerCut[] = [];
    for (const layer of [this.current, ...this.frozen.toReversed()]) {
      if (layer.entryCount === 0) continue;
      cuts.push({ layer, entryCount: layer.entryCount, epoch: layer.closeEpoch() });
    }
    return cuts;
  }
}

function checkKey(key: Uint8Array): void {
  if (key.length === 0 || key[0] === 0) {
    throw new RangeError('a row key starts with its keyspace byte, 1..255');
  }
}
