/**
 * What a membership change must satisfy before it is proposed, as functions over one reading of the
 * leader's state: nothing is awaited between these checks and the proposal. `force` never helps
 * against a missing majority.
 */
import { nodeId, type NodeId } from '../../../common/ids.js';
import { isJoint, type ConfigState, type CoreStatus, type SingleChange } from '../../core/index.js';
import type { MemberAddress, Members } from './members.js';
import { refused, type MembershipAnswer, type MembershipRequest } from './membership-port.js';

export interface Situation {
  readonly members: Members;
  readonly status: CoreStatus;
  readonly promoteMaxLag: number;
  /** ms since a member was heard; 0 for this node, Infinity when not in this term. */
  ackMs(id: NodeId): number;
  readonly liveWithinMs: number;
}

/** What is to be done: nothing (it is so already), a refusal, or changes for one entry. */
export type Plan =
  | { readonly kind: 'done' }
  | { readonly kind: 'refused'; readonly answer: MembershipAnswer }
  | {
      readonly kind: 'change';
      readonly changes: readonly SingleChange[];
      readonly added: ReadonlyMap<NodeId, MemberAddress>;
      /** Voters once the change is complete. */
      readonly voters: readonly NodeId[];
    };

type Change = Exclude<MembershipRequest, { kind: 'read' }>;

const DONE: Plan = { kind: 'done' };
const NONE: ReadonlyMap<NodeId, MemberAddress> = new Map();

export function planChange(request: Change, situation: Situation): Plan {
  const { config } = situation.members;
  if (isJoint(config)) return planInJoint(request, config);
  // Not even "it is so already" can be said while the log holds another membership.
  if (situation.status.changePending) {
    return no('in_flight', 'the last membership entry is not committed yet; ask again');
  }
  switch (request.kind) {
    case 'add-learner':
      return planLearner(request, situation);
    case 'promote':
      return planPromotion(request, situation);
    case 'set-voters':
      return planVoters(request, situation);
    case 'remove':
      return planRemoval(request, situation);
  }
}

/** The only way out of a standing joint state is its own last voter set. */
function planInJoint(request: Change, config: ConfigState): Plan {
  const last = config.voters.join(',');
  if (request.kind === 'set-voters' && sorted(request.voters).join(',') === last) {
    return { kind: 'change', changes: [], added: NONE, voters: config.voters };
  }
  return no(
    'in_flight',
    `a change stands between its two steps; finish it with PUT …/membership/voters {"voters":[${last}]}`,
  );
}

function planLearner(request: Extract<Change, { kind: 'add-learner' }>, at: Situation): Plan {
  const id = nodeId(request.id);
  const { config, addresses } = at.members;
  if (config.voters.includes(id)) return no('already_voter', `node ${id} is a voter`);
  const { raft, http } = request;
  if (config.learners.includes(id)) {
    const known = addresses.get(id);
    if (known?.raft === raft && known.http === http) return DONE;
    const as = `${known?.raft ?? '?'}/${known?.http ?? '?'}`;
    return no('address_mismatch', `learner ${id} is known as ${as}; remove it first`);
  }
  const quorum = lacksQuorum(at, config.voters);
  if (quorum !== null) return quorum;
  return {
    kind: 'change',
    changes: [{ action: 'add-learner', node: id }],
    added: new Map([[id, { raft, http }]]),
    voters: config.voters,
  };
}

function planPromotion(request: Extract<Change, { kind: 'promote' }>, at: Situation): Plan {
  const { config } = at.members;
  const fresh: NodeId[] = [];
  for (const id of sorted(request.ids)) {
    if (config.voters.includes(id)) continue;
    if (!config.learners.includes(id)) return no('not_a_learner', `node ${id} is no learner`);
    fresh.push(id);
  }
  return planSet([...config.voters, ...fresh], request.force, at);
}

function planVoters(request: Extract<Change, { kind: 'set-voters' }>, at: Situation): Plan {
  const voters = sorted(request.voters);
  if (voters.length === 0) return no('last_voter', 'a cluster needs at least one voter');
  const { config } = at.members;
  const stranger = voters.find(
    (id) => !config.voters.includes(id) && !config.learners.includes(id),
  );
  if (stranger !== undefined) return no('not_a_member', `node ${stranger} is no member`);
  return planSet(voters, request.force, at);
}

function planRemoval(request: Extract<Change, { kind: 'remove' }>, at: Situation): Plan {
  const id = nodeId(request.id);
  const { config } = at.members;
  if (config.learners.includes(id)) {
    const quorum = lacksQuorum(at, config.voters);
    if (quorum !== null) return quorum;
    const changes = [{ action: 'remove', node: id } as const];
    return { kind: 'change', changes, added: NONE, voters: config.voters };
  }
  if (!config.voters.includes(id)) return DONE;
  const left = config.voters.filter((voter) => voter !== id);
  if (left.length === 0) return no('last_voter', `node ${id} is the last voter`);
  return planSet(left, true, at);
}

function planSet(wanted: readonly NodeId[], force: boolean, at: Situation): Plan {
  const voters = sorted(wanted);
  const { config } = at.members;
  const added = voters.filter((id) => !config.voters.includes(id));
  const removed = config.voters.filter((id) => !voters.includes(id));
  if (added.length + removed.length === 0) return DONE;
  const quorum = lacksQuorum(at, config.voters) ?? lacksQuorum(at, voters);
  if (quorum !== null) return quorum;
  if (!force) {
    for (const id of added) {
      const behind = isBehind(id, at);
      if (behind !== null) return no('learner_behind', behind);
    }
  }
  const changes: SingleChange[] = [
    ...added.map((node) => ({ action: 'add-voter', node }) as const),
    ...removed.map((node) => ({ action: 'remove', node }) as const),
  ];
  return { kind: 'change', changes, added: NONE, voters };
}

function isBehind(id: NodeId, at: Situation): string | null {
  const { status, promoteMaxLag, liveWithinMs } = at;
  const match = status.peers.find((peer) => peer.id === id)?.match ?? 0;
  const lag = status.lastIndex - match;
  if (match === 0) return `learner ${id} has replicated nothing yet`;
  if (lag > promoteMaxLag)
    return `learner ${id} is ${lag} entries behind (at most ${promoteMaxLag})`;
  if (at.ackMs(id) > liveWithinMs) return `learner ${id} was not heard for ${liveWithinMs} ms`;
  return null;
}

function lacksQuorum(at: Situation, voters: readonly NodeId[]): Plan | null {
  const live = voters.filter((id) => at.ackMs(id) <= at.liveWithinMs);
  if (live.length * 2 > voters.length) return null;
  return no(
    'no_quorum',
    `of the voters ${voters.join(', ')} only ${live.length} were heard within ${at.liveWithinMs} ms`,
  );
}

function no(...[code, error]: Parameters<typeof refused>): Plan {
  return { kind: 'refused', answer: refused(code, error) };
}

function sorted(ids: readonly number[]): NodeId[] {
  return [...new Set(ids)].sort((a, b) => a - b).map((id) => nodeId(id));
}
