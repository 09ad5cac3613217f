/**
 * Read barrier of a single voter: a reader waits until everything that was logged or queued when it
 * arrived is applied here. Targets only grow, so two FIFOs suffice: readers whose last command is not
 * in an entry yet, and readers that know their index.
 */
import { QueenError } from '../../common/errors.js';
import type { LogIndex } from '../../common/ids.js';
import type { Deadlined, DeadlineWheel } from './deadline-wheel.js';
import type { CallOptions } from './group.js';

export const MAX_READERS = 262_144;

class Reader implements Deadlined {
  wheelBucket = -1;
  wheelTick = 0;
  wheelNext: Deadlined | undefined = undefined;
  wheelPrevious: Deadlined | undefined = undefined;
  settled = false;

  constructor(
    readonly deadlineMs: number,
    /** Running number of a command while unplaced, entry index afterwards. */
    public target: number,
    private readonly wheel: DeadlineWheel,
    private readonly settle: { resolve: () => void; reject: (error: Error) => void },
  ) {}

  expire(): void {
    this.fail(new QueenError('timeout'));
  }

  succeed(): void {
    if (this.settled) return;
    this.settled = true;
    this.wheel.remove(this);
    this.settle.resolve();
  }

  fail(error: Error): void {
    if (this.settled) return;
    this.settled = true;
    this.wheel.remove(this);
    this.settle.reject(error);
  }
}

export interface BarrierPosition {
  readonly enqueued: number;
  readonly allPacked: boolean;
  readonly lastIndex: LogIndex;
  readonly applied: LogIndex;
}

export class ReadBarrier {
  private unplaced: Reader[] = [];
  private placed: Reader[] = [];
  private head = 0;

  constructor(private readonly wheel: DeadlineWheel) {}

  wait(position: BarrierPosition, options: CallOptions): Promise<void> {
    if (position.allPacked && position.lastIndex <= position.applied) return Promise.resolve();
    if (this.unplaced.length + this.placed.length - this.head >= MAX_READERS) {
      return Promise.reject(new QueenError('overloaded'));
    }
    return new Promise((resolve, reject) => {
      const target = position.allPacked ? position.lastIndex : position.enqueued;
      const reader = new Reader(options.deadlineMs, target, this.wheel, { resolve, reject });
      (position.allPacked ? this.placed : this.unplaced).push(reader);
      this.wheel.add(reader);
      const gone = (): void => reader.fail(new QueenError('timeout', 'the caller went away'));
      if (options.signal?.aborted === true) gone();
      else options.signal?.addEventListener('abort', gone, { once: true });
    });
  }

  /** Commands up to running number `calls` stand in entries up to `index`. */
  packed(calls: number, index: LogIndex): void {
    if (this.unplaced.length === 0) return;
    let moved = 0;
    for (const reader of this.unplaced) {
      if (reader.target > calls) break;
      reader.target = index;
      this.placed.push(reader);
      moved += 1;
    }
    this.unplaced = this.unplaced.slice(moved);
  }

  applied(index: LogIndex): void {
    while (this.head < this.placed.length) {
      const reader = this.placed[this.head];
      if (reader === undefined || reader.target > index) break;
      this.head += 1;
      reader.succeed();
    }
    if (this.head === this.placed.length && this.head > 0) {
      this.placed = [];
      this.head = 0;
    }
  }

  failAll(error: () => Error): void {
    const readers = [...this.unplaced, ...this.placed];
    this.unplaced = [];
    this.placed = [];
    this.head = 0;
    for (const reader of readers) reader.fail(error());
  }
}
