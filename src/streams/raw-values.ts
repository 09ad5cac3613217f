/** Values inside an array of the body as they stand there, byte for byte: numbers keep their digits. */
import { fieldName } from '../common/json/body-refusal.js';
import { compactJson } from '../common/json/json-compact.js';
import { JsonCursor } from '../common/json/json-cursor.js';

/**
 * Per element of the array in field `array`: the compact JSON of the first of `names` it has, null when
 * it has none. The body is valid JSON; of repeated fields the last counts.
 */
export function rawValues(
  body: Uint8Array,
  array: string,
  names: readonly string[],
): (Uint8Array | null)[] {
  const field = fieldName(array);
  const fields = names.map(fieldName);
  const cursor = new JsonCursor();
  let values: (Uint8Array | null)[] = [];
  cursor.reset(body);
  cursor.enterObject();
  while (cursor.nextKey()) {
    if (!cursor.keyIs(field) || !cursor.enterArray()) {
      cursor.skip();
      continue;
    }
    values = [];
    while (cursor.nextElement()) values.push(elementValue(cursor, fields));
  }
  return values;
}

function elementValue(cursor: JsonCursor, fields: readonly Uint8Array[]): Uint8Array | null {
  if (!cursor.enterObject()) {
    cursor.skip();
    return null;
  }
  let best = fields.length;
  let value: Uint8Array | null = null;
  while (cursor.nextKey()) {
    const rank = fields.findIndex((name) => cursor.keyIs(name));
    cursor.skip();
    if (rank < 0 || rank > best) continue;
    best = rank;
    value = compactJson(cursor.bytes, cursor.valueStart, cursor.valueEnd);
  }
  return value;
}
