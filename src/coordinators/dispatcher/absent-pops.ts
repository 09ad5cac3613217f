/**
 * Waiting pops pinned to a partition that does not exist yet. They cost nothing until an append creates
 * a partition of that very name.
 */
import type { WaitingPop } from './waiting-pop.js';
import { WaitingList } from './waiting-pop.js';

export class AbsentPops {
  private readonly byName = new Map<string, WaitingList>();

  get size(): number {
    return this.byName.size;
  }

  add(pop: WaitingPop): void {
    const { tenant, queue, partition } = pop.request;
    const key = nameKey(tenant, queue, partition);
    let list = this.byName.get(key);
    if (list === undefined) {
      list = new WaitingList();
      this.byName.set(key, list);
    }
    list.pushBack(pop);
  }

  /** Removes and returns those waiting for this name, oldest first. */
  take(tenant: Uint8Array, queue: string, partition: string): WaitingPop[] {
    const key = nameKey(tenant, queue, partition);
    const list = this.byName.get(key);
    if (list === undefined) return [];
    this.byName.delete(key);
    const taken: WaitingPop[] = [];
    list.forEach((pop) => {
      list.remove(pop);
      taken.push(pop);
    });
    return taken;
  }

  /** Forgets names whose waiters all left. */
  compact(): void {
    for (const [key, list] of this.byName) if (list.size === 0) this.byName.delete(key);
  }

  clear(): void {
    this.byName.clear();
  }
}

function nameKey(tenant: Uint8Array, queue: string, partition: string): string {
  let key = '';
  for (const byte of tenant) key += String.fromCharCode(byte);
  return `${key}${queue.length}:${queue}${partition}`;
}
