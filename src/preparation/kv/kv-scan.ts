/**
 * From the bytes of a request to its key-value operations as raw fields: nothing is parsed that is not
 * looked at later, values keep their bytes. Checks JSON only; what a field may say is kv-validate.ts.
 */
import { JsonCursor } from '../../common/json/json-cursor.js';
import { compactJson } from '../../common/json/json-compact.js';
import { KIND_ARRAY, KIND_NULL, KIND_OBJECT, KIND_STRING } from '../../common/json/json-syntax.js';
import { decodeString } from '../../common/json/json-text.js';
import { encodeUtf8, readUtf8 } from '../../common/utf8.js';

/** One JSON value where it stands. */
export interface RawValue {
  /** KIND_… of json-syntax.ts. */
  readonly kind: number;
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** Fields by name, the last of repeated ones; null when the element is no object. */
export type RawOperation = ReadonlyMap<string, RawValue> | null;

export interface RawOperations {
  /** At most `keep` + 1 of them. */
  readonly operations: readonly RawOperation[];
  /** All there were. */
  readonly count: number;
}

const cursor = new JsonCursor();

/** `{"operations":[…]}` or a bare array; null when the body is neither. */
export function scanOperationsBody(bytes: Uint8Array, keep: number): RawOperations | null {
  cursor.reset(bytes);
  let found: RawOperations | null = null;
  if (cursor.kind() === KIND_ARRAY) {
    found = scanArray(keep);
  } else if (cursor.enterObject()) {
    while (cursor.nextKey()) {
      if (cursor.keyText() !== 'operations') cursor.skip();
      else found = scanElement(keep);
    }
  }
  const complete = cursor.finish();
  cursor.release();
  return complete ? found : null;
}

/** The array that is bytes[start, end); null when it is none. */
export function scanOperationsArray(value: RawValue, keep: number): RawOperations | null {
  cursor.reset(value.bytes, value.start, value.end);
  const found = cursor.kind() === KIND_ARRAY ? scanArray(keep) : null;
  cursor.release();
  return found;
}

/** The fields of a body that is one object; null when it is none. */
export function scanObject(bytes: Uint8Array): Map<string, RawValue> | null {
  cursor.reset(bytes);
  const fields = cursor.kind() === KIND_OBJECT ? scanFields() : null;
  const complete = cursor.finish();
  cursor.release();
  return complete ? fields : null;
}

/** The elements of an array value; undefined when it is none. */
export function elementsOf(value: RawValue): RawValue[] | undefined {
  if (value.kind !== KIND_ARRAY) return undefined;
  cursor.reset(value.bytes, value.start, value.end);
  const elements: RawValue[] = [];
  cursor.enterArray();
  while (cursor.nextElement()) elements.push(scanValue());
  cursor.release();
  return elements;
}

/** A text that did not come from JSON, as if it had. */
export function rawText(text: string): RawValue {
  const bytes = encodeUtf8(JSON.stringify(text));
  return { kind: KIND_STRING, bytes, start: 0, end: bytes.length };
}

/** A string is itself, another value its JSON text; null counts as absent. */
export function textOf(value: RawValue | undefined): string | undefined {
  if (value === undefined || value.kind === KIND_NULL) return undefined;
  if (value.kind === KIND_STRING) return decodeString(value.bytes, value.start + 1, value.end - 1);
  const compact = compactOf(value);
  return readUtf8(compact, 0, compact.length);
}

export function compactOf(value: RawValue): Uint8Array {
  return compactJson(value.bytes, value.start, value.end);
}

function scanElement(keep: number): RawOperations | null {
  if (cursor.kind() === KIND_ARRAY) return scanArray(keep);
  cursor.skip();
  return null;
}

function scanArray(keep: number): RawOperations {
  const operations: RawOperation[] = [];
  let count = 0;
  cursor.enterArray();
  while (cursor.nextElement()) {
    count += 1;
    if (operations.length > keep || cursor.kind() !== KIND_OBJECT) {
      cursor.skip();
      if (operations.length <= keep) operations.push(null);
    } else {
      operations.push(scanFields());
    }
  }
  return { operations, count };
}

function scanFields(): Map<string, RawValue> {
  const fields = new Map<string, RawValue>();
  cursor.enterObject();
  while (cursor.nextKey()) fields.set(cursor.keyText(), scanValue());
  return fields;
}

function scanValue(): RawValue {
  const kind = cursor.kind();
  cursor.skip();
  return { kind, bytes: cursor.bytes, start: cursor.valueStart, end: cursor.valueEnd };
}
