/**
 * Background round over the queues of this node, once a second and in slices: follows declarations, drops
 * heads older than the ttl, and collects what nobody uses. A queue or partition somebody waits on or reads
 * is never collected.
 */
import type { PopDesk } from '../pops/pop-desk.js';
import type { Ring } from '../rings/ring.js';
import type { EphemeralQueue } from './ephemeral-queue.js';
import type { QueueStore, TenantShare } from './queue-store.js';
import { inSlices, nextTurn } from './slices.js';

const EVERY_MS = 1000;

export interface SweeperParts {
  readonly store: QueueStore;
  readonly desk: PopDesk;
  readonly nowMs: () => number;
  /** 0 = nothing is collected. */
  readonly idleMs: number;
}

export class Sweeper {
  private timer: NodeJS.Timeout | null = null;
  private round: Promise<void> | null = null;
  private stopped = false;

  constructor(private readonly parts: SweeperParts) {}

  start(): void {
    this.timer = setInterval(() => void this.sweep(), EVERY_MS);
    this.timer.unref();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    if (this.timer !== null) clearInterval(this.timer);
    await this.round;
  }

  /** One round; joins the one that runs. */
  sweep(): Promise<void> {
    this.round ??= this.run().finally(() => {
      this.round = null;
    });
    return this.round;
  }

  private async run(): Promise<void> {
    const { store } = this.parts;
    for (const share of store.shares()) {
      for (const queue of share.queues.values()) {
        if (this.stopped) return;
        await this.visit(share, queue);
      }
      store.forgetIfEmpty(share);
    }
  }

  private async visit(share: TenantShare, queue: EphemeralQueue): Promise<void> {
    const { store, desk } = this.parts;
    if (store.follow(share, queue)) desk.queueChanged(queue);
    if (this.isIdle(queue.touchedMs) && !queue.declared && queue.length === 0 && queue.uses === 0) {
      await this.collect(share, queue);
      return;
    }
    await inSlices(queue.rings.values(), (ring) => this.visitRing(queue, ring));
    await inSlices(queue.groups.values(), (group) => queue.forgetIfUnused(group));
    await nextTurn();
  }

  private visitRing(queue: EphemeralQueue, ring: Ring): void {
    const now = this.parts.nowMs();
    if (ring.length > 0) queue.tidy(ring, now);
    else if (this.isIdle(ring.touchedMs) && !isWaitedFor(queue, ring)) queue.removeRing(ring);
  }

  private async collect(share: TenantShare, queue: EphemeralQueue): Promise<void> {
    this.parts.store.detach(share, queue.name);
    await inSlices([...queue.rings.values()], (ring) => queue.removeRing(ring));
    queue.release();
  }

  private isIdle(touchedMs: number): boolean {
    const { idleMs, nowMs } = this.parts;
    return idleMs > 0 && nowMs() - touchedMs >= idleMs;
  }
}

function isWaitedFor(queue: EphemeralQueue, ring: Ring): boolean {
  if (queue.uses === 0) return false;
  for (const group of queue.groups.values()) {
    if (group.waiters.size > 0 || group.waitersOf.has(ring.partition)) return true;
  }
  return false;
}
