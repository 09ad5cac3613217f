/**
 * One lane = one (queue, consumer group) being consumed on this leader: the FIFO of partitions that
 * look claimable, the FIFO of parked pops, and the scan that builds the former. Volatile; dropped when
 * idle and rebuilt in slices. Never holds the loop: the scan yields by budget.
 */
import type { ConsumerGroupId, QueueId } from '../../common/ids.js';
import { StartMode } from '../../machine/commands/catalogue.js';
import type { Tables } from '../../machine/tables/tables.js';
import { QUEUE_MODE_GROUP } from '../../machine/tables/tables.js';
import type { PopRequest } from '../../raft/group/group.js';
import type { AckRate } from './autopilot.js';
import type { ExpiryHeap } from './expiry-heap.js';
import type { KnownDue } from './hold-rules.js';
import { applyHolds } from './hold-rules.js';
import type { InspectContext, Inspection, StartPolicy } from './inspect.js';
import { inspect, newInspection, Verdict } from './inspect.js';
import { ReadyRing } from './ready-ring.js';
import type { WaitingPlace, WaitingPop } from './waiting-pop.js';
import { WaitingList } from './waiting-pop.js';

/** Start policy as the pop asks for it; used only while its group is not registered. */
export function intentOf(request: PopRequest): StartPolicy {
  const { mode, instantMicros } = request.intent;
  if (mode === 'all') return { mode: StartMode.All, instantMicros };
  return { mode: mode === 'new' ? StartMode.New : StartMode.Timestamp, instantMicros };
}

const START: StartPolicy = { mode: StartMode.All, instantMicros: 0 };

/** When something not claimable now is to be looked at again. */
export interface LaneTimers {
  /** Leases, by cursor slot. */
  readonly expiries: ExpiryHeap;
  /** Delays and windows, by partition slot; shared by the lanes of a queue, so only ever too early. */
  readonly holds: ExpiryHeap;
  /** Cursors to be moved to the tail of an emptied log. */
  readonly seals?: { note(cursorSlot: number): void };
}

export class ConsumerLane implements WaitingPlace {
  readonly ready = new ReadyRing();
  readonly waiters = new WaitingList();
  /** Pops that want exactly one partition, by slot, oldest first. */
  readonly pinned = new Map<number, WaitingList>();
  /** Slots with pinned waiters that turned ready since the last serve. */
  readonly pinnedReady = new Set<number>();
  /** Slots named by a claim on its way through the log. */
  readonly inFlight = new Set<number>();
  /** Those of them whose claim commits on delivery: no lease keeps others out once it landed. */
  readonly committing = new Set<number>();
  /** Those of them with messages that the claim does not take: claimable again as soon as it landed. */
  readonly returning = new Set<number>();
  /** Slots that need the append rows, with the messages a batch wants (0: only the start). */
  readonly lookups = new Map<number, number>();
  /** Starts found by lookups or first contact, by partition id; a cursor replaces them once claimed. */
  readonly seeds = new Map<number, number>();
  /** Ends of batches whose exact size had to be read from rows, by partition id. */
  readonly cuts = new Map<number, { readonly first: number; readonly last: number }>();
  /** What is due of partitions under a delay, by partition id. */
  readonly dues = new Map<number, KnownDue>();
  /** Pops that do not wait: served after the parked ones, answered empty once the scan is complete. */
  readonly impatient = new WaitingList();
  /** Acks per second, measured once a pop asked for the autopilot. */
  ackRate: AckRate | null = null;
  lastUsedMs = 0;
  /** Rises with `restart`: what was looked up before is void. */
  generation = 0;
  private hasLanded = false;
  private scanSlot = -1;
  private scanStarted = false;
  private readonly scratch = newInspection();

  constructor(
    readonly queueId: QueueId,
    readonly groupId: ConsumerGroupId,
    private readonly tables: Tables,
    private readonly timers: LaneTimers,
  ) {}

  /** True when every partition of the queue has been judged (later ones announce themselves). */
  get built(): boolean {
    return this.scanStarted && this.scanSlot < 0;
  }

  get scanning(): boolean {
    return this.scanStarted && this.scanSlot >= 0;
  }

  get idle(): boolean {
    const parked = this.waiters.size + this.impatient.size + this.pinned.size;
    return parked === 0 && this.inFlight.size === 0;
  }

  /** Queue-wide pops on their way or parked. */
  get queueWide(): number {
    return this.waiters.size + this.impatient.size;
  }

