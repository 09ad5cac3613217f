/**
 * Every answer of the membership routes (cluster.md §4) over HTTP on real processes: each refusal through
 * the leader and through a follower, what is so already, and what only shows while nodes are frozen or
 * gone. Codes of races no request can be timed for: src/raft/group/cluster/membership-desk.spec.ts.
 */
import { ClusterProcesses } from '../support/cluster-processes.js';
import { MembershipCalls, type MembershipReply } from './membership-calls.js';

jest.setTimeout(480_000);

const BASE = '/api/v1/system/raft/membership';
const WITHIN_MS = 60_000;
/** A leader without a majority steps down late enough for a few requests. */
const PATIENT = { QUEEN_RAFT_ELECTION_MS: '6000' };
const ENV = {
  QUEEN_RAFT_PROMOTE_MAX_LAG: '5',
  QUEEN_TENANCY_HEADER: 'true',
  QUEEN_KV_TRUSTED_PROXY: 'true',
};

let cluster: ClusterProcesses;
let calls: MembershipCalls;

async function start(options: Parameters<typeof ClusterProcesses.start>[0]): Promise<void> {
  cluster = await ClusterProcesses.start(options);
  calls = new MembershipCalls(cluster);
  await cluster.leader(cluster.ids, WITHIN_MS);
}

/** Node 4 runs and is a learner. */
async function withLearner(): Promise<void> {
  await start({ env: ENV });
  await cluster.join(4);
  await cluster.until(async () => (await cluster.health(4))?.role === 'learner', {
    withinMs: WITHIN_MS,
    what: 'node 4 to wait',
  });
  await calls.until(1, 'POST', '/learners', addressOf(4));
  await cluster.ready(4);
}

function addressOf(id: number): { id: number; raft: string; http: string } {
  const { http, raft } = cluster.node(id).ports;
  return { id, raft: `127.0.0.1:${raft}`, http: `127.0.0.1:${http}` };
}

async function theTwo(): Promise<{ leader: number; follower: number }> {
  const leader = await cluster.leader([1, 2, 3], WITHIN_MS);
  return { leader, follower: [1, 2, 3].find((id) => id !== leader) ?? 0 };
}

function refusal(code: string): unknown {
  return { ok: false, code, error: expect.stringMatching(/\S/) as string };
}

function freeze(ids: readonly number[]): void {
  for (const id of ids) cluster.node(id).signal('SIGSTOP');
}

function thaw(ids: readonly number[]): void {
  for (const id of ids) cluster.node(id).signal('SIGCONT');
}

/** The leader's view counts this member as live, or not any more. */
async function untilLive(leader: number, id: number, live: boolean): Promise<void> {
  await cluster.until(
    async () => {
      const { members } = await calls.show(leader);
      return members.find((one) => one.nodeId === id)?.live === live;
    },
    { withinMs: WITHIN_MS, what: `node ${id} to count as ${live ? 'live' : 'silent'}` },
  );
}

