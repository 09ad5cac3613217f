/** State rows of a stream query in a view: one source partition, in key order, in slices. */
import type { StatePlace } from '../machine/tables/stream-rows.js';
import { decodeStateRow, keyStateKey, streamStateRange } from '../machine/tables/stream-rows.js';
import type { RowView } from './append-rows.js';
import { Slices } from './slices.js';

export interface StateEntry {
  readonly key: string;
  readonly updatedAt: number;
  /** JSON, a copy. */
  readonly value: Uint8Array;
}

/** Rows whose key starts with `prefix` and that `keep` wants. */
export async function stateRows(
  view: RowView,
  place: StatePlace,
  wanted: { readonly prefix: string; readonly keep: (entry: StateEntry) => boolean },
): Promise<StateEntry[]> {
  const slices = new Slices();
  const entries: StateEntry[] = [];
  for await (const [key, row] of view.iterate(streamStateRange(place, wanted.prefix))) {
    const { updatedAt, value } = decodeStateRow(row);
    const entry = { key: keyStateKey(key), updatedAt, value: value.slice() };
    if (wanted.keep(entry)) entries.push(entry);
    if (slices.isSpent()) await slices.pause();
  }
  return entries;
}
