/**
 * Intrusive doubly linked list: the elements carry the links, so joining and leaving from any place is
 * O(1) and allocates nothing. An element is in at most one Fifo at a time; iteration is from front to
 * end and survives removal of the element just visited.
 */

import { invariant } from './invariant.js';

/** What an element carries. All three are the list's business; start them undefined. */
export interface FifoNode<N> {
  fifo: unknown;
  fifoNext: N | undefined;
  fifoPrevious: N | undefined;
}

export class Fifo<N extends FifoNode<N>> {
  private head: N | undefined;
  private tail: N | undefined;
  private count = 0;

  get size(): number {
    return this.count;
  }

  get first(): N | undefined {
    return this.head;
  }

  get last(): N | undefined {
    return this.tail;
  }

  has(node: N): boolean {
    return node.fifo === this;
  }

  push(node: N): void {
    this.join(node);
    node.fifoPrevious = this.tail;
    if (this.tail === undefined) this.head = node;
    else this.tail.fifoNext = node;
    this.tail = node;
  }

  unshift(node: N): void {
    this.join(node);
    node.fifoNext = this.head;
    if (this.head === undefined) this.tail = node;
    else this.head.fifoPrevious = node;
    this.head = node;
  }

  shift(): N | undefined {
    const node = this.head;
    if (node !== undefined) this.remove(node);
    return node;
  }

  /** Takes the element out; false when it is not in this list. */
  remove(node: N): boolean {
    if (node.fifo !== this) return false;
    const { fifoNext: next, fifoPrevious: previous } = node;
    if (previous === undefined) this.head = next;
    else previous.fifoNext = next;
    if (next === undefined) this.tail = previous;
    else next.fifoPrevious = previous;
    node.fifo = undefined;
    node.fifoNext = undefined;
    node.fifoPrevious = undefined;
    this.count -= 1;
    return true;
  }

  *[Symbol.iterator](): IterableIterator<N> {
    let node = this.head;
    while (node !== undefined) {
      const next: N | undefined = node.fifoNext;
      yield node;
      node = next;
    }
  }

  private join(node: N): void {
    invariant(node.fifo === undefined, 'element is in a list already');
    node.fifo = this;
    this.count += 1;
  }
}
