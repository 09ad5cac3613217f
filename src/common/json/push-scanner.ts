/**
 * Scans `{"items":[{queue, partition, transactionId, payload, traceId}]}` into a PushScan (spec
 * messages.md §4.1). The whole body is checked; keys may come in any order, unknown ones are ignored
 * and of a repeated key the last counts, as in JSON.parse. Judged per item:
 *
 *   queue          missing or no string → bad_body, "" → bad_request
 *   partition      absent, null, "" → Default; any other non-string → bad_body
 *   transactionId  absent, null, "" → minted later; any other non-string → bad_body
 *   payload        key absent → bad_body; any JSON value
 *   traceId        kept when it is a UUID, ignored otherwise (push ignores it, transactions do not)
 *
 * A name or id with an escaped lone surrogate is no Unicode text: bad_body. Broken JSON is reported
 * before a wrong shape, a wrong shape before a wrong value.
 */

import { parseUuidInto, UUID_BYTES, UUID_TEXT_BYTES } from '../uuid-v7.js';
import { badBody, badRequest, fieldName, type BodyRefusal } from './body-refusal.js';
import { JsonCursor } from './json-cursor.js';
import { failureText, KIND_ARRAY, KIND_NULL, KIND_STRING } from './json-syntax.js';
import { unescapeInto } from './json-text.js';
import { ITEM_HAS_ID, ITEM_HAS_TRACE_ID, ITEM_ID_IN_ARENA, type PushScan } from './push-scan.js';

const ITEMS = fieldName('items');
const QUEUE = fieldName('queue');
const PARTITION = fieldName('partition');
const TRANSACTION_ID = fieldName('transactionId');
const PAYLOAD = fieldName('payload');
const TRACE_ID = fieldName('traceId');
const DEFAULT_PARTITION = fieldName('Default');

/** Where items stand in a body. */
export interface ItemsPlace {
  /** `operations[2].`, or nothing: the body itself. */
  readonly within: string;
  /** The item is what it stands within, not an element of its `items`. */
  readonly isInline: boolean;
}

const WHOLE_BODY: ItemsPlace = { within: '', isInline: false };

/** `items[3]`, `operations[2].items[3]`, `operations[2]`. */
export function placeOfItem({ within, isInline }: ItemsPlace, item: number): string {
  return isInline ? within.slice(0, -1) : `${within}items[${item}]`;
}

/** What was seen of a string field. */
const ABSENT = 0;
const TEXT = 1;
const WRONG_TYPE = 2;

/** A string field of the item being scanned; one object per field and scanner, reused. */
class TextField {
  state = ABSENT;
  start = 0;
  end = 0;
  hasEscape = false;

  constructor(readonly name: string) {}

  clear(): void {
    this.state = ABSENT;
    this.start = 0;
    this.end = 0;
    this.hasEscape = false;
  }

  /** Takes the value that comes next. */
  take(cursor: JsonCursor): void {
    const kind = cursor.kind();
    if (!cursor.skip()) return;
    this.state = kind === KIND_STRING ? TEXT : kind === KIND_NULL ? ABSENT : WRONG_TYPE;
    this.start = cursor.valueStart + 1;
    this.end = this.state === TEXT ? cursor.valueEnd - 1 : this.start;
    this.hasEscape = cursor.valueHasEscape;
  }

  get isEmpty(): boolean {
    return this.start === this.end;
  }

  /** True when the field's raw bytes are bytes[start, end); end −1 stands for "nothing yet". */
  hasSameBytes(bytes: Uint8Array, start: number, end: number): boolean {
    if (end - start !== this.end - this.start || end < 0) return false;
    for (let p = start, own = this.start; p < end; p++, own++) {
      if (bytes[p] !== bytes[own]) return false;
    }
    return true;
  }
}

export class PushScanner {
  private readonly cursor = new JsonCursor();
  private readonly queue = new TextField('queue');
  private readonly partition = new TextField('partition');
  private readonly transactionId = new TextField('transactionId');
  private readonly traceId = new TextField('traceId');
  private payloadStart = 0;
  private payloadEnd = 0;
  private readonly uuidScratch = new Uint8Array(UUID_BYTES);

