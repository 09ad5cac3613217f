/**
 * All ephemeral queues of this node, by tenant and name, and the one way in for messages. Charges in the
 * order queue, tenant, node and refuses before anything changes, so nothing has to be taken back. Options
 * follow the replicated declarations: a queue looks again when their version moved.
 */
import type { ErrorCode } from '../../common/errors.js';
import { QueenError } from '../../common/errors.js';
import { hexText } from '../../common/uuid-v7.js';
import { CURSOR_COST, MemoryAccount, QUEUE_COST } from '../rings/memory-account.js';
import { SegmentPool } from '../rings/payload-log.js';
import { NEW_RING_COST, RingSource, type Ring } from '../rings/ring.js';
import type { Declarations } from './declarations.js';
import { EphemeralQueue, type Drops, type QueueSource } from './ephemeral-queue.js';
import type { OptionLimits } from './options.js';
import { effectiveOptions, parseOptions } from './options.js';

/** A queue with a partition, and a group on it. */
const NEW_QUEUE_COST = QUEUE_COST + NEW_RING_COST + 2 * CURSOR_COST;

/** What a tenant may have on this node; null = unlimited. */
export interface TenantLimits {
  readonly maxBytes: number | null;
  readonly maxQueues: number | null;
}

export class TenantShare {
  readonly queues = new Map<string, EphemeralQueue>();
  bytes = 0;

  constructor(readonly uuid: Uint8Array) {}
}

/** Payloads of one push, as ranges of one buffer. */
export interface MessageRanges {
  readonly bytes: Uint8Array;
  readonly count: number;
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
  readonly payloadBytes: number;
}

export interface StoreParts {
  readonly declarations: Declarations;
  readonly limits: OptionLimits & { readonly maxBytes: number };
  readonly nowMs: () => number;
}

/** Counts since the start, for the metrics. */
export interface StoreCounts {
  pushed: number;
  popped: number;
  acked: number;
}

export class QueueStore {
  readonly account: MemoryAccount;
  readonly drops: Drops = { bounds: 0, ttl: 0, retry: 0 };
  readonly counts: StoreCounts = { pushed: 0, popped: 0, acked: 0 };
  private readonly tenants = new Map<string, TenantShare>();
  private readonly source: QueueSource;
  private lastUuid: Uint8Array | null = null;
  private lastShare: TenantShare | null = null;
  private queueCount = 0;

  constructor(private readonly parts: StoreParts) {
    this.account = new MemoryAccount(parts.limits.maxBytes);
    const { account, drops } = this;
    this.source = { account, drops, rings: new RingSource(new SegmentPool(), account) };
  }

  get queues(): number {
    return this.queueCount;
  }

  shares(): IterableIterator<TenantShare> {
    return this.tenants.values();
  }

  share(uuid: Uint8Array): TenantShare {
    if (uuid === this.lastUuid && this.lastShare !== null) return this.lastShare;
    const key = hexText(uuid);
    let share = this.tenants.get(key);
    if (share === undefined) {
      share = new TenantShare(uuid.slice());
      this.tenants.set(key, share);
    }
    this.lastUuid = uuid;
    this.lastShare = share;
    return share;
  }

  /** The queue if it is on this node, with options as declared now. */
  find(share: TenantShare, name: string): EphemeralQueue | undefined {
    const queue = share.queues.get(name);
    if (queue !== undefined) this.follow(share, queue);
    return queue;
  }

  ensure(share: TenantShare, name: string): EphemeralQueue {
    const known = this.find(share, name);
    if (known !== undefined) return known;
    const queue = new EphemeralQueue(
      name,
      share,
      this.source,
      effectiveOptions({}, this.parts.limits),
    );
    queue.touchedMs = this.parts.nowMs();
    share.queues.set(name, queue);
    this.queueCount += 1;
    this.follow(share, queue);
    return queue;
  }

  /** Whether a pop may make what it needs: at the node's ceiling it gets what is there already. */
  hasRoomForPop(
    share: TenantShare,
    pop: { readonly queue: string; readonly partition: string | null; readonly group: string },
  ): boolean {
    const known = share.queues.get(pop.queue);
    const cost = known?.costOfPop(pop.partition, pop.group) ?? NEW_QUEUE_COST;
    return cost === 0 || this.account.fitsStructure(cost);
  }

