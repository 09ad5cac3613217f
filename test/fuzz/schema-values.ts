/**
 * Values from a schema of the API document: what it allows, and the same with pieces removed, replaced
 * or added.
 */
import fc from 'fast-check';
import { anyJson, nameValue, numberValue, stringValue } from './junk.js';

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
}

export type Components = Readonly<Record<string, object>>;

const MAX_DEPTH = 6;
const MAX_ITEMS = 4;

export function valueOf(schema: object, components: Components, depth = 0): fc.Arbitrary<unknown> {
  const one = schema as Schema;
  if (depth > MAX_DEPTH) return anyJson();
  if (one.$ref !== undefined) {
    const named = components[one.$ref.split('/').at(-1) ?? ''];
    return named === undefined ? anyJson() : valueOf(named, components, depth + 1);
  }
  const choices = one.oneOf ?? one.anyOf ?? one.allOf;
  if (choices !== undefined && choices.length > 0) {
    return fc.oneof(...choices.map((choice) => valueOf(choice, components, depth + 1)));
  }
  if (one.enum !== undefined && one.enum.length > 0) return fc.constantFrom(...one.enum);
  switch (one.type) {
    case 'object':
      return objectOf(one, components, depth);
    case 'array':
      return fc.array(valueOf(one.items ?? {}, components, depth + 1), { maxLength: MAX_ITEMS });
    case 'string':
      return one.format === undefined ? fc.oneof(nameValue(), stringValue()) : stringValue();
    case 'integer':
    case 'number':
      return integerOf(one);
    case 'boolean':
      return fc.boolean();
    default:
      return anyJson();
  }
}

function integerOf({ minimum = 0, maximum = 1_000 }: Schema): fc.Arbitrary<number> {
  const max = Math.max(minimum, Math.min(maximum, minimum + 1_000));
  return fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: Math.ceil(minimum), max: Math.floor(max) }) },
    { weight: 1, arbitrary: numberValue() },
  );
}

function objectOf(schema: Schema, components: Components, depth: number): fc.Arbitrary<unknown> {
  const properties = Object.entries(schema.properties ?? {});
  if (properties.length === 0) return fc.dictionary(stringValue(), anyJson(), { maxKeys: 3 });
  const record = Object.fromEntries(
    properties.map(([name, property]) => [name, valueOf(property, components, depth + 1)]),
  );
  const requiredKeys = (schema.required ?? []).filter((name) => name in record);
  return fc.record(record, { requiredKeys });
}

/** The value with one place changed. */
export function spoiled(value: unknown): fc.Arbitrary<unknown> {
  return fc
    .tuple(fc.nat(), fc.constantFrom('remove', 'replace', 'wrap', 'add'), anyJson())
    .map(([place, how, other]) => spoil(value, { place, how, other }));
}

interface Change {
  readonly place: number;
  readonly how: string;
  readonly other: unknown;
}

function spoil(value: unknown, change: Change): unknown {
  if (typeof value !== 'object' || value === null) return change.other;
  const keys = Object.keys(value);
  const key = keys[change.place % (keys.length + 1)];
  if (key === undefined) return change.other;
  const inner = (value as Readonly<Record<string, unknown>>)[key];
  const rest = { ...change, place: Math.floor(change.place / (keys.length + 1)) };
  const isDeep = typeof inner === 'object' && inner !== null && rest.place % 2 === 1;
  const replaced = isDeep
    ? spoil(inner, { ...rest, place: rest.place >> 1 })
    : changed(inner, rest);
  const copy: Record<string, unknown> = Array.isArray(value)
    ? (Object.assign([], value) as never)
    : { ...value };
  if (!isDeep && change.how === 'remove' && !Array.isArray(value)) delete copy[key];
  else copy[key] = replaced;
  return copy;
}

function changed(inner: unknown, { how, other }: Change): unknown {
  if (how === 'wrap') return [inner];
  return how === 'add' && Array.isArray(inner) ? [...(inner as unknown[]), other] : other;
}
