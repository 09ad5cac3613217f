/**
 * The leader's dispatcher: parks pops, knows which partitions are claimable, and proposes claims that
 * name exact ranges with the cursor versions it saw. Fairness lives here; correctness does not: the
 * machine re-checks every range, and losing this object loses nothing.
 * Invariants: a slot is named by at most one claim in flight per lane; a parked pop is answered
 * exactly once; nothing is O(partitions) per pop or per append.
 */
import { QueenError } from '../../common/errors.js';
import type { ConsumerGroupId } from '../../common/ids.js';
import { TimingWheel } from '../../common/timing-wheel.js';
import type { GrantOutcome, PopTicket } from '../../machine/commands/catalogue.js';
import { CommandKind } from '../../machine/commands/catalogue.js';
import type { QueueRow } from '../../machine/tables/tables.js';
import type { PopRequest } from '../../raft/group/group.js';
import type { DispatcherFigures } from '../../raft/index.js';
import { ClaimCollector } from './claim-collector.js';
import type { ProposedGrant } from './claim-collector.js';
import { ConsumerLane } from './consumer-lane.js';
import type { DispatcherHost, DispatcherOptions } from './dispatcher-host.js';
import { ExpiryHeap } from './expiry-heap.js';
import type { InspectContext } from './inspect.js';
import { LaneRegister } from './lane-register.js';
import { LookupRunner } from './lookup-runner.js';
import type { DispatchAnswer } from './waiting-pop.js';
import { WaitingPop } from './waiting-pop.js';
import { AbsentPops } from './absent-pops.js';

const SCAN_SLICE = 2_000;
/** Most grants one claim command carries. */
const MAX_GRANTS_PER_CLAIM = 1_024;
const EMPTY: DispatchAnswer = {
  granted: false,
  conflation: false,
  conflationConflict: false,
  autopilot: null,
};
const GRANTED: DispatchAnswer = { ...EMPTY, granted: true };

export class Dispatcher {
  private readonly expiries = new ExpiryHeap();
  private readonly lanes: LaneRegister;
  private readonly absent = new AbsentPops();
  private readonly lookups: LookupRunner;
  private readonly dirty = new Set<ConsumerLane>();
  private readonly live = new Set<WaitingPop>();
  private readonly wheel: TimingWheel<WaitingPop>;
  private outbox: ProposedGrant[] = [];
  private flushScheduled = false;
  private scanScheduled = false;
  private timer: NodeJS.Timeout | null = null;
  private unlisten: (() => void) | null = null;
  private arrivals = 0;
  private running = false;

  constructor(
    private readonly host: DispatcherHost,
    private readonly options: DispatcherOptions,
  ) {
    this.wheel = new TimingWheel(options.tickMs, options.monotonicMs());
    this.lanes = new LaneRegister(host.tables, this.expiries);
    this.lookups = new LookupRunner(host, options.maxPopBytes, {
      resolved: (lane, slots) => this.onLookedUp(lane, slots),
      failed: (lane, error) => this.failLane(lane, error),
    });
  }

  /** Numbers for the metrics, O(lanes). */
  figures(): DispatcherFigures {
    const { loaded, unloaded } = this.lanes;
    let lanes = 0;
    let readyPartitions = 0;
    for (const lane of this.lanes.all()) {
      lanes += 1;
      readyPartitions += lane.ready.size;
    }
    const parked = this.live.size;
    return { parked, lanes, readyPartitions, lanesLoaded: loaded, lanesUnloaded: unloaded };
  }

  start(): void {
    if (this.running) return;
    this.running = true;
    this.unlisten = this.host.listen({
      appended: (slot) => this.onPartition(slot),
      cursorChanged: (slot) => this.onCursor(slot),
      queueDeleted: (queueId) => this.onQueueDeleted(queueId),
      registered: (queueId, groupId) => this.onRegistered(queueId, groupId),
    });
    this.timer = setInterval(() => this.onTick(), this.options.tickMs);
    this.timer.unref();
  }

  /** Step-down or shutdown: every parked pop is refused with `retry` and can be sent again. */
  stop(): void {
    if (!this.running) return;
    this.running = false;
    if (this.timer !== null) clearInterval(this.timer);
    this.unlisten?.();
    this.lanes.clear();
    this.absent.clear();
    this.dirty.clear();
    this.outbox = [];
    for (const pop of [...this.live]) pop.fail(new QueenError('retry'));
    this.live.clear();
  }