describe('three voters and a learner', () => {
  beforeAll(withLearner);
  afterAll(() => cluster.remove());

  type Asked = readonly [method: string, path: string, body?: () => unknown];
  const REFUSED: readonly (readonly [string, number, Asked])[] = [
    ['already_voter', 409, ['POST', '/learners', () => addressOf(2)]],
    [
      'address_mismatch',
      409,
      ['POST', '/learners', () => ({ ...addressOf(4), http: '127.0.0.1:1' })],
    ],
    ['not_a_learner', 409, ['POST', '/promote', () => ({ ids: [9] })]],
    ['not_a_member', 409, ['PUT', '/voters', () => ({ voters: [1, 2, 9] })]],
    ['last_voter', 409, ['PUT', '/voters', () => ({ voters: [] })]],
    [
      'learner_unreachable',
      409,
      ['POST', '/learners', () => ({ id: 7, raft: '127.0.0.1:1', http: '127.0.0.1:2' })],
    ],
    ['learner_unreachable', 409, ['POST', '/learners', () => ({ ...addressOf(4), id: 7 })]],
    ['bad_request', 400, ['POST', '/learners', () => ({ ...addressOf(4), id: 0 })]],
    ['bad_request', 400, ['POST', '/learners', () => ({ ...addressOf(4), raft: 'nowhere' })]],
    ['bad_request', 400, ['POST', '/learners', () => ({ ...addressOf(4), http: 'h:0' })]],
    ['bad_request', 400, ['POST', '/learners']],
    ['bad_request', 400, ['POST', '/promote']],
    ['bad_request', 400, ['POST', '/promote', () => ({ ids: [] })]],
    ['bad_request', 400, ['POST', '/promote', () => ({ ids: [4], force: 'yes' })]],
    ['bad_request', 400, ['POST', '/promote', () => [4]]],
    ['bad_request', 400, ['PUT', '/voters']],
    ['bad_request', 400, ['PUT', '/voters', () => ({ voters: ['1'] })]],
    ['bad_request', 400, ['DELETE', '/members/0']],
    ['bad_request', 400, ['DELETE', '/members/two']],
  ];

  it.each(REFUSED)('%s (%i): %j, alike through every node', async (code, status, asked) => {
    const [method, path, body] = asked;
    const before = await calls.show(1);
    const replies: MembershipReply[] = [];
    for (const id of [1, 2, 3, 4]) replies.push(await calls.call(id, method, path, body?.()));
    expect(replies).toEqual(replies.map(() => ({ status, body: refusal(code) })));
    expect(new Set(replies.map((one) => one.body.error)).size).toBe(1);
    expect((await calls.show(1)).membershipIndex).toBe(before.membershipIndex);
  });

  it('bad_request (400): what is no JSON', async () => {
    const response = await fetch(`${cluster.url(1)}${BASE}/promote`, { method: 'POST', body: '{' });
    expect([response.status, await response.json()]).toEqual([400, refusal('bad_request')]);
  });

  it.each(['GET', 'PUT'])('forbidden (403): %s scoped to another tenant', async (method) => {
    const tenant = '0199c0de-0000-7000-8000-000000000007';
    const response = await fetch(cluster.url(1) + BASE + (method === 'PUT' ? '/voters' : ''), {
      method,
      headers: { 'x-queen-tenant': tenant },
      ...(method === 'PUT' ? { body: JSON.stringify({ voters: [1, 2, 3] }) } : {}),
    });
    expect([response.status, await response.json()]).toEqual([403, refusal('forbidden')]);
  });

  const SO_ALREADY: readonly (readonly [string, Asked])[] = [
    ['the same learner at the same addresses', ['POST', '/learners', () => addressOf(4)]],
    [
      'the same, as nodeId',
      ['POST', '/learners', () => ({ ...addressOf(4), id: undefined, nodeId: 4 })],
    ],
    ['promotion of a voter', ['POST', '/promote', () => ({ ids: [2] })]],
    ['the same, as id', ['POST', '/promote', () => ({ id: 2 })]],
    ['the same voters', ['PUT', '/voters', () => ({ voters: [3, 1, 2] })]],
    ['the same, as voter', ['PUT', '/voters', () => ({ voter: [1, 2, 3] })]],
    ['removal of no member', ['DELETE', '/members/9']],
  ];

  it.each(SO_ALREADY)('200 and nothing written: %s', async (_, [method, path, body]) => {
    const before = await calls.show(1);
    for (const id of [1, 2, 3, 4]) {
      const reply = await calls.call(id, method, path, body?.());
      expect(reply).toMatchObject({ status: 200, body: { ok: true } });
      expect(reply.body.membership).toMatchObject({ source: 'leader', voters: [1, 2, 3] });
    }
    expect((await calls.show(2)).membershipIndex).toBe(before.membershipIndex);
  });

  it('shows one view through every node, in the shape of the contract', async () => {
    const { leader } = await theTwo();
    const views = await Promise.all([1, 2, 3, 4].map((id) => calls.show(id)));
    for (const view of views) {
      expect(view).toMatchObject({
        ...{ nodeId: leader, source: 'leader', viewAgeMs: 0, leader, voters: [1, 2, 3] },
        ...{ learners: [4], joint: null, membershipCommitted: true, changeInFlight: false },
        ...{ liveWithinMs: 2_000, promoteMaxLag: 5 },
      });
      expect(view.members.map(({ nodeId, voter }) => [nodeId, voter])).toEqual([
        [1, true],
        [2, true],
        [3, true],
        [4, false],
      ]);
    }
  });

  it('learner_behind (409): one that is silent, one that is far behind; force helps', async () => {
    const { leader, follower } = await theTwo();
    freeze([4]);
    try {
      await untilLive(leader, 4, false);
      const silent = await calls.call(follower, 'POST', '/promote', { ids: [4] });
      expect(silent).toEqual({ status: 409, body: refusal('learner_behind') });
      await calls.push(leader, 10);
      const behind = await calls.call(follower, 'POST', '/promote', { ids: [4] });
      expect(behind).toEqual({ status: 409, body: refusal('learner_behind') });
      expect(behind.body.error).toMatch(/is \d+ entries behind \(at most 5\)/);
      const set = await calls.call(follower, 'PUT', '/voters', { voters: [1, 2, 3, 4] });
      expect(set).toEqual({ status: 409, body: refusal('learner_behind') });
      const forced = await calls.call(follower, 'POST', '/promote?force=1', { ids: [4] });
      expect(forced.body.membership).toMatchObject({ voters: [1, 2, 3, 4], learners: [] });
    } finally {
      thaw([4]);
    }
    // Back to a learner's place, for whoever comes next.
    await calls.until(leader, 'DELETE', '/members/4', undefined);
    expect((await calls.show(follower)).voters).toEqual([1, 2, 3]);
  });
});

