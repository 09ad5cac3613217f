/**
 * Three nodes with three raft groups: every node leads one; the group of a node that is killed moves and
 * later returns to it; a tenant's transaction is one entry of its group alone. Several tenants push, pop
 * and acknowledge through any node all the while, and nothing of theirs is lost.
 */
import { ClusterProcesses } from '../support/cluster-processes.js';
import { callAs, TenantLoad } from './groups-load.js';

jest.setTimeout(480_000);

const GROUPS = 3;
/** Of a node that is busy. */
const LOOK_MS = 15_000;
/** A leader that left its office gets it back after a minute: this is well below. */
const SOON_MS = 50_000;
const tenant = (n: number): string =>
  `00000000-0000-4000-8000-0000000000${String(n).padStart(2, '0')}`;
/** One tenant pinned into each group. */
const PINNED = [tenant(10), tenant(11), tenant(12)] as const;
/** Where nobody is at home while the others work. */
const QUIET = tenant(20);
const HASHED = tenant(30);

interface GroupRow {
  readonly group: number;
  readonly state: string;
  readonly leaderId: number | null;
  readonly term: number;
  readonly lastLogIndex: number;
  readonly appliedIndex: number;
}

describe('three nodes with three groups', () => {
  let cluster: ClusterProcesses;
  let loads: TenantLoad[] = [];

  beforeAll(async () => {
    cluster = await ClusterProcesses.start({
      groups: GROUPS,
      env: {
        // A busy machine alone makes nobody stand for election.
        QUEEN_RAFT_ELECTION_MS: '3000',
        QUEEN_TENANCY_HEADER: 'true',
        QUEEN_KV_TRUSTED_PROXY: 'true',
        QUEEN_KV_REQUIRE_GRANT: 'false',
        QUEEN_TENANT_GROUPS: [...PINNED.map((id, at) => `${id}=${at}`), `${QUIET}=1`].join(','),
      },
    });
    loads = [...PINNED, HASHED].map((id) => new TenantLoad(cluster, id));
  });

  afterAll(async () => {
    await Promise.all(loads.map((load) => load.stop()));
    await cluster.remove();
  });

  async function groupsAt(id: number): Promise<readonly GroupRow[]> {
    try {
      const response = await fetch(`${cluster.url(id)}/api/v1/raft/status`, {
        signal: AbortSignal.timeout(LOOK_MS),
      });
      return ((await response.json()) as { groups: GroupRow[] }).groups;
    } catch {
      // A node that is away shows no group.
      return [];
    }
  }

  /** Until every listed node names these leaders, in the order of the groups. */
  async function leaders(
    wanted: readonly number[],
    withinMs = 120_000,
    among = cluster.ids,
  ): Promise<void> {
    await cluster.until(
      async () => {
        const all = await Promise.all(among.map((id) => groupsAt(id)));
        return all.every(
          (groups) => groups.map(({ leaderId }) => leaderId).join() === wanted.join(),
        );
      },
      { withinMs, what: `groups led by ${wanted.join(', ')}` },
    );
  }

  async function moving(what: string): Promise<void> {
    const before = loads.map((load) => load.ackedCount);
    const grown = (): boolean => loads.every((load, i) => load.ackedCount > (before[i] ?? 0) + 20);
    await cluster.until(() => Promise.resolve(grown()), { withinMs: 180_000, what });
  }

  it('has every node lead one, soon after the start', async () => {
    await cluster.leader();
    // A leader that gives way while the others are still starting would not get its group back for a minute.
    await leaders([1, 2, 3], SOON_MS);
    const roles = await Promise.all(cluster.ids.map((id) => cluster.health(id, LOOK_MS)));
    expect(roles.map((health) => health?.role)).toEqual([
      'leader',
      'follower+leader',
      'follower+leader',
    ]);
    expect(roles.every((health) => health?.status === 200)).toBe(true);
    const exposition = await (await fetch(`${cluster.url(2)}/metrics/prometheus`)).text();
    for (const group of [0, 1, 2]) {
      expect(exposition).toMatch(
        new RegExp(`^queen_raft_index\\{group="${group}",kind="applied"\\} [1-9]`, 'm'),
      );
    }
    expect(exposition.match(/^# TYPE queen_raft_index /gm)).toHaveLength(1);
  });

  it('writes a transaction of a tenant as one entry of its group', async () => {
    const url = cluster.url(3);
    const send = (path: string, body?: unknown) => callAs(url, QUIET, { path, body });
    const items = [{ queue: 'in', transactionId: 'first', payload: 1 }];
    expect((await send('/api/v1/push', { items })).status).toBe(201);
    const popped = (await send('/api/v1/pop/queue/in?wait=true&timeout=10000')).body as {
      leaseId: string;
      partitionId: string;
    };
    const push = (queue: string) => ({ type: 'push', items: [{ queue, payload: queue }] });
    const warm = { operations: [push('out-1'), push('out-2')] };
    expect((await send('/api/v1/transaction', warm)).body).toMatchObject({ success: true });
    // Only the leader's numbers: it has written what it answers.
    const before = await groupsAt(2);
    const { leaseId, partitionId } = popped;
    const answer = await send('/api/v1/transaction', {
      operations: [
        push('out-1'),
        push('out-2'),
        { type: 'ack', transactionId: 'first', partitionId, leaseId },
      ],
      kv: [{ op: 'put', ns: 'n', key: 'k', value: 'v', forever: true }],
    });
    expect(answer.body).toMatchObject({ success: true });
    const after = await groupsAt(2);
    const grown = after.map(({ lastLogIndex }, i) => lastLogIndex - (before[i]?.lastLogIndex ?? 0));
    expect(grown).toEqual([0, 1, 0]);
    // All of it is there on every node.
    for (const id of cluster.ids) {
      const at = cluster.url(id);
      for (const queue of ['out-1', 'out-2']) {
        const depth = await callAs(at, QUIET, { path: `/api/v1/resources/queues/${queue}/depth` });
        expect(depth.body).toMatchObject({ pending: 2 });
      }
    }
  });

  it('moves the group of a killed node and brings it back', async () => {
    for (const load of loads) load.start();
    await moving('every tenant to get on');
    const [, , other] = await groupsAt(3);
    cluster.node(2).killNow();
    await cluster.node(2).ended();
    await cluster.until(
      async () => {
        const all = await Promise.all([1, 3].map((id) => groupsAt(id)));
        const heirs = all.map((groups) => groups[1]?.leaderId ?? 0);
        return heirs[0] === heirs[1] && [1, 3].includes(heirs[0] ?? 0);
      },
      { withinMs: 180_000, what: 'another node to lead group 1' },
    );
    await moving('every tenant to get on without node 2');
    const [zero, , two] = await groupsAt(3);
    expect([zero?.leaderId, two?.leaderId]).toEqual([1, 3]);
    expect(two?.term).toBe(other?.term);

    cluster.node(2).start();
    await leaders([1, 2, 3]);
    const handed = /handing leadership to this group's preferred node group=1 to=2/;
    expect([1, 3].some((id) => handed.test(cluster.node(id).log))).toBe(true);
    await moving('every tenant to get on with node 2 again');
  });

  it('hands every group of a stopping node over', async () => {
    const ended = cluster.node(3).ended();
    cluster.node(3).signal('SIGTERM');
    expect(await ended).toBe(0);
    expect(cluster.node(3).log).toMatch(/raft: leadership handed off group=2 to=[12]/);
    await moving('every tenant to get on without node 3');
    cluster.node(3).start();
    await cluster.until(async () => (await cluster.health(3))?.status === 200, {
      ...{ withinMs: 180_000, what: 'node 3 to be ready' },
    });
  });

  it('lost nothing and delivered nothing acknowledged again', async () => {
    await Promise.all(loads.map((load) => load.stop()));
    for (const load of loads) {
      expect(load.pushed.size).toBeGreaterThan(100);
      expect(await load.drain(60_000)).toEqual([]);
      expect(load.again).toEqual([]);
    }
  });

  it('refuses another number of groups, and other pins, and names the cure', async () => {
    const node = cluster.node(3);
    const stopped = node.ended();
    node.signal('SIGTERM');
    await stopped;
    const refusal = async (env: Record<string, string>): Promise<string> => {
      node.setEnv(env);
      node.log = '';
      node.start();
      expect(await node.ended()).toBe(1);
      return node.log;
    };
    expect(await refusal({ QUEEN_RAFT_GROUPS: '2', QUEEN_TENANT_GROUPS: '' })).toContain(
      'holds 3 raft groups and QUEEN_RAFT_GROUPS is 2: start it with QUEEN_RAFT_GROUPS=3',
    );
    const wrong = { QUEEN_RAFT_GROUPS: '3', QUEEN_TENANT_GROUPS: `${PINNED[0]}=2` };
    expect(await refusal(wrong)).toContain(`set QUEEN_TENANT_GROUPS=${PINNED[0]}=0 on every node`);
  });
});
