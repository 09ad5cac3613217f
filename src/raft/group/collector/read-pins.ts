/**
 * Reads of log bytes under way, counted by epoch. Whoever removes bytes first makes them unreachable for
 * new reads, then waits until the reads that began before are through.
 *
 *   read A ──────────────┐            epoch 1
 *          settled() ····└► resolves  epoch 2: read B may go on, it cannot see what is to go
 *              read B ──────────►
 */
export class ReadPins {
  private epoch = 1;
  private readonly active = new Map<number, number>();
  private waiters: { readonly epoch: number; readonly resolve: () => void }[] = [];

  /** Any read is under way. */
  get isHeld(): boolean {
    return this.active.size > 0;
  }

  /** A read begins; give the number back to `leave`. */
  enter(): number {
    const { epoch } = this;
    this.active.set(epoch, (this.active.get(epoch) ?? 0) + 1);
    return epoch;
  }

  leave(epoch: number): void {
    const left = (this.active.get(epoch) ?? 0) - 1;
    if (left > 0) this.active.set(epoch, left);
    else this.active.delete(epoch);
    if (this.waiters.length === 0) return;
    const oldest = Math.min(Infinity, ...this.active.keys());
    const done = this.waiters.filter((waiter) => waiter.epoch < oldest);
    this.waiters = this.waiters.filter((waiter) => waiter.epoch >= oldest);
    for (const { resolve } of done) resolve();
  }

  /** Resolves when every read that began before this call is through. */
  settled(): Promise<void> {
    const { epoch } = this;
    this.epoch += 1;
    if (this.active.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.waiters.push({ epoch, resolve });
    });
  }
}
