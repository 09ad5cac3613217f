/** Readiness from group statuses: each reason not to be ready, alone, and the bounds of each. */
import { logIndex, nodeId, term } from '../common/ids.js';
import type { GroupStatus } from './group/group.js';
import { Readiness } from './readiness.js';

const LIMITS = { readyLagMs: 2_000, readyQuorumMs: 5_000 };

const SERVING: GroupStatus = {
  nodeId: nodeId(1),
  role: 'leader',
  leader: nodeId(1),
  term: term(7),
  applied: logIndex(210),
  commit: logIndex(211),
  durable: logIndex(200),
  lastLog: logIndex(212),
  lagMs: 0,
  quorumAckMs: 120,
  storageReady: true,
  storageFull: false,
  clusterVersion: 6,
  kinds: 6,
  failure: null,
  inflight: 0,
  proposals: 0,
};

function readinessOf(...changes: Partial<GroupStatus>[]): { ready: boolean; raft: object } {
  const groups = changes.map((change) => ({ status: () => ({ ...SERVING, ...change }) }));
  const readiness = new Readiness({ all: () => groups }, LIMITS);
  const raft = readiness.raft();
  return { ready: readiness.isReady(raft), raft };
}

it('shows exactly the fields of the health page', () => {
  expect(readinessOf({})).toEqual({
    ready: true,
    raft: {
      role: 'leader',
      leader: true,
      term: 7,
      applied: 210,
      commit: 211,
      lag: 0,
      quorumAckMs: 120,
      storageReady: true,
      clusterVersion: 6,
      kinds: 6,
      apply: { failure: null, skipped: [] },
    },
  });
});

const follower = { role: 'follower', leader: nodeId(2) } as const;

it.each<[string, Partial<GroupStatus>, boolean]>([
  ['a leader', {}, true],
  ['a follower that is caught up', follower, true],
  ['no leader known', { role: 'candidate', leader: null }, false],
  ['a follower at the lag', { ...follower, lagMs: 2_000 }, true],
  ['a follower above the lag', { ...follower, lagMs: 2_001 }, false],
  ['a quorum heard just in time', { quorumAckMs: 5_000 }, true],
  ['a quorum heard too long ago', { quorumAckMs: 5_001 }, false],
  ['a quorum nobody knows of', { quorumAckMs: null }, false],
  ['storage that does not work', { storageReady: false }, false],
  ['stopped, whatever it knows', { role: 'stopped' }, false],
])('%s', (_name, change, ready) => {
  expect(readinessOf(change).ready).toBe(ready);
});

it('does not ask for the quorum when that is switched off', () => {
  const silent = { status: () => ({ ...SERVING, quorumAckMs: null }) };
  const readiness = new Readiness({ all: () => [silent] }, { ...LIMITS, readyQuorumMs: 0 });
  expect(readiness.isReady(readiness.raft())).toBe(true);
});

it('shows why a node stopped, with the term it stopped in', () => {
  const failure = { class: 'NODE-LOCAL', error: 'EIO', index: 211 };
  const { ready, raft } = readinessOf({ role: 'stopped', leader: null, failure });
  expect(ready).toBe(false);
  expect(raft).toMatchObject({
    leader: false,
    apply: {
      failure: { ...failure, command: null, digest: null, effect: null, term: 7 },
      skipped: [],
    },
  });
});

describe('several groups', () => {
  it('are ready only together', () => {
    expect(readinessOf({}, {}, {}).ready).toBe(true);
    expect(readinessOf({}, { leader: null, role: 'candidate' }).ready).toBe(false);
    expect(readinessOf({}, { storageReady: false }).ready).toBe(false);
    expect(readinessOf({}, { ...follower, lagMs: 9_000 })).toMatchObject({ raft: { lag: 9_000 } });
    expect(readinessOf({ quorumAckMs: 3 }, { quorumAckMs: 9 }).raft).toMatchObject({
      quorumAckMs: 9,
    });
    expect(readinessOf({ quorumAckMs: 3 }, { quorumAckMs: null }).ready).toBe(false);
  });

  it('mark a leader elsewhere with a suffix', () => {
    expect(readinessOf(follower, {}).raft).toMatchObject({ role: 'follower+leader' });
    expect(readinessOf({}, follower).raft).toMatchObject({ role: 'leader' });
    expect(readinessOf(follower, follower).raft).toMatchObject({ role: 'follower' });
  });

  it('need at least one', () => {
    expect(() => readinessOf()).toThrow('at least one raft group');
  });
});