  /** Appends all or nothing; throws the refusal. */
  push(
    share: TenantShare,
    target: { readonly queue: string; readonly partition: string },
    messages: MessageRanges,
    limits: TenantLimits,
  ): Ring {
    const now = this.parts.nowMs();
    const isKnown = share.queues.has(target.queue);
    if (!isKnown && share.queues.size >= (limits.maxQueues ?? Infinity)) {
      throw new QueenError('ephemeral_unavailable', 'the tenant has as many queues as it may');
    }
    const queue = this.ensure(share, target.queue);
    const isNewRing = !queue.rings.has(target.partition);
    const ring = queue.ring(target.partition);
    queue.touchedMs = now;
    ring.touchedMs = now;
    queue.tidy(ring, now);
    const evict = this.admit(share, ring, messages, limits);
    if (typeof evict === 'string') {
      // What a refused push created goes again.
      if (!isKnown) this.detach(share, target.queue)?.release();
      else if (isNewRing) queue.removeRing(ring);
      throw new QueenError(evict);
    }
    if (evict > 0) queue.count('bounds', queue.drop(ring, ring.first + evict, true));
    const { bytes, count, starts, ends, payloadBytes } = messages;
    ring.expect(count, payloadBytes);
    for (let i = 0; i < count; i += 1) ring.append(bytes, starts[i] ?? 0, ends[i] ?? 0, now);
    queue.charge(ring, count, payloadBytes);
    this.counts.pushed += count;
    queue.refresh(ring, now);
    return ring;
  }

  /**
   * Whether messages fit into the ring, judged without changing anything: how many heads have to go for
   * them (policy `dropOldest`), or the code of the refusal.
   */
  admit(
    share: TenantShare,
    ring: Ring,
    messages: { readonly count: number; readonly payloadBytes: number },
    limits: TenantLimits,
  ): number | ErrorCode {
    const { queue } = ring;
    const { maxBytes, maxLength, policy } = queue.options;
    const overBytes = queue.bytes + messages.payloadBytes - maxBytes;
    const overLength = queue.length + messages.count - maxLength;
    let evict = 0;
    let freed = 0;
    if (overBytes > 0 || overLength > 0) {
      if (policy === 'reject') return 'queue_full';
      while (evict < ring.length && (overBytes - freed > 0 || overLength - evict > 0)) {
        freed += ring.lengthOf(ring.first + evict);
        evict += 1;
      }
      if (overBytes - freed > 0 || overLength - evict > 0) return 'queue_full';
    }
    const more = messages.payloadBytes - freed;
    if (share.bytes + more > (limits.maxBytes ?? Infinity)) {
      return 'ephemeral_quota_exceeded';
    }
    return this.account.fits(more) ? evict : 'ephemeral_unavailable';
  }

  /** Unlinks the queue; whoever took it releases it. Undefined when it was not here. */
  detach(share: TenantShare, name: string): EphemeralQueue | undefined {
    const queue = share.queues.get(name);
    if (queue === undefined) return undefined;
    share.queues.delete(name);
    this.queueCount -= 1;
    queue.live = false;
    return queue;
  }

  /** A tenant without queues leaves no trace. */
  forgetIfEmpty(share: TenantShare): void {
    if (share.queues.size > 0) return;
    this.tenants.delete(hexText(share.uuid));
    this.lastUuid = null;
    this.lastShare = null;
  }

  /** Partitions with contents and the messages in them; counted when somebody asks. */
  held(): { readonly rings: number; readonly messages: number } {
    let rings = 0;
    let messages = 0;
    for (const share of this.tenants.values()) {
      for (const queue of share.queues.values()) {
        rings += queue.filledRings;
        messages += queue.length;
      }
    }
    return { rings, messages };
  }

  popped(messages: number): void {
    this.counts.popped += messages;
  }

  /** True when the declaration changed what is in force. */
  follow(share: TenantShare, queue: EphemeralQueue): boolean {
    const { declarations, limits } = this.parts;
    const { version } = declarations;
    if (queue.optionsVersion === version) return false;
    queue.optionsVersion = version;
    const text = declarations.find(share.uuid, queue.name);
    queue.declared = text !== null;
    queue.options = effectiveOptions(text === null ? {} : parseOptions(text), limits);
    return true;
  }
}
