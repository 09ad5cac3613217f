/**
 * Refusals of the membership that are races: no request over HTTP can be timed for them. The desk runs
 * over fakes that lose leadership, or move the membership, exactly while it waits.
 */
import { QueenError } from '../../../common/errors.js';
import { logIndex, nodeId, type NodeId } from '../../../common/ids.js';
import { EMPTY_CONFIG } from '../../core/index.js';
import { MembershipDesk, type MembershipDeskPort } from './membership-desk.js';
import { firstMembers, type Members } from './members.js';
import type { MembershipRequest } from './membership-port.js';

const ids = (...list: number[]): NodeId[] => list.map((id) => nodeId(id));
const SELF = nodeId(1);
const REMOVE_NOBODY: MembershipRequest = { kind: 'remove', id: 9 };
const REMOVE_THREE: MembershipRequest = { kind: 'remove', id: 3 };

/** What the fakes show; a test changes it in the middle of a request. */
interface Shown {
  members: Members;
  target: number;
  established: boolean;
  proposal: ReturnType<MembershipDeskPort['loop']['proposeChange']>;
  confirm: () => Promise<void>;
}

function withVoters(...voters: number[]): Members {
  const address = { raft: 'h:1', http: 'h:2' };
  const members = firstMembers(ids(...voters), new Map(ids(...voters).map((id) => [id, address])));
  return { ...members, index: logIndex(5), config: { ...EMPTY_CONFIG, voters: ids(...voters) } };
}

function desk(given: Partial<Shown>): { readonly shown: Shown; readonly desk: MembershipDesk } {
  const shown: Shown = {
    members: withVoters(1, 2, 3),
    target: SELF,
    established: true,
    proposal: { outcome: 'forwarded' },
    confirm: () => Promise.resolve(),
    ...given,
  };
  const status = { term: 7, lastIndex: 9, commit: 9, changePending: false, config: EMPTY_CONFIG };
  const port = {
    ...{ self: SELF, liveWithinMs: 2_000, promoteMaxLag: 1_000, kinds: 6 },
    loop: { status: () => ({ ...status, peers: [] }), proposeChange: () => shown.proposal },
    book: {
      get members() {
        return shown.members;
      },
      get config() {
        return shown.members.config;
      },
      get index() {
        return shown.members.index;
      },
      ids: ids(1, 2, 3),
      addresses: new Map(),
      contextFor: () => new Uint8Array(0),
    },
    role: {
      term: 7,
      leads: true,
      hasLeader: true,
      leader: SELF,
      get target() {
        return shown.target;
      },
      get established() {
        return shown.established;
      },
    },
    watch: { memberAckMs: () => 10, viewAgeMs: 0, lastView: null, leaderCommit: 9 },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    nowMs: () => performance.now(),
    lastIndex: () => 9,
    isStopped: () => false,
    isBound: () => false,
    confirmLead: () => shown.confirm(),
  };
  return { shown, desk: new MembershipDesk(port as unknown as MembershipDeskPort) };
}

const codeOf = async (made: MembershipDesk, asked: MembershipRequest): Promise<unknown> => {
  const answer = await made.request(asked, 60_000);
  return answer.ok ? 'ok' : answer.code;
};

it('membership_changed: it moved while "so already" was being confirmed', async () => {
  const { shown, desk: made } = desk({});
  shown.confirm = () => {
    shown.members = withVoters(1, 2, 9);
    return Promise.resolve();
  };
  expect(await codeOf(made, REMOVE_NOBODY)).toBe('membership_changed');
});

it('leader_changed: another leads, or nobody, once "so already" is confirmed', async () => {
  const { shown, desk: made } = desk({});
  shown.confirm = () => {
    shown.target = 0;
    return Promise.resolve();
  };
  expect(await codeOf(made, REMOVE_NOBODY)).toBe('leader_changed');
  const lost = desk({ confirm: () => Promise.reject(new QueenError('retry', 'stepped down')) });
  expect(await codeOf(lost.desk, REMOVE_NOBODY)).toBe('leader_changed');
});

it('leader_changed: leadership is lost while the written change waits for its majority', async () => {
  const proposal = { outcome: 'appended', index: logIndex(10) } as Shown['proposal'];
  const { shown, desk: made } = desk({ proposal });
  const answer = codeOf(made, REMOVE_THREE);
  shown.established = false;
  expect(await answer).toBe('leader_changed');
});

it.each([
  [{ outcome: 'refused', reason: 'transferring' }, 'leader_changed'],
  [{ outcome: 'refused', reason: 'over-limit' }, 'busy'],
  [{ outcome: 'forwarded' }, 'leader_changed'],
  [{ outcome: 'replaced', reason: 'pending-change' }, 'in_flight'],
  [{ outcome: 'replaced', reason: 'invalid' }, 'membership_invalid'],
  [{ outcome: 'replaced', reason: 'already-joint' }, 'membership_invalid'],
])('a proposal that is %j: %s', async (proposal, code) => {
  const { desk: made } = desk({ proposal: proposal as unknown as Shown['proposal'] });
  expect(await codeOf(made, REMOVE_THREE)).toBe(code);
});

it('one request at a time; the next is taken when it is answered', async () => {
  let release = (): void => undefined;
  const { shown, desk: made } = desk({});
  shown.confirm = () => new Promise((resolve) => (release = resolve));
  const first = codeOf(made, REMOVE_NOBODY);
  expect(await codeOf(made, REMOVE_NOBODY)).toBe('in_flight');
  release();
  expect(await first).toBe('ok');
  shown.confirm = () => Promise.resolve();
  expect(await codeOf(made, REMOVE_NOBODY)).toBe('ok');
});
