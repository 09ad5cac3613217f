/**
 * Matches pops of this node with the grants that apply brings: the dispatcher says what to answer, the
 * grant arrives as a machine event, in either order. A grant nobody waits for (deadline, client gone,
 * second grant) is handed back at once, which restores its delivery attempt.
 */
import { QueenError } from '../../common/errors.js';
import type { GrantOutcome, PopTicket } from '../../machine/commands/catalogue.js';
import type { CallOptions, PopAnswer, PopRequest } from './group.js';
import type { DispatchAnswer, DispatcherPort } from './ports.js';

export const MAX_PARKED_POPS = 1_000_000;

interface ParkedPop {
  grant: GrantOutcome | null;
}

export class PopDesk {
  private readonly parked = new Map<number, ParkedPop>();
  private nextSequence = 1;

  constructor(
    private readonly session: () => number,
    private readonly handBack: (grant: GrantOutcome) => void,
  ) {}

  get size(): number {
    return this.parked.size;
  }

  async pop(
    dispatcher: DispatcherPort | null,
    request: PopRequest,
    options: CallOptions,
  ): Promise<PopAnswer> {
    const session = this.session();
    if (dispatcher === null || session === 0) throw new QueenError('retry');
    if (this.parked.size >= MAX_PARKED_POPS) throw new QueenError('overloaded');
    const ticket: PopTicket = { session, sequence: this.nextSequence++ };
    const pop: ParkedPop = { grant: null };
    this.parked.set(ticket.sequence, pop);
    try {
      const answer = await dispatcher.pop(request, ticket, options);
      return answerOf(pop, answer);
    } catch (error) {
      if (pop.grant !== null) this.handBack(pop.grant);
      throw error;
    } finally {
      this.parked.delete(ticket.sequence);
    }
  }

  /** A claim of any node was applied here; only grants of this session's tickets concern us. */
  granted(grant: GrantOutcome): void {
    if (grant.ticket.session !== this.session() || grant.ticket.session === 0) return;
    if (grant.ranges.length === 0) return;
    const pop = this.parked.get(grant.ticket.sequence);
    if (pop === undefined || pop.grant !== null) this.handBack(grant);
    else pop.grant = grant;
  }
}

/** A grant that came is delivered even when the dispatcher had already given the pop up. */
function answerOf(pop: ParkedPop, answer: DispatchAnswer): PopAnswer {
  const { conflation, conflationConflict, autopilot } = answer;
  return { grant: pop.grant, conflation, conflationConflict, autopilot };
}
