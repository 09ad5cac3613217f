/**
 * One ephemeral queue on this node: its rings by partition, its groups, what it holds and dropped. It
 * keeps the accounts of queue, tenant and node right; it knows no time and no clients.
 */
import { QUEUE_MODE_GROUP } from '../../machine/tables/tables.js';
import { GroupCursor } from '../rings/group-cursor.js';
import type { MemoryAccount } from '../rings/memory-account.js';
import { CURSOR_COST, QUEUE_COST } from '../rings/memory-account.js';
import { NEW_RING_COST, Ring, type RingSource } from '../rings/ring.js';
import type { EphemeralOptions } from './options.js';
import { QueueGroup } from './queue-group.js';

/** Groups that partitions created later know from their start. */
const MAX_REMEMBERED_GROUPS = 256;

export interface Drops {
  bounds: number;
  ttl: number;
  retry: number;
}

/** Bytes of one tenant on this node. */
export interface TenantBytes {
  bytes: number;
}

export interface QueueSource {
  readonly rings: RingSource;
  readonly account: MemoryAccount;
  /** Of the node, for the metrics. */
  readonly drops: Drops;
}

export class EphemeralQueue {
  readonly rings = new Map<string, Ring>();
  readonly groups = new Map<string, QueueGroup>();
  readonly drops: Drops = { bounds: 0, ttl: 0, retry: 0 };
  /** Payload bytes and messages over all rings. */
  bytes = 0;
  length = 0;
  /** Rings that hold a message. */
  filledRings = 0;
  /** Pops that wait and reads that walk: such a queue is never collected. */
  uses = 0;
  touchedMs = 0;
  /** False once deleted or collected: whoever still holds it must look it up again. */
  live = true;
  declared = false;
  /** Version of the declarations the options stand for. */
  optionsVersion = 0;

  constructor(
    readonly name: string,
    private readonly tenant: TenantBytes,
    private readonly source: QueueSource,
    public options: EphemeralOptions,
  ) {
    source.account.addStructure(QUEUE_COST);
  }

  /** The group, remembered from now on if there is room. */
  group(name: string): QueueGroup {
    let group = this.groups.get(name);
    if (group === undefined) {
      group = new QueueGroup(name, this.groups.size < MAX_REMEMBERED_GROUPS);
      this.groups.set(name, group);
      this.source.account.addStructure(CURSOR_COST);
    }
    return group;
  }

  /** The ring; a new one is known to every remembered group from its start. */
  ring(partition: string): Ring {
    const known = this.rings.get(partition);
    if (known !== undefined) return known;
    const ring = new Ring(this, partition, this.source.rings);
    this.rings.set(partition, ring);
    for (const group of this.groups.values()) {
      if (group.remembered) this.place(ring, group);
    }
    return ring;
  }

  /** The group's cursor on the ring; a new one starts at the ring's head. */
  cursor(ring: Ring, group: QueueGroup, nowMs: number): GroupCursor {
    const known = ring.cursors.get(group.name);
    if (known !== undefined) return known;
    const cursor = this.place(ring, group);
    group.refresh(cursor, nowMs);
    return cursor;
  }

  /** What a pop of these would add around the payloads, bytes. */
  costOfPop(partition: string | null, group: string): number {
    const known = this.groups.get(group);
    const isNewRing = partition !== null && !this.rings.has(partition);
    // A pop of any partition places its group on all of them, one of a new partition it and the remembered.
    const unseen = this.rings.size - (known?.ringsSeen ?? 0);
    const isPlaced = this.rings.get(partition ?? '')?.cursors.has(group) === true;
    const remembered = Math.min(this.groups.size, MAX_REMEMBERED_GROUPS);
    const named = isNewRing ? remembered + 1 : isPlaced ? 0 : 1;
    const cursors = (partition === null ? unseen : named) + (known === undefined ? 1 : 0);
    return cursors * CURSOR_COST + (isNewRing ? NEW_RING_COST : 0);
  }

  /** A group that is not remembered, on no ring and waited for by nobody leaves no trace. */
  forgetIfUnused(group: QueueGroup): void {
    const isUsed = group.ringsSeen > 0 || group.waiters.size > 0 || group.waitersOf.size > 0;
    // A queue that is gone gave all its groups back.
    if (!this.live || group.remembered || isUsed) return;
    this.groups.delete(group.name);
    this.source.account.addStructure(-CURSOR_COST);
  }

  groupOf(cursor: GroupCursor): QueueGroup {
    return this.group(cursor.group);
  }

  /** Brings every group's view of the ring up to date. */
  refresh(ring: Ring, nowMs: number): void {
    for (const cursor of ring.cursors.values()) this.groupOf(cursor).refresh(cursor, nowMs);
  }

  /** Ends leases that are over. */
  expire(cursor: GroupCursor, nowMs: number): void {
    const givenUp = cursor.expire(nowMs, this.options.retryLimit);
    if (givenUp > 0) this.count('retry', givenUp);
  }

  /** Drops heads older than the ttl, then frees what everybody has passed. */
  tidy(ring: Ring, nowMs: number): void {
    for (const cursor of ring.cursors.values()) this.expire(cursor, nowMs);
    const { ttlMs } = this.options;
    if (ttlMs > 0 && ring.length > 0) {
      this.trim(ring);
      const until = ring.firstSince(nowMs - ttlMs);
      if (until > ring.first) this.count('ttl', this.drop(ring, until, false));
    }
    this.trim(ring);
    this.refresh(ring, nowMs);
  }

  /** Frees what every known group has passed. */
  trim(ring: Ring): void {
    const before = ring.first;
    const freed = ring.trim();
    this.charge(ring, before - ring.first, -freed);
  }

  /** Drops the messages before `sequence`; answers how many. */
  drop(ring: Ring, sequence: number, countsAsSkipped: boolean): number {
    const dropped = sequence - ring.first;
    const freed = ring.drop(sequence, countsAsSkipped);
    this.charge(ring, -dropped, -freed);
    return dropped;
  }

  count(cause: keyof Drops, messages: number): void {
    this.drops[cause] += messages;
    this.source.drops[cause] += messages;
  }

  /** After the ring's contents changed by this much. */
  charge(ring: Ring, messages: number, bytes: number): void {
    const wasFilled = ring.length - messages > 0;
    if (wasFilled !== ring.length > 0) this.filledRings += wasFilled ? -1 : 1;
    this.length += messages;
    this.bytes += bytes;
    this.tenant.bytes += bytes;
  }

  /** The ring leaves the queue, with what is in it. */
  removeRing(ring: Ring): void {
    this.rings.delete(ring.partition);
    for (const cursor of ring.cursors.values()) {
      const group = this.groupOf(cursor);
      group.forget(cursor);
      group.ringsSeen -= 1;
    }
    const { length, bytes } = ring;
    ring.release();
    this.charge(ring, -length, -bytes);
  }

  /** The queue is gone, with the rings that are left in it. */
  release(): void {
    for (const ring of [...this.rings.values()]) this.removeRing(ring);
    this.source.account.addStructure(-QUEUE_COST - this.groups.size * CURSOR_COST);
  }

  private place(ring: Ring, group: QueueGroup): GroupCursor {
    const cursor = new GroupCursor(group.name, ring, this.source.account);
    ring.cursors.set(group.name, cursor);
    group.ringsSeen += 1;
    return cursor;
  }
}

/** An absent group reads in queue mode. */
export function groupName(sent: string | null | undefined): string {
  return sent === undefined || sent === null || sent === '' ? QUEUE_MODE_GROUP : sent;
}
