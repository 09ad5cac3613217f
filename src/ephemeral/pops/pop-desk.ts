/**
 * Pops of this node's rings: served at once, or parked until there is enough for them. Purely driven by
 * events: an append, a message put back, a lease that ended, a window that closed, the deadline. Among
 * those who wait for the same group the longest waiting one is served first.
 */
import { Fifo } from '../../common/fifo.js';
import type { EphemeralQueue } from '../queues/ephemeral-queue.js';
import type { QueueGroup } from '../queues/queue-group.js';
import type { QueueStore } from '../queues/queue-store.js';
import type { GroupCursor } from '../rings/group-cursor.js';
import type { PopRenderer } from './pop-render.js';
import { WaitingPop, type Delivery, type PopAnswer, type PopCall } from './waiting-pop.js';
import type { PopOutcome } from './waiting-pop.js';
import { WheelClock } from './wheel-clock.js';

export interface PopDeskParts {
  readonly store: QueueStore;
  readonly renderer: PopRenderer;
  readonly nowMs: () => number;
}

export class PopDesk {
  private readonly deadlines: WheelClock<WaitingPop>;
  private readonly leases: WheelClock<GroupCursor>;
  private orders = 0;
  private waiting = 0;

  constructor(private readonly parts: PopDeskParts) {
    this.deadlines = new WheelClock(parts.nowMs, (pop) => this.due(pop));
    this.leases = new WheelClock(parts.nowMs, (cursor) => this.leasesEnded(cursor));
  }

  /** Pops that wait here now. */
  get parked(): number {
    return this.waiting;
  }

  /**
   * Serves or parks. `settle` is called exactly once, at once when nothing has to be waited for; the
   * returned function takes a parked pop back without an answer.
   */
  pop(
    call: PopCall,
    place: { queue: EphemeralQueue; group: QueueGroup },
    settle: (outcome: PopOutcome) => void,
  ): () => void {
    const { queue, group } = place;
    const now = this.parts.nowMs();
    queue.touchedMs = now;
    if (call.partition !== null) {
      const ring = queue.ring(call.partition);
      ring.touchedMs = now;
      queue.cursor(ring, group, now);
      queue.tidy(ring, now);
    }
    const { deadlineMs } = call;
    const isAlone = this.firstWaiter(group, call.partition) === undefined;
    if (deadlineMs === null || deadlineMs <= now || (isAlone && this.isReady(call, place, now))) {
      settle(this.serve(call, place));
      return () => undefined;
    }
    const order = this.orders++;
    const pop = new WaitingPop(call, queue, group, { order, deadlineMs, settle });
    this.park(pop);
    this.wake(queue, group, call.partition);
    return () => this.leave(pop);
  }

  /** After something may have become available on the ring: for every group that waits. */
  ringChanged(queue: EphemeralQueue, partition: string): void {
    if (queue.uses === 0) return;
    const ring = queue.rings.get(partition);
    if (ring === undefined) return;
    for (const cursor of ring.cursors.values()) {
      if (cursor.available > 0) this.wake(queue, queue.groupOf(cursor), partition);
    }
  }

  /** After options changed: windows and leases may mean something else now. */
  queueChanged(queue: EphemeralQueue): void {
    if (queue.uses === 0) return;
    for (const group of queue.groups.values()) {
      this.wake(queue, group, null);
      for (const partition of [...group.waitersOf.keys()]) this.wake(queue, group, partition);
    }
  }

  /** The partition left this node: its pops ask again; with the last ring those of any partition do. */
  ringGone(queue: EphemeralQueue, partition: string): void {
    for (const group of queue.groups.values()) {
      const named = group.waitersOf.get(partition);
      if (named !== undefined) this.sendAway(named);
      if (queue.rings.size === 0) this.sendAway(group.waiters);
    }
  }

  /** The queue was deleted: everybody asks again, on a queue that is new. */
  queueGone(queue: EphemeralQueue): void {
    for (const group of queue.groups.values()) {
      this.sendAway(group.waiters);
      for (const named of [...group.waitersOf.values()]) this.sendAway(named);
    }
  }

  /** Nobody received the answer: what it leased comes back as if it had not been delivered. */
  undeliver(delivery: Delivery): void {
    const { queue, parts } = delivery;
    const now = this.parts.nowMs();
    for (const { cursor, sequences, attempts } of parts) {
      if (!cursor.ring.live) continue;
      sequences.forEach((sequence, i) => cursor.undeliver(sequence, attempts[i] ?? 0));
      delivery.group.refresh(cursor, now);
      this.wake(queue, delivery.group, cursor.ring.partition);
    }
  }

  stop(): void {
    this.deadlines.stop();
    this.leases.stop();
  }

  private serve(call: PopCall, place: { queue: EphemeralQueue; group: QueueGroup }): PopAnswer {
    const answer = this.parts.renderer.render(call, place, this.parts.nowMs());
    this.parts.store.popped(answer.messages);
    if (answer.delivery === null) return answer;
    for (const { cursor } of answer.delivery.parts) this.watchLeases(cursor);
    return answer;
  }