  /** False once the group was deleted on this queue, and for groups that only pin partitions. */
  get isRegistered(): boolean {
    return this.tables.registrations.find(this.queueId, this.groupId) !== undefined;
  }

  /** Last-value delivery, by the stored registration. */
  get conflates(): boolean {
    return this.tables.registrations.find(this.queueId, this.groupId)?.conflation ?? false;
  }

  /** Queue-wide pops need the scan; pinned ones judge their own partition only. */
  startScan(): void {
    if (this.scanStarted) return;
    this.scanStarted = true;
    this.scanSlot = this.tables.queues.byId(this.queueId)?.firstPartition ?? -1;
  }

  /** Start policy, cursors or queue options changed: forget what was derived from the old ones. */
  restart(): void {
    this.generation += 1;
    this.seeds.clear();
    this.lookups.clear();
    this.dues.clear();
    for (const [slot, list] of this.pinned) {
      this.pinnedReady.add(slot);
      const oldest = list.first();
      if (oldest !== null && !oldest.sawNoPartition) this.seedAtTail(slot, oldest);
    }
    if (!this.scanStarted) return;
    this.scanStarted = false;
    this.startScan();
  }

  /** Stored policy of the group, or the intent of an unregistered one (pinned pops only). */
  policy(intent: StartPolicy | null): StartPolicy {
    const row = this.tables.registrations.find(this.queueId, this.groupId);
    if (row !== undefined) return { mode: row.mode, instantMicros: row.instant };
    if (intent === null || this.tables.names.groupName(this.groupId) === QUEUE_MODE_GROUP) {
      return START;
    }
    return intent;
  }

  /** Scans up to `budget` partitions; returns how many it judged. */
  buildSlice(context: InspectContext, budget: number): number {
    const policy = this.policy(null);
    let judged = 0;
    for (; judged < budget && this.scanSlot >= 0; judged += 1) {
      const slot = this.scanSlot;
      this.scanSlot = this.tables.partitions.nextInQueue(slot);
      if (!this.inFlight.has(slot)) this.judge(context, slot, policy);
    }
    return judged;
  }

  /** A partition of this lane may have changed: files it under ready, expiry, hold or lookup. */
  reconsider(context: InspectContext, slot: number): void {
    if (this.inFlight.has(slot)) return;
    this.judge(context, slot, this.policy(this.intentFor(slot)));
  }

  /** Messages came into the partition; a claim on its way does not take them. */
  appended(context: InspectContext, slot: number): void {
    if (this.committing.has(slot)) this.returning.add(slot);
    this.reconsider(context, slot);
  }

  /** Inspects with lookup results taken into account. The result is valid until the next call. */
  inspectSlot(context: InspectContext, slot: number, policy: StartPolicy): Inspection {
    const found = this.scratch;
    const id = this.tables.partitions.id(slot);
    const seed = this.seeds.size === 0 ? undefined : this.seeds.get(id);
    // A slot remembered from before its partition was dropped may belong to another queue by now.
    if (this.tables.partitions.queueId(slot) !== this.queueId) {
      Object.assign(found, newInspection());
      return found;
    }
    inspect(context, { slot, groupId: this.groupId, policy }, found);
    if (seed !== undefined && !this.isPlaced(found.cursorSlot)) this.applySeed(slot, seed);
    if (found.verdict === Verdict.Ready) {
      applyHolds(context, { slot, due: this.dues.get(id) }, found);
    }
    return found;
  }

  /**
   * Nothing is left of the log before the cursor: it goes to the tail. One that is only a start stays: its
   * instant may be yet to come, and says by itself that nothing before it is waited for.
   */
  sealEmptied(found: Inspection): void {
    if (!this.isPlaced(found.cursorSlot) || found.seedCommitted >= found.lastOffset) return;
    this.timers.seals?.note(found.cursorSlot);
  }

  /** A pinned pop got nothing: files the slot under what it waits for. */
  judgePinned(context: InspectContext, slot: number): void {
    if (this.inFlight.has(slot)) return;
    const found = this.inspectSlot(context, slot, this.policy(this.intentFor(slot)));
    if (found.verdict === Verdict.Ready) return;
    this.file(slot, found);
  }

  addPinned(slot: number, pop: WaitingPop): void {
    let list = this.pinned.get(slot);
    if (list === undefined) {
      list = new WaitingList();
      this.pinned.set(slot, list);
    }
    pop.place = this;
    pop.slot = slot;
    list.insert(pop);
    this.pinnedReady.add(slot);
  }

