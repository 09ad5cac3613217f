/**
 * Carries membership changes out (cluster.md §4). Any node takes a request; the leader decides. One
 * change at a time; an answer is given when the change is applied and complete. A leader that is to
 * leave hands leadership over first and passes the request on to its successor: removed by its own
 * entry, it could be the only one to know that the entry is committed (rule D3).
 */
import { QueenError } from '../../../common/errors.js';
import { nodeId, type NodeId } from '../../../common/ids.js';
import { isJoint } from '../../core/index.js';
import type { GroupLog } from '../ports.js';
import type { HandOff } from './hand-off.js';
import type { MemberBook } from './member-book.js';
import type { MemberRole } from './member-role.js';
import { planChange, type Plan, type Situation } from './membership-checks.js';
import { refused } from './membership-port.js';
import type { MembershipAnswer, MembershipControl, MembershipRequest } from './membership-port.js';
import { membershipView } from './membership-view.js';
import type { PeerPort, StateAnswer } from './peer-port.js';
import type { QuorumWatch } from './quorum-watch.js';
import type { RaftLoop } from './raft-loop.js';

export const MEMBERSHIP_QUESTION = 'membership';
const POLL_MS = 10;
/** How long the view of the leader is waited for before the own one is shown. */
const READ_MS = 5_000;
const PROBE_MS = 2_000;
/** Answers of the leader may need a moment more on their way back. */
const REPLY_MARGIN_MS = 250;

export interface MembershipDeskPort {
  readonly self: NodeId;
  readonly directoryId: Uint8Array;
  readonly kinds: number;
  readonly loop: RaftLoop;
  readonly book: MemberBook;
  readonly role: MemberRole;
  readonly watch: QuorumWatch;
  readonly peers: Pick<PeerPort, 'ask' | 'probe'>;
  readonly log: GroupLog;
  readonly nowMs: () => number;
  readonly liveWithinMs: number;
  readonly promoteMaxLag: number;
  clusterVersion(): number;
  lastIndex(): number;
  isStopped(): boolean;
  /** Leadership goes to one of the candidates. */
  handOff(candidates: readonly NodeId[]): HandOff;
  /** Resolves when a majority confirmed that this node leads; rejects at the deadline. */
  confirmLead(deadlineMs: number): Promise<void>;
  /** The node id is bound to a data directory. */
  isBound(id: NodeId): boolean;
}

type Change = Exclude<MembershipRequest, { kind: 'read' }>;

export class MembershipDesk implements MembershipControl {
  private running = false;

  constructor(private readonly port: MembershipDeskPort) {}

  async request(request: MembershipRequest, timeoutMs: number): Promise<MembershipAnswer> {
    const { role, self } = this.port;
    if (request.kind === 'read') return this.read(timeoutMs);
    if (this.port.isStopped()) return refused('no_leader', 'this node is stopped');
    if (role.target === self) return this.change(request, this.port.nowMs() + timeoutMs);
    return this.passOn(request, timeoutMs);
  }

  /** The question of another node. */
  async answer(text: string): Promise<string> {
    const asked = JSON.parse(text) as { request: MembershipRequest; timeoutMs: number };
    const { role, self, nowMs } = this.port;
    if (role.target !== self) {
      return JSON.stringify(refused('no_leader', 'the node that was asked does not lead'));
    }
    const { request, timeoutMs } = asked;
    const answer =
      request.kind === 'read'
        ? { ok: true, membership: this.view() }
        : await this.change(request, nowMs() + timeoutMs);
    return JSON.stringify(answer);
  }

  private view(): ReturnType<typeof membershipView> {
    return membershipView(this.port, this.running);
  }

  private async read(timeoutMs: number): Promise<MembershipAnswer> {
    const { role, self } = this.port;
    const own = { ok: true, membership: this.view() } as const;
    if (this.port.isStopped() || role.leader === self || !role.hasLeader) return own;
    const told = await this.ask({ kind: 'read' }, Math.min(timeoutMs, READ_MS));
    return told !== null && told.ok ? told : { ok: true, membership: this.view() };
  }

