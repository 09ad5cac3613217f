/**
 * Changes of the membership as the operators' surface asks for them (cluster.md §4). Plain data in and
 * out: a request travels to the leader as JSON and comes back the same way.
 */

export type MembershipRequest =
  | { readonly kind: 'read' }
  | {
      readonly kind: 'add-learner';
      readonly id: number;
      readonly raft: string;
      readonly http: string;
    }
  | { readonly kind: 'promote'; readonly ids: readonly number[]; readonly force: boolean }
  | { readonly kind: 'set-voters'; readonly voters: readonly number[]; readonly force: boolean }
  | { readonly kind: 'remove'; readonly id: number };

export type MembershipRefusal =
  | 'bad_request'
  | 'in_flight'
  | 'no_quorum'
  | 'last_voter'
  | 'learner_behind'
  | 'learner_unreachable'
  | 'learner_too_old'
  | 'already_voter'
  | 'address_mismatch'
  | 'not_a_learner'
  | 'not_a_member'
  | 'membership_changed'
  | 'leader_changed'
  | 'busy'
  | 'membership_invalid'
  | 'timeout'
  | 'leader_unreachable'
  | 'unsupported'
  /** No leader is known: the usual 503. */
  | 'no_leader';

export interface MembershipMember {
  readonly nodeId: number;
  readonly voter: boolean;
  readonly raft: string | null;
  readonly http: string | null;
  /** Null = nothing replicated yet. */
  readonly matched: number | null;
  readonly lag: number | null;
  readonly lastAckMs: number | null;
  readonly live: boolean;
}

export interface MembershipView {
  readonly nodeId: number;
  readonly source: 'leader' | 'follower' | 'stopped';
  readonly viewAgeMs: number | null;
  readonly leader: number | null;
  readonly term: number;
  readonly voters: readonly number[];
  readonly learners: readonly number[];
  /** The two voter sets while a change is between its steps. */
  readonly joint: readonly (readonly number[])[] | null;
  readonly membershipIndex: number;
  readonly membershipCommitted: boolean;
  readonly changeInFlight: boolean;
  readonly lastLogIndex: number;
  readonly committedIndex: number;
  readonly liveWithinMs: number;
  readonly promoteMaxLag: number;
  readonly members: readonly MembershipMember[];
}

export type MembershipAnswer =
  | { readonly ok: true; readonly membership: MembershipView }
  | { readonly ok: false; readonly code: MembershipRefusal; readonly error: string };

export interface MembershipControl {
  /** Carried out by the leader, whichever node is asked. Never throws. */
  request(request: MembershipRequest, timeoutMs: number): Promise<MembershipAnswer>;
}

export function refused(code: MembershipRefusal, error: string): MembershipAnswer {
  return { ok: false, code, error };
}
