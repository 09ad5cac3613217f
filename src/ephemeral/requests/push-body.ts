/**
 * Scans `{"queue","partition"?,"messages":[{"payload"},…]}` (state.md §5.2). Payloads are ranges of the
 * body, never parsed; unknown keys are ignored and of a repeated key the last counts, as in JSON.parse. One
 * scan serves one request at a time and is valid until the next.
 */
import { fieldName } from '../../common/json/body-refusal.js';
import { JsonCursor } from '../../common/json/json-cursor.js';
import { failureText, KIND_ARRAY, KIND_NULL, KIND_STRING } from '../../common/json/json-syntax.js';
import type { MessageRanges } from '../queues/queue-store.js';
import { badRequest, checkName } from './names.js';

export const MAX_MESSAGES = 10_000;
export const DEFAULT_PARTITION = 'Default';

const QUEUE = fieldName('queue');
const PARTITION = fieldName('partition');
const MESSAGES = fieldName('messages');
const PAYLOAD = fieldName('payload');
const KEPT_ITEMS = 1024;

export class PushBodyScan implements MessageRanges {
  bytes: Uint8Array = new Uint8Array(0);
  queue = '';
  partition = DEFAULT_PARTITION;
  count = 0;
  payloadBytes = 0;
  starts = new Uint32Array(KEPT_ITEMS);
  ends = new Uint32Array(KEPT_ITEMS);

  private readonly cursor = new JsonCursor();
  private hasMessages = false;
  private hasQueue = false;
  /** First thing that is wrong with the shape; broken JSON is told before it. */
  private wrong = '';

  /** Throws `ephemeral_bad_request`. */
  scan(body: Uint8Array): void {
    const { cursor } = this;
    this.begin(body);
    if (cursor.enterObject()) {
      while (cursor.nextKey()) this.field();
    } else {
      cursor.skip();
      this.refuse('the body must be a JSON object');
    }
    cursor.finish();
    const { failure } = cursor;
    cursor.release();
    if (failure !== 0) throw badRequest(failureText(failure));
    if (this.wrong !== '') throw badRequest(this.wrong);
    if (!this.hasQueue) throw badRequest('queue is required');
    if (!this.hasMessages) throw badRequest('messages is required');
    if (this.count > MAX_MESSAGES) throw badRequest(`at most ${MAX_MESSAGES} messages in one call`);
    checkName('queue', this.queue);
    checkName('partition', this.partition);
  }

  private begin(body: Uint8Array): void {
    this.bytes = body;
    this.queue = '';
    this.partition = DEFAULT_PARTITION;
    this.hasQueue = false;
    this.hasMessages = false;
    this.wrong = '';
    this.clearMessages();
    this.cursor.reset(body);
  }

  private clearMessages(): void {
    this.count = 0;
    this.payloadBytes = 0;
    if (this.starts.length <= KEPT_ITEMS) return;
    this.starts = new Uint32Array(KEPT_ITEMS);
    this.ends = new Uint32Array(KEPT_ITEMS);
  }

  private field(): void {
    const { cursor } = this;
    if (cursor.keyIs(MESSAGES)) this.messages();
    else if (cursor.keyIs(QUEUE)) {
      this.queue = this.text('queue') ?? '';
      this.hasQueue = true;
    } else if (cursor.keyIs(PARTITION)) {
      this.partition = this.text('partition') ?? DEFAULT_PARTITION;
    } else cursor.skip();
  }

  /** Null counts as absent. */
  private text(name: string): string | null {
    const { cursor } = this;
    const kind = cursor.kind();
    if (kind === KIND_STRING) return cursor.readString() ?? '';
    cursor.skip();
    if (kind !== KIND_NULL || name === 'queue') this.refuse(`${name} must be a string`);
    return null;
  }

  private messages(): void {
    const { cursor } = this;
    this.hasMessages = true;
    this.clearMessages();
    if (cursor.kind() !== KIND_ARRAY) {
      cursor.skip();
      this.refuse('messages must be an array');
      return;
    }
    cursor.enterArray();
    while (cursor.nextElement()) this.message();
  }

  private message(): void {
    const { cursor } = this;
    if (!cursor.enterObject()) {
      cursor.skip();
      this.refuse(`messages[${this.count}] must be an object`);
      this.count += 1;
      return;
    }
    let start = 0;
    let end = 0;
    while (cursor.nextKey()) {
      const isPayload = cursor.keyIs(PAYLOAD);
      if (!cursor.skip() || !isPayload) continue;
      start = cursor.valueStart;
      end = cursor.valueEnd;
    }
    if (end === 0) this.refuse(`messages[${this.count}]: payload is required`);
    this.add(start, end);
  }

  private add(start: number, end: number): void {
    const { count } = this;
    if (count === this.starts.length && count < MAX_MESSAGES) this.grow();
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

  private refuse(text: string): void {
    if (this.wrong === '') this.wrong = text;
  }
}