describe('nodes that are frozen or gone', () => {
  afterEach(() => cluster.remove());

  it('timeout (504), then in_flight (409) for whatever is asked; done once they are back', async () => {
    await start({ env: { ...ENV, ...PATIENT } });
    const { leader, follower } = await theTwo();
    const held = cluster.ids.filter((id) => id !== leader);
    const voters = [leader, follower].sort((a, b) => a - b);
    freeze(held);
    try {
      // Nothing to be done for it, but no majority says that this is so.
      const idle = await calls.call(leader, 'DELETE', '/members/9?timeoutMs=100');
      expect(idle).toEqual({ status: 504, body: refusal('timeout') });
      const late = await calls.call(leader, 'PUT', '/voters?timeoutMs=300', { voters });
      expect(late).toEqual({ status: 504, body: refusal('timeout') });
      const view = await calls.show(leader);
      expect(view).toMatchObject({ changeInFlight: true, membershipCommitted: false });
      for (const [method, path, body] of [
        ['DELETE', '/members/9', undefined],
        ['PUT', '/voters', { voters: [1, 2, 3] }],
        ['POST', '/promote', { ids: [1] }],
      ] as const) {
        const other = await calls.call(leader, method, path, body);
        expect(other).toEqual({ status: 409, body: refusal('in_flight') });
      }
    } finally {
      thaw(held);
    }
    await calls.until(leader, 'PUT', '/voters', { voters });
    expect(await calls.show(follower)).toMatchObject({ voters, changeInFlight: false });
  });

  it('in_flight (409): while another request is under way', async () => {
    await start({ env: { ...ENV, ...PATIENT } });
    const { leader, follower } = await theTwo();
    const held = cluster.ids.filter((id) => id !== leader);
    freeze(held);
    const voters = [leader, follower];
    const first = calls.call(leader, 'PUT', '/voters?timeoutMs=2000', { voters });
    try {
      await cluster.until(async () => (await calls.show(leader)).changeInFlight, {
        withinMs: WITHIN_MS,
        what: 'the first request to be under way',
      });
      const second = await calls.call(leader, 'DELETE', '/members/9');
      expect(second).toEqual({ status: 409, body: refusal('in_flight') });
    } finally {
      await first;
      thaw(held);
    }
  });

  it('leader_changed (409): leadership is lost while the change is written', async () => {
    await start({ env: ENV });
    const { leader, follower } = await theTwo();
    const held = cluster.ids.filter((id) => id !== leader);
    freeze(held);
    try {
      const voters = [leader, follower];
      const lost = await calls.call(leader, 'PUT', '/voters?timeoutMs=50000', { voters });
      expect(lost).toEqual({ status: 409, body: refusal('leader_changed') });
      expect(lost.body.error).toContain('may still be committed');
    } finally {
      thaw(held);
    }
  });

  it('leader_unreachable (503): the leader does not answer the node that was asked', async () => {
    await start({ env: ENV });
    const { leader, follower } = await theTwo();
    freeze([leader]);
    try {
      const reply = await calls.call(follower, 'DELETE', '/members/9?timeoutMs=100');
      expect(reply).toEqual({ status: 503, body: refusal('leader_unreachable') });
      const view = await calls.call(follower, 'GET', '?timeoutMs=100');
      expect(view.body.membership?.voters).toEqual([1, 2, 3]);
    } finally {
      thaw([leader]);
    }
  });

  it('no_quorum (409): a majority would be missing; force does not help', async () => {
    await start({ env: ENV });
    const { leader, follower } = await theTwo();
    const dead = cluster.ids.find((id) => id !== leader && id !== follower) ?? 0;
    await cluster.stop(dead, 'SIGKILL');
    await untilLive(leader, dead, false);
    const refused = { status: 409, body: refusal('no_quorum') };
    expect(await calls.call(follower, 'DELETE', `/members/${follower}`)).toEqual(refused);
    const body = { voters: [leader, dead], force: true };
    expect(await calls.call(follower, 'PUT', '/voters?force=true', body)).toEqual(refused);
    // The dead one may go.
    const removed = await calls.call(follower, 'DELETE', `/members/${dead}`);
    expect(removed).toMatchObject({ status: 200, body: { ok: true } });
  });

  it('retry (503): no leader is known; the view is the own one and ages', async () => {
    await start({ env: ENV });
    const { leader, follower } = await theTwo();
    for (const id of cluster.ids.filter((one) => one !== follower)) {
      await cluster.stop(id, 'SIGKILL');
    }
    await cluster.until(async () => (await calls.show(follower)).leader === null, {
      withinMs: WITHIN_MS,
      what: 'the leader to be forgotten',
    });
    const reply = await calls.call(follower, 'DELETE', '/members/9');
    expect([reply.status, reply.body.code]).toEqual([503, 'retry']);
    const view = await calls.show(follower);
    expect(view).toMatchObject({ nodeId: follower, source: 'follower', voters: [1, 2, 3] });
    await cluster.until(
      async () => {
        const { viewAgeMs, members } = await calls.show(follower);
        return (viewAgeMs ?? 0) > (view.viewAgeMs ?? 0) && members.every((one) => !one.live);
      },
      { withinMs: WITHIN_MS, what: 'the view to age until nobody is live' },
    );
    expect(leader).not.toBe(follower);
  });
});

