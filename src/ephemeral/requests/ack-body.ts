/**
 * Scans `{"queue","group"?,"acks":[{"id","status"?,"error"?},…]}` (state.md §5.4): ids are ranges of the
 * body and come back in the answer as they were written.
 */
import { fieldName } from '../../common/json/body-refusal.js';
import { KIND_NULL, KIND_STRING } from '../../common/json/json-syntax.js';
import { decodeString } from '../../common/json/json-text.js';
import { ItemsBodyScan, MAX_ITEMS } from './items-body.js';
import { checkName } from './names.js';

const GROUP = fieldName('group');
const ID = fieldName('id');
const STATUS = fieldName('status');
const COMPLETED: ReadonlySet<string> = new Set(['completed', 'success', 'acked', 'ok']);
const KEPT_ITEMS = 256;

export class AckBodyScan extends ItemsBodyScan {
  /** Empty = queue mode. */
  group = '';

  private starts = new Uint32Array(KEPT_ITEMS);
  private ends = new Uint32Array(KEPT_ITEMS);
  private completed = new Uint8Array(KEPT_ITEMS);

  constructor() {
    super('acks');
  }

  /** Throws `ephemeral_bad_request`. */
  scan(body: Uint8Array): void {
    this.group = '';
    this.scanBody(body);
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

  protected clear(): void {
    // The arrays are written over.
  }

  protected otherKey(): void {
    if (this.cursor.keyIs(GROUP)) this.group = this.text('group') ?? '';
    else this.cursor.skip();
  }

  protected item(): void {
    const { cursor } = this;
    let start = 0;
    let end = 0;
    let completed = true;
    while (cursor.nextKey()) {
      if (cursor.keyIs(ID)) {
        const isText = cursor.kind() === KIND_STRING;
        if (!cursor.skip()) return;
        if (!isText) this.refuse(`${this.place}: id must be a string`);
        start = cursor.valueStart;
        end = cursor.valueEnd;
      } else if (cursor.keyIs(STATUS)) completed = this.status();
      else cursor.skip();
    }
    if (end === 0) this.refuse(`${this.place}: id is required`);
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
    if (count === this.starts.length && count < MAX_ITEMS) this.grow();
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
}
