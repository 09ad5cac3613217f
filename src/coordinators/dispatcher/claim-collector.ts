/**
 * Turns ready partitions of a lane into the ranges of one grant, under the pop's budget of messages,
 * partitions and bytes. The byte bound uses the partition's largest record; when that bound bites, the
 * exact end is read from the append rows first (a lookup), so one old giant does not shrink every
 * later batch.
 */
import type { Offset } from '../../common/ids.js';
import { offset } from '../../common/ids.js';
import type { ClaimGrant, ClaimRange } from '../../machine/commands/catalogue.js';
import type { PopRequest } from '../../raft/group/group.js';
import { type ConsumerLane, intentOf } from './consumer-lane.js';
import type { DispatcherOptions } from './dispatcher-host.js';
import type { InspectContext, Inspection, StartPolicy } from './inspect.js';
import { Verdict } from './inspect.js';
import type { WaitingPop } from './waiting-pop.js';

const DISCOVERY_LEASE_SECONDS = 60;
const UNKNOWN_QUEUE_LEASE_SECONDS = 60;
const MICROS = 1_000_000;

/** A claim on its way: the grant, and where each of its ranges came from. */
export interface ProposedGrant {
  readonly pop: WaitingPop;
  readonly grant: ClaimGrant & { readonly ranges: ClaimRange[] };
  readonly lanes: ConsumerLane[];
  readonly slots: number[];
  messages: number;
  bytes: number;
  /** No further range fits. */
  closed: boolean;
}

interface Budgeted {
  readonly pop: WaitingPop;
  readonly grant: ProposedGrant | null;
}

export class ClaimCollector {
  private readonly conflated: boolean;

  constructor(
    private readonly lane: ConsumerLane,
    private readonly context: InspectContext,
    private readonly options: Pick<DispatcherOptions, 'maxPopBytes' | 'mintLeaseId'>,
  ) {
    this.conflated = lane.conflates;
  }

  /** Ranges for a queue-wide pop, or null when nothing is ready. */
  collect(pop: WaitingPop): ProposedGrant | null {
    return this.collectInto(pop, null);
  }

  /** Adds this lane's ranges to a grant (discovery walks several lanes). */
  collectInto(pop: WaitingPop, started: ProposedGrant | null): ProposedGrant | null {
    let grant = started;
    const policy = this.lane.policy(null);
    while (grant === null || !this.isFull(grant)) {
      const slot = this.lane.ready.shift();
      if (slot < 0) break;
      grant = this.tryAdd(pop, grant, { slot, policy });
    }
    return grant;
  }

  /** The one range of a pinned pop, or null. */
  collectPinned(pop: WaitingPop, slot: number): ProposedGrant | null {
    return this.tryAdd(pop, null, { slot, policy: this.lane.policy(intentOf(pop.request)) });
  }

  isFull(grant: ProposedGrant): boolean {
    return (
      grant.closed ||
      grant.messages >= grant.pop.maxMessages ||
      grant.slots.length >= grant.pop.maxPartitions ||
      grant.bytes >= this.options.maxPopBytes
    );
  }

  private tryAdd(
    pop: WaitingPop,
    grant: ProposedGrant | null,
    target: { readonly slot: number; readonly policy: StartPolicy },
  ): ProposedGrant | null {
    const { lane } = this;
    if (lane.inFlight.has(target.slot)) return grant;
    const found = lane.inspectSlot(this.context, target.slot, target.policy);
    if (found.verdict === Verdict.Lookup) lane.wantLookup(target.slot, 0);
    else if (found.verdict === Verdict.Held || found.verdict === Verdict.Leased) {
      lane.reconsider(this.context, target.slot);
    } else if (found.verdict === Verdict.Empty) lane.sealEmptied(found);
    if (found.verdict !== Verdict.Ready) return grant;
    const last = this.endOf(target.slot, found, { pop, grant });
    if (last === null) return grant;
    const into = grant ?? this.start(pop);
    this.add(into, target.slot, { found, last });
    return into;
  }

  private start(pop: WaitingPop): ProposedGrant {
    const { request } = pop;
    return {
      pop,
      grant: {
        ticket: pop.ticket,
        leaseId: this.options.mintLeaseId(),
        leaseMicros: request.commitOnDelivery ? 0 : this.leaseSeconds(request) * MICROS,
        commitOnDelivery: request.commitOnDelivery,
        ranges: [],
      },
      lanes: [],
      slots: [],
      messages: 0,
      bytes: 0,
      closed: false,
    };
  }

  private leaseSeconds(request: PopRequest): number {
    if (request.leaseSeconds > 0) return request.leaseSeconds;
    if (request.scope === 'discovery') return DISCOVERY_LEASE_SECONDS;
    const queue = this.context.tables.queues.byId(this.lane.queueId);
    return Math.max(queue?.options.leaseTime ?? UNKNOWN_QUEUE_LEASE_SECONDS, 1);
  }

  private add(
    into: ProposedGrant,
    slot: number,
    range: { readonly found: Inspection; readonly last: Offset },
  ): void {
    const { found, last } = range;
    const { partitions } = this.context.tables;
    into.grant.ranges.push({
      queueId: this.lane.queueId,
      partitionId: partitions.id(slot),
      groupId: this.lane.groupId,
      cursorVersion: found.cursorVersion,
      seedCommitted: found.seedCommitted,
      firstOffset: offset(found.firstOffset),
      lastOffset: last,
      conflated: this.conflated,
    });
    into.lanes.push(this.lane);
    into.slots.push(slot);
    const messages = this.conflated ? 1 : last - found.firstOffset + 1;
    into.messages += messages;
    into.bytes += messages * partitions.maxRecordBytes(slot);
    this.lane.inFlight.add(slot);
    if (!into.grant.commitOnDelivery) return;
    this.lane.committing.add(slot);
    if (last < found.lastOffset) this.lane.returning.add(slot);
  }

  /** Last offset to claim, or null when the partition gets no range in this grant. */
  private endOf(slot: number, found: Inspection, into: Budgeted): Offset | null {
    const { partitions } = this.context.tables;
    const { pop, grant } = into;
    const largest = Math.max(partitions.maxRecordBytes(slot), 1);
    const room = this.options.maxPopBytes - (grant?.bytes ?? 0);
    if (this.conflated) {
      // The whole span is leased, its last message alone is delivered.
      if (grant === null || largest <= room) return offset(found.lastOffset);
      return this.close(grant, slot);
    }
    const messages = pop.maxMessages - (grant?.messages ?? 0);
    const wanted = Math.min(found.lastOffset, found.firstOffset + messages - 1);
    if ((wanted - found.firstOffset + 1) * largest <= room) return offset(wanted);
    if (grant === null) return this.measuredEnd(slot, { first: found.firstOffset, wanted });
    // Later partitions of one pop only get what certainly fits; the rest stays ready.
    const fits = Math.floor(room / largest);
    return fits > 0 ? offset(found.firstOffset + fits - 1) : this.close(grant, slot);
  }

  /** The end as measured from the rows, or null when that is still to be done (a lookup is filed). */
  private measuredEnd(
    slot: number,
    range: { readonly first: number; readonly wanted: number },
  ): Offset | null {
    const cut = this.lane.cuts.get(this.context.tables.partitions.id(slot));
    if (cut !== undefined && cut.first === range.first) {
      return offset(Math.min(range.wanted, cut.last));
    }
    this.lane.wantLookup(slot, range.wanted - range.first + 1);
    return null;
  }

  private close(grant: ProposedGrant, slot: number): null {
    grant.closed = true;
    this.lane.ready.push(slot);
    return null;
  }
}
