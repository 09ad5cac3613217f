/**
 * Reads a transaction's body (messages.md §8.1). Push items are scanned in place like those of a push,
 * so that payloads pass byte for byte; acks and positions are small and become plain values; the arrays
 * of the plugs are only located. Refusals are TransactionRefusals with the status of §8.5: a wrong
 * shape is 400, a wrong value 200. A field that is null counts as absent.
 */
import type { BodyRefusal } from '../common/json/body-refusal.js';
import { fieldName } from '../common/json/body-refusal.js';
import { JsonCursor } from '../common/json/json-cursor.js';
import { failureText, KIND_ARRAY, KIND_NULL, KIND_OBJECT } from '../common/json/json-syntax.js';
import { PushScan } from '../common/json/push-scan.js';
import { placeOfItem, PushScanner } from '../common/json/push-scanner.js';
import type { ItemsPlace } from '../common/json/push-scanner.js';
import { readUtf8 } from '../common/utf8.js';
import type { JsonObject } from '../http/json-body.js';
import type { TransactionField } from '../http/transaction-plugs.js';
import { TransactionRefusal } from '../http/transaction-plugs.js';
import type { AckOperation } from './ack-operation.js';
import { parseAck } from './ack-operation.js';
import type { PositionOperation } from './position-operation.js';
import { parsePositions } from './position-operation.js';

const TYPE = fieldName('type');
const ITEMS = fieldName('items');
const QUEUE = fieldName('queue');
const PAYLOAD = fieldName('payload');
const TOP_FIELDS = ['operations', 'requiredLeases', 'kv', 'timers', 'positions'] as const;
const FIELD_NAMES = TOP_FIELDS.map(fieldName);

/** A range of the body. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/** In the order of their results. */
export type Operation =
  | { readonly type: 'ack'; readonly ack: AckOperation }
  | {
      readonly type: 'push';
      readonly firstItem: number;
      readonly items: number;
      readonly place: ItemsPlace;
    };

export interface TransactionBody {
  readonly operations: readonly Operation[];
  /** Items of all pushes. */
  readonly scan: PushScan;
  readonly requiredLeases: readonly string[];
  readonly positions: readonly PositionOperation[];
  /** Text of the array, null when it is absent or empty. */
  readonly plugged: Readonly<Record<TransactionField, Uint8Array | null>>;
  /** Set when a value is wrong: refused with 200 once everything else was looked at. */
  readonly wrongValue: TransactionRefusal | null;
}

/** 400: the shape of the body. */
export function wrongShape(text: string): TransactionRefusal {
  return new TransactionRefusal(400, 'bad_request', text);
}

/** 200: a value in it. */
export function wrongValue(text: string, reason = 'bad_request'): TransactionRefusal {
  return new TransactionRefusal(200, reason, text);
}

/** Where an item of all pushes stands: `operations[2].items[0]`. */
export function placeOfPush(operations: readonly Operation[], item: number): string {
  for (const one of operations) {
    if (one.type !== 'push' || item >= one.firstItem + one.items) continue;
    return placeOfItem(one.place, item - one.firstItem);
  }
  return 'operations';
}

export class TransactionBodyReader {
  private readonly scanner = new PushScanner();
  private readonly cursor = new JsonCursor();
  private readonly inner = new JsonCursor();

  /** The body is valid JSON and UTF-8 behind this; `scan` refers to its bytes. */
  read(bytes: Uint8Array): TransactionBody {
    const fields = this.locateFields(bytes);
    const scan = new PushScan();
    const wrong: TransactionRefusal[] = [];
    this.scanner.begin(bytes, scan);
    const operations = this.readOperations(bytes, fields.operations, { scan, wrong });
    const refusal: BodyRefusal | undefined = this.scanner.end();
    if (refusal !== undefined) throw wrongShape(refusal.text);
    const requiredLeases = leasesOf(parsed(bytes, fields.requiredLeases));
    const positions = parsePositions(parsed(bytes, fields.positions), wrong);
    const plugged = {
      kv: this.arrayText(bytes, fields.kv),
      timers: this.arrayText(bytes, fields.timers),
    };
    const isEmpty =
      operations.length === 0 &&
      positions.length === 0 &&
      plugged.kv === null &&
      plugged.timers === null;
    if (isEmpty && wrong.length === 0) wrong.push(wrongValue('the transaction is empty'));
    return { operations, scan, requiredLeases, positions, plugged, wrongValue: wrong[0] ?? null };
  }

