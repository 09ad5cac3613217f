/**
 * Long reads in slices: the loop is given back after a fixed amount of work, so that no listing holds
 * up anybody else, however many queues and partitions there are.
 */

/** Rows handled between two turns of the event loop; a row costs a few microseconds. */
export const SLICE = 1_000;

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
