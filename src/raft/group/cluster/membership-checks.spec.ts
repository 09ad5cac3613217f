/** Every verdict about a membership change, as a table over one cluster; and what the log purge may cut. */
import { logIndex, nodeId, term, type NodeId } from '../../../common/ids.js';
import { changeConfig, EMPTY_CONFIG, type CoreStatus } from '../../core/index.js';
import { LogPurge } from './log-purge.js';
import { firstMembers, type MemberAddress, type Members } from './members.js';
import { planChange, type Situation } from './membership-checks.js';
import type { MembershipRequest } from './membership-port.js';
import { QuorumWatch } from './quorum-watch.js';

type Change = Exclude<MembershipRequest, { kind: 'read' }>;

const address = (id: number): MemberAddress => ({ raft: `h${id}:7400`, http: `h${id}:6632` });
const ids = (...list: number[]): NodeId[] => list.map((id) => nodeId(id));

/** Voters 1 to 3 (this node is 1), learner 4. */
function members(): Members {
  const addresses = new Map(ids(1, 2, 3, 4).map((id) => [id, address(id)]));
  const config = { ...EMPTY_CONFIG, voters: ids(1, 2, 3), learners: ids(4) };
  return { index: logIndex(5), config, addresses, generation: 0 };
}

const LAST = 10_000;

interface World {
  readonly silent?: readonly number[];
  /** Entries that learner 4 lacks; null = it has replicated nothing. */
  readonly lag?: number | null;
  readonly members?: Members;
  /** The log holds a membership entry that is not committed. */
  readonly pending?: boolean;
}

function situation(world: World): Situation {
  const { silent = [], lag = 0, members: given = members(), pending = false } = world;
  const match = lag === null ? 0 : LAST - lag;
  const peers = ids(1, 2, 3, 4).map((id) => ({ id, match: id === 4 ? match : LAST }));
  return {
    members: given,
    status: { lastIndex: LAST, peers, changePending: pending } as unknown as CoreStatus,
    promoteMaxLag: 1_000,
    liveWithinMs: 2_000,
    ackMs: (id) => (silent.includes(id) ? Infinity : 50),
  };
}

const learner = (id: number, at = id): Change => ({
  ...{ kind: 'add-learner', id, raft: `h${at}:7400`, http: `h${at}:6632` },
});
const promote = (list: number[], force = false): Change => ({ kind: 'promote', ids: list, force });
const voters = (list: number[], force = false): Change => ({
  ...{ kind: 'set-voters', voters: list, force },
});
const remove = (id: number): Change => ({ kind: 'remove', id });

describe('a membership change', () => {
  it.each<[string, Change, World, string]>([
    ['a new learner', learner(5), {}, '+learner 5'],
    ['the same learner again', learner(4), {}, 'done'],
    ['a learner elsewhere', learner(4, 9), {}, 'address_mismatch'],
    ['a voter as learner', learner(2), {}, 'already_voter'],
    ['a learner without a majority', learner(5), { silent: [2, 3] }, 'no_quorum'],
    ['a learner with one voter silent', learner(5), { silent: [3] }, '+learner 5'],
    ['promotion', promote([4]), {}, '+voter 4'],
    ['promotion of a voter', promote([2]), {}, 'done'],
    ['promotion of both', promote([2, 4]), {}, '+voter 4'],
    ['promotion of a stranger', promote([9]), {}, 'not_a_learner'],
    ['promotion at the limit', promote([4]), { lag: 1_000 }, '+voter 4'],
    ['promotion behind', promote([4]), { lag: 1_001 }, 'learner_behind'],
    ['promotion of one with nothing', promote([4]), { lag: null }, 'learner_behind'],
    ['promotion of a silent one', promote([4]), { silent: [4] }, 'learner_behind'],
    ['promotion behind, by force', promote([4], true), { lag: 5_000 }, '+voter 4'],
    ['force without a majority', promote([4], true), { silent: [2, 3] }, 'no_quorum'],
    ['the same voters', voters([3, 2, 1]), {}, 'done'],
    ['no voters', voters([]), {}, 'last_voter'],
    ['a stranger as voter', voters([1, 2, 9]), {}, 'not_a_member'],
    ['one for another', voters([1, 2, 4]), {}, '+voter 4 -3'],
    ['the dead one for another', voters([1, 2, 4]), { silent: [3] }, '+voter 4 -3'],
    ['a majority that would be dead', voters([1, 3]), { silent: [3] }, 'no_quorum'],
    ['removal of a voter', remove(3), {}, '-3'],
    ['removal of a dead voter', remove(3), { silent: [3] }, '-3'],
    ['removal that would leave a dead majority', remove(2), { silent: [3] }, 'no_quorum'],
    ['removal of a learner', remove(4), { silent: [4] }, '-4'],
    ['removal of a stranger', remove(9), {}, 'done'],
    ['removal of this node', remove(1), {}, '-1'],
    ['a new learner, another change uncommitted', learner(5), { pending: true }, 'in_flight'],
    [
      'the same voters, another change uncommitted',
      voters([1, 2, 3]),
      { pending: true },
      'in_flight',
    ],
    ['removal of a stranger, another uncommitted', remove(9), { pending: true }, 'in_flight'],
  ])('%s', (_name, request, world, expected) => {
    expect(shown(request, world)).toBe(expected);
  });

  it('never removes the last voter', () => {
    const alone = firstMembers(ids(1), new Map([[nodeId(1), address(1)]]));
    expect(shown(remove(1), { members: alone })).toBe('last_voter');
  });

  it('in a joint state takes only its own last voter set', () => {
    const { config, ...rest } = members();
    const joint = changeConfig(config, {
      transition: 'implicit',
      changes: [
        { action: 'add-voter', node: nodeId(4) },
        { action: 'remove', node: nodeId(1) },
      ],
    });
    if (!joint.ok) throw new Error(joint.refusal);
    const world = { members: { ...rest, config: joint.config } };
    expect(shown(voters([2, 3]), world)).toBe('in_flight');
    expect(shown(learner(5), world)).toBe('in_flight');
    expect(shown(remove(2), world)).toBe('in_flight');
    expect(shown(voters([4, 3, 2]), world)).toBe('leave');
  });

  function shown(request: Change, world: World): string {
    const plan = planChange(request, situation(world));
    if (plan.kind === 'done') return 'done';
    if (plan.kind === 'refused') return plan.answer.ok ? '?' : plan.answer.code;
    const parts = plan.changes.map(({ action, node }) => {
      if (action === 'remove') return `-${node}`;
      return action === 'add-voter' ? `+voter ${node}` : `+learner ${node}`;
    });
    return parts.join(' ') || 'leave';
  }
});

