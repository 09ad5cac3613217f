/**
 * One command waiting for its outcome: the object the log queue carries, the deadline wheel fires and
 * the outcome resolves. Settles exactly once; whatever comes later (an outcome after the deadline, a
 * deadline after the outcome) is dropped.
 */
import type { Outcome } from '../../machine/commands/catalogue.js';
import type { Deadlined } from './deadline-wheel.js';

export interface CallOwner {
  /** Takes the call out of every table; called once, before the promise settles. */
  release(call: Call): void;
  /** What to tell the caller when the deadline passes without an outcome. */
  overdue(call: Call): Error;
}

export class Call implements Deadlined {
  wheelBucket = -1;
  wheelTick = 0;
  wheelNext: Deadlined | undefined = undefined;
  wheelPrevious: Deadlined | undefined = undefined;
  /** Assigned when the window lets the call in; -1 before. */
  sequence = -1;
  settled = false;
  /** Went out at least once: its effect may exist although no outcome came. */
  sent = false;
  /** Session its bytes are stamped with; 0 before. Stamped bytes may stand in a socket's queue. */
  stampedFor = 0;
  /** Of the caller; what it throws is the caller's error and never one of apply. */
  onApplied: ((outcome: Outcome) => void) | null = null;
  private resolve: ((outcome: Outcome) => void) | null = null;
  private reject: ((error: Error) => void) | null = null;

  constructor(
    public bytes: Uint8Array,
    readonly deadlineMs: number,
    /** False for leader-internal proposals (session 0). */
    readonly inSession: boolean,
    private readonly owner: CallOwner,
  ) {}

  promise(): Promise<Outcome> {
    return new Promise<Outcome>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  succeed(outcome: Outcome): void {
    if (this.settled) return;
    this.settled = true;
    this.owner.release(this);
    try {
      this.onApplied?.(outcome);
    } catch (error) {
      this.reject?.(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    this.resolve?.(outcome);
  }

  fail(error: Error): void {
    if (this.settled) return;
    this.settled = true;
    this.owner.release(this);
    this.reject?.(error);
  }

  /** The deadline passed: the command may still apply, its outcome is dropped then. */
  expire(): void {
    this.fail(this.owner.overdue(this));
  }
}
