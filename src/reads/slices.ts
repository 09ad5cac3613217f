/**
 * Long reads in slices: the loop is given back after a fixed amount of work, so that no listing holds
 * up anybody else, however many queues and partitions there are.
 */

/** Rows handled between two turns of the event loop; a row costs a few microseconds. */
const SLICE = 1_000;

/** One read's work; share it between all its walks. */
export class Slices {
  private used = 0;

  /** Counts work; true when it is time to `pause`. */
  isSpent(rows = 1): boolean {
    this.used += rows;
    return this.used >= SLICE;
  }

  async pause(): Promise<void> {
    this.used = 0;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** The JSON array of the rows, rendered in slices. */
export async function jsonArray<T>(
  rows: readonly T[],
  text: (row: T) => string,
  slices: Slices,
): Promise<Buffer> {
  return Buffer.concat([
    Buffer.from('['),
    ...(await jsonRows(rows, text, slices)),
    Buffer.from(']'),
  ]);
}

/** The rows' texts with commas between them, rendered in slices. */
export async function jsonRows<T>(
  rows: readonly T[],
  text: (row: T) => string,
  slices: Slices,
): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for (let at = 0; at < rows.length; at += SLICE) {
    const texts = rows.slice(at, at + SLICE).map(text);
    pieces.push(Buffer.from((at === 0 ? '' : ',') + texts.join(',')));
    if (slices.isSpent(SLICE)) await slices.pause();
  }
  return pieces;
}

type Compare<T> = (a: T, b: T) => number;

/** Merge sort in slices; rows that compare equal keep their order. */
export async function sortInSlices<T>(
  rows: readonly T[],
  compare: Compare<T>,
  slices: Slices,
): Promise<T[]> {
  let runs: T[][] = [];
  for (let at = 0; at < rows.length; at += SLICE) {
    runs.push(rows.slice(at, at + SLICE).sort(compare));
    if (slices.isSpent(SLICE)) await slices.pause();
  }
  while (runs.length > 1) {
    const next: T[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      const [a = [], b] = [runs[i], runs[i + 1]];
      next.push(b === undefined ? a : await merge({ a, b, compare }, slices));
    }
    runs = next;
  }
  return runs[0] ?? [];
}

/** By code units of a name. */
export function sortByName<T extends { readonly name: string }>(
  rows: readonly T[],
  slices: Slices,
): Promise<T[]> {
  return sortInSlices(rows, byName, slices);
}

interface Runs<T> {
  readonly a: readonly T[];
  readonly b: readonly T[];
  readonly compare: Compare<T>;
}

async function merge<T>({ a, b, compare }: Runs<T>, slices: Slices): Promise<T[]> {
  const merged: T[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const isLeft = j >= b.length || (i < a.length && compare(a[i] as T, b[j] as T) <= 0);
    merged.push((isLeft ? a[i++] : b[j++]) as T);
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