  private scan: PushScan | undefined;
  private itemsPlace = WHOLE_BODY;
  private firstItem = 0;
  private shapeError: BodyRefusal | undefined;
  private valueError: BodyRefusal | undefined;
  /** Raw ranges of the names interned last, to recognise a run of equal targets without hashing. */
  private lastQueueStart = 0;
  private lastQueueEnd = -1;
  private lastQueue = 0;
  private lastPartitionStart = 0;
  private lastPartitionEnd = 0;
  private lastTarget = 0;

  /** Fills `scan` from a whole push body; a refusal leaves it in no defined state. */
  scanBody(body: Uint8Array, scan: PushScan): BodyRefusal | undefined {
    const cursor = this.cursor;
    cursor.reset(body);
    this.begin(body, scan);
    let hasItems = false;
    if (cursor.enterObject()) {
      while (cursor.nextKey()) {
        if (!cursor.keyIs(ITEMS)) {
          cursor.skip();
          continue;
        }
        this.begin(body, scan);
        hasItems = true;
        if (cursor.kind() === KIND_ARRAY) this.scanArray(cursor);
        else this.skipWrong(cursor, 'items must be an array');
      }
    } else {
      this.skipWrong(cursor, 'the body must be a JSON object');
    }
    cursor.finish();
    if (!hasItems) this.refuseShape('items is required');
    const failure = cursor.failure;
    cursor.release();
    return failure === 0 ? this.end() : badBody(failureText(failure));
  }

  /**
   * For bodies that hold push items in other places (transactions): `begin`, then `place`, and
   * `scanItems` or `scanItem` with the caller's cursor at the value, then `end`. Items pile up in the scan.
   */
  begin(body: Uint8Array, scan: PushScan): void {
    this.scan = scan;
    scan.clear();
    scan.body = body;
    this.shapeError = undefined;
    this.valueError = undefined;
    this.place(WHOLE_BODY);
    // With no last queue the last partition and target are not looked at.
    this.lastQueueEnd = -1;
  }

  /** Where the items that come next stand, for the texts of refusals. */
  place(place: ItemsPlace): void {
    this.itemsPlace = place;
    this.firstItem = this.scanInUse().count;
  }

  /** Scans the array of items that comes next. */
  scanItems(cursor: JsonCursor): void {
    if (cursor.kind() === KIND_ARRAY) this.scanArray(cursor);
    else this.skipWrong(cursor, `${this.itemsPlace.within}items must be an array`);
  }

  /** The first refusal of what was scanned since `begin`: shape before value. */
  end(): BodyRefusal | undefined {
    this.scan = undefined;
    return this.shapeError ?? this.valueError;
  }

  private scanArray(cursor: JsonCursor): void {
    cursor.enterArray();
    while (cursor.nextElement()) this.scanItem(cursor);
  }

  /** Scans one item; fields that are no item fields are ignored. */
  scanItem(cursor: JsonCursor): void {
    this.queue.clear();
    this.partition.clear();
    this.transactionId.clear();
    this.traceId.clear();
    this.payloadEnd = 0;
    if (!cursor.enterObject()) {
      this.skipWrong(cursor, this.at('must be an object'));
      return;
    }
    while (cursor.nextKey()) this.scanField(cursor);
    if (cursor.failure === 0) this.closeItem(cursor.bytes);
  }

  private scanField(cursor: JsonCursor): void {
    if (cursor.keyIs(PAYLOAD)) {
      if (!cursor.skip()) return;
      this.payloadStart = cursor.valueStart;
      this.payloadEnd = cursor.valueEnd;
    } else if (cursor.keyIs(QUEUE)) this.queue.take(cursor);
    else if (cursor.keyIs(PARTITION)) this.partition.take(cursor);
    else if (cursor.keyIs(TRANSACTION_ID)) this.transactionId.take(cursor);
    else if (cursor.keyIs(TRACE_ID)) this.traceId.take(cursor);
    else cursor.skip();
  }

