/**
 * Pops of this node in a cluster: parked here, waiting at the leader's dispatcher (this node's own or a
 * peer's), settled by the grant that apply brings. After a leader change parked pops go to the new
 * leader in arrival order under the same ticket; a second grant is handed back. A pop is answered
 * exactly once: granted, empty, `no_leader`, `retry` (no leader would take it) or `timeout`. "Empty" is
 * only believed of a leader that heard a quorum recently.
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
/** A refused pop asks again after this long. */
const REFUSED_RETRY_MS = 100;
/** The leader's words about a grant that is here already: what the autopilot chose. Longer is too long. */
const WORDS_MS = 100;
/** A claim may be on its way for a pop that is called back from another leader; so long it is waited for. */
const RECALL_MS = 200;
/** Sessions of this boot whose grants are still looked at. */
const MAX_SESSIONS = 16;

export interface PopRouterPort {
  readonly self: NodeId;
  readonly wheel: DeadlineWheel;
  readonly nowMs: () => number;
  /** This node's reading of the log clock. */
  readonly nowMicros: () => number;
  session(): number;
  /** Leader to ask now: this node itself only once it serves; 0 when none is known. */
  leader(): NodeId | 0;
  /** Dispatcher of this node while it leads. */
  dispatcher(): DispatcherPort | null;
  /** While this node leads: a quorum was heard recently enough to say "empty". */
  isQuorumFresh(): boolean;
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
  /** Leaders it was given to; with more than one, the last may not know that it is settled. */
  asked = 0;
  notBeforeMs = 0;
  /** The leader said a grant is on its way through the log. */
  promised: DispatchAnswer | null = null;
  /** A grant that waits for the leader's words. */
  held: GrantOutcome | null = null;
  heldAtMs = 0;
  readonly deadlineMs: number;
  readonly request: PopRequest;
  readonly options: CallOptions;

