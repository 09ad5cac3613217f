/** Binary heap over objects with an order of its own, for merges and bounded selections. */
export class ObjectHeap<T> {
  private readonly rows: T[] = [];

  /** `isBefore(a, b)`: a leaves the heap before b. */
  constructor(private readonly isBefore: (a: T, b: T) => boolean) {}

  get size(): number {
    return this.rows.length;
  }

  get first(): T | undefined {
    return this.rows[0];
  }

  /** All of them, in no order. */
  get all(): readonly T[] {
    return this.rows;
  }

  push(row: T): void {
    const { rows } = this;
    let at = rows.length;
    rows.push(row);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = rows[parent] as T;
      if (!this.isBefore(row, above)) break;
      rows[at] = above;
      at = parent;
    }
    rows[at] = row;
  }

  pop(): T | undefined {
    const { rows } = this;
    const first = rows[0];
    const last = rows.pop();
    if (rows.length > 0 && last !== undefined) this.sink(last);
    return first;
  }

  private sink(row: T): void {
    const { rows } = this;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= rows.length) break;
      const right = child + 1;
      if (right < rows.length && this.isBefore(rows[right] as T, rows[child] as T)) child = right;
      const below = rows[child] as T;
      if (!this.isBefore(below, row)) break;
      rows[at] = below;
      at = child;
    }
    rows[at] = row;
  }
}
