/**
 * The door of the log: gives every command its place in this node's session (sequence and floor) and
 * keeps who waits for which outcome. At most 65,536 sequences are open between the floor and the next
 * one, as many as the machine remembers; further calls wait outside, in order, and at 262,144 of them
 * the door answers `overloaded`. Before a session is open every call waits outside.
 */
import { QueenError } from '../../common/errors.js';
import type { Outcome } from '../../machine/commands/catalogue.js';
import { Call, type CallOwner } from './call.js';
import type { DeadlineWheel } from './deadline-wheel.js';
import { patchCommand } from './entry-payload.js';
import type { CallOptions } from './group.js';

export const SESSION_WINDOW = 65_536;
export const MAX_OUTSIDE = 262_144;
export const MAX_PROPOSALS = 65_536;
/** Commands taken in but not applied yet, in bytes; beyond it the door answers `overloaded`. */
export const MAX_OPEN_BYTES = 256 * 1024 * 1024;

export class Intake implements CallOwner {
  private session = 0;
  private nextSequence = 1;
  private floor = 1;
  private readonly open: (Call | undefined)[] = new Array<Call | undefined>(SESSION_WINDOW);
  private outside: Call[] = [];
  private outsideHead = 0;
  private readonly proposals = new Map<number, Call>();
  private nextProposal: number;
  private openBytes = 0;
  private awaited = 0;

  constructor(
    private readonly wheel: DeadlineWheel,
    /** Takes a call that has its place; called in sequence order. */
    private readonly forward: (call: Call) => void,
    /** Proposal numbers start here; differs from every earlier boot's (term in the high half). */
    firstProposal: number,
    /** Error of a call whose outcome is not known (deadline, or it was applied unseen). */
    private readonly unresolved: (call: Call) => QueenError = () => new QueenError('timeout'),
  ) {
    this.nextProposal = firstProposal;
  }

  get sessionId(): number {
    return this.session;
  }

  /** Calls whose outcome somebody waits for. */
  get waiting(): number {
    return this.awaited;
  }

  get waitingProposals(): number {
    return this.proposals.size;
  }

  submit(bytes: Uint8Array, options: CallOptions): Promise<Outcome> {
    if (this.openBytes + bytes.length > MAX_OPEN_BYTES && this.openBytes > 0) {
      return Promise.reject(new QueenError('overloaded'));
    }
    if (this.outside.length - this.outsideHead >= MAX_OUTSIDE) {
      return Promise.reject(new QueenError('overloaded'));
    }
    const call = new Call(bytes, options.deadlineMs, true, this);
    call.onApplied = options.onApplied ?? null;
    const outcome = call.promise();
    this.take(call);
    this.wheel.add(call);
    if (options.signal !== undefined) watch(call, options.signal);
    if (this.windowIsOpen() && this.outside.length === this.outsideHead) this.admit(call);
    else this.outside.push(call);
    return outcome;
  }

  /** A leader-internal command: no session, no deadline; ends with its outcome or with the role. */
  propose(bytes: Uint8Array): Promise<Outcome> {
    if (this.proposals.size >= MAX_PROPOSALS) {
      return Promise.reject(new QueenError('overloaded'));
    }
    const call = new Call(bytes, Number.POSITIVE_INFINITY, false, this);
    call.sequence = this.nextProposal++;
    this.proposals.set(call.sequence, call);
    const outcome = call.promise();
    this.take(call);
    this.forward(call);
    return outcome;
  }

  /**
   * The session of this boot was opened by the entry `session`: lets in who waited for it. Calls of an
   * ended session that are still open had no effect and never will: they get new numbers.
   */
  openSession(session: number): void {
    const again: Call[] = [];
    for (let sequence = this.floor; sequence < this.nextSequence; sequence += 1) {
      const slot = sequence & (SESSION_WINDOW - 1);
      const call = this.open[slot];
      if (call !== undefined && !call.settled) again.push(call);
      this.open[slot] = undefined;
    }
    this.session = session;
    this.nextSequence = 1;
    this.floor = 1;
    for (const call of again) this.admit(call);
    this.admitOutside();
  }

  /** The session was ended by somebody else's entry: nothing goes out until another one is open. */
  closeSession(): void {
    this.session = 0;
  }

