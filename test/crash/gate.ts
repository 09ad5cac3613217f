/** Lets workers run, hold still, or end; holding still is complete when every worker stands at it. */

export class Gate {
  private state: 'open' | 'closed' | 'ended' = 'open';
  private readonly standing: (() => void)[] = [];
  private workers = 0;
  private whenStill: (() => void) | null = null;

  enter(): void {
    this.workers += 1;
  }

  leave(): void {
    this.workers -= 1;
    this.look();
  }

  /** Waits while the gate is closed; false when the worker shall end. */
  async pass(): Promise<boolean> {
    if (this.state === 'closed') {
      await new Promise<void>((resolve) => {
        this.standing.push(resolve);
        this.look();
      });
    }
    return this.state !== 'ended';
  }

  /** Resolves when all workers stand. */
  close(): Promise<void> {
    this.state = 'closed';
    return new Promise((resolve) => {
      this.whenStill = resolve;
      this.look();
    });
  }

  open(): void {
    this.release('open');
  }

  end(): void {
    this.release('ended');
  }

  private release(state: 'open' | 'ended'): void {
    this.state = state;
    this.whenStill = null;
    for (const resolve of this.standing.splice(0)) resolve();
  }

  private look(): void {
    if (this.whenStill === null || this.standing.length < this.workers) return;
    this.whenStill();
    this.whenStill = null;
  }
}
