/**
 * Parks a pop at the broker and watches whether it is answered. Real time passes here, bounded; the
 * broker's clock stands still.
 */
import { setTimeout as realSleep } from 'node:timers/promises';
import type { Answer } from './answers.js';
import type { BrokerPort, Call } from './broker-port.js';

/** Looks of a millisecond; a machine may be very busy. */
const MAX_LOOKS = 20_000;
/** Turns of the loop in which the dispatcher serves whom it can serve. */
const TURNS = 8;

export class Parked {
  settled: Answer | null = null;
  private hasLeft = false;
  private fault: { readonly error: unknown } | null = null;

  constructor(private readonly waiting: ReturnType<BrokerPort['wait']>) {
    waiting.answer.then(
      (answer) => (this.settled = answer),
      (error: unknown) => {
        // Who leaves may hear that as an error.
        if (!this.hasLeft) this.fault = { error };
      },
    );
  }

  /** Gives the dispatcher its chance first, so that a wrong answer is seen. */
  async leave(): Promise<void> {
    await turns();
    this.check();
    const { settled } = this;
    this.hasLeft = true;
    this.waiting.leave();
    await this.waiting.answer.catch(() => undefined);
    this.settled = settled;
  }

  /** Null when it does not come. */
  async answered(): Promise<Answer | null> {
    for (let i = 0; i < MAX_LOOKS && this.settled === null; i += 1) {
      this.check();
      await realSleep(1);
    }
    if (this.settled === null) {
      this.hasLeft = true;
      this.waiting.leave();
    }
    return this.settled;
  }

  /** A pop that failed neither waits nor is answered. */
  check(): void {
    if (this.fault !== null)
      throw new Error('a pop that waits failed', { cause: this.fault.error });
  }
}

/** Resolves when the pop waits at the dispatcher, or has its answer already. */
export async function park(broker: BrokerPort, call: Call): Promise<Parked> {
  const before = broker.parked();
  const parked = new Parked(broker.wait(call));
  for (let i = 0; i < MAX_LOOKS; i += 1) {
    parked.check();
    if (parked.settled !== null) return parked;
    if (broker.parked() > before) {
      await turns();
      return parked;
    }
    await realSleep(1);
  }
  throw new Error(`neither waits nor is answered: ${JSON.stringify(call)}`);
}

async function turns(): Promise<void> {
  for (let i = 0; i < TURNS; i += 1) await new Promise((resolve) => setImmediate(resolve));
}