  /**
   * Resolves once a claim for the ticket is applied on this node, or empty: at the deadline minus the
   * reply margin, at once without `wait`, when the queue or group is deleted.
   */
  pop(
    request: PopRequest,
    ticket: PopTicket,
    options: { readonly deadlineMs: number; readonly signal?: AbortSignal },
  ): Promise<DispatchAnswer> {
    if (!this.running) return Promise.reject(new QueenError('retry'));
    const claimBeforeMs = options.deadlineMs - this.options.replyMarginMs;
    if (claimBeforeMs <= this.options.monotonicMs() || options.signal?.aborted === true) {
      return Promise.resolve(EMPTY);
    }
    return new Promise((resolve, reject) => {
      this.arrivals += 1;
      const pop = new WaitingPop({
        request,
        ticket,
        claimBeforeMs,
        arrival: this.arrivals,
        resolve,
        reject,
        onSettled: (settled) => this.forget(settled),
      });
      options.signal?.addEventListener('abort', () => pop.answer(EMPTY), { once: true });
      this.live.add(pop);
      this.wheel.schedule(pop, claimBeforeMs);
      this.admit(pop);
    });
  }

  private forget(pop: WaitingPop): void {
    this.live.delete(pop);
    this.wheel.cancel(pop);
  }

  private admit(pop: WaitingPop): void {
    const { tables } = this.host;
    const tenant = tables.names.tenant(pop.request.tenant);
    if (pop.request.scope === 'discovery') {
      void this.discover(pop);
      return;
    }
    const queue = tenant === undefined ? undefined : tables.queues.find(tenant, pop.request.queue);
    const group = tenant === undefined ? undefined : tables.names.group(tenant, pop.request.group);
    if (pop.request.scope === 'partition') this.admitPinned(pop, queue, group);
    else if (queue === undefined || group === undefined) pop.answer(EMPTY);
    else this.admitQueueWide(pop, this.lane(queue, group));
  }

  private admitQueueWide(pop: WaitingPop, lane: ConsumerLane): void {
    lane.startScan();
    (pop.request.wait ? lane.waiters : lane.impatient).pushBack(pop);
    this.touch(lane);
  }

  private admitPinned(
    pop: WaitingPop,
    queue: QueueRow | undefined,
    group: ConsumerGroupId | undefined,
  ): void {
    const slot =
      queue === undefined ? -1 : this.host.tables.partitions.find(queue.id, pop.request.partition);
    if (queue === undefined || group === undefined || slot < 0) {
      pop.sawNoPartition = true;
      if (pop.request.wait) this.absent.add(pop);
      else pop.answer(EMPTY);
      return;
    }
    const lane = this.lane(queue, group);
    if (!pop.sawNoPartition) lane.seedAtTail(slot, pop);
    lane.addPinned(slot, pop);
    this.touch(lane);
  }

  private lane(queue: QueueRow, group: ConsumerGroupId): ConsumerLane {
    const lane = this.lanes.ensure(queue.id, group);
    lane.lastUsedMs = this.options.monotonicMs();
    return lane;
  }

  // --- events of the machine, after each applied entry -----------------------------------------

  private onPartition(slot: number): void {
    if (this.absent.size > 0) this.wakeAbsent(slot);
    const lanes = this.lanes.ofQueue(this.host.tables.partitions.queueId(slot));
    for (const lane of lanes) {
      lane.reconsider(this.context(), slot);
      if (!lane.idle) this.touch(lane);
    }
  }

  private onCursor(cursorSlot: number): void {
    const { tables } = this.host;
    const slot = tables.cursors.partitionSlot(cursorSlot);
    const queueId = tables.partitions.queueId(slot);
    const lane = this.lanes.find(queueId, tables.cursors.groupId(cursorSlot));
    if (lane === undefined) return;
    if (tables.cursors.lease(cursorSlot) < 0) this.expiries.remove(cursorSlot);
    lane.seeds.delete(tables.partitions.id(slot));
    lane.reconsider(this.context(), slot);
    if (!lane.idle) this.touch(lane);
  }

  private onQueueDeleted(queueId: number): void {
    for (const lane of this.lanes.ofQueue(queueId)) {
      this.dirty.delete(lane);
      this.answerAllEmpty(lane);
    }
    this.lanes.dropQueue(queueId);
  }

  private onRegistered(queueId: number, groupId: number): void {
    const lane = this.lanes.find(queueId, groupId);
    if (lane === undefined) return;
    if (!lane.isRegistered) this.answerQueueWideEmpty(lane);
    lane.restart();
    this.touch(lane);
  }

  private wakeAbsent(slot: number): void {
    const { tables } = this.host;
    const queue = tables.queues.byId(tables.partitions.queueId(slot));
    if (queue === undefined) return;
    const tenant = tables.names.tenantUuid(queue.tenant);
    for (const pop of this.absent.take(tenant, queue.name, tables.partitions.name(slot))) {
      this.admit(pop);
    }
  }