  /** Judges the item and writes its row. A refused item still counts, so that texts name the right one. */
  private closeItem(body: Uint8Array): void {
    const { queue, partition, transactionId } = this;
    const scan = this.scanInUse();
    if (queue.state === ABSENT) this.refuseShape(this.at('queue is required'));
    this.checkType(queue);
    this.checkType(partition);
    this.checkType(transactionId);
    if (this.payloadEnd === 0) this.refuseShape(this.at('payload is required'));
    if (queue.state === TEXT && queue.isEmpty) {
      this.valueError ??= badRequest(this.at('queue must not be empty'));
    }
    const item = scan.addItem();
    scan.payloadStarts[item] = this.payloadStart;
    scan.payloadEnds[item] = this.payloadEnd;
    scan.flags[item] = 0;
    if (this.shapeError !== undefined) return;
    scan.targetOf[item] = this.internTarget(body, scan);
    if (!transactionId.isEmpty) this.noteId(item, body, scan);
    this.noteTraceId(item, body, scan);
  }

  private checkType(field: TextField): void {
    if (field.state === WRONG_TYPE) this.refuseShape(this.at(`${field.name} must be a string`));
  }

  private internTarget(body: Uint8Array, scan: PushScan): number {
    const { queue, partition } = this;
    if (!queue.hasSameBytes(body, this.lastQueueStart, this.lastQueueEnd)) {
      this.lastQueue = scan.queues.intern(this.appendText(body, queue, scan), 0);
      this.lastQueueStart = queue.start;
      this.lastQueueEnd = queue.end;
    } else if (partition.hasSameBytes(body, this.lastPartitionStart, this.lastPartitionEnd)) {
      return this.lastTarget;
    }
    const start = scan.arena.length;
    if (partition.isEmpty) scan.arena.raw(DEFAULT_PARTITION);
    else this.appendText(body, partition, scan);
    this.lastTarget = scan.targets.intern(start, this.lastQueue);
    this.lastPartitionStart = partition.start;
    this.lastPartitionEnd = partition.end;
    return this.lastTarget;
  }

  private noteId(item: number, body: Uint8Array, scan: PushScan): void {
    const { start, end } = this.transactionId;
    scan.flags[item] = ITEM_HAS_ID;
    scan.idStarts[item] = start;
    scan.idEnds[item] = end;
    if (!this.transactionId.hasEscape) return;
    scan.idStarts[item] = this.appendText(body, this.transactionId, scan);
    scan.idEnds[item] = scan.arena.length;
    scan.flags[item] = ITEM_HAS_ID | ITEM_ID_IN_ARENA;
  }

  private noteTraceId(item: number, body: Uint8Array, scan: PushScan): void {
    const { state, start, end } = this.traceId;
    if (state !== TEXT || end - start !== UUID_TEXT_BYTES) return;
    if (!parseUuidInto(body, start, this.uuidScratch, 0)) return;
    scan.traceStarts[item] = start;
    scan.flags[item] = (scan.flags[item] ?? 0) | ITEM_HAS_TRACE_ID;
  }

  /** Appends the field's text to the arena, escapes resolved, and answers where it starts. */
  private appendText(body: Uint8Array, field: TextField, scan: PushScan): number {
    const arena = scan.arena;
    const start = arena.length;
    if (!field.hasEscape) {
      arena.rawRange(body, field.start, field.end);
      return start;
    }
    arena.reserve(field.end - field.start);
    const end = unescapeInto(body, field.start, field.end, arena.bytes, start);
    if (end < 0) this.refuseShape(this.at(`${field.name} is not Unicode text`, scan.count - 1));
    arena.truncate(Math.max(start, end));
    return start;
  }

  private skipWrong(cursor: JsonCursor, text: string): void {
    cursor.skip();
    this.refuseShape(text);
  }

  private refuseShape(text: string): void {
    this.shapeError ??= badBody(text);
  }

  private at(text: string, item = this.scanInUse().count): string {
    return `${placeOfItem(this.itemsPlace, item - this.firstItem)}: ${text}`;
  }

  private scanInUse(): PushScan {
    if (this.scan === undefined) throw new Error('begin comes first');
    return this.scan;
  }
}
