/**
 * Long reads in slices: the loop is given back after a fixed number of rows or a few milliseconds, so
 * that no listing holds up anybody else, however many queues and partitions there are. All reads that
 * are under way share the turns of the loop, one slice each: many at once hold it no longer than one.
 */

/** Rows handled between two turns of the event loop, where the clock does not say stop before. */
const SLICE = 1_000;
const SLICE_MS = 4;
/** Rows between two looks at the clock. */
const ROWS_PER_LOOK = 64;
/** Rows rendered at once; one takes up to 10 µs. */
const RENDERED = 200;
const COPIED_BYTES = 4 * 1024 * 1024;

const paused: (() => void)[] = [];

/** One slice a turn: the continuation runs before the loop goes on. */
function resumeOne(): void {
  paused.shift()?.();
  if (paused.length > 0) setImmediate(resumeOne);
}

/** One read's work; share it between all its walks. */
export class Slices {
  private used = 0;
  private looked = 0;
  private sinceMs: number;

  constructor(private readonly nowMs: () => number = () => performance.now()) {
    this.sinceMs = nowMs();
  }

  /** Counts work; true when it is time to `pause`. */
  isSpent(rows = 1): boolean {
    this.used += rows;
    if (this.used >= SLICE) return true;
    if (this.used - this.looked < ROWS_PER_LOOK) return false;
    this.looked = this.used;
    return this.nowMs() - this.sinceMs >= SLICE_MS;
  }

  async pause(): Promise<void> {
    await new Promise<void>((resolve) => {
      paused.push(resolve);
      if (paused.length === 1) setImmediate(resumeOne);
    });
    this.used = 0;
    this.looked = 0;
    this.sinceMs = this.nowMs();
  }
}

/** The JSON array of the rows, rendered in slices. */
export async function jsonArray<T>(
  rows: readonly T[],
  text: (row: T) => string,
  slices: Slices,
): Promise<Buffer> {
  const pieces = await jsonRows(rows, text, slices);
  return joined([Buffer.from('['), ...pieces, Buffer.from(']')], slices);
}

/** The rows' texts with commas between them, rendered in slices; an empty text leaves its row out. */
export async function jsonRows<T>(
  rows: readonly T[],
  text: (row: T) => string,
  slices: Slices,
): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for (let at = 0; at < rows.length; at += RENDERED) {
    const part = rows.slice(at, at + RENDERED);
    const texts = part.map(text).filter((one) => one !== '');
    if (texts.length > 0) pieces.push(Buffer.from((pieces.length ? ',' : '') + texts.join(',')));
    if (slices.isSpent(part.length)) await slices.pause();
  }
  return pieces;
}

/** One buffer of them, copied in slices: of a long answer the copy alone takes tens of milliseconds. */
export async function joined(pieces: readonly Uint8Array[], slices: Slices): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(pieces.reduce((total, { length }) => total + length, 0));
  let at = 0;
  let copied = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
    copied += piece.length;
    if (copied < COPIED_BYTES) continue;
    copied = 0;
    await slices.pause();
  }
  return bytes;
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
  /** Empty: the row is left out. */
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
  return joined([open, ...rows, Buffer.from(`${long.brackets[1]}}`)], slices);
}