  constructor(
    readonly ticket: PopTicket,
    what: { readonly request: PopRequest; readonly options: CallOptions },
    private readonly router: PopRouter,
    private readonly settle: {
      resolve: (answer: PopAnswer) => void;
      reject: (error: Error) => void;
    },
  ) {
    this.request = what.request;
    this.options = what.options;
    this.deadlineMs = what.options.deadlineMs;
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
  /** Those that wait at no leader now, oldest first. */
  private readonly homeless = new Set<ParkedPop>();
  /** Those whose grant waits for the leader's words. */
  private readonly holding = new Set<ParkedPop>();
  private readonly sessions = new Set<number>();
  private nextSequence = 1;
  private recallingUntilMs = -Infinity;

  constructor(private readonly port: PopRouterPort) {}

  /** Grants may still come for pops that `sendAway` called back. */
  get isRecalling(): boolean {
    return this.port.nowMs() < this.recallingUntilMs;
  }

  get size(): number {
    return this.parked.size;
  }

  pop(request: PopRequest, options: CallOptions): Promise<PopAnswer> {
    const session = this.port.session();
    if (session === 0) return Promise.reject(new QueenError('retry'));
    if (this.parked.size >= MAX_PARKED_POPS) return Promise.reject(new QueenError('overloaded'));
    this.noteSession(session);
    return new Promise((resolve, reject) => {
      const ticket: PopTicket = { session, sequence: this.nextSequence++ };
      const pop = new ParkedPop(ticket, { request, options }, this, { resolve, reject });
      this.parked.set(ticket.sequence, pop);
      this.homeless.add(pop);
      this.port.wheel.add(pop);
      options.signal?.addEventListener('abort', () => this.clientGone(pop), { once: true });
      if (options.signal?.aborted === true) this.clientGone(pop);
      else this.route(pop);
    });
  }

  /** A claim was applied here; only grants of this boot's tickets concern us. */
  granted(grant: GrantOutcome): void {
    const { session, sequence } = grant.ticket;
    if (!this.sessions.has(session) || grant.ranges.length === 0) return;
    const parked = this.parked.get(sequence);
    const pop = parked?.ticket.session === session ? parked : undefined;
    // A former leader's claim settles it: the present one need not look for more.
    if (pop !== undefined && pop.asked > 1) this.cancelRemote(pop);
    if (pop === undefined) {
      if (!this.isOver(grant)) this.port.handBack(grant);
    } else if (pop.held !== null) this.port.handBack(grant);
    else if (pop.request.autopilot === null || pop.promised !== null) this.deliver(pop, grant);
    else {
      pop.held = grant;
      pop.heldAtMs = this.port.nowMs();
      this.holding.add(pop);
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
    this.deliverHeld();
    this.homeless.clear();
    for (const pop of this.parked.values()) {
      pop.at = NOWHERE;
      pop.promised = null;
      this.homeless.add(pop);
    }
    for (const pop of [...this.homeless]) this.route(pop);
  }

  /** Called a few times a second: sends what found no way before. */
  tick(): void {
    const now = this.port.nowMs();
    for (const pop of [...this.holding]) if (now - pop.heldAtMs >= WORDS_MS) this.release(pop);
    if (this.homeless.size === 0) return;
    for (const pop of [...this.homeless]) if (pop.notBeforeMs <= now) this.route(pop);
  }

  /** Shutdown of the HTTP port: waiting pops are answered empty at once. */
  answerAllEmpty(): void {
    this.deliverHeld();
    for (const pop of [...this.parked.values()]) pop.succeed(EMPTY);
  }

  /** No pop waits here or at a leader any more; a grant that comes for one all the same goes back. */
  sendAway(): void {
    this.deliverHeld();
    for (const pop of [...this.parked.values()]) {
      const isAway = pop.at !== NOWHERE && pop.at !== this.port.self;
      if (isAway) this.recallingUntilMs = this.port.nowMs() + RECALL_MS;
      this.cancelRemote(pop);
      pop.fail(new QueenError('retry'));
    }
  }

  failAll(error: () => Error): void {
    this.deliverHeld();
    for (const pop of [...this.parked.values()]) pop.fail(error());
  }

  forget(pop: ParkedPop): void {
    this.parked.delete(pop.ticket.sequence);
    this.homeless.delete(pop);
    this.holding.delete(pop);
    this.port.wheel.remove(pop);
  }

  expired(pop: ParkedPop): void {
    if (pop.held !== null) return this.release(pop);
    if (pop.at !== NOWHERE) pop.fail(new QueenError('timeout'));
    else pop.fail(new QueenError(this.port.leader() === NOWHERE ? 'no_leader' : 'retry'));
  }

  private clientGone(pop: ParkedPop): void {
    const { held } = pop;
    this.cancelRemote(pop);
    if (pop.succeed(EMPTY) && held !== null) this.port.handBack(held);
  }

  private deliver(pop: ParkedPop, grant: GrantOutcome): void {
    if (this.isOver(grant)) return this.sendHome(pop);
    const answer = pop.promised ?? flagsOf(pop.request, grant);
    const { conflation, conflationConflict, autopilot } = answer;
    if (!pop.succeed({ grant, conflation, conflationConflict, autopilot })) {
      this.port.handBack(grant);
    }
  }

  /** This node stood still meanwhile: a lease that is over is nothing to hand out. */
  private isOver(grant: GrantOutcome): boolean {
    return !grant.commitOnDelivery && grant.expiresAt <= this.port.nowMicros();
  }

  /** The grant waits no longer, whatever the leader said. */
  private release(pop: ParkedPop): void {
    const { held } = pop;
    pop.held = null;
    this.holding.delete(pop);
    if (held !== null) this.deliver(pop, held);
  }

  private deliverHeld(): void {
    for (const pop of [...this.holding]) this.release(pop);
  }

  private cancelRemote(pop: ParkedPop): void {
    if (pop.at === NOWHERE || pop.at === this.port.self) return;
    this.port.cancel(pop.at as NodeId, pop.ticket);
  }

  private noteSession(session: number): void {
    if (this.sessions.has(session)) return;
    this.sessions.add(session);
    for (const oldest of this.sessions) {
      if (this.sessions.size <= MAX_SESSIONS) return;
      this.sessions.delete(oldest);
    }
  }

  private settleAt(pop: ParkedPop, leader: NodeId): void {
    pop.at = leader;
    pop.asked += 1;
    this.homeless.delete(pop);
  }

  private sendHome(pop: ParkedPop): void {
    if (pop.held !== null) return this.release(pop);
    if (pop.settled) return;
    pop.at = NOWHERE;
    pop.notBeforeMs = this.port.nowMs() + REFUSED_RETRY_MS;
    this.homeless.add(pop);
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
    if (this.port.forward(leader, { ticket, request, remainingMs })) this.settleAt(pop, leader);
  }

  private routeHere(pop: ParkedPop): void {
    const dispatcher = this.port.dispatcher();
    if (dispatcher === null) return;
    this.settleAt(pop, this.port.self);
    const visit = pop.asked;
    const isStill = (): boolean => pop.at === this.port.self && pop.asked === visit;
    dispatcher.pop(pop.request, pop.ticket, pop.options).then(
      (answer) => {
        if (!isStill()) return;
        if (answer.granted || this.port.isQuorumFresh()) {
          this.settleReply(pop, { kind: 'answer', answer });
        } else this.sendHome(pop);
      },
      () => {
        // Step-down: the pop goes to the next leader.
        if (isStill()) this.sendHome(pop);
      },
    );
  }

  private settleReply(pop: ParkedPop, reply: PopReply): void {
    if (pop.held !== null) {
      if (reply.kind === 'answer' && reply.answer.granted) pop.promised = reply.answer;
      this.release(pop);
      return;
    }
    if (reply.kind === 'refused') {
      if (reply.code === 'overloaded') pop.fail(new QueenError('overloaded'));
      else this.sendHome(pop);
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
/** The grant mostly arrives before the leader's own words: what it tells by itself. */
function flagsOf(request: PopRequest, grant: GrantOutcome): DispatchAnswer {
  const conflation = grant.ranges.some((range) => range.conflated);
  const asked = request.conflation;
  return {
    granted: true,
    conflation,
    conflationConflict: asked !== null && asked !== conflation,
    autopilot: null,
  };
}
