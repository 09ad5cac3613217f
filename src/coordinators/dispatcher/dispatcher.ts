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
import { AbsentPops } from './absent-pops.js';
import { AckRate, watchAcks } from './autopilot.js';
import type { ProposedGrant } from './claim-collector.js';
import type { ConsumerLane } from './consumer-lane.js';
import { CursorSeals } from './cursor-seals.js';
import type { DiscoveryPort } from './discovery.js';
import { discover } from './discovery.js';
import type { DispatcherHost, DispatcherOptions } from './dispatcher-host.js';
import { DueSlots } from './due-slots.js';
import { ExpiryHeap } from './expiry-heap.js';
import type { InspectContext } from './inspect.js';
import { LaneRegister } from './lane-register.js';
import { LaneServer } from './lane-server.js';
import { LookupRunner } from './lookup-runner.js';
import type { DispatchAnswer } from './waiting-pop.js';
import { WaitingPop } from './waiting-pop.js';

/** Partitions judged by scans before the loop gets a turn. */
const SCAN_SLICE = 2_000;
/**
 * Partitions judged at once for a pop that comes before the scan is through: enough that most queues are
 * known whole with their first pop, so that a pop that does not wait need not wait for a turn of the
 * loop, and an eighth of a slice, so that a pop adds little to its turn.
 */
const FIRST_LOOK = SCAN_SLICE / 8;
/** Most grants one claim command carries, and one turn of the loop makes. */
const MAX_GRANTS_PER_CLAIM = 1_024;
const IDLE_CHECK_MS = 1_000;
const EMPTY: DispatchAnswer = {
  granted: false,
  conflation: false,
  conflationConflict: false,
  autopilot: null,
};

export class Dispatcher {
  private readonly expiries = new ExpiryHeap();
  private readonly due: DueSlots;
  private readonly lanes: LaneRegister;
  private readonly absent = new AbsentPops();
  private readonly lookups: LookupRunner;
  private readonly dirty = new Set<ConsumerLane>();
  private readonly scanning = new Set<ConsumerLane>();
  private readonly live = new Set<WaitingPop>();
  private readonly wheel: TimingWheel<WaitingPop>;
  private readonly discoveryPort: DiscoveryPort;
  private flushScheduled = false;
  private scanScheduled = false;
  private timer: NodeJS.Timeout | null = null;
  private unlisten: (() => void) | null = null;
  private arrivals = 0;
  private conflationConflicts = 0;
  private idleCheckMs = 0;
  private running = false;

  constructor(
    private readonly host: DispatcherHost,
    private readonly options: DispatcherOptions,
  ) {
    this.wheel = new TimingWheel(options.tickMs, options.monotonicMs());
    const { expiries } = this;
    const holds = new ExpiryHeap();
    this.lanes = new LaneRegister(host.tables, { expiries, holds, seals: new CursorSeals(host) });
    this.due = new DueSlots(
      { expiries, holds, lanes: this.lanes, tables: host.tables },
      () => (this.running ? this.context() : null),
      (lane) => this.touch(lane),
    );
    this.discoveryPort = this.createDiscoveryPort();
    const { maxPopBytes } = options;
    this.lookups = new LookupRunner(
      host,
      { maxPopBytes, context: () => this.context() },
      {
        resolved: (lane, slots) => this.onLookedUp(lane, slots),
        failed: (lane, error) => this.failLane(lane, error),
      },
    );
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
    const { conflationConflicts } = this;
    const counts = { parked: this.live.size, coldClaims: this.lookups.served, conflationConflicts };
    return { ...counts, lanes, readyPartitions, lanesLoaded: loaded, lanesUnloaded: unloaded };
  }

