/**
 * A pop parked at the dispatcher: one small object, no timer. Waiters of a lane form a FIFO (intrusive
 * list) so that one that leaves (deadline, disconnect) costs O(1).
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

export class WaitingPop implements WheelEntry<WaitingPop> {
  wheelBucket = -1;
  wheelTick = 0;
  wheelNext: WaitingPop | undefined = undefined;
  wheelPrevious: WaitingPop | undefined = undefined;
  next: WaitingPop | null = null;
  previous: WaitingPop | null = null;
  list: WaitingList | null = null;
  settled = false;
  /** It came before its partition existed, so nothing in there is old to it. */
  sawNoPartition = false;
  readonly request: PopRequest;
  readonly ticket: PopTicket;
  readonly claimBeforeMs: number;
  readonly arrival: number;

  constructor(private readonly parts: WaitingPopParts) {
    this.request = parts.request;
    this.ticket = parts.ticket;
    this.claimBeforeMs = parts.claimBeforeMs;
    this.arrival = parts.arrival;
  }

  answer(answer: DispatchAnswer): void {
    if (this.leave()) this.parts.resolve(answer);
  }

  fail(error: Error): void {
    if (this.leave()) this.parts.reject(error);
  }

  private leave(): boolean {
    if (this.settled) return false;
    this.settled = true;
    this.list?.remove(this);
    this.parts.onSettled(this);
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

  pushBack(pop: WaitingPop): void {
    pop.list = this;
    pop.previous = this.tail;
    pop.next = null;
    if (this.tail === null) this.head = pop;
    else this.tail.next = pop;
    this.tail = pop;
    this.length += 1;
  }

  pushFront(pop: WaitingPop): void {
    pop.list = this;
    pop.next = this.head;
    pop.previous = null;
    if (this.head === null) this.tail = pop;
    else this.head.previous = pop;
    this.head = pop;
    this.length += 1;
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
}