  private async passOn(request: Change, timeoutMs: number): Promise<MembershipAnswer> {
    if (!this.port.role.hasLeader) return refused('no_leader', 'no leader is known');
    const told = await this.ask(request, timeoutMs);
    if (told !== null) return told;
    return refused(
      'leader_unreachable',
      'the leader gave no answer in time; the change may have been made: read before repeating it',
    );
  }

  private async ask(
    request: MembershipRequest,
    timeoutMs: number,
  ): Promise<MembershipAnswer | null> {
    const { peers, role } = this.port;
    const text = await peers.ask(role.leader, {
      name: MEMBERSHIP_QUESTION,
      body: JSON.stringify({ request, timeoutMs }),
      timeoutMs: timeoutMs + REPLY_MARGIN_MS,
    });
    return text === null ? null : (JSON.parse(text) as MembershipAnswer);
  }

  // --- on the leader ---------------------------------------------------------------------------------

  private async change(request: Change, untilMs: number): Promise<MembershipAnswer> {
    if (this.running) return refused('in_flight', 'another membership change runs');
    this.running = true;
    const { log } = this.port;
    log.warn('raft: membership change requested by an operator', { ...request });
    try {
      const answer = await this.carryOut(request, untilMs);
      if (answer.ok) log.warn('raft: membership change committed', { ...request });
      else this.noteRefusal(request, answer);
      return answer;
    } finally {
      this.running = false;
    }
  }

  private noteRefusal(request: Change, answer: MembershipAnswer & { ok: false }): void {
    const late = answer.code === 'timeout';
    const event = late
      ? 'raft: membership change: the deadline passed; it may still complete'
      : 'raft: membership change refused';
    this.port.log.warn(event, { ...request, code: answer.code });
  }

  private async carryOut(request: Change, untilMs: number): Promise<MembershipAnswer> {
    const first = planChange(request, this.situation());
    if (first.kind === 'done') return this.confirmDone(request, untilMs);
    if (first.kind === 'refused') return first.answer;
    if (request.kind === 'add-learner') {
      const objection = await this.probe(request, untilMs);
      if (objection !== null) return objection;
    }
    if (!this.keepsLeading(first)) {
      return this.leaveFirst(request, first.voters, untilMs);
    }
    // Time may have passed since the first reading: decide on the state of this very turn.
    const plan = planChange(request, this.situation());
    if (plan.kind === 'done') return this.done();
    if (plan.kind === 'refused') return plan.answer;
    const index = this.propose(plan);
    if (typeof index !== 'number') return index;
    return this.waitFor(request, index, untilMs);
  }

  /**
   * "It is so already" must not come from a leader that was replaced and does not know it: whoever
   * hears that a member is gone may empty its directory.
   */
  private async confirmDone(request: Change, untilMs: number): Promise<MembershipAnswer> {
    try {
      await this.port.confirmLead(untilMs);
    } catch (error) {
      if (!(error instanceof QueenError)) throw error;
      const isLate = this.port.nowMs() >= untilMs;
      const why = 'no majority confirmed the membership; nothing was changed';
      return refused(isLate ? 'timeout' : 'leader_changed', why);
    }
    if (this.port.role.target !== this.port.self) {
      return refused('leader_changed', 'leadership moved; nothing was changed');
    }
    if (planChange(request, this.situation()).kind !== 'done') {
      return refused('membership_changed', 'the membership moved while it was checked; ask again');
    }
    if (request.kind === 'remove') await this.waitReleased(nodeId(request.id), untilMs);
    return this.done();
  }

  private done(): MembershipAnswer {
    return { ok: true, membership: membershipView(this.port, false) };
  }

  private keepsLeading(plan: Plan & { kind: 'change' }): boolean {
    return plan.voters.includes(this.port.self);
  }

  private situation(): Situation {
    const { book, loop, watch, self, liveWithinMs, promoteMaxLag } = this.port;
    const status = loop.status();
    return {
      ...{ members: book.members, status, liveWithinMs, promoteMaxLag },
      ackMs: (id) => {
        if (id === self) return 0;
        return watch.memberAckMs(status.peers.find((peer) => peer.id === id));
      },
    };
  }

