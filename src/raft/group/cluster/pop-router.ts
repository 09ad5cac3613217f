/**
 * Pops of this node in a cluster: parked here, waiting at the leader's dispatcher (this node's own or a
 * peer's), settled by the grant that apply brings. After a leader change parked pops go to the new
 * leader in arrival order under the same ticket; a second grant is handed back. A pop is answered
 * exactly once: granted, empty, `no_leader` or `timeout`.
 */
import { QueenError } from '../../../common/errors.js';
import type { NodeId } from '../../../common/ids.js';
import type { GrantOutcome, PopTicket } from '../../../machine/commands/catalogue.js';
import type { Deadlined, DeadlineWheel } from '../deadline-wheel.js';
import type { CallOptions, PopAnswer, PopRequest } from '../group.js';
import type { DispatchAnswer, DispatcherPort } from '../ports.js';
import type { ForwardedPop, PopReply } from './peer-port.js';

export const MAX_PARKED_POPS = 1_000_000;
const NOWHERE = 0;

export interface PopRouterPort {
  readonly self: NodeId;
  readonly wheel: DeadlineWheel;
  readonly nowMs: () => number;
  session(): number;
  /** Leader to ask now: this node itself only once it serves; 0 when none is known. */
  leader(): NodeId | 0;
  /** Dispatcher of this node while it leads. */
  dispatcher(): DispatcherPort | null;
  forward(to: NodeId, pop: ForwardedPop): boolean;
  cancel(to: NodeId, ticket: PopTicket): void;
  handBack(grant: GrantOutcome): void;
}

class ParkedPop implements Deadlined {
  wheelBucket = -1;
  wheelTick = 0;
  wheelNext: Deadlined | undefined = undefined;
  wheelPrevious: Deadlined | undefined = undefined;
  settled = false;
  /** Leader it waits at, 0 = none. */
  at: number = NOWHERE;
  /** The leader said a grant is on its way through the log. */
  promised: DispatchAnswer | null = null;
  readonly deadlineMs: number;

  constructor(
    readonly ticket: PopTicket,
    readonly request: PopRequest,
    readonly options: CallOptions,
    private readonly router: PopRouter,
    private readonly settle: {
      resolve: (answer: PopAnswer) => void;
      reject: (error: Error) => void;
    },
  ) {
    this.deadlineMs = options.deadlineMs;
  }

  succeed(answer: PopAnswer): boolean {
    if (this.settled) return false;
    this.settled = true;
    this.router.forget(this);
    this.settle.resolve(answer);
    return true;
  }

  fail(error: Error): void {
    if (this.settled) return;
    this.settled = true;
    this.router.forget(this);
    this.settle.reject(error);
  }

  expire(): void {
    this.router.expired(this);
  }
}

export class PopRouter {
  /** By ticket sequence, which grows: iteration order is arrival order. */
  private readonly parked = new Map<number, ParkedPop>();
  private nextSequence = 1;

  constructor(private readonly port: PopRouterPort) {}

  get size(): number {
    return this.parked.size;
  }

  pop(request: PopRequest, options: CallOptions): Promise<PopAnswer> {
    const session = this.port.session();
    if (session === 0) return Promise.reject(new QueenError('retry'));
    if (this.parked.size >= MAX_PARKED_POPS) return Promise.reject(new QueenError('overloaded'));
    return new Promise((resolve, reject) => {
      const ticket: PopTicket = { session, sequence: this.nextSequence++ };
      const pop = new ParkedPop(ticket, request, options, this, { resolve, reject });
      this.parked.set(ticket.sequence, pop);
      this.port.wheel.add(pop);
      options.signal?.addEventListener('abort', () => this.clientGone(pop), { once: true });
      if (options.signal?.aborted === true) this.clientGone(pop);
      else this.route(pop);
    });
  }

  /** A claim was applied here; only grants of this session's tickets concern us. */
  granted(grant: GrantOutcome): void {
    if (grant.ticket.session !== this.port.session() || grant.ticket.session === 0) return;
    if (grant.ranges.length === 0) return;
    const pop = this.parked.get(grant.ticket.sequence);
    const answer = pop?.promised ?? NO_FLAGS;
    const { conflation, conflationConflict, autopilot } = answer;
    if (pop?.succeed({ grant, conflation, conflationConflict, autopilot }) !== true) {
      this.port.handBack(grant);
    }
  }

  /** The dispatcher of `from` answered. */
  reply(from: NodeId, ticket: PopTicket, reply: PopReply): void {
    const pop = this.parked.get(ticket.sequence);
    if (pop === undefined || pop.ticket.session !== ticket.session || pop.at !== from) return;
    this.settleReply(pop, reply);
  }

  /** The leader is another one, or the way to it broke: everybody asks again, oldest first. */
  rerouteAll(): void {
    for (const pop of [...this.parked.values()]) {
      pop.at = NOWHERE;
      this.route(pop);
    }
  }

  /** Called a few times a second: sends what found no way before. */
  tick(): void {
    for (const pop of [...this.parked.values()]) if (pop.at === NOWHERE) this.route(pop);
  }

  /** Shutdown of the HTTP port: waiting pops are answered empty at once. */
  answerAllEmpty(): void {
    for (const pop of [...this.parked.values()]) pop.succeed(EMPTY);
  }

  failAll(error: () => Error): void {
    for (const pop of [...this.parked.values()]) pop.fail(error());
  }

  forget(pop: ParkedPop): void {
    this.parked.delete(pop.ticket.sequence);
    this.port.wheel.remove(pop);
  }

  expired(pop: ParkedPop): void {
    const code = this.port.leader() === NOWHERE ? 'no_leader' : 'timeout';
    if (pop.at === NOWHERE) pop.fail(new QueenError(code));
    else pop.fail(new QueenError('timeout'));
  }

  private clientGone(pop: ParkedPop): void {
    if (pop.at !== NOWHERE && pop.at !== this.port.self) {
      this.port.cancel(pop.at as NodeId, pop.ticket);
    }
    pop.succeed(EMPTY);
  }

  private route(pop: ParkedPop): void {
    const leader = this.port.leader();
    if (leader === NOWHERE) return;
    if (leader === this.port.self) {
      this.routeHere(pop);
      return;
    }
    const remainingMs = pop.deadlineMs - this.port.nowMs();
    const { ticket, request } = pop;
    if (this.port.forward(leader, { ticket, request, remainingMs })) pop.at = leader;
  }

  private routeHere(pop: ParkedPop): void {
    const dispatcher = this.port.dispatcher();
    if (dispatcher === null) return;
    pop.at = this.port.self;
    dispatcher.pop(pop.request, pop.ticket, pop.options).then(
      (answer) => {
        if (pop.at === this.port.self) this.settleReply(pop, { kind: 'answer', answer });
      },
      () => {
        // Step-down: the pop goes to the next leader.
        if (pop.at === this.port.self) pop.at = NOWHERE;
      },
    );
  }

  private settleReply(pop: ParkedPop, reply: PopReply): void {
    if (reply.kind === 'refused') {
      pop.at = NOWHERE;
      return;
    }
    const { granted, conflation, conflationConflict, autopilot } = reply.answer;
    if (granted) pop.promised = reply.answer;
    else pop.succeed({ grant: null, conflation, conflationConflict, autopilot });
  }
}

const EMPTY: PopAnswer = {
  grant: null,
  conflation: false,
  conflationConflict: false,
  autopilot: null,
};
const NO_FLAGS: DispatchAnswer = {
  granted: true,
  conflation: false,
  conflationConflict: false,
  autopilot: null,
};
