/**
 * Who waits until this node has applied what was committed when they came: a pop of another node may
 * arrive at the leader before the leader has applied what that node applied already (its group's
 * registration, say), and must not be judged by an older state.
 */
interface Waiter {
  readonly index: number;
  readonly resolve: () => void;
}

export class AppliedWaiters {
  /** Ascending by index: the commit never goes back. */
  private waiting: Waiter[] = [];

  constructor(
    private readonly port: { readonly commit: () => number; readonly applied: () => number },
  ) {}

  /** Undefined when there is nothing to wait for. */
  caughtUp(): Promise<void> | undefined {
    const index = this.port.commit();
    if (this.port.applied() >= index) return undefined;
    return new Promise((resolve) => {
      this.waiting.push({ index, resolve });
    });
  }

  /** After each applied entry. */
  applied(index: number): void {
    let done = 0;
    while (done < this.waiting.length && (this.waiting[done]?.index ?? 0) <= index) done += 1;
    if (done === 0) return;
    const ready = this.waiting.slice(0, done);
    this.waiting = this.waiting.slice(done);
    for (const { resolve } of ready) resolve();
  }

  /** The group ends: whoever waits finds that it serves nobody any more. */
  stop(): void {
    this.applied(Infinity);
  }
}