  /** The node to be added must run, be who it is said to be, and read what this cluster writes. */
  private async probe(
    request: Extract<Change, { kind: 'add-learner' }>,
    untilMs: number,
  ): Promise<MembershipAnswer | null> {
    const { peers, self, directoryId, nowMs } = this.port;
    const timeoutMs = Math.max(1, Math.min(PROBE_MS, untilMs - nowMs()));
    const query = { nodeId: self, directoryId, lastIndex: this.port.loop.status().lastIndex };
    const address = { nodeId: nodeId(request.id), raft: request.raft };
    const found = await peers.probe(address, query, timeoutMs);
    return this.objectionTo(request, found);
  }

  private objectionTo(
    request: Extract<Change, { kind: 'add-learner' }>,
    found: StateAnswer | null,
  ): MembershipAnswer | null {
    const { id, raft } = request;
    if (found === null) {
      return refused(
        'learner_unreachable',
        `node ${id} does not answer at ${raft}: start it first, with QUEEN_RAFT_JOIN=true`,
      );
    }
    if (found.nodeId !== id) {
      return refused(
        'learner_unreachable',
        `node ${found.nodeId} answers at ${raft}, not node ${id}`,
      );
    }
    const version = this.port.clusterVersion();
    if (found.kinds >= version) return null;
    return refused(
      'learner_too_old',
      `node ${id} reads cluster versions up to ${found.kinds}, this cluster writes ${version}`,
    );
  }

  private propose(plan: Plan & { kind: 'change' }): number | MembershipAnswer {
    const { loop, book } = this.port;
    const { changes, added } = plan;
    const result = loop.proposeChange(
      changes.length === 0
        ? { transition: 'auto', changes }
        : { transition: 'auto', changes, context: book.contextFor(added) },
    );
    if (result.outcome === 'appended') return result.index;
    if (result.outcome === 'forwarded') return refused('leader_changed', 'leadership moved');
    const { reason } = result;
    if (reason === 'pending-change') {
      return refused('in_flight', 'the last membership entry is not committed yet');
    }
    if (reason === 'over-limit') {
      return refused('busy', 'too many writes wait for their majority; nothing was changed');
    }
    if (result.outcome === 'refused')
      return refused('leader_changed', `not possible now: ${reason}`);
    return refused('membership_invalid', `the change was refused: ${reason}`);
  }

  private async waitFor(
    request: Change,
    index: number,
    untilMs: number,
  ): Promise<MembershipAnswer> {
    const { role, book, nowMs } = this.port;
    const { term } = role;
    const complete = (): boolean => book.index >= index && !isJoint(book.config);
    while (!complete()) {
      if (!role.established || role.term !== term) {
        return refused('leader_changed', 'leadership moved; the change may still be committed');
      }
      if (nowMs() > untilMs) {
        return refused('timeout', 'the deadline passed; the change may still complete');
      }
      await pause();
    }
    if (request.kind === 'remove') await this.waitReleased(nodeId(request.id), untilMs);
    return this.done();
  }

  /** The directory of a removed member is released by an entry of its own, soon after. */
  private async waitReleased(id: NodeId, untilMs: number): Promise<void> {
    const { nowMs, isBound, role } = this.port;
    while (isBound(id) && role.established && nowMs() < untilMs) await pause();
  }

  private async leaveFirst(
    request: Change,
    candidates: readonly NodeId[],
    untilMs: number,
  ): Promise<MembershipAnswer> {
    const { role, self, nowMs } = this.port;
    await this.port.handOff(candidates).run();
    while (role.target === 0 && nowMs() < untilMs) await pause();
    if (role.leader === self || !role.hasLeader) {
      return refused('leader_changed', 'no other node took leadership over; nothing was changed');
    }
    let answer: MembershipAnswer;
    do {
      answer = await this.passOn(request, Math.max(1, untilMs - nowMs()));
      // The successor does not serve before it has applied an entry of its own term.
      if (answer.ok || answer.code !== 'no_leader') return answer;
      await pause();
    } while (nowMs() < untilMs);
    return answer;
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, POLL_MS);
  });
}
