/**
 * What the two bodies of ephemeral calls share (state.md §5): one JSON object with a queue, an optional
 * name and one array of items, scanned without parsing what lies in the items. Unknown keys are ignored and of a
 * repeated key the last counts, as in JSON.parse. One scan serves one request at a time.
 */
import { fieldName } from '../../common/json/body-refusal.js';
import { JsonCursor } from '../../common/json/json-cursor.js';
import { failureText, KIND_ARRAY, KIND_NULL, KIND_STRING } from '../../common/json/json-syntax.js';
import { badRequest, checkName } from './names.js';

/** Items of one call. */
export const MAX_ITEMS = 10_000;

const QUEUE = fieldName('queue');

export abstract class ItemsBodyScan {
  bytes: Uint8Array = new Uint8Array(0);
  queue = '';
  count = 0;

  protected readonly cursor = new JsonCursor();
  private readonly field: Uint8Array;
  private hasItems = false;
  private hasQueue = false;
  /** First thing that is wrong with the shape; broken JSON is told before it. */
  private wrong = '';

  /** `name` of the array of items. */
  protected constructor(private readonly name: string) {
    this.field = fieldName(name);
  }

  /** Before a body, and before a repeated array of items. */
  protected abstract clear(): void;
  /** A key that is neither the queue nor the items; the value must be read or skipped. */
  protected abstract otherKey(): void;
  /** The keys of one item, from inside its object; adds it. */
  protected abstract item(): void;

  /** Throws `ephemeral_bad_request`. */
  protected scanBody(body: Uint8Array): void {
    const { cursor } = this;
    this.begin(body);
    if (cursor.enterObject()) {
      while (cursor.nextKey()) this.key();
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
    if (!this.hasItems) throw badRequest(`${this.name} is required`);
    if (this.count > MAX_ITEMS) throw badRequest(`at most ${MAX_ITEMS} ${this.name} in one call`);
    checkName('queue', this.queue);
  }

  /** Null counts as absent. */
  protected text(name: string): string | null {
    const { cursor } = this;
    const kind = cursor.kind();
    if (kind === KIND_STRING) return cursor.readString() ?? '';
    cursor.skip();
    if (kind !== KIND_NULL || name === 'queue') this.refuse(`${name} must be a string`);
    return null;
  }

  protected refuse(text: string): void {
    if (this.wrong === '') this.wrong = text;
  }

  /** `acks[3]`. */
  protected get place(): string {
    return `${this.name}[${this.count}]`;
  }

  private begin(body: Uint8Array): void {
    this.bytes = body;
    this.queue = '';
    this.count = 0;
    this.hasQueue = false;
    this.hasItems = false;
    this.wrong = '';
    this.clear();
    this.cursor.reset(body);
  }

  private key(): void {
    const { cursor } = this;
    if (cursor.keyIs(this.field)) this.items();
    else if (cursor.keyIs(QUEUE)) {
      this.queue = this.text('queue') ?? '';
      this.hasQueue = true;
    } else this.otherKey();
  }

  private items(): void {
    const { cursor } = this;
    this.hasItems = true;
    this.count = 0;
    this.clear();
    if (cursor.kind() !== KIND_ARRAY) {
      cursor.skip();
      this.refuse(`${this.name} must be an array`);
      return;
    }
    cursor.enterArray();
    while (cursor.nextElement()) {
      if (cursor.enterObject()) this.item();
      else {
        cursor.skip();
        this.refuse(`${this.place} must be an object`);
        this.count += 1;
      }
    }
  }
}