  start(): void {
    if (this.running) return;
    this.running = true;
    this.unlisten = this.host.listen({
      appended: (slot) => this.onPartition(slot),
      cursorChanged: (slot) => this.onCursor(slot),
      queueDeleted: (queueId) => this.onQueueDeleted(queueId),
      queueConfigured: (queueId) => this.onQueueConfigured(queueId),
      registered: (queueId, groupId) => this.onRegistered(queueId, groupId),
      partitionDropped: (queueId, slot) =>
        this.lanes.forget(queueId, slot).forEach((pop) => this.admit(pop)),
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
    this.scanning.clear();
    this.due.clear();
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
        onSettled: this.forget,
      });
      options.signal?.addEventListener('abort', () => pop.answer(false), { once: true });
      this.live.add(pop);
      this.wheel.schedule(pop, claimBeforeMs);
      this.admit(pop);
    });
  }

  /** One function for all pops. */
  private readonly forget = (pop: WaitingPop): void => {
    this.live.delete(pop);
    this.wheel.cancel(pop);
  };

  private admit(pop: WaitingPop): void {
    if (pop.request.scope === 'discovery') {
      void discover(pop, this.discoveryPort);
      return;
    }
    const { tables } = this.host;
    const tenant = tables.names.tenant(pop.request.tenant);
    const queue = tenant === undefined ? undefined : tables.queues.find(tenant, pop.request.queue);
    const group = tenant === undefined ? undefined : tables.names.group(tenant, pop.request.group);
    if (pop.request.scope === 'partition') this.admitPinned(pop, queue, group);
    else if (queue === undefined || group === undefined) pop.answer(false);
    else this.admitQueueWide(pop, this.lane(queue, group));
  }

  private admitQueueWide(pop: WaitingPop, lane: ConsumerLane): void {
    this.notePolicy(pop, lane);
    // Registered before it waited here, so the group was deleted since.
    if (!lane.isRegistered) {
      pop.answer(false);
      return;
    }
    if (pop.request.autopilot?.batch === true) lane.ackRate ??= new AckRate();
    // Of a small queue even its first pop gets all that is there.
    lane.startScan();
    if (!lane.built) lane.buildSlice(this.context(), FIRST_LOOK);
    (pop.request.wait ? lane.waiters : lane.impatient).insert(pop);
    this.touch(lane);
  }

  private admitPinned(
    pop: WaitingPop,
    queue: QueueRow | undefined,
    group: ConsumerGroupId | undefined,
  ): void {
    const lane = queue === undefined || group === undefined ? null : this.lane(queue, group);
    const slot =
      queue === undefined ? -1 : this.host.tables.partitions.find(queue.id, pop.request.partition);
    if (lane !== null && (slot >= 0 || lane.isRegistered)) this.notePolicy(pop, lane);
    if (lane === null || slot < 0) {
      pop.sawNoPartition = true;
      if (pop.request.wait) this.absent.add(pop);
      else pop.answer(false);
      return;
    }
    if (!pop.sawNoPartition) lane.seedAtTail(slot, pop);
    lane.addPinned(slot, pop);
    this.touch(lane);
  }

  private lane(queue: QueueRow, group: ConsumerGroupId): ConsumerLane {
    const lane = this.lanes.ensure(queue.id, group);
    lane.lastUsedMs = this.options.monotonicMs();
    return lane;
  }

  /** The stored policy rules; a pop that asks for another one is told (spec §2.7). */
  private notePolicy(pop: WaitingPop, lane: ConsumerLane): void {
    const { conflates } = lane;
    if (conflates) pop.conflation = true;
    const asked = pop.request.conflation;
    if (asked === null || asked === conflates || pop.conflationConflict) return;
    pop.conflationConflict = true;
    this.conflationConflicts += 1;
    const queue = this.host.tables.queues.byId(lane.queueId);
    this.options.onConflict?.(queue?.name ?? '', pop.request.group);
  }

  // --- events of the machine, after each applied entry -----------------------------------------

  private onPartition(slot: number): void {
    if (this.absent.size > 0) this.wakeAbsent(slot);
    const lanes = this.lanes.ofQueue(this.host.tables.partitions.queueId(slot));
    for (const lane of lanes) {
      lane.appended(this.context(), slot);
      if (!lane.idle) this.touch(lane);
    }
  }

  private onCursor(cursorSlot: number): void {
    const { tables } = this.host;
    const slot = tables.cursors.partitionSlot(cursorSlot);
    const queueId = tables.partitions.queueId(slot);
    const lane = this.lanes.find(queueId, tables.cursors.groupId(cursorSlot));
    if (lane === undefined) return;
    const leased = tables.cursors.lease(cursorSlot) >= 0;
    if (!leased) this.expiries.remove(cursorSlot);
    if (lane.ackRate !== null) {
      const committed = tables.cursors.committed(cursorSlot);
      lane.ackRate.changed(cursorSlot, { committed, leased, nowMicros: this.host.nowMicros() });
    }
    lane.seeds.delete(tables.partitions.id(slot));
    lane.reconsider(this.context(), slot);
    if (!lane.idle) this.touch(lane);
  }

  private onQueueDeleted(queueId: number): void {
    for (const lane of this.lanes.ofQueue(queueId)) {
      this.dirty.delete(lane);
      this.scanning.delete(lane);
      lane.forEachPop((pop) => pop.answer(false));
    }
    this.lanes.dropQueue(queueId);
  }

  /** Delay or window may be another: what was held is judged again. */
  private onQueueConfigured(queueId: number): void {
    for (const lane of this.lanes.ofQueue(queueId)) {
      lane.restart();
      this.touch(lane);
    }
  }

  private onRegistered(queueId: number, groupId: number): void {
    const lane = this.lanes.find(queueId, groupId);
    if (lane === undefined) return;
    // Their group was deleted under them; the next pop registers it anew.
    if (!lane.isRegistered) lane.forEachPop((pop) => pop.answer(false));
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
    lane.forEachPop((pop) => pop.fail(error));
  }

  // --- serving -----------------------------------------------------------------------------------

  private touch(lane: ConsumerLane): void {
    this.dirty.add(lane);
    if (this.flushScheduled) return;
    this.flushScheduled = true;
    queueMicrotask(() => this.flush());
  }

  private flush(): void {
    // What ended before this pop came counts, not what the last tick saw.
    this.due.take();
    this.flushScheduled = false;
    if (!this.running) return;
    const context = this.context();
    const grants: ProposedGrant[] = [];
    for (const lane of this.dirty) {
      if (grants.length >= MAX_GRANTS_PER_CLAIM) break;
      this.dirty.delete(lane);
      const served = new LaneServer(lane, context, this.options, grants);
      if (!served.serve(MAX_GRANTS_PER_CLAIM)) this.dirty.add(lane);
      if (lane.scanning) this.scheduleScan(lane);
      if (lane.lookups.size > 0) this.lookups.request(lane);
    }
    while (grants.length > 0) this.propose(grants.splice(0, MAX_GRANTS_PER_CLAIM));
    if (this.dirty.size === 0) return;
    this.flushScheduled = true;
    setImmediate(() => this.flush());
  }

  private propose(batch: readonly ProposedGrant[]): void {
    for (const { pop } of batch) pop.claiming = true;
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
      const outcome = outcomes[index];
      const granted = (outcome?.ranges.length ?? 0) > 0;
      if (outcome !== undefined && granted) {
        const rate = proposed.lanes[0]?.ackRate ?? null;
        if (rate !== null) watchAcks(rate, outcome, context);
      }
      this.release(proposed, context);
      proposed.pop.claiming = false;
      if (granted) proposed.pop.answer(true);
      else if (!proposed.pop.settled && this.running) this.requeue(proposed);
    });
  }

  private requeue({ pop, lanes }: ProposedGrant): void {
    const [lane] = lanes;
    const isGone = lane === undefined || this.host.tables.queues.byId(lane.queueId) === undefined;
    const isLate = pop.claimBeforeMs <= this.options.monotonicMs();
    if (isLate || (isGone && pop.request.scope !== 'discovery')) pop.answer(false);
    else this.admit(pop);
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
      lane.landed(slot);
      lane.cuts.delete(range.partitionId);
      // Another partition may have taken the slot meanwhile, and was not looked at in flight.
      if (partitions.byId(partitions.id(slot)) === slot) lane.reconsider(context, slot);
      // Also when the partition is gone: pops that do not wait may have stayed for what it had left.
      if (!lane.idle) this.touch(lane);
    });
  }

  // --- background --------------------------------------------------------------------------------

  private createDiscoveryPort(): DiscoveryPort {
    const { tables } = this.host;
    return {
      tables,
      options: this.options,
      context: () => this.context(),
      lane: (queue, pop) => {
        const group = tables.names.group(queue.tenant, pop.request.group);
        const lane = group === undefined ? null : this.lane(queue, group);
        if (lane?.isRegistered !== true) return null;
        this.notePolicy(pop, lane);
        return lane;
      },
      build: (lane) => this.buildFully(lane),
      propose: (grant) => this.propose([grant]),
      release: (grant) => this.release(grant, this.context()),
    };
  }

  private async buildFully(lane: ConsumerLane): Promise<void> {
    this.due.take();
    lane.startScan();
    while (!lane.built && this.running) {
      lane.buildSlice(this.context(), SCAN_SLICE);
      if (!lane.built) await new Promise((resolve) => setImmediate(resolve));
    }
    if (lane.lookups.size > 0) await this.lookups.resolve(lane);
  }

  private scheduleScan(lane: ConsumerLane): void {
    this.scanning.add(lane);
    if (this.scanScheduled) return;
    this.scanScheduled = true;
    setImmediate(() => this.scan());
  }

  /** One slice, shared by all lanes that scan; each comes to its turn. */
  private scan(): void {
    this.scanScheduled = false;
    if (!this.running) return;
    const context = this.context();
    let budget = SCAN_SLICE;
    for (const lane of this.scanning) {
      this.scanning.delete(lane);
      budget -= lane.buildSlice(context, budget);
      this.touch(lane);
      if (budget <= 0) break;
    }
    const [next] = this.scanning;
    if (next !== undefined) this.scheduleScan(next);
  }

  /** Ended leases and holds, overdue pops, idle lanes. */
  private onTick(): void {
    this.due.take();
    const nowMs = this.options.monotonicMs();
    // A pop whose claim is on its way is answered by the claim; the group knows its deadline.
    this.wheel.advance(nowMs, (pop) => {
      if (!pop.claiming) pop.answer(false);
    });
    if (nowMs < this.idleCheckMs) return;
    this.idleCheckMs = nowMs + IDLE_CHECK_MS;
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
