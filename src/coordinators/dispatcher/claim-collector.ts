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

export class ClaimCollector {
  constructor(
    private readonly lane: ConsumerLane,
    private readonly context: InspectContext,
    private readonly options: DispatcherOptions,
  ) {}

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
    const { request } = grant.pop;
    return (
      grant.closed ||
      grant.messages >= request.maxMessages ||
      grant.slots.length >= request.maxPartitions ||
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
    if (found.verdict === Verdict.Lookup) lane.lookups.add(target.slot);
    if (found.verdict !== Verdict.Ready) return grant;
    const last = this.endWithinBytes(target.slot, found, { pop, grant });
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
      conflated: false,
    });
    into.lanes.push(this.lane);
    into.slots.push(slot);
    into.messages += last - found.firstOffset + 1;
    into.bytes += (last - found.firstOffset + 1) * partitions.maxRecordBytes(slot);
    this.lane.inFlight.add(slot);
  }

  /** Last offset that fits, or null when the rows must be read first (a lookup was filed). */
  private endWithinBytes(
    slot: number,
    found: Inspection,
    into: { readonly pop: WaitingPop; readonly grant: ProposedGrant | null },
  ): Offset | null {
    const { partitions } = this.context.tables;
    const { grant } = into;
    const messages = into.pop.request.maxMessages - (grant?.messages ?? 0);
    const wanted = Math.min(found.lastOffset, found.firstOffset + messages - 1);
    const largest = Math.max(partitions.maxRecordBytes(slot), 1);
    const room = this.options.maxPopBytes - (grant?.bytes ?? 0);
    if ((wanted - found.firstOffset + 1) * largest <= room) return offset(wanted);
    if (grant === null) {
      const cut = this.lane.cuts.get(partitions.id(slot));
      if (cut !== undefined && cut.first === found.firstOffset) {
        return offset(Math.min(wanted, cut.last));
      }
      this.lane.lookups.add(slot);
      return null;
    }
    // Later partitions of one pop only get what certainly fits; the rest stays ready.
    const fits = Math.floor(room / largest);
    if (fits > 0) return offset(found.firstOffset + fits - 1);
    grant.closed = true;
    this.lane.ready.push(slot);
    return null;
  }
}
