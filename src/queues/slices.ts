/** Listings of queues in slices: sorted by name and rendered, giving the loop back on the way. */
import { jsonRows, SLICE, type Slices } from '../reads/slices.js';

/** Merge sort by code units of a name, ascending, in slices. */
export async function sortByName<T extends { readonly name: string }>(
  rows: readonly T[],
  slices: Slices,
): Promise<T[]> {
  const runs: T[][] = [];
  for (let at = 0; at < rows.length; at += SLICE) {
    runs.push(rows.slice(at, at + SLICE).sort(byName));
    if (slices.isSpent(SLICE)) await slices.pause();
  }
  while (runs.length > 1) {
    const [a = [], b = []] = runs.splice(0, 2);
    runs.push(await merge(a, b, slices));
  }
  return runs[0] ?? [];
}

async function merge<T extends { readonly name: string }>(
  a: readonly T[],
  b: readonly T[],
  slices: Slices,
): Promise<T[]> {
  const merged: T[] = [];
  let i = 0;
  let j = 0;
  for (let left = a[i], right = b[j]; left !== undefined || right !== undefined;) {
    if (right === undefined || (left !== undefined && byName(left, right) <= 0)) {
      if (left !== undefined) merged.push(left);
      left = a[++i];
    } else {
      merged.push(right);
      right = b[++j];
    }
    if (slices.isSpent()) await slices.pause();
  }
  return merged;
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

/** The member of an answer that may be long: an array of rows, or an object of `"name":value` texts. */
export interface LongMember<T> {
  readonly name: string;
  readonly brackets: '[]' | '{}';
  readonly rows: readonly T[];
  text(row: T): string;
}

/** JSON bytes of `members` plus the long member, rendered in slices. */
export async function jsonWith<T>(
  members: object,
  long: LongMember<T>,
  slices: Slices,
): Promise<Buffer> {
  const head = JSON.stringify(members).slice(0, -1);
  const comma = head === '{' ? '' : ',';
  const open = Buffer.from(`${head}${comma}${JSON.stringify(long.name)}:${long.brackets[0]}`);
  const rows = await jsonRows(long.rows, (row) => long.text(row), slices);
  return Buffer.concat([open, ...rows, Buffer.from(`${long.brackets[1]}}`)]);
}
