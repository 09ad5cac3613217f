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
import type { ExpiryHeap } from './expiry-heap.js';
import type { InspectContext, Inspection, StartPolicy } from './inspect.js';
import { inspect, newInspection, Verdict } from './inspect.js';
import { ReadyRing } from './ready-ring.js';
import type { WaitingPop } from './waiting-pop.js';
import { WaitingList } from './waiting-pop.js';

/** Start policy as the pop asks for it; used only while its group is not registered. */
export function intentOf(request: PopRequest): StartPolicy {
  const { mode, instantMicros } = request.intent;
  if (mode === 'all') return { mode: StartMode.All, instantMicros };
  return { mode: mode === 'new' ? StartMode.New : StartMode.Timestamp, instantMicros };
}

const START: StartPolicy = { mode: StartMode.All, instantMicros: 0 };

export class ConsumerLane {
  readonly ready = new ReadyRing();
  readonly waiters = new WaitingList();
  /** Pops that want exactly one partition, by slot, oldest first. */
  readonly pinned = new Map<number, WaitingList>();
  /** Slots with pinned waiters that turned ready since the last serve. */
  readonly pinnedReady = new Set<number>();
  /** Slots named by a claim on its way through the log. */
  readonly inFlight = new Set<number>();
  /** Slots whose start needs the append rows; resolved in batches by the dispatcher. */
  readonly lookups = new Set<number>();
  /** Starts found by lookups or first contact, by partition id; a cursor replaces them once claimed. */
  readonly seeds = new Map<number, number>();
  /** Ends of batches whose exact size had to be read from rows, by partition id. */
  readonly cuts = new Map<number, { readonly first: number; readonly last: number }>();
  /** Pops that do not wait: served after the parked ones, answered empty once the scan is complete. */
  readonly impatient = new WaitingList();
  lastUsedMs = 0;
  private scanSlot = -1;
  private scanStarted = false;
  private readonly scratch = newInspection();

  constructor(
    readonly queueId: QueueId,
    readonly groupId: ConsumerGroupId,
    private readonly tables: Tables,
    private readonly expiries: ExpiryHeap,
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

  /** False once the group was deleted on this queue, and for groups that only pin partitions. */
  get isRegistered(): boolean {
    return this.tables.registrations.find(this.queueId, this.groupId) !== undefined;
  }

  /** Queue-wide pops need the scan; pinned ones judge their own partition only. */
  startScan(): void {
    if (this.scanStarted) return;
    this.scanStarted = true;
    this.scanSlot = this.tables.queues.byId(this.queueId)?.firstPartition ?? -1;
  }

  /** The start policy changed (registration): forget what was derived from the old one. */
  restart(): void {
    this.seeds.clear();
    this.lookups.clear();
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

  /** Scans up to `budget` partitions; true when the scan is complete. */
  buildSlice(context: InspectContext, budget: number): boolean {
    const policy = this.policy(null);
    for (let n = 0; n < budget && this.scanSlot >= 0; n += 1) {
      const slot = this.scanSlot;
      this.scanSlot = this.tables.partitions.nextInQueue(slot);
      this.judge(context, slot, policy);
    }
    return this.built;
  }

  /** A partition of this lane may have changed: files it under ready, expiry or lookup. */
  reconsider(context: InspectContext, slot: number): void {
    if (this.inFlight.has(slot)) return;
    this.judge(context, slot, this.policy(null));
  }

  /** Inspects with lookup results taken into account. */
  inspectSlot(context: InspectContext, slot: number, policy: StartPolicy): Inspection {
    inspect(context, { slot, groupId: this.groupId, policy }, this.scratch);
    if (this.scratch.cursorSlot >= 0) return this.scratch;
    const seed = this.seeds.get(this.tables.partitions.id(slot));
    if (seed === undefined) return this.scratch;
    this.scratch.cursorVersion = 0;
    this.scratch.seedCommitted = seed;
    this.scratch.firstOffset = Math.max(seed + 1, this.tables.partitions.logStart(slot));
    this.scratch.verdict =
      this.scratch.firstOffset > this.scratch.lastOffset ? Verdict.Empty : Verdict.Ready;
    return this.scratch;
  }

  addPinned(slot: number, pop: WaitingPop): void {
    let list = this.pinned.get(slot);
    if (list === undefined) {
      list = new WaitingList();
      this.pinned.set(slot, list);
    }
    list.pushBack(pop);
    this.pinnedReady.add(slot);
  }

  /**
   * First contact of an unregistered group that wants new messages only: the tail of this moment is
   * where it starts, also for its later pops, until a cursor or a registration says otherwise.
   */
  seedAtTail(slot: number, pop: WaitingPop): void {
    const { partitions, cursors } = this.tables;
    const id = partitions.id(slot);
    if (pop.request.intent.mode !== 'new' || this.seeds.has(id)) return;
    if (cursors.find(slot, this.groupId) >= 0) return;
    if (this.tables.registrations.find(this.queueId, this.groupId) !== undefined) return;
    this.seeds.set(id, partitions.lastOffset(slot));
  }

  /** Intent of the oldest pop pinned to the slot: it decides the start of an unregistered group. */
  intentFor(slot: number): StartPolicy | null {
    const pop = this.pinned.get(slot)?.first() ?? null;
    return pop === null ? null : intentOf(pop.request);
  }

  private judge(context: InspectContext, slot: number, policy: StartPolicy): void {
    const found = this.inspectSlot(context, slot, policy);
    if (found.verdict === Verdict.Ready) {
      this.ready.push(slot);
      if (this.pinned.has(slot)) this.pinnedReady.add(slot);
    } else if (found.verdict === Verdict.Leased) {
      this.expiries.set(found.cursorSlot, found.freeAt);
    } else if (found.verdict === Verdict.Lookup) {
      this.lookups.add(slot);
    }
  }
}