  private watchLeases(cursor: GroupCursor): void {
    if (cursor.leased === 0 || cursor.earliestExpiryMs >= cursor.watchedMs) return;
    cursor.watchedMs = cursor.earliestExpiryMs;
    this.leases.schedule(cursor, cursor.watchedMs);
  }

  private leasesEnded(cursor: GroupCursor): void {
    cursor.watchedMs = Infinity;
    if (!cursor.ring.live) return;
    const { queue } = cursor.ring;
    const now = this.parts.nowMs();
    queue.expire(cursor, now);
    queue.trim(cursor.ring);
    this.watchLeases(cursor);
    const group = queue.groupOf(cursor);
    group.refresh(cursor, now);
    if (cursor.available > 0) this.wake(queue, group, cursor.ring.partition);
  }

  private park(pop: WaitingPop): void {
    const { group, queue, call } = pop;
    let line = group.waiters;
    if (call.partition !== null) {
      line = group.waitersOf.get(call.partition) ?? new Fifo<WaitingPop>();
      group.waitersOf.set(call.partition, line);
    }
    line.push(pop);
    queue.uses += 1;
    this.waiting += 1;
    this.deadlines.schedule(pop, pop.parked.deadlineMs);
  }

  /** False when the pop does not wait any more. */
  private leave(pop: WaitingPop): boolean {
    const { group, queue, call } = pop;
    const line = call.partition === null ? group.waiters : group.waitersOf.get(call.partition);
    if (line === undefined || !line.has(pop)) return false;
    line.remove(pop);
    if (call.partition !== null && line.size === 0) group.waitersOf.delete(call.partition);
    queue.uses -= 1;
    queue.touchedMs = this.parts.nowMs();
    this.waiting -= 1;
    this.deadlines.cancel(pop);
    return true;
  }

  private sendAway(line: Fifo<WaitingPop>): void {
    for (let pop = line.first; pop !== undefined; pop = line.first) {
      this.leave(pop);
      pop.parked.settle({ kind: 'moved' });
    }
  }

  /** The deadline, or a window that closed. */
  private due(pop: WaitingPop): void {
    const now = this.parts.nowMs();
    if (now < pop.parked.deadlineMs && !this.isReady(pop.call, pop, now)) {
      this.deadlines.schedule(pop, this.lookAgainMs(pop, now));
      return;
    }
    this.answer(pop);
  }

  private answer(pop: WaitingPop): void {
    if (this.leave(pop)) pop.parked.settle(this.serve(pop.call, pop));
  }

  /** Serves waiting pops for as long as there is enough for the first of them. */
  private wake(queue: EphemeralQueue, group: QueueGroup, partition: string | null): void {
    for (;;) {
      const pop = this.firstWaiter(group, partition);
      if (pop === undefined) return;
      const now = this.parts.nowMs();
      if (!this.isReady(pop.call, pop, now)) {
        // A window is open: it closes by itself, or more comes.
        if (queue.options.window !== null) {
          this.deadlines.schedule(pop, this.lookAgainMs(pop, now));
        }
        return;
      }
      this.answer(pop);
    }
  }

  /** The longest waiting pop that could take from this partition. */
  private firstWaiter(group: QueueGroup, partition: string | null): WaitingPop | undefined {
    const any = group.waiters.first;
    const named = partition === null ? undefined : group.waitersOf.get(partition)?.first;
    if (any === undefined || named === undefined) return any ?? named;
    return named.parked.order < any.parked.order ? named : any;
  }

  private lookAgainMs(pop: WaitingPop, nowMs: number): number {
    const { window } = pop.queue.options;
    const since = availableSince(pop);
    if (window === null || window.ms === 0 || since === 0) return pop.parked.deadlineMs;
    return Math.min(pop.parked.deadlineMs, Math.max(nowMs, since + window.ms));
  }

  private isReady(
    call: PopCall,
    place: { queue: EphemeralQueue; group: QueueGroup },
    nowMs: number,
  ): boolean {
    const since = availableSince({ call, ...place });
    if (since === 0) return false;
    const { window } = place.queue.options;
    if (window === null) return true;
    if (window.ms > 0 && nowMs >= since + window.ms) return true;
    const need = window.count > 0 ? Math.min(window.count, call.batch) : call.batch;
    return holdsAtLeast(need, call, place);
  }
}

interface Place {
  readonly call: PopCall;
  readonly queue: EphemeralQueue;
  readonly group: QueueGroup;
}

/** Since when the pop could get something; 0 = it cannot. */
function availableSince({ call, queue, group }: Place): number {
  if (call.partition === null) return group.availableSinceMs;
  return queue.rings.get(call.partition)?.cursors.get(group.name)?.availableSinceMs ?? 0;
}

function holdsAtLeast(
  need: number,
  call: PopCall,
  { queue, group }: { queue: EphemeralQueue; group: QueueGroup },
): boolean {
  if (call.partition !== null) {
    const cursor = queue.rings.get(call.partition)?.cursors.get(group.name);
    return (cursor?.available ?? 0) >= need;
  }
  let held = 0;
  for (let i = 0; i < group.ready.size && held < need; i += 1) {
    held += group.ready.at(i)?.available ?? 0;
  }
  return held >= need;
}
