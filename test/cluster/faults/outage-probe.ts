/**
 * How long a client of the cluster gets nothing done: pushes one message after another, each until it
 * succeeds, on the next URL after a failure, and keeps the longest gap between two successes.
 */
import { sleep } from '../../bench/http/server-process.js';
import { CrashClient, type ClusterTarget } from '../../crash/client.js';

const PAUSE_MS = 5;

export class OutageProbe {
  private readonly client: CrashClient;
  private readonly done: Promise<void>;
  private lastMs = performance.now();
  private longestMs = 0;
  private ended = false;
  /** Of the gap that is the longest, for the report. */
  private why = '';
  private lastFailure = '';

  constructor(
    target: ClusterTarget,
    private readonly number: number,
  ) {
    this.client = new CrashClient(target, number);
    this.done = this.run();
  }

  /** Longest gap since the last call, ms; an unfinished one counts. */
  take(): { readonly ms: number; readonly why: string } {
    this.note(performance.now());
    const taken = { ms: Math.round(this.longestMs), why: this.why };
    this.longestMs = 0;
    return taken;
  }

  async end(): Promise<void> {
    this.ended = true;
    await this.done;
    this.client.close();
  }

  private async run(): Promise<void> {
    for (let message = 0; !this.ended; message += 1) {
      const item = { queue: 'outage', partition: `probe-${this.number}`, payload: { message } };
      const body = JSON.stringify({ items: [{ ...item, transactionId: `m-${message}` }] });
      while (!this.ended) {
        const answer = await this.client.call('POST', '/api/v1/push', body);
        if (answer?.status === 201) break;
        this.lastFailure = answer === null ? 'no answer' : `${answer.status} ${answer.text}`;
        await sleep(PAUSE_MS);
      }
      const now = performance.now();
      this.note(now);
      this.lastMs = now;
      this.lastFailure = '';
      await sleep(PAUSE_MS);
    }
  }

  private note(now: number): void {
    if (now - this.lastMs <= this.longestMs) return;
    this.longestMs = now - this.lastMs;
    this.why = this.lastFailure;
  }
}