describe('one node', () => {
  afterEach(() => cluster.remove());

  it('last_voter (409): the only one is not removed; stopped: its view says so', async () => {
    await start({ size: 1, env: { QUEEN_TEST_REFUSE_APPLY_KV: 'poison/key' } });
    await cluster.until(
      async () => (await calls.call(1, 'DELETE', '/members/1')).body.code === 'last_voter',
      { withinMs: WITHIN_MS, what: 'its own membership to be committed' },
    );
    expect(await calls.call(1, 'DELETE', '/members/1')).toEqual({
      status: 409,
      body: refusal('last_voter'),
    });
    await fetch(`${cluster.url(1)}/api/v1/kv/poison/key`, {
      method: 'PUT',
      body: JSON.stringify({ value: 1, forever: true }),
    }).then((response) => response.text());
    const view = await calls.show(1);
    expect(view).toMatchObject({ source: 'stopped', leader: null, voters: [1] });
    const reply = await calls.call(1, 'DELETE', '/members/9');
    expect([reply.status, reply.body.code]).toEqual([503, 'retry']);
  });

  const WITHOUT_RAFT: readonly (readonly [string, string, unknown])[] = [
    ['GET', '', undefined],
    ['POST', '/promote', { ids: [2] }],
    ['PUT', '/voters', { voters: [1] }],
    ['DELETE', '/members/2', undefined],
    ['POST', '/learners', { id: 2, raft: 'h:1', http: 'h:2' }],
  ];

  it('unsupported (409): every route of a broker without raft', async () => {
    await start({ size: 1, env: { QUEEN_RAFT_REPLICATOR: 'local', QUEEN_RAFT_PEERS: '' } });
    for (const [method, path, body] of WITHOUT_RAFT) {
      const reply = await calls.call(1, method, path, body);
      expect([method, path, reply]).toEqual([
        method,
        path,
        { status: 409, body: refusal('unsupported') },
      ]);
    }
  });
});
