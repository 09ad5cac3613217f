/**
 * State rows of a stream query in a view: one source partition, in key order. Keys that are named are
 * read one by one; the rest is a walk of one range, in slices that count bytes as well as rows.
 */
import { compareBytes } from '../common/byte-order.js';
import { QueenError } from '../common/errors.js';
import { utf8Length } from '../common/utf8.js';
import { MAX_STATE_KEY_BYTES } from '../machine/commands/index.js';
import type { StatePlace } from '../machine/tables/stream-rows.js';
import {
  decodeStateRow,
  keyStateKey,
  streamStateKey,
  streamStateRange,
} from '../machine/tables/stream-rows.js';
import type { RowView } from './append-rows.js';
import { Slices } from './slices.js';

/** Keys read at once. */
const KEYS_AT_ONCE = 64;
/** So many bytes of a value weigh as much as a row. */
const BYTES_PER_UNIT = 2048;

/** A view that also answers exact keys. */
export interface StateView extends RowView {
  get(key: Uint8Array): Promise<Uint8Array | undefined>;
}

/** Which rows; a row must be all of it. */
export interface StateSelection {
  /** Null: any. */
  readonly keys: readonly string[] | null;
  readonly prefix: string;
  /** Exclusive; '' is before all. */
  readonly after: string;
}

export interface StateEntry {
  readonly key: string;
  readonly updatedAt: number;
  /** JSON; good until the next row is taken. */
  readonly value: Uint8Array;
}

/** The rows in key order. Throws `timeout` when `isLate` says so on the way. */
export async function* stateRows(
  view: StateView,
  place: StatePlace,
  selection: StateSelection,
  isLate: () => boolean,
): AsyncGenerator<StateEntry> {
  const slices = new Slices();
  const { keys } = selection;
  const rows = keys === null ? walked(view, place, selection) : named(view, place, selection);
  for await (const [key, row] of rows) {
    const { updatedAt, value } = decodeStateRow(row);
    yield { key, updatedAt, value };
    if (!slices.isSpent(1 + Math.floor(value.length / BYTES_PER_UNIT))) continue;
    if (isLate()) throw new QueenError('timeout');
    await slices.pause();
  }
}

type KeyedRow = readonly [string, Uint8Array];

async function* walked(
  view: StateView,
  place: StatePlace,
  { prefix, after }: StateSelection,
): AsyncGenerator<KeyedRow> {
  const range = streamStateRange(place, prefix);
  const beyond = after === '' ? range.gte : following(streamStateKey(place, after));
  const gte = Buffer.compare(beyond, range.gte) > 0 ? beyond : range.gte;
  if (Buffer.compare(gte, range.lt) >= 0) return;
  for await (const [key, row] of view.iterate({ gte, lt: range.lt })) yield [keyStateKey(key), row];
}

async function* named(
  view: StateView,
  place: StatePlace,
  { keys, prefix, after }: StateSelection,
): AsyncGenerator<KeyedRow> {
  const wanted = [...new Set(keys)]
    .filter((key) => key.startsWith(prefix) && (after === '' || compareBytes(key, after) > 0))
    .filter((key) => utf8Length(key) <= MAX_STATE_KEY_BYTES)
    .sort(compareBytes);
  for (let at = 0; at < wanted.length; at += KEYS_AT_ONCE) {
    const some = wanted.slice(at, at + KEYS_AT_ONCE);
    const rows = await Promise.all(some.map((key) => view.get(streamStateKey(place, key))));
    for (const [i, row] of rows.entries()) {
      if (row !== undefined) yield [some[i] ?? '', row];
    }
  }
}

/** The first key behind this one. */
function following(key: Uint8Array): Uint8Array {
  const next = new Uint8Array(key.length + 1);
  next.set(key);
  return next;
}
