/**
 * What a push load was told, per request: not sent, unknown (no answer, or a refusal), or the offsets
 * that were acknowledged. With one partition per request the first offset tells all of them.
 */
import type { PushShape } from './push-template.js';

const UNKNOWN = -1;
const INITIAL = 4096;

export class PushLedger {
  /** Requests begun; the next one has this number. */
  requests = 0;
  acknowledgedMessages = 0;
  refusedRequests = 0;
  private offsets = new Int32Array(INITIAL).fill(UNKNOWN);

  constructor(readonly shape: PushShape) {}

  private get perRequest(): number {
    return this.shape.spread ? this.shape.batch : 1;
  }

  /** Number of a new request. */
  begin(): number {
    const request = this.requests;
    this.requests += 1;
    const needed = this.requests * this.perRequest;
    if (needed > this.offsets.length) {
      const grown = new Int32Array(Math.max(needed, this.offsets.length * 2)).fill(UNKNOWN);
      grown.set(this.offsets);
      this.offsets = grown;
    }
    return request;
  }

  /** `offset` of an item; without spreading only of item 0, the others follow it. */
  acknowledge(request: number, item: number, offset: number): void {
    this.offsets[request * this.perRequest + item] = offset;
  }

  /** Acknowledged offset, or −1 when the outcome is not known. */
  offsetOf(request: number, item: number): number {
    if (this.shape.spread) return this.offsets[request * this.shape.batch + item] ?? UNKNOWN;
    const base = this.offsets[request] ?? UNKNOWN;
    return base === UNKNOWN ? UNKNOWN : base + item;
  }
}