  /** Where the known fields are; of a repeated one the last counts. The whole body is checked. */
  private locateFields(bytes: Uint8Array): Record<(typeof TOP_FIELDS)[number], Range | null> {
    const { cursor } = this;
    const found = {
      operations: null,
      requiredLeases: null,
      kv: null,
      timers: null,
      positions: null,
    };
    const ranges: Record<(typeof TOP_FIELDS)[number], Range | null> = found;
    let wrong: string | null = null;
    cursor.reset(bytes);
    if (cursor.enterObject()) {
      while (cursor.nextKey()) {
        const field = TOP_FIELDS.find((_, i) => cursor.keyIs(FIELD_NAMES[i] ?? ITEMS));
        const kind = cursor.kind();
        if (!cursor.skip() || field === undefined) continue;
        ranges[field] = null;
        if (kind === KIND_ARRAY) ranges[field] = { start: cursor.valueStart, end: cursor.valueEnd };
        else if (kind !== KIND_NULL) wrong ??= `${field} must be an array`;
      }
    } else {
      cursor.skip();
      wrong = 'the body must be a JSON object';
    }
    cursor.finish();
    const { failure } = cursor;
    cursor.release();
    if (failure !== 0) throw wrongShape(failureText(failure));
    if (wrong !== null) throw wrongShape(wrong);
    return ranges;
  }

  private readOperations(
    bytes: Uint8Array,
    range: Range | null,
    into: { readonly scan: PushScan; readonly wrong: TransactionRefusal[] },
  ): Operation[] {
    const operations: Operation[] = [];
    if (range === null) return operations;
    const { cursor } = this;
    cursor.reset(bytes, range.start, range.end);
    cursor.enterArray();
    for (let i = 0; cursor.nextElement(); i += 1) {
      const kind = cursor.kind();
      cursor.skip();
      if (kind !== KIND_OBJECT) throw wrongShape(`operations[${i}] must be an object`);
      const own = { start: cursor.valueStart, end: cursor.valueEnd };
      const operation = this.readOperation(bytes, own, { ...into, at: `operations[${i}]` });
      if (operation !== null) operations.push(operation);
    }
    cursor.release();
    return operations;
  }

  private readOperation(
    bytes: Uint8Array,
    range: Range,
    into: {
      readonly scan: PushScan;
      readonly wrong: TransactionRefusal[];
      readonly at: string;
    },
  ): Operation | null {
    const { scan, wrong, at } = into;
    const seen = this.survey(bytes, range);
    if (seen.type === 'ack') {
      const ack = parseAck(JSON.parse(readUtf8(bytes, range.start, range.end)) as JsonObject, at);
      if (ack instanceof TransactionRefusal) wrong.push(ack);
      else return { type: 'ack', ack };
      return null;
    }
    if (seen.type !== 'push') throw wrongShape(`${at}: type must be push or ack`);
    const firstItem = scan.count;
    const place = { within: `${at}.`, isInline: seen.items === null };
    const { inner } = this;
    this.scanner.place(place);
    if (seen.items !== null) {
      inner.reset(bytes, seen.items.start, seen.items.end);
      this.scanner.scanItems(inner);
    } else if (seen.hasQueue && seen.hasPayload) {
      inner.reset(bytes, range.start, range.end);
      this.scanner.scanItem(inner);
    } else {
      wrong.push(wrongValue(`${at}: a push needs items, or queue and payload`));
    }
    return { type: 'push', firstItem, items: scan.count - firstItem, place };
  }

  /** Looks at the fields that say what an operation is. */
  private survey(bytes: Uint8Array, range: Range) {
    const { inner } = this;
    const seen: {
      type: string | undefined;
      items: Range | null;
      hasQueue: boolean;
      hasPayload: boolean;
    } = { type: undefined, items: null, hasQueue: false, hasPayload: false };
    inner.reset(bytes, range.start, range.end);
    inner.enterObject();
    while (inner.nextKey()) {
      if (inner.keyIs(TYPE)) {
        seen.type = inner.readString();
        if (seen.type !== undefined) continue;
        inner.skip();
        continue;
      }
      const isItems = inner.keyIs(ITEMS);
      const isQueue = inner.keyIs(QUEUE);
      const isPayload = inner.keyIs(PAYLOAD);
      const isNull = inner.kind() === KIND_NULL;
      inner.skip();
      if (isItems) seen.items = isNull ? null : { start: inner.valueStart, end: inner.valueEnd };
      else if (isQueue) seen.hasQueue = !isNull;
      else if (isPayload) seen.hasPayload = true;
    }
    return seen;
  }

  private arrayText(bytes: Uint8Array, range: Range | null): Uint8Array | null {
    if (range === null) return null;
    const { cursor } = this;
    cursor.reset(bytes, range.start, range.end);
    cursor.enterArray();
    const isEmpty = !cursor.nextElement();
    cursor.release();
    return isEmpty ? null : bytes.subarray(range.start, range.end);
  }
}

function parsed(bytes: Uint8Array, range: Range | null): unknown[] {
  return range === null ? [] : (JSON.parse(readUtf8(bytes, range.start, range.end)) as unknown[]);
}

function leasesOf(values: readonly unknown[]): string[] {
  return values
    .map((value) => {
      if (typeof value === 'string') return value;
      throw wrongShape('requiredLeases must be an array of strings');
    })
    .filter((lease) => lease !== '');
}
