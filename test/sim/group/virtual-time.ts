/**
 * Time of a simulation: one queue of events ordered by (instant, order of making). While installed, the
 * timers of the process are its events, so production code runs on it unchanged. Every event belongs to
 * the node that made it; a paused node's events wait until it goes on. Between two events all promise
 * work is finished, so one seed gives one run.
 */
const realImmediate = globalThis.setImmediate;

interface Event {
  atMicros: number;
  readonly order: number;
  readonly owner: number;
  readonly run: () => void;
  cancelled: boolean;
}

export interface SimTimer {
  ref(): SimTimer;
  unref(): SimTimer;
  cancel(): void;
}

export class VirtualTime {
  nowMicros = 0;
  events = 0;
  /** Node whose event runs now; 0 = the world. */
  current = 0;
  private order = 0;
  private readonly heap: Event[] = [];
  private readonly pausedUntil = new Map<number, number>();
  private restore: (() => void) | null = null;

  get nowMs(): number {
    return this.nowMicros / 1000;
  }

  after(micros: number, run: () => void, owner = this.current): SimTimer {
    const atMicros = this.nowMicros + Math.max(0, Math.round(micros));
    const event: Event = { atMicros, order: this.order++, owner, run, cancelled: false };
    this.push(event);
    return timerOf(() => {
      event.cancelled = true;
    });
  }

  every(micros: number, run: () => void): SimTimer {
    const owner = this.current;
    let timer: SimTimer;
    const again = (): void => {
      timer = this.after(micros, again, owner);
      run();
    };
    timer = this.after(micros, again, owner);
    return timerOf(() => timer.cancel());
  }

  sleep(micros: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(micros, resolve);
    });
  }

  pause(owner: number, micros: number): void {
    this.pausedUntil.set(owner, this.nowMicros + micros);
  }

  isPaused(owner: number): boolean {
    return (this.pausedUntil.get(owner) ?? 0) > this.nowMicros;
  }

  /** Runs as if the node did it. */
  as<T>(owner: number, run: () => T): T {
    const before = this.current;
    this.current = owner;
    try {
      return run();
    } finally {
      this.current = before;
    }
  }

  /** Runs events until the instant, or until `done` says so after one. */
  async runUntil(micros: number, done: () => boolean = () => false): Promise<void> {
    for (;;) {
      const next = this.heap[0];
      if (next === undefined || next.atMicros > micros) break;
      this.pop();
      if (next.cancelled) continue;
      const paused = this.pausedUntil.get(next.owner) ?? 0;
      if (paused > next.atMicros) {
        next.atMicros = paused;
        this.push(next);
        continue;
      }
      this.nowMicros = Math.max(this.nowMicros, next.atMicros);
      this.events += 1;
      this.current = next.owner;
      next.run();
      await drained();
      this.current = 0;
      if (done()) return;
    }
    this.nowMicros = Math.max(this.nowMicros, micros);
  }

  /** Replaces the timers of the process until `uninstall`. */
  install(): void {
    const scope = globalThis as unknown as Record<string, unknown>;
    const names = ['setTimeout', 'setInterval', 'setImmediate'] as const;
    const clears = ['clearTimeout', 'clearInterval', 'clearImmediate'] as const;
    const kept = [...names, ...clears].map((name) => [name, scope[name]] as const);
    scope['setTimeout'] = (run: () => void, ms = 0): SimTimer => this.after(ms * 1000, run);
    scope['setInterval'] = (run: () => void, ms = 0): SimTimer => this.every(ms * 1000, run);
    scope['setImmediate'] = (run: () => void): SimTimer => this.after(1, run);
    for (const name of clears) scope[name] = (timer?: SimTimer): void => timer?.cancel();
    this.restore = (): void => {
      for (const [name, value] of kept) scope[name] = value;
    };
  }

  uninstall(): void {
    this.restore?.();
    this.restore = null;
  }

  private push(event: Event): void {
    const { heap } = this;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (isBefore(heap[parent]!, event)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  private pop(): void {
    const { heap } = this;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (isBefore(last, heap[child]!)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMicros < b.atMicros || (a.atMicros === b.atMicros && a.order < b.order);
}

/** A turn of the real event loop begins only when no promise work is left. */
function drained(): Promise<void> {
  return new Promise((resolve) => {
    realImmediate(resolve);
  });
}

function timerOf(cancel: () => void): SimTimer {
  const timer: SimTimer = { ref: () => timer, unref: () => timer, cancel };
  return timer;
}
