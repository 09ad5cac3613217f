/**
 * One pass over a lane: which pops get which partitions now. The oldest pop goes first, pinned and
 * queue-wide ones alike; pops that do not wait come after the parked ones and are told "empty" once
 * every partition was judged and none comes back from a commit on delivery with messages left.
 */
import { autopilotWidth, DEFAULT_AUTOPILOT } from './autopilot.js';
import type { ProposedGrant } from './claim-collector.js';
import { ClaimCollector } from './claim-collector.js';
import type { ConsumerLane } from './consumer-lane.js';
import type { DispatcherOptions } from './dispatcher-host.js';
import type { InspectContext } from './inspect.js';
import type { WaitingList, WaitingPop } from './waiting-pop.js';

/**
 * A pop that does not wait is not kept longer by others who always were before it: so often may claims
 * land and leave it nothing. Each takes a round through the log, so it is about a second on a fast disk;
 * on a slow one the deadline of the pop comes first.
 */
const MAX_TIMES_EMPTY = 256;

export class LaneServer {
  private readonly collector: ClaimCollector;
  /** Slots with pinned waiters that may be served, by the age of their oldest, oldest last. */
  private readonly pinned: { readonly slot: number; readonly arrival: number }[] = [];

  constructor(
    private readonly lane: ConsumerLane,
    private readonly context: InspectContext,
    private readonly options: DispatcherOptions,
    private readonly out: ProposedGrant[],
  ) {
    this.collector = new ClaimCollector(lane, context, options);
  }

  /** Adds grants to `out` until it holds `limit`; false when the lane is to be served again. */
  serve(limit: number): boolean {
    const { lane } = this;
    this.gatherPinned();
    for (const list of [lane.waiters, lane.impatient]) {
      if (!this.serveList(list, limit)) return false;
    }
    this.servePinned(Infinity);
    if (lane.built && lane.lookups.size === 0) {
      const hasLanded = lane.takeLanded();
      lane.impatient.forEach((pop) => {
        if (hasLanded) pop.timesEmpty += 1;
        this.answerEmpty(pop, lane.returning.size > 0);
      });
    }
    return true;
  }

  private serveList(list: WaitingList, limit: number): boolean {
    for (let pop = list.first(); pop !== null; pop = list.first()) {
      if (this.tooLate(pop)) continue;
      if (this.out.length >= limit) return false;
      this.servePinned(pop.arrival);
      this.chooseBudget(pop);
      const grant = this.collector.collect(pop);
      if (grant === null) return true;
      list.remove(pop);
      this.take(grant);
    }
    return true;
  }

  private gatherPinned(): void {
    const { lane } = this;
    if (lane.pinnedReady.size === 0) return;
    for (const slot of [...lane.pinnedReady]) {
      const list = lane.pinned.get(slot);
      let oldest = list?.first() ?? null;
      while (oldest !== null && this.tooLate(oldest)) oldest = list?.first() ?? null;
      if (oldest === null) lane.pinnedReady.delete(slot);
      else this.pinned.push({ slot, arrival: oldest.arrival });
    }
    this.pinned.sort((a, b) => b.arrival - a.arrival);
  }

  /** Serves pinned pops that came before `arrival`; one per slot, for then the slot is in flight. */
  private servePinned(arrival: number): void {
    for (
      let next = this.pinned[this.pinned.length - 1];
      next !== undefined && next.arrival < arrival;
      next = this.pinned[this.pinned.length - 1]
    ) {
      this.pinned.pop();
      this.serveSlot(next.slot);
    }
  }

  private serveSlot(slot: number): void {
    const { lane } = this;
    lane.pinnedReady.delete(slot);
    const list = lane.pinned.get(slot);
    const pop = list?.first() ?? null;
    if (list === undefined || pop === null) return;
    const grant = this.collector.collectPinned(pop, slot);
    if (grant !== null) {
      list.remove(pop);
      lane.left(pop);
      pop.place = null;
      this.take(grant);
    } else {
      // Files it under expiry or hold, by the start its oldest waiter asks for.
      lane.judgePinned(this.context, slot);
    }
    if (lane.lookups.has(slot)) return;
    list.forEach((waiting) => {
      if (!waiting.request.wait) this.answerEmpty(waiting, lane.returning.has(slot));
    });
  }

  /** Empty for now, unless a partition comes back with messages left once its claim has landed. */
  private answerEmpty(pop: WaitingPop, isMoreComing: boolean): void {
    if (!isMoreComing || pop.timesEmpty > MAX_TIMES_EMPTY) pop.answer(false);
  }

  private take(grant: ProposedGrant): void {
    grant.pop.claiming = true;
    this.out.push(grant);
  }

  private tooLate(pop: WaitingPop): boolean {
    if (pop.claimBeforeMs > this.options.monotonicMs()) return false;
    pop.answer(false);
    return true;
  }

  /** §5.6: only what the client did not send, and never for last-value delivery. */
  private chooseBudget(pop: WaitingPop): void {
    const { lane } = this;
    const { autopilot, conflation, maxMessages, maxPartitions } = pop.request;
    if (autopilot === null || conflation === true || lane.conflates) return;
    if (!autopilot.partitions && !autopilot.batch) return;
    const partitions = autopilot.partitions
      ? autopilotWidth(lane.ready.size, lane.queueWide)
      : maxPartitions;
    const limits = this.options.autopilot ?? DEFAULT_AUTOPILOT;
    const batch = autopilot.batch ? (lane.ackRate?.batch(limits) ?? limits.batchMin) : maxMessages;
    pop.maxPartitions = partitions;
    pop.maxMessages = batch;
    pop.autopilot = { partitions, batch };
  }
}
