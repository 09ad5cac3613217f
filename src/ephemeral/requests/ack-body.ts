/**
 * Scans `{"queue","group"?,"acks":[{"id","status"?,"error"?},…]}` (state.md §5.4): ids are ranges of the
 * body and come back in the answer as they were written. One scan serves one request at a time.
 */
import { fieldName } from '../../common/json/body-refusal.js';
import { JsonCursor } from '../../common/json/json-cursor.js';
import { failureText, KIND_ARRAY, KIND_NULL, KIND_STRING } from '../../common/json/json-syntax.js';
import { decodeString } from '../../common/json/json-text.js';
import { badRequest, checkName } from './names.js';

const MAX_ACKS = 10_000;
const QUEUE = fieldName('queue');
const GROUP = fieldName('group');
const ACKS = fieldName('acks');
const ID = fieldName('id');
const STATUS = fieldName('status');
const COMPLETED: ReadonlySet<string> = new Set(['completed', 'success', 'acked', 'ok']);
const KEPT_ITEMS = 256;

export class AckBodyScan {
  bytes: Uint8Array = new Uint8Array(0);
  queue = '';
  /** Empty = queue mode. */
  group = '';
  count = 0;

  private starts = new Uint32Array(KEPT_ITEMS);
  private ends = new Uint32Array(KEPT_ITEMS);
  private completed = new Uint8Array(KEPT_ITEMS);
  private readonly cursor = new JsonCursor();
  private hasQueue = false;
  private hasAcks = false;
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
    if (!this.hasAcks) throw badRequest('acks is required');
    if (this.count > MAX_ACKS) throw badRequest(`at most ${MAX_ACKS} acks in one call`);
    checkName('queue', this.queue);
    if (this.group !== '') checkName('group', this.group);
  }

  /** The id's text, escapes resolved. */
  idText(item: number): string {
    const { starts, ends } = this;
    return decodeString(this.bytes, (starts[item] ?? 0) + 1, (ends[item] ?? 0) - 1);
  }

  /** Where the id stands in the body, quotes included. */
  idStart(item: number): number {
    return this.starts[item] ?? 0;
  }

  idEnd(item: number): number {
    return this.ends[item] ?? 0;
  }

  isCompleted(item: number): boolean {
    return this.completed[item] === 1;
  }

  private begin(body: Uint8Array): void {
    this.bytes = body;
    this.queue = '';
    this.group = '';
    this.count = 0;
    this.hasQueue = false;
    this.hasAcks = false;
    this.wrong = '';
    this.cursor.reset(body);
  }

  private field(): void {
    const { cursor } = this;
    if (cursor.keyIs(ACKS)) this.acks();
    else if (cursor.keyIs(QUEUE)) {
      this.queue = this.text('queue');
      this.hasQueue = true;
    } else if (cursor.keyIs(GROUP)) this.group = this.text('group');
    else cursor.skip();
  }

  private text(name: 'queue' | 'group'): string {
    const { cursor } = this;
    const kind = cursor.kind();
    if (kind === KIND_STRING) return cursor.readString() ?? '';
    cursor.skip();
    if (kind !== KIND_NULL || name === 'queue') this.refuse(`${name} must be a string`);
    return '';
  }

  private acks(): void {
    const { cursor } = this;
    this.hasAcks = true;
    this.count = 0;
    if (cursor.kind() !== KIND_ARRAY) {
      cursor.skip();
      this.refuse('acks must be an array');
      return;
    }
    cursor.enterArray();
    while (cursor.nextElement()) this.ack();
  }

  private ack(): void {
    const { cursor } = this;
    if (!cursor.enterObject()) {
      cursor.skip();
      this.refuse(`acks[${this.count}] must be an object`);
      this.count += 1;
      return;
    }
    let start = 0;
    let end = 0;
    let completed = true;
    while (cursor.nextKey()) {
      if (cursor.keyIs(ID)) {
        const isText = cursor.kind() === KIND_STRING;
        if (!cursor.skip()) return;
        if (!isText) this.refuse(`acks[${this.count}]: id must be a string`);
        start = cursor.valueStart;
        end = cursor.valueEnd;
      } else if (cursor.keyIs(STATUS)) completed = this.status();
      else cursor.skip();
    }
    if (end === 0) this.refuse(`acks[${this.count}]: id is required`);
    this.add(start, end, completed);
  }

  /** Absent counts as completed, anything unknown as failed. */
  private status(): boolean {
    const { cursor } = this;
    const kind = cursor.kind();
    if (kind === KIND_STRING) return COMPLETED.has(cursor.readString() ?? '');
    cursor.skip();
    return kind === KIND_NULL;
  }

  private add(start: number, end: number, completed: boolean): void {
    const { count } = this;
    if (count === this.starts.length && count < MAX_ACKS) this.grow();
    this.starts[count] = start;
    this.ends[count] = end;
    this.completed[count] = completed ? 1 : 0;
    this.count += 1;
  }

  private grow(): void {
    const size = this.starts.length * 2;
    const starts = new Uint32Array(size);
    const ends = new Uint32Array(size);
    const completed = new Uint8Array(size);
    starts.set(this.starts);
    ends.set(this.ends);
    completed.set(this.completed);
    this.starts = starts;
    this.ends = ends;
    this.completed = completed;
  }

  private refuse(text: string): void {
    if (this.wrong === '') this.wrong = text;
  }
}
