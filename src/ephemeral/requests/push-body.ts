/**
 * Scans `{"queue","partition"?,"messages":[{"payload"},…]}` (state.md §5.2). Payloads are ranges of the
 * body, never parsed; what was scanned is valid until the next body.
 */
import { fieldName } from '../../common/json/body-refusal.js';
import type { MessageRanges } from '../queues/queue-store.js';
import { ItemsBodyScan, MAX_ITEMS } from './items-body.js';
import { checkName } from './names.js';

export const DEFAULT_PARTITION = 'Default';

const PARTITION = fieldName('partition');
const PAYLOAD = fieldName('payload');
const KEPT_ITEMS = 1024;

export class PushBodyScan extends ItemsBodyScan implements MessageRanges {
  partition = DEFAULT_PARTITION;
  payloadBytes = 0;
  starts = new Uint32Array(KEPT_ITEMS);
  ends = new Uint32Array(KEPT_ITEMS);

  constructor() {
    super('messages');
  }

  /** Throws `ephemeral_bad_request`. */
  scan(body: Uint8Array): void {
    this.partition = DEFAULT_PARTITION;
    this.scanBody(body);
    checkName('partition', this.partition);
  }

  protected clear(): void {
    this.payloadBytes = 0;
    if (this.starts.length <= KEPT_ITEMS) return;
    this.starts = new Uint32Array(KEPT_ITEMS);
    this.ends = new Uint32Array(KEPT_ITEMS);
  }

  protected otherKey(): void {
    if (this.cursor.keyIs(PARTITION)) this.partition = this.text('partition') ?? DEFAULT_PARTITION;
    else this.cursor.skip();
  }

  protected item(): void {
    const { cursor } = this;
    let start = 0;
    let end = 0;
    while (cursor.nextKey()) {
      const isPayload = cursor.keyIs(PAYLOAD);
      if (!cursor.skip() || !isPayload) continue;
      start = cursor.valueStart;
      end = cursor.valueEnd;
    }
    if (end === 0) this.refuse(`${this.place}: payload is required`);
    this.add(start, end);
  }

  private add(start: number, end: number): void {
    const { count } = this;
    if (count === this.starts.length && count < MAX_ITEMS) this.grow();
    this.starts[count] = start;
    this.ends[count] = end;
    this.payloadBytes += end - start;
    this.count += 1;
  }

  private grow(): void {
    const size = this.starts.length * 2;
    const starts = new Uint32Array(size);
    const ends = new Uint32Array(size);
    starts.set(this.starts);
    ends.set(this.ends);
    this.starts = starts;
    this.ends = ends;
  }
}
