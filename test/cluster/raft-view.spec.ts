/** `GET /api/v1/raft/{status,liveness}` of three real nodes, and of the survivor of a majority. */
import type { RaftLivenessDto, RaftStatusDto } from '../../src/admin/raft-view.dto.js';
import { ClusterProcesses } from '../support/cluster-processes.js';
import { Calls } from './calls.js';

jest.setTimeout(480_000);

/** Less than a request is held for without a leader. */
const AT_ONCE_MS = 6_000;

describe('the raft view', () => {
  let cluster: ClusterProcesses;
  let calls: Calls;

  beforeAll(async () => {
    // A busy machine alone makes nobody stand for election.
    cluster = await ClusterProcesses.start({ env: { QUEEN_RAFT_ELECTION_MS: '3000' } });
    calls = new Calls(cluster);
    await cluster.leader();
  });

  afterAll(() => cluster.remove());

  async function status(id: number): Promise<RaftStatusDto> {
    return (await calls.send(id, '/api/v1/raft/status')).body as RaftStatusDto;
  }

  async function liveness(id: number): Promise<RaftLivenessDto> {
    return (await calls.send(id, '/api/v1/raft/liveness')).body as RaftLivenessDto;
  }

  it('is told by every node about itself, with one cluster id', async () => {
    const leader = await cluster.leader();
    expect((await calls.push(leader, 'view', 'm-1')).status).toBe(201);
    const all = await Promise.all(cluster.ids.map((id) => status(id)));
    expect(new Set(all.map(({ clusterId }) => clusterId)).size).toBe(1);
    all.forEach((one, i) => {
      const id = i + 1;
      expect(one).toMatchObject({ nodeId: id, self: id, voters: 3, leaderId: leader });
      expect(one).toMatchObject({ engine: 'raft', singleNode: false, error: null, local: true });
      expect(one.state).toBe(id === leader ? 'leader' : 'follower');
      expect(one.replication === null).toBe(id !== leader);
    });
    const own = all[leader - 1];
    expect(own?.committedIndex).toBeGreaterThan(0);
    expect(own?.replication).toHaveLength(2);
  });

  it('tells who was heard: the leader by itself, a follower by an aged copy', async () => {
    const leader = await cluster.leader();
    for (const id of cluster.ids) {
      // The leader tells the others from time to time.
      await cluster.until(async () => (await liveness(id)).viewLeaderId === leader, {
        withinMs: 180_000,
        what: `node ${id} to hear what the leader sees`,
      });
      const view = await liveness(id);
      expect(view).toMatchObject({ nodeId: id, leaderId: leader, viewLeaderId: leader });
      expect(view.viewAgeMs === null).toBe(id === leader);
      expect(view.members.map(({ nodeId }) => nodeId)).toEqual([1, 2, 3]);
      for (const member of view.members) {
        expect(member.state).toBe(member.nodeId === leader ? 'leader' : 'follower');
        expect(member.lastAckMs).toBeLessThan(15_000);
        expect(member.http).toBe(cluster.url(member.nodeId).slice('http://'.length));
      }
    }
  });

  it('answers without a majority', async () => {
    const [alone = 0, ...gone] = cluster.ids;
    const ends = gone.map((id) => cluster.node(id).ended());
    for (const id of gone) cluster.node(id).signal('SIGKILL');
    await Promise.all(ends);
    await cluster.until(async () => (await cluster.health(alone))?.status === 503, {
      withinMs: 180_000,
      what: 'the survivor to answer 503',
    });
    const reply = await calls.send(alone, '/api/v1/raft/status');
    expect(reply.status).toBe(200);
    expect(reply.tookMs).toBeLessThan(AT_ONCE_MS);
    expect((await liveness(alone)).members).toHaveLength(3);
  });
});
