/**
 * Signatures are checked on the thread pool, which the fsyncs of the log need more: few at a time, and
 * a bounded number of callers that wait. Beyond it a caller is told to come back.
 */
import { QueenError } from '../common/errors.js';

const AT_ONCE = 4;
const MAX_WAITING = 1_024;

export class VerificationGate {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.running >= AT_ONCE) {
      if (this.waiting.length >= MAX_WAITING) throw new QueenError('overloaded');
      // Whoever leaves hands its place over: `running` stays as it is.
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    } else this.running += 1;
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.running -= 1;
      else next();
    }
  }
}