  /**
   * Writes the numbers of a call into its bytes, right before it goes out for the first time. They stay
   * as they are when it is sent again (an old floor is true for ever), for the same bytes may still
   * stand in a queue; numbers of a new session go into a copy.
   */
  stampCall(call: Call): void {
    if (!call.inSession) {
      patchCommand(call.bytes, { session: 0, sequence: call.sequence, floor: 0 });
      return;
    }
    if (call.stampedFor === this.session) return;
    if (call.stampedFor !== 0) call.bytes = call.bytes.slice();
    call.stampedFor = this.session;
    const { session, floor } = this;
    patchCommand(call.bytes, { session, sequence: call.sequence, floor });
  }

  /** An outcome came out of apply; those of other sessions and of nobody are dropped. */
  settle(session: number, sequence: number, outcome: Outcome): void {
    if (session === 0) this.proposals.get(sequence)?.succeed(outcome);
    else if (session === this.session) {
      const call = this.open[sequence & (SESSION_WINDOW - 1)];
      if (call?.sequence !== sequence) return;
      if (outcome.kind === 'ignored') call.fail(this.ignoredError(call, outcome.why));
      else call.succeed(outcome);
    }
  }

  overdue(call: Call): Error {
    return this.unresolved(call);
  }

  release(call: Call): void {
    this.wheel.remove(call);
    this.awaited -= 1;
    this.openBytes -= call.bytes.length;
    if (!call.inSession) {
      this.proposals.delete(call.sequence);
      return;
    }
    if (call.sequence < 0) return;
    this.open[call.sequence & (SESSION_WINDOW - 1)] = undefined;
    if (call.sequence === this.floor) this.raiseFloor();
  }

  /** Visits the calls that stand between floor and the next sequence and still wait, in order. */
  eachOpen(visit: (call: Call) => void): void {
    if (this.session === 0) return;
    for (let sequence = this.floor; sequence < this.nextSequence; sequence += 1) {
      const call = this.open[sequence & (SESSION_WINDOW - 1)];
      if (call?.sequence === sequence && !call.settled) visit(call);
    }
  }

  /** Proposals of a lost leadership: nobody will tell their outcome. */
  failProposals(error: () => Error): void {
    for (const call of [...this.proposals.values()]) call.fail(error());
  }

  /** Answers everybody who waits; further outcomes find nobody. */
  failAll(error: (call: Call) => Error): void {
    const outside = this.outside;
    this.outside = [];
    this.outsideHead = 0;
    for (const call of outside) call.fail(error(call));
    for (const call of [...this.proposals.values()]) call.fail(error(call));
    for (let sequence = this.floor; sequence < this.nextSequence; sequence += 1) {
      const call = this.open[sequence & (SESSION_WINDOW - 1)];
      call?.fail(error(call));
    }
  }

  /** Of an ended session: no effect. Seen: an earlier copy had it, and what it did is not known. */
  private ignoredError(call: Call, why: 'seen' | 'ended'): Error {
    return why === 'ended' ? new QueenError('retry') : this.unresolved(call);
  }

  private take(call: Call): void {
    this.awaited += 1;
    this.openBytes += call.bytes.length;
  }

  private windowIsOpen(): boolean {
    return this.session !== 0 && this.nextSequence - this.floor < SESSION_WINDOW;
  }

  private admit(call: Call): void {
    call.sequence = this.nextSequence++;
    this.open[call.sequence & (SESSION_WINDOW - 1)] = call;
    this.forward(call);
  }

  private raiseFloor(): void {
    const mask = SESSION_WINDOW - 1;
    while (this.floor < this.nextSequence && this.open[this.floor & mask] === undefined) {
      this.floor += 1;
    }
    if (this.outside.length > 0) this.admitOutside();
  }

  private admitOutside(): void {
    while (this.outsideHead < this.outside.length && this.windowIsOpen()) {
      const call = this.outside[this.outsideHead++];
      if (call !== undefined && !call.settled) this.admit(call);
    }
    if (this.outsideHead === this.outside.length) {
      this.outside = [];
      this.outsideHead = 0;
    } else if (this.outsideHead >= 4096) {
      this.outside = this.outside.slice(this.outsideHead);
      this.outsideHead = 0;
    }
  }
}

function watch(call: Call, signal: AbortSignal): void {
  if (signal.aborted) {
    call.fail(new QueenError('timeout', 'the caller went away'));
    return;
  }
  signal.addEventListener(
    'abort',
    () => call.fail(new QueenError('timeout', 'the caller went away')),
    { once: true },
  );
}