  /** The partition was dropped: forgets its slot and gives back the pops pinned to it. */
  forget(slot: number): WaitingPop[] {
    const pops: WaitingPop[] = [];
    const list = this.pinned.get(slot);
    list?.forEach((pop) => {
      list.remove(pop);
      pop.place = null;
      pops.push(pop);
    });
    this.pinned.delete(slot);
    this.pinnedReady.delete(slot);
    this.lookups.delete(slot);
    if (this.scanSlot === slot) {
      this.scanStarted = false;
      this.startScan();
    }
    return pops;
  }

  /** A claim of the slot was applied or lost; who is pinned to it is looked at again either way. */
  landed(slot: number): void {
    this.inFlight.delete(slot);
    this.committing.delete(slot);
    const list = this.pinned.get(slot);
    if (this.returning.delete(slot)) {
      this.hasLanded = true;
      list?.forEach((pop) => (pop.timesEmpty += 1));
    }
    if (list !== undefined) this.pinnedReady.add(slot);
  }

  /** Whether any slot came back with messages left since this was asked last. */
  takeLanded(): boolean {
    const { hasLanded } = this;
    this.hasLanded = false;
    return hasLanded;
  }

  /** A pinned pop is on its way to a claim, or settled. */
  left(pop: WaitingPop): void {
    if (this.pinned.get(pop.slot)?.size !== 0) return;
    this.pinned.delete(pop.slot);
    this.pinnedReady.delete(pop.slot);
  }

  /** Oldest first per list; the visitor may settle the pop. */
  forEachQueueWide(visit: (pop: WaitingPop) => void): void {
    this.waiters.forEach(visit);
    this.impatient.forEach(visit);
  }

  forEachPop(visit: (pop: WaitingPop) => void): void {
    this.forEachQueueWide(visit);
    for (const list of [...this.pinned.values()]) list.forEach(visit);
  }

  /** Files a slot whose rows must be read; a batch of `wanted` messages is to be measured. */
  wantLookup(slot: number, wanted: number): void {
    this.lookups.set(slot, Math.max(this.lookups.get(slot) ?? 0, wanted));
  }

  /**
   * First contact of an unregistered group that wants new messages only: the tail of this moment is
   * where it starts, also for its later pops, until a cursor or a registration says otherwise. Mostly
   * the contact has committed its start as a cursor before the pop comes here, and nothing is left to do;
   * this is for a pop whose group or partition was deleted in between, which would get all there is.
   */
  seedAtTail(slot: number, pop: WaitingPop): void {
    const { partitions, cursors } = this.tables;
    const id = partitions.id(slot);
    if (pop.request.intent.mode !== 'new' || this.seeds.has(id)) return;
    if (cursors.find(slot, this.groupId) >= 0) return;
    if (this.isRegistered) return;
    this.seeds.set(id, partitions.lastOffset(slot));
  }

  /** Intent of the oldest pop pinned to the slot: it decides the start of an unregistered group. */
  intentFor(slot: number): StartPolicy | null {
    if (this.pinned.size === 0) return null;
    const pop = this.pinned.get(slot)?.first() ?? null;
    return pop === null ? null : intentOf(pop.request);
  }

  /** The cursor says where the group stands; without one, or with a mere start, seeds do. */
  private isPlaced(cursorSlot: number): boolean {
    return cursorSlot >= 0 && !this.tables.cursors.isStart(cursorSlot);
  }

  private applySeed(slot: number, seed: number): void {
    const found = this.scratch;
    if (found.cursorSlot < 0) found.cursorVersion = 0;
    found.seedCommitted = seed;
    found.firstOffset = Math.max(seed + 1, this.tables.partitions.logStart(slot));
    found.verdict = found.firstOffset > found.lastOffset ? Verdict.Empty : Verdict.Ready;
  }

  private judge(context: InspectContext, slot: number, policy: StartPolicy): void {
    this.file(slot, this.inspectSlot(context, slot, policy));
  }

  private file(slot: number, found: Inspection): void {
    switch (found.verdict) {
      case Verdict.Ready:
        this.ready.push(slot);
        if (this.pinned.size > 0 && this.pinned.has(slot)) this.pinnedReady.add(slot);
        return;
      case Verdict.Leased:
        this.timers.expiries.set(found.cursorSlot, found.freeAt);
        return;
      case Verdict.Held:
        this.timers.holds.setEarlier(slot, found.freeAt);
        return;
      case Verdict.Lookup:
        this.wantLookup(slot, 0);
        return;
      case Verdict.Empty:
        this.sealEmptied(found);
        return;
    }
  }
}
