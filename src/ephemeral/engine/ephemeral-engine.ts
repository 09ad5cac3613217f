/**
 * The ephemeral queues of this node and everything that is done to them here, whoever asked: a client of
 * this node or another node on behalf of one. Knows nothing about HTTP, other nodes, or permissions.
 */
import { JsonWriter } from '../../common/json/json-writer.js';
import { PopDesk } from '../pops/pop-desk.js';
import { PopRenderer } from '../pops/pop-render.js';
import type { Delivery, PopCall, PopOutcome } from '../pops/waiting-pop.js';
import type { Declarations } from '../queues/declarations.js';
import type { EphemeralQueue } from '../queues/ephemeral-queue.js';
import type { QueueGroup } from '../queues/queue-group.js';
import { QueueStore } from '../queues/queue-store.js';
import type { MessageRanges, StoreParts, TenantLimits } from '../queues/queue-store.js';
import { inSlices } from '../queues/slices.js';
import { Sweeper } from '../queues/sweeper.js';
import type { AckBodyScan } from '../requests/ack-body.js';
import { AckDesk } from './ack-desk.js';

export interface EngineParts {
  readonly declarations: Declarations;
  readonly limits: StoreParts['limits'];
  /** 0 = nothing is collected. */
  readonly idleMs: number;
  /** Hex, new with every start of the process: an id of another one is stale. */
  readonly incarnation: string;
  readonly nowMs: () => number;
}

/** A pop without room looks again so often. */
const ROOM_MS = 500;

export class EphemeralEngine {
  readonly store: QueueStore;
  readonly desk: PopDesk;
  readonly sweeper: Sweeper;
  private readonly acks: AckDesk;

  constructor(readonly parts: EngineParts) {
    const { nowMs, incarnation } = parts;
    this.store = new QueueStore(parts);
    const renderer = new PopRenderer(incarnation);
    this.desk = new PopDesk({ store: this.store, renderer, nowMs });
    this.sweeper = new Sweeper({ ...parts, store: this.store, desk: this.desk });
    this.acks = new AckDesk({ store: this.store, desk: this.desk, nowMs, incarnation });
  }

  start(): void {
    this.sweeper.start();
  }

  async stop(): Promise<void> {
    this.desk.stop();
    await this.sweeper.stop();
  }

  /** All or nothing; throws the refusal. */
  push(
    tenant: Uint8Array,
    target: { readonly queue: string; readonly partition: string },
    messages: MessageRanges,
    limits: TenantLimits,
  ): void {
    const ring = this.store.push(this.store.share(tenant), target, messages, limits);
    this.desk.ringChanged(ring.queue, ring.partition);
  }

  /**
   * Serves the pop or parks it until its deadline. Creates the queue, the named partition and the group.
   * `signal` takes a parked pop back: it then gets what an empty queue answers.
   */
  async pop(tenant: Uint8Array, call: PopCall, signal?: AbortSignal): Promise<PopOutcome> {
    const fits = this.store.hasRoomForPop(this.store.share(tenant), call);
    if (!fits && !(await this.hasRoom(tenant, call, signal))) return this.emptyAnswer(call.queue);
    let queue = this.queueOf(tenant, call.queue);
    let group = queue.group(call.group);
    while (call.partition === null && group.ringsSeen < queue.rings.size) {
      await this.place(queue, group);
      // Others had their turn: the queue may be another one by now.
      queue = this.queueOf(tenant, call.queue);
      group = queue.group(call.group);
    }
    if (signal?.aborted === true) return this.emptyAnswer(call.queue);
    return new Promise((resolve) => this.park(call, { queue, group, signal }, resolve));
  }

  /** The answer's JSON. */
  ack(tenant: Uint8Array, scan: AckBodyScan): Uint8Array {
    return this.acks.settle(tenant, scan);
  }

  undeliver(delivery: Delivery): void {
    this.desk.undeliver(delivery);
  }

  /** An answer of this node that another node could not hand to its client. */
  undeliverAnswer(tenant: Uint8Array, group: string, body: Uint8Array): void {
    this.acks.undeliver(tenant, group, body);
  }

  emptyAnswer(queue: string): Extract<PopOutcome, { kind: 'answer' }> {
    const body = new JsonWriter(64)
      .ascii('{"queue":')
      .string(queue)
      .ascii(',"messages":[]}')
      .toBytes();
    return { kind: 'answer', body, messages: 0, delivery: null };
  }

  /** Whether this node holds a partition of the queue. */
  holdsAny(tenant: Uint8Array, queue: string): boolean {
    return (this.store.share(tenant).queues.get(queue)?.rings.size ?? 0) > 0;
  }

  /** Drops every message and voids the leases; positions go to the tail. Answers what was dropped. */
  async reset(tenant: Uint8Array, name: string): Promise<number> {
    const queue = this.store.find(this.store.share(tenant), name);
    if (queue === undefined) return 0;
    let dropped = 0;
    queue.uses += 1;
    await inSlices(queue.rings.values(), (ring) => {
      dropped += queue.drop(ring, ring.next, false);
      queue.refresh(ring, this.parts.nowMs());
    });
    queue.uses -= 1;
    return dropped;
  }

  /** Removes the queue from this node; its waiting pops ask again. */
  async delete(tenant: Uint8Array, name: string): Promise<boolean> {
    const queue = this.store.detach(this.store.share(tenant), name);
    if (queue === undefined) return false;
    this.desk.queueGone(queue);
    await inSlices([...queue.rings.values()], (ring) => queue.removeRing(ring));
    queue.release();
    return true;
  }

  /**
   * A pop makes queues, partitions and groups. At the ceiling of the node it makes none and waits for room
   * as it would for a message: pops of made-up names cannot fill the memory.
   */
  private async hasRoom(
    tenant: Uint8Array,
    call: PopCall,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    for (;;) {
      if (this.store.hasRoomForPop(this.store.share(tenant), call)) return true;
      const restMs = (call.deadlineMs ?? 0) - this.parts.nowMs();
      if (restMs <= 0 || signal?.aborted === true) return false;
      await later(Math.min(restMs, ROOM_MS), signal);
    }
  }

  private park(
    call: PopCall,
    place: { queue: EphemeralQueue; group: QueueGroup; signal: AbortSignal | undefined },
    resolve: (outcome: PopOutcome) => void,
  ): void {
    const { signal } = place;
    let leave = (): void => undefined;
    const abort = (): void => {
      leave();
      resolve(this.emptyAnswer(call.queue));
    };
    signal?.addEventListener('abort', abort, { once: true });
    leave = this.desk.pop(call, place, (outcome) => {
      signal?.removeEventListener('abort', abort);
      resolve(outcome);
    });
  }

  private queueOf(tenant: Uint8Array, name: string): EphemeralQueue {
    return this.store.ensure(this.store.share(tenant), name);
  }

  /** Makes every ring of the queue know the group; it starts at their heads. */
  private async place(queue: EphemeralQueue, group: QueueGroup): Promise<void> {
    queue.uses += 1;
    await inSlices(queue.rings.values(), (ring) => {
      queue.cursor(ring, group, this.parts.nowMs());
    });
    queue.uses -= 1;
  }
}

/** Ends early with the signal. */
function later(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}