  /** Their group was deleted under them; the next pop registers it anew. */
  private answerQueueWideEmpty(lane: ConsumerLane): void {
    const empty = (pop: WaitingPop): void => pop.answer(EMPTY);
    lane.waiters.forEach(empty);
    lane.impatient.forEach(empty);
  }

  private answerAllEmpty(lane: ConsumerLane): void {
    const empty = (pop: WaitingPop): void => pop.answer(EMPTY);
    this.answerQueueWideEmpty(lane);
    for (const list of lane.pinned.values()) list.forEach(empty);
  }

  private onLookedUp(lane: ConsumerLane, slots: readonly number[]): void {
    const context = this.context();
    for (const slot of slots) {
      lane.reconsider(context, slot);
      if (lane.pinned.has(slot)) lane.pinnedReady.add(slot);
    }
    this.touch(lane);
  }

  /** The rows could not be read: nobody of this lane may be told "empty". */
  private failLane(lane: ConsumerLane, error: Error): void {
    const refuse = (pop: WaitingPop): void => pop.fail(error);
    lane.waiters.forEach(refuse);
    lane.impatient.forEach(refuse);
    for (const list of lane.pinned.values()) list.forEach(refuse);
  }

  // --- serving -----------------------------------------------------------------------------------

  private touch(lane: ConsumerLane): void {
    this.dirty.add(lane);
    if (this.flushScheduled) return;
    this.flushScheduled = true;
    queueMicrotask(() => this.flush());
  }

  private flush(): void {
    this.flushScheduled = false;
    if (!this.running) return;
    const context = this.context();
    for (const lane of this.dirty) {
      this.dirty.delete(lane);
      this.serve(lane, context);
      if (lane.scanning) this.scheduleScan();
      if (lane.lookups.size > 0) this.lookups.request(lane);
    }
    while (this.outbox.length > 0) this.propose(this.outbox.splice(0, MAX_GRANTS_PER_CLAIM));
  }

  private serve(lane: ConsumerLane, context: InspectContext): void {
    const collector = new ClaimCollector(lane, context, this.options);
    this.servePinned(lane, collector, true);
    for (const list of [lane.waiters, lane.impatient]) {
      for (let pop = list.first(); pop !== null; pop = list.first()) {
        if (this.tooLate(pop)) continue;
        const grant = collector.collect(pop);
        if (grant === null) break;
        list.remove(pop);
        this.outbox.push(grant);
      }
    }
    this.servePinned(lane, collector, false);
    if (!lane.built || lane.lookups.size > 0) return;
    lane.impatient.forEach((pop) => pop.answer(EMPTY));
  }

  /**
   * The oldest waiter goes first: the first pass serves pinned pops older than the oldest queue-wide
   * one, the second pass (after the queue-wide ones) the rest.
   */
  private servePinned(lane: ConsumerLane, collector: ClaimCollector, olderOnly: boolean): void {
    const front = olderOnly ? (lane.waiters.first()?.arrival ?? Infinity) : Infinity;
    for (const slot of lane.pinnedReady) {
      const list = lane.pinned.get(slot);
      for (let pop = list?.first() ?? null; pop !== null; pop = list?.first() ?? null) {
        if (this.tooLate(pop)) continue;
        if (pop.arrival > front) break;
        const grant = collector.collectPinned(pop, slot);
        if (grant === null) break;
        list?.remove(pop);
        this.outbox.push(grant);
      }
      if (olderOnly) continue;
      if (!lane.lookups.has(slot)) {
        list?.forEach((pop) => {
          if (!pop.request.wait) pop.answer(EMPTY);
        });
      }
      if (list === undefined || list.size === 0) lane.pinned.delete(slot);
      lane.pinnedReady.delete(slot);
    }
  }

  private tooLate(pop: WaitingPop): boolean {
    if (pop.claimBeforeMs > this.options.monotonicMs()) return false;
    pop.answer(EMPTY);
    return true;
  }

  private propose(batch: readonly ProposedGrant[]): void {
    const bytes = this.options.encodeClaim({
      skewMicros: this.options.skewMicros,
      grants: batch.map((proposed) => proposed.grant),
    });
    this.host.propose({ bytes }).then(
      (outcome) => {
        if (outcome.kind === CommandKind.Claim) this.settle(batch, outcome.grants);
        else this.failBatch(batch, new QueenError('retry'));
      },
      (error: unknown) =>
        this.failBatch(batch, error instanceof Error ? error : new QueenError('retry')),
    );
  }

