/**
 * Readers that wait for appends to exactly their partitions: one machine listener for all of them. Also
 * remembers the newest append stamp seen: no later append is stamped at or before it.
 */
import type { Group } from '../raft/group/group.js';

/** A partition that may not exist yet. */
export interface WaitedPartition {
  readonly queueId: number;
  readonly partition: string;
}

interface Waiter {
  readonly partitions: readonly string[];
  wake(): void;
}

/** Readers waiting at the same time; one more does not wait at all. */
const MAX_WAITERS = 20_000;

export class AppendWaits {
  private readonly waiters = new Map<string, Set<Waiter>>();
  private count = 0;
  private newest: number;

  constructor(
    private readonly group: Pick<Group, 'tables' | 'listen' | 'nowMicros'>,
    clockSkewMicros: number,
  ) {
    this.newest = Math.max(group.nowMicros() - clockSkewMicros, 0);
    group.listen({ appended: (slot) => this.appended(slot) });
  }

  /** µs: everything appended up to here is visible now. */
  get safeMicros(): number {
    return this.newest;
  }

  /** Resolves at an append to one of the partitions, at the abort, or after `ms`. */
  wait(
    partitions: readonly WaitedPartition[],
    until: { readonly ms: number; readonly signal: AbortSignal },
  ): Promise<void> {
    if (until.ms <= 0 || until.signal.aborted || this.count >= MAX_WAITERS) {
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const waiter: Waiter = {
        partitions: [...new Set(partitions.map(keyOf))],
        wake: () => {
          if (!this.remove(waiter)) return;
          clearTimeout(timer);
          until.signal.removeEventListener('abort', waiter.wake);
          resolve();
        },
      };
      const timer = setTimeout(waiter.wake, until.ms);
      until.signal.addEventListener('abort', waiter.wake);
      this.add(waiter);
    });
  }

  private appended(slot: number): void {
    const { partitions } = this.group.tables;
    this.newest = Math.max(this.newest, partitions.lastAppendAt(slot));
    if (this.count === 0) return;
    const key = keyOf({ queueId: partitions.queueId(slot), partition: partitions.name(slot) });
    for (const waiter of [...(this.waiters.get(key) ?? [])]) waiter.wake();
  }

  private add(waiter: Waiter): void {
    this.count += 1;
    for (const key of waiter.partitions) {
      const waiting = this.waiters.get(key);
      if (waiting === undefined) this.waiters.set(key, new Set([waiter]));
      else waiting.add(waiter);
    }
  }

  /** False when it was removed before. */
  private remove(waiter: Waiter): boolean {
    let found = waiter.partitions.length === 0;
    for (const key of waiter.partitions) {
      const waiting = this.waiters.get(key);
      if (waiting?.delete(waiter) !== true) continue;
      found = true;
      if (waiting.size === 0) this.waiters.delete(key);
    }
    if (found) this.count -= 1;
    return found;
  }
}

function keyOf({ queueId, partition }: WaitedPartition): string {
  return `${queueId}/${partition}`;
}
