/** Rows and blocks of every member, asked at any node; and what is said when one of them is away. */
import type { MembersAnswer } from '../../src/dashboard/web/lib/shapes.js';
import { ClusterProcesses } from '../support/cluster-processes.js';
import { Calls } from './calls.js';

jest.setTimeout(480_000);

/** A member is given a second or two; a call may take a minute. */
const BOUND_MS = 10_000;

interface Status {
  readonly messages: { readonly total: number };
  readonly nodesMissing?: readonly number[];
}

describe('what every node tells', () => {
  let cluster: ClusterProcesses;
  let calls: Calls;

  beforeAll(async () => {
    cluster = await ClusterProcesses.start({
      // A busy machine alone makes nobody stand for election.
      env: { METRICS_FLUSH_MS: '1000', QUEEN_RAFT_ELECTION_MS: '3000' },
    });
    calls = new Calls(cluster);
    await cluster.leader();
  });

  afterAll(() => cluster.remove());

  const status = async (id: number): Promise<Status> =>
    (await calls.send(id, '/api/v1/status')).body as Status;
  const members = async (id: number): Promise<MembersAnswer> =>
    (await calls.send(id, '/api/v1/raft/members')).body as MembersAnswer;

  it('is added up at any node: each pushed once', async () => {
    for (const id of cluster.ids) {
      expect((await calls.push(id, 'gathered', `m-${id}`)).status).toBe(201);
    }
    for (const id of cluster.ids) {
      // A member that is slow to answer is missing for once.
      const isAll = ({ messages, nodesMissing }: Status): boolean =>
        messages.total === 3 && nodesMissing === undefined;
      await cluster.until(async () => isAll(await status(id)), {
        withinMs: 180_000,
        what: `node ${id} to count the pushes of all three`,
      });
    }
  });

  it('names members that are away, within the bound, and knows nothing of them as null', async () => {
    const leader = await cluster.leader();
    const [gone = 0] = cluster.ids.filter((id) => id !== leader);
    const [asked = 0] = cluster.ids.filter((id) => id !== leader && id !== gone);
    let all: MembersAnswer['members'] = [];
    await cluster.until(
      async () => {
        all = (await members(asked)).members;
        return all.every(({ reachable }) => reachable);
      },
      { withinMs: 180_000, what: 'every member to answer' },
    );
    expect(all.map(({ nodeId }) => nodeId)).toEqual([1, 2, 3]);
    expect(all[leader - 1]).toMatchObject({ state: 'leader', lagEntries: 0 });
    const ended = cluster.node(gone).ended();
    cluster.node(gone).signal('SIGKILL');
    await ended;
    const reply = await calls.send(asked, '/api/v1/raft/members');
    expect(reply.tookMs).toBeLessThan(BOUND_MS);
    const silent = (reply.body as MembersAnswer).members[gone - 1];
    expect(silent).toMatchObject({ state: 'unreachable', reachable: false, hostname: null });
    expect(silent?.appliedIndex).toBeUndefined();
    await cluster.until(async () => (await status(asked)).nodesMissing?.join() === String(gone), {
      withinMs: 180_000,
      what: 'nobody but the node that is away to be missing',
    });
  });
});
