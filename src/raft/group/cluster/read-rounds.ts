/**
 * Linearizable reads in rounds: a reader joins only a quorum round that starts after it arrived; one
 * round runs, one waits. A round that gets no answer (leader change, lost message) is asked again under
 * a new number, so a late answer of an old one confirms nothing.
 */
import { QueenError } from '../../../common/errors.js';
import type { LogIndex } from '../../../common/ids.js';
import type { ReadContext, ReadResult, ReadState } from '../../core/index.js';
import type { Deadlined, DeadlineWheel } from '../deadline-wheel.js';
import type { CallOptions } from '../group.js';

const RETRY_MS = 100;
export const MAX_READERS = 262_144;

class RoundReader implements Deadlined {
  wheelBucket = -1;
  wheelTick = 0;
  wheelNext: Deadlined | undefined = undefined;
  wheelPrevious: Deadlined | undefined = undefined;
  settled = false;
  /** Index to wait for once the round is confirmed. */
  index = Infinity;

  constructor(
    readonly deadlineMs: number,
    private readonly rounds: ReadRounds,
    private readonly settle: { resolve: () => void; reject: (error: Error) => void },
  ) {}

  expire(): void {
    this.fail(new QueenError(this.rounds.hasLeader() ? 'timeout' : 'no_leader'));
  }

  succeed(): void {
    if (this.settled) return;
    this.settled = true;
    this.rounds.forget(this);
    this.settle.resolve();
  }

  fail(error: Error): void {
    if (this.settled) return;
    this.settled = true;
    this.rounds.forget(this);
    this.settle.reject(error);
  }
}

export interface ReadRoundsPort {
  readonly wheel: DeadlineWheel;
  readonly nowMs: () => number;
  /** First context; later boots must start higher. */
  readonly firstContext: number;
  ask(context: ReadContext): ReadResult;
  applied(): LogIndex;
  hasLeader(): boolean;
}

export class ReadRounds {
  private running: RoundReader[] = [];
  private next: RoundReader[] = [];
  private confirmed: RoundReader[] = [];
  private context: number;
  private isRunning = false;
  private askedAtMs = 0;
  private open = 0;

  constructor(private readonly port: ReadRoundsPort) {
    this.context = port.firstContext;
  }

  hasLeader(): boolean {
    return this.port.hasLeader();
  }

  wait(options: CallOptions): Promise<void> {
    if (this.open >= MAX_READERS) return Promise.reject(new QueenError('overloaded'));
    return new Promise((resolve, reject) => {
      const reader = new RoundReader(options.deadlineMs, this, { resolve, reject });
      this.open += 1;
      this.port.wheel.add(reader);
      const { signal } = options;
      const gone = (): void => reader.fail(new QueenError('timeout', 'the caller went away'));
      if (signal?.aborted === true) {
        gone();
        return;
      }
      signal?.addEventListener('abort', gone, { once: true });
      this.next.push(reader);
      if (!this.isRunning) this.begin();
    });
  }

  /** The round of this context is confirmed by a quorum. */
  answered(state: ReadState): void {
    if (!this.isRunning || state.context !== this.context) return;
    this.isRunning = false;
    for (const reader of this.running) {
      reader.index = state.index;
      if (!reader.settled) this.confirmed.push(reader);
    }
    this.running = [];
    this.applied(this.port.applied());
    if (this.next.length > 0) this.begin();
  }

  applied(index: LogIndex): void {
    if (this.confirmed.length === 0) return;
    const waiting: RoundReader[] = [];
    for (const reader of this.confirmed) {
      if (reader.settled) continue;
      if (reader.index <= index) reader.succeed();
      else waiting.push(reader);
    }
    this.confirmed = waiting;
  }

  /** Leader changed: the round under way may never be answered. */
  restart(): void {
    if (this.isRunning) this.ask();
  }

  /** Called a few times a second: asks again what got no answer. */
  tick(): void {
    if (this.isRunning && this.port.nowMs() - this.askedAtMs >= RETRY_MS) this.ask();
  }

  failAll(error: () => Error): void {
    for (const reader of [...this.running, ...this.next, ...this.confirmed]) reader.fail(error());
    this.running = [];
    this.next = [];
    this.confirmed = [];
  }

  forget(reader: RoundReader): void {
    this.port.wheel.remove(reader);
    this.open -= 1;
  }

  private begin(): void {
    this.running = this.next.filter((reader) => !reader.settled);
    this.next = [];
    if (this.running.length === 0) return;
    this.isRunning = true;
    this.ask();
  }

  private ask(): void {
    this.running = this.running.filter((reader) => !reader.settled);
    if (this.running.length === 0) {
      this.isRunning = false;
      if (this.next.length > 0) this.begin();
      return;
    }
    this.context += 1;
    this.askedAtMs = this.port.nowMs();
    // A refusal (no leader yet, transfer running) is asked again by the tick.
    this.port.ask(this.context);
  }
}