  /** The claim is applied: answer who got something, put back who lost every range. */
  private settle(batch: readonly ProposedGrant[], outcomes: readonly GrantOutcome[]): void {
    const context = this.context();
    batch.forEach((proposed, index) => {
      const granted = (outcomes[index]?.ranges.length ?? 0) > 0;
      this.release(proposed, context);
      if (granted) proposed.pop.answer(GRANTED);
      else if (!proposed.pop.settled && this.running) this.requeue(proposed);
    });
  }

  private requeue(proposed: ProposedGrant): void {
    const { pop } = proposed;
    const lane = proposed.lanes[0];
    if (lane === undefined || pop.request.scope !== 'queue') {
      this.admit(pop);
      return;
    }
    if (!lane.isRegistered) {
      pop.answer(EMPTY);
      return;
    }
    (pop.request.wait ? lane.waiters : lane.impatient).pushFront(pop);
    this.touch(lane);
  }

  private failBatch(batch: readonly ProposedGrant[], error: Error): void {
    const context = this.context();
    for (const proposed of batch) {
      this.release(proposed, context);
      proposed.pop.fail(error);
    }
  }

  private release(proposed: ProposedGrant, context: InspectContext): void {
    const { partitions } = this.host.tables;
    proposed.grant.ranges.forEach((range, index) => {
      const lane = proposed.lanes[index];
      const slot = proposed.slots[index] ?? -1;
      if (lane === undefined || slot < 0) return;
      lane.inFlight.delete(slot);
      lane.cuts.delete(range.partitionId);
      if (partitions.byId(range.partitionId) !== slot) return;
      lane.reconsider(context, slot);
      if (!lane.idle) this.touch(lane);
    });
  }

  // --- discovery: queues walked one after another, sharing one budget ----------------------------

  private async discover(pop: WaitingPop): Promise<void> {
    const { tables } = this.host;
    const tenant = tables.names.tenant(pop.request.tenant);
    const group = tenant === undefined ? undefined : tables.names.group(tenant, pop.request.group);
    if (tenant === undefined || group === undefined) {
      pop.answer(EMPTY);
      return;
    }
    let grant: ProposedGrant | null = null;
    for (const queue of tables.queues.list(tenant)) {
      if (!matchesLabels(queue, pop.request)) continue;
      const lane = this.lane(queue, group);
      await this.buildFully(lane);
      if (pop.settled || !this.running) break;
      const collector = new ClaimCollector(lane, this.context(), this.options);
      grant = collector.collectInto(pop, grant);
      if (grant !== null && collector.isFull(grant)) break;
    }
    if (grant === null) pop.answer(EMPTY);
    else this.propose([grant]);
  }

  private async buildFully(lane: ConsumerLane): Promise<void> {
    lane.startScan();
    while (!lane.built && this.running) {
      lane.buildSlice(this.context(), SCAN_SLICE);
      if (!lane.built) await new Promise((resolve) => setImmediate(resolve));
    }
    if (lane.lookups.size > 0) await this.lookups.resolve(lane);
  }

  // --- background --------------------------------------------------------------------------------

  private scheduleScan(): void {
    if (this.scanScheduled) return;
    this.scanScheduled = true;
    setImmediate(() => {
      this.scanScheduled = false;
      if (!this.running) return;
      const context = this.context();
      for (const lane of this.lanes.all()) {
        if (!lane.scanning) continue;
        lane.buildSlice(context, SCAN_SLICE);
        this.touch(lane);
      }
    });
  }

  /** Expired leases, overdue pops, idle lanes. */
  private onTick(): void {
    const context = this.context();
    const { tables } = this.host;
    for (
      let cursor = this.expiries.takeDue(context.nowMicros);
      cursor >= 0;
      cursor = this.expiries.takeDue(context.nowMicros)
    ) {
      const slot = tables.cursors.partitionSlot(cursor);
      if (slot < 0) continue;
      const queueId = tables.partitions.queueId(slot);
      const lane = this.lanes.find(queueId, tables.cursors.groupId(cursor));
      if (lane === undefined) continue;
      lane.reconsider(context, slot);
      this.touch(lane);
    }
    const nowMs = this.options.monotonicMs();
    // A pop whose claim is on its way is answered by the claim; the group knows its deadline.
    this.wheel.advance(nowMs, (pop) => {
      if (pop.list !== null) pop.answer(EMPTY);
    });
    this.absent.compact();
    this.lanes.dropIdle(nowMs - this.options.idleLaneMs);
  }

  private context(): InspectContext {
    return {
      tables: this.host.tables,
      nowMicros: this.host.nowMicros(),
      term: this.host.term(),
      skewMicros: this.options.skewMicros,
    };
  }
}

function matchesLabels(queue: QueueRow, request: PopRequest): boolean {
  const { namespace, task } = queue.options;
  return (
    (request.namespace === '' || request.namespace === namespace) &&
    (request.task === '' || request.task === task)
  );
}
