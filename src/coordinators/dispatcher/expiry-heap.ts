/**
 * Min-heap of (due time, cursor slot) with at most one entry per cursor, so that acked leases leave at
 * once and the heap stays as large as the number of live leases. Typed arrays only; the position of a
 * cursor in the heap is kept in a column indexed by cursor slot (0 = absent, else heap index + 1).
 */
const INITIAL_CAPACITY = 256;

export class ExpiryHeap {
  private due = new Float64Array(INITIAL_CAPACITY);
  private slots = new Uint32Array(INITIAL_CAPACITY);
  private positions = new Uint32Array(INITIAL_CAPACITY);
  private length = 0;

  get size(): number {
    return this.length;
  }

  /** Earliest due time in µs, Infinity when empty. */
  nextDue(): number {
    return this.length === 0 ? Infinity : (this.due[0] ?? Infinity);
  }

  /** Inserts the cursor or moves it to another time. */
  set(slot: number, dueMicros: number): void {
    this.reserve(slot);
    const position = this.positions[slot] ?? 0;
    if (position === 0) {
      this.length += 1;
      this.place(this.length - 1, slot, dueMicros);
      this.siftUp(this.length - 1);
      return;
    }
    const before = this.due[position - 1] ?? 0;
    this.due[position - 1] = dueMicros;
    if (dueMicros < before) this.siftUp(position - 1);
    else this.siftDown(position - 1);
  }

  /** Inserts the slot or moves it to an earlier time, never to a later one. */
  setEarlier(slot: number, dueMicros: number): void {
    const position = this.positions[slot] ?? 0;
    if (position === 0 || dueMicros < (this.due[position - 1] ?? 0)) this.set(slot, dueMicros);
  }

  remove(slot: number): void {
    const position = this.positions[slot] ?? 0;
    if (position === 0) return;
    this.positions[slot] = 0;
    this.length -= 1;
    const at = position - 1;
    if (at === this.length) return;
    this.place(at, this.slots[this.length] ?? 0, this.due[this.length] ?? 0);
    this.siftUp(at);
    this.siftDown(at);
  }

  /** Takes the earliest cursor if it is due, else -1. */
  takeDue(nowMicros: number): number {
    if (this.length === 0 || (this.due[0] ?? Infinity) > nowMicros) return -1;
    const slot = this.slots[0] ?? 0;
    this.remove(slot);
    return slot;
  }

  clear(): void {
    while (this.length > 0) {
      this.length -= 1;
      this.positions[this.slots[this.length] ?? 0] = 0;
    }
  }

  private reserve(slot: number): void {
    if (slot >= this.positions.length) {
      const positions = new Uint32Array(Math.max(slot + 1, this.positions.length * 2));
      positions.set(this.positions);
      this.positions = positions;
    }
    if (this.length < this.due.length) return;
    const due = new Float64Array(this.due.length * 2);
    due.set(this.due);
    this.due = due;
    const slots = new Uint32Array(this.slots.length * 2);
    slots.set(this.slots);
    this.slots = slots;
  }

  private place(at: number, slot: number, due: number): void {
    this.slots[at] = slot;
    this.due[at] = due;
    this.positions[slot] = at + 1;
  }

  private swap(a: number, b: number): void {
    const slot = this.slots[a] ?? 0;
    const due = this.due[a] ?? 0;
    this.place(a, this.slots[b] ?? 0, this.due[b] ?? 0);
    this.place(b, slot, due);
  }

  private siftUp(start: number): void {
    let at = start;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((this.due[parent] ?? 0) <= (this.due[at] ?? 0)) return;
      this.swap(at, parent);
      at = parent;
    }
  }

  private siftDown(start: number): void {
    let at = start;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= this.length) return;
      const right = left + 1;
      const least =
        right < this.length && (this.due[right] ?? 0) < (this.due[left] ?? 0) ? right : left;
      if ((this.due[at] ?? 0) <= (this.due[least] ?? 0)) return;
      this.swap(at, least);
      at = least;
    }
  }
}
