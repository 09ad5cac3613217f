/**
 * When a checkpoint is written and what is durable after it. The group asks `due` once per loop
 * turn and calls `write` between two entries, with the meta of the last applied one; apply goes on
 * at once, into a new layer. The WAL is never purged past `durableIndex`.
 */
import type { Overlay } from './overlay.js';
import type { Store } from './store.js';
import type { StoreMeta } from './store-meta.js';

export const CHECKPOINT_INTERVAL_MS = 250;
export const CHECKPOINT_BYTES = 8 * 1024 * 1024;

export interface CheckpointWriterOptions {
  store: Store;
  overlay: Overlay;
  intervalMs?: number;
  /** Changed bytes that make a checkpoint due before its time. */
  maxBytes?: number;
}

export class CheckpointWriter {
  private readonly store: Store;
  private readonly overlay: Overlay;
  private readonly intervalMs: number;
  private readonly maxBytes: number;
  private lastStartMs = -Infinity;
  private running: Promise<void> | undefined;

  constructor(options: CheckpointWriterOptions) {
    this.store = options.store;
    this.overlay = options.overlay;
    this.intervalMs = options.intervalMs ?? CHECKPOINT_INTERVAL_MS;
    this.maxBytes = options.maxBytes ?? CHECKPOINT_BYTES;
  }

  /** Applied index of the last durable checkpoint, 0 before the first. */
  get durableIndex(): number {
    return this.store.meta?.appliedIndex ?? 0;
  }

  get isWriting(): boolean {
    return this.running !== undefined;
  }

  /**
   * Whether to write now: something changed, nothing is being written, and the interval is over or
   * the bytes are reached. `nowMs` is a monotonic clock's.
   */
  due(nowMs: number, appliedIndex: number): boolean {
    if (this.running !== undefined || this.store.poisonedBy !== undefined) return false;
    if (!this.overlay.hasChanges && appliedIndex <= this.durableIndex) return false;
    if (this.overlay.pendingByteSize >= this.maxBytes || this.overlay.isFull) return true;
    return nowMs - this.lastStartMs >= this.intervalMs;
  }

  /**
   * Freezes the changes at once and writes them. Resolves when they are durable, so `durableIndex`
   * is meta.appliedIndex. Rejects with StoreWriteError: the store is poisoned and the node must
   * stop; reads still see every layer.
   */
  write(nowMs: number, meta: StoreMeta): Promise<void> {
    if (this.running !== undefined) throw new Error('one checkpoint at a time');
    if (meta.appliedIndex < this.durableIndex) throw new Error('the applied index went back');
    this.lastStartMs = nowMs;
    const layer = this.overlay.freeze();
    const run = async (): Promise<void> => {
      try {
        await this.store.writeCheckpoint(layer, meta);
      } finally {
        this.running = undefined;
      }
      this.overlay.release(layer);
    };
    this.running = run();
    return this.running;
  }

  /** Waits for the checkpoint under way, if any; its failure is its caller's. */
  async settled(): Promise<void> {
    if (this.running !== undefined) await Promise.allSettled([this.running]);
  }
}
