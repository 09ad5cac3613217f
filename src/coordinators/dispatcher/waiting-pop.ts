/**
 * A pop parked at the dispatcher: one small object, no timer. Waiters of a lane form a FIFO (intrusive
 * list) so that one that leaves (deadline, disconnect) costs O(1). Answered exactly once.
 */
import type { WheelEntry } from '../../common/timing-wheel.js';
import type { PopTicket } from '../../machine/commands/catalogue.js';
import type { PopRequest } from '../../raft/group/group.js';

/** What the dispatcher tells the group; the grant itself reaches the asked node through apply. */
export interface DispatchAnswer {
  readonly granted: boolean;
  readonly conflation: boolean;
  readonly conflationConflict: boolean;
  readonly autopilot: { readonly partitions: number; readonly batch: number } | null;
}

export interface WaitingPopParts {
  readonly request: PopRequest;
  readonly ticket: PopTicket;
  /** Monotonic ms after which it may no longer claim (deadline minus the reply margin). */
  readonly claimBeforeMs: number;
  /** Arrival order over all lanes. */
  readonly arrival: number;
  readonly resolve: (answer: DispatchAnswer) => void;
  readonly reject: (error: Error) => void;
  readonly onSettled: (pop: WaitingPop) => void;
}

/** Whoever keeps an entry per place a pop waits at, and wants to forget it with its last waiter. */
export interface WaitingPlace {
  left(pop: WaitingPop): void;
}

export class WaitingPop implements WheelEntry<WaitingPop> {
  wheelBucket = -1;
  wheelTick = 0;
  wheelNext: WaitingPop | undefined = undefined;
  wheelPrevious: WaitingPop | undefined = undefined;
  next: WaitingPop | null = null;
  previous: WaitingPop | null = null;
  list: WaitingList | null = null;
  /** Told when the pop is settled while it waits there. */
  place: WaitingPlace | null = null;
  /** Partition slot it is pinned to, -1 when none. */
  slot = -1;
  settled = false;
  /** A claim for it is on its way: the claim's outcome answers it, not the deadline. */
  claiming = false;
  /** Claims that landed and left it nothing while it stayed although it does not wait. */
  timesEmpty = 0;
  /** It came before its partition existed, so nothing in there is old to it. */
  sawNoPartition = false;
  /** Budget: as requested, or as the autopilot chose. */
  maxMessages: number;
  maxPartitions: number;
  /** Fields of the answer, noted on the way. */
  conflation = false;
  conflationConflict = false;
  autopilot: DispatchAnswer['autopilot'] = null;
  readonly request: PopRequest;
  readonly ticket: PopTicket;
  readonly claimBeforeMs: number;
  readonly arrival: number;
  private readonly resolve: WaitingPopParts['resolve'];
  private readonly reject: WaitingPopParts['reject'];
  private readonly onSettled: WaitingPopParts['onSettled'];

  /** The parts are not kept: a parked pop is one object. */
  constructor(parts: WaitingPopParts) {
    this.resolve = parts.resolve;
    this.reject = parts.reject;
    this.onSettled = parts.onSettled;
    this.request = parts.request;
    this.ticket = parts.ticket;
    this.claimBeforeMs = parts.claimBeforeMs;
    this.arrival = parts.arrival;
    this.maxMessages = parts.request.maxMessages;
    this.maxPartitions = parts.request.maxPartitions;
  }

  /** Granted, or empty. */
  answer(granted: boolean): void {
    if (!this.leave()) return;
    const { conflation, conflationConflict, autopilot } = this;
    this.resolve({ granted, conflation, conflationConflict, autopilot });
  }

  fail(error: Error): void {
    if (this.leave()) this.reject(error);
  }

  private leave(): boolean {
    if (this.settled) return false;
    this.settled = true;
    this.list?.remove(this);
    this.place?.left(this);
    this.onSettled(this);
    return true;
  }
}

export class WaitingList {
  private head: WaitingPop | null = null;
  private tail: WaitingPop | null = null;
  private length = 0;

  get size(): number {
    return this.length;
  }

  first(): WaitingPop | null {
    return this.head;
  }

  /**
   * In arrival order. New pops go to the end at once; one that comes back after a lost claim is older
   * than nearly everybody, so it is placed from the front.
   */
  insert(pop: WaitingPop): void {
    if (this.tail === null || this.tail.arrival < pop.arrival) {
      this.link(pop, this.tail, null);
      return;
    }
    let following = this.head;
    while (following !== null && following.arrival < pop.arrival) following = following.next;
    this.link(pop, following?.previous ?? null, following);
  }

  remove(pop: WaitingPop): void {
    if (pop.list !== this) return;
    if (pop.previous === null) this.head = pop.next;
    else pop.previous.next = pop.next;
    if (pop.next === null) this.tail = pop.previous;
    else pop.next.previous = pop.previous;
    pop.list = null;
    pop.next = null;
    pop.previous = null;
    this.length -= 1;
  }

  /** Visits oldest first; the visitor may settle the pop it is given. */
  forEach(visit: (pop: WaitingPop) => void): void {
    for (let pop = this.head; pop !== null;) {
      const following: WaitingPop | null = pop.next;
      visit(pop);
      pop = following;
    }
  }

  private link(pop: WaitingPop, previous: WaitingPop | null, next: WaitingPop | null): void {
    pop.list = this;
    pop.previous = previous;
    pop.next = next;
    if (previous === null) this.head = pop;
    else previous.next = pop;
    if (next === null) this.tail = pop;
    else next.previous = pop;
    this.length += 1;
  }
}
