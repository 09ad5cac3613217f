/**
 * Waiting pops pinned to a partition that does not exist yet. They cost nothing until an append creates
 * a partition of that very name; a name is forgotten with its last waiter.
 */
import type { PopRequest } from '../../raft/group/group.js';
import type { WaitingPlace, WaitingPop } from './waiting-pop.js';
import { WaitingList } from './waiting-pop.js';

export class AbsentPops implements WaitingPlace {
  private readonly byName = new Map<string, WaitingList>();

  /** Names waited for. */
  get size(): number {
    return this.byName.size;
  }

  add(pop: WaitingPop): void {
    const key = keyOf(pop.request);
    let list = this.byName.get(key);
    if (list === undefined) {
      list = new WaitingList();
      this.byName.set(key, list);
    }
    pop.place = this;
    list.insert(pop);
  }

  left(pop: WaitingPop): void {
    const key = keyOf(pop.request);
    if (this.byName.get(key)?.size === 0) this.byName.delete(key);
  }

  /** Removes and returns those waiting for this name, oldest first. */
  take(tenant: Uint8Array, queue: string, partition: string): WaitingPop[] {
    const key = keyOf({ tenant, queue, partition });
    const list = this.byName.get(key);
    if (list === undefined) return [];
    this.byName.delete(key);
    const taken: WaitingPop[] = [];
    list.forEach((pop) => {
      list.remove(pop);
      pop.place = null;
      taken.push(pop);
    });
    return taken;
  }

  clear(): void {
    this.byName.clear();
  }
}

function keyOf(name: Pick<PopRequest, 'tenant' | 'queue' | 'partition'>): string {
  let key = '';
  for (const byte of name.tenant) key += String.fromCharCode(byte);
  return `${key}${name.queue.length}:${name.queue}${name.partition}`;
}