describe('log purge', () => {
  const HOLD_MS = 1_000;

  interface Log {
    readonly durable?: number;
    readonly first?: number;
    readonly keep?: number;
    readonly hold?: number | null;
    /** [match, ticks since contact] of nodes 2 and 3; undefined ticks = never heard. */
    readonly peers?: readonly (readonly [number, number | undefined])[];
    readonly role?: string;
    /** Followed by more bytes than are kept. */
    readonly large?: number;
  }

  function purgeable(log: Log, nowMs = 0): number | null {
    const { durable = 9_000, first = 1, keep = 100, hold = null, role = 'leader' } = log;
    const { large = 0 } = log;
    const peers = [[10_000, 0], ...(log.peers ?? [])].map(([match, ticks], i) => ({
      ...{ id: nodeId(i + 1), match: logIndex(match ?? 0), ticksSinceContact: ticks },
    }));
    const status = { role, term: 3, lastIndex: 10_000, peers } as unknown as CoreStatus;
    let now = 0;
    const watch = new QuorumWatch(() => now, 100);
    watch.silentMs(status, peers[0] as never);
    now = nowMs;
    watch.ticked();
    return new LogPurge({
      ...{ self: nodeId(1), keepEntries: keep, holdMs: HOLD_MS, watch, nowMs: () => now },
      status: () => status,
      durableIndex: () => logIndex(durable),
      indexBeforeKept: () => large,
      firstIndex: () => logIndex(first),
      snapshotHold: () => (hold === null ? null : logIndex(hold)),
      release: () => Promise.resolve(),
      failed: () => undefined,
    }).purgeable();
  }

  it.each<[string, Log, number | null]>([
    ['keeps some entries below the durable index', {}, 8_899],
    [
      'stops at the slowest live member',
      {
        peers: [
          [5_000, 1],
          [9_000, 0],
        ],
      },
      4_900,
    ],
    [
      'forgets one that was silent for too long',
      {
        peers: [
          [5_000, 11],
          [9_000, 0],
        ],
      },
      8_899,
    ],
    ['counts one that has everything, however silent', { peers: [[10_000, 99]] }, 8_899],
    ['holds all for a new member', { peers: [[0, 0]] }, null],
    ['stops at a snapshot in use', { hold: 3_000 }, 2_900],
    ['keeps fewer entries when they are large', { large: 8_990 }, 8_990],
    ['never purges what is not durable, however large', { large: 9_500 }, 8_999],
    ['waits until it is worth it', { first: 8_890 }, null],
    ['a follower that knows no view keeps all', { role: 'follower' }, null],
  ])('%s', (_name, log, expected) => {
    expect(purgeable(log)).toBe(expected);
  });

  it('counts the silence of a member that was never heard from the election', () => {
    const peers = [[5_000, undefined]] as const;
    expect(purgeable({ peers }, 900)).toBe(4_900);
    expect(purgeable({ peers }, 1_100)).toBe(8_899);
  });

  it('on a follower uses what the leader saw, aged', () => {
    let now = 0;
    const watch = new QuorumWatch(() => now, 100);
    const view = {
      ...{ term: term(3), leader: nodeId(1), commit: logIndex(9_900), quorumAckMs: 0 },
      members: [
        { id: nodeId(1), voter: true, lastAckMs: 0, matched: logIndex(10_000) },
        { id: nodeId(2), voter: true, lastAckMs: 0, matched: logIndex(9_500) },
        { id: nodeId(3), voter: true, lastAckMs: 600, matched: logIndex(4_000) },
      ],
    };
    watch.received(view);
    const purge = new LogPurge({
      ...{ self: nodeId(2), keepEntries: 100, holdMs: HOLD_MS, watch, nowMs: () => now },
      status: () => ({ role: 'follower' }) as unknown as CoreStatus,
      durableIndex: () => logIndex(9_000),
      indexBeforeKept: () => 0,
      firstIndex: () => logIndex(1),
      snapshotHold: () => null,
      release: () => Promise.resolve(),
      failed: () => undefined,
    });
    expect(purge.purgeable()).toBe(3_900);
    now = 500;
    expect(purge.purgeable()).toBe(8_899);
  });
});
