/** Families that only several nodes move: forwarding to the leader, ephemeral relays and losses. */
import { EphemeralScene } from './ephemeral/scene.js';
import { Calls } from './calls.js';

jest.setTimeout(480_000);

const PARTITIONS = ['p1', 'p2', 'p3', 'p4', 'p5', 'p6'];

describe('three nodes', () => {
  let scene: EphemeralScene;

  beforeAll(async () => {
    // A busy machine alone makes nobody stand for election.
    scene = await EphemeralScene.start({ QUEEN_RAFT_ELECTION_MS: '3000' });
  });

  afterAll(() => scene.remove());

  it('a push through a follower moves what both sides count of forwarding', async () => {
    const leader = await scene.cluster.leader();
    const follower = scene.cluster.ids.find((id) => id !== leader) ?? 0;
    const sent = 'queen_raft_forward_total{kind="sent"}';
    const served = 'queen_raft_forward_total{kind="served"}';
    const admitted = 'queen_raft_admit_forwarded_total{outcome="admitted"}';
    const before = await Promise.all([
      scene.metric(follower, sent),
      scene.metric(leader, served),
      scene.metric(leader, admitted),
    ]);
    const calls = new Calls(scene.cluster);
    expect((await calls.push(follower, 'forwarded', 'm')).status).toBe(201);
    const after = await Promise.all([
      scene.metric(follower, sent),
      scene.metric(leader, served),
      scene.metric(leader, admitted),
    ]);
    for (const [i, value] of after.entries()) expect(value).toBeGreaterThan(before[i] ?? Infinity);
    const opened = 'queen_raft_forward_total{kind="streams_opened"}';
    expect(await scene.metric(leader, opened)).toBeGreaterThanOrEqual(2);
  });

  it('every node counts and times its own writes of the log', async () => {
    const families = [
      ...['queen_raft_log_fsync_seconds_count', 'queen_raft_log_fsync_seconds_sum'],
      ...['queen_raft_group_entries_sum', 'queen_raft_group_bytes_sum'],
      ...['queen_batches_fired_total', 'queen_batch_items_fired_total'],
    ];
    const read = (): Promise<number[]> =>
      Promise.all(
        scene.cluster.ids.flatMap((id) => families.map((name) => scene.metric(id, name))),
      );
    const before = await read();
    expect((await new Calls(scene.cluster).push(1, 'written', 'm')).status).toBe(201);
    await scene.cluster.until(
      async () => (await read()).every((value, i) => value > (before[i] ?? Infinity)),
      { withinMs: 60_000, what: 'the writes of all nodes to be counted' },
    );
  });

  it('relays are counted, and what is lost with a node', async () => {
    for (const partition of PARTITIONS) await scene.push(1, 'lost', partition, [partition]);
    expect(await scene.metric(1, 'queen_ephemeral_forwarded_total')).toBeGreaterThan(0);
    const shares = await Promise.all([2, 3].map((id) => scene.share(id, 'lost')));
    const owner = (shares[0]?.partitions ?? 0) > 0 ? 2 : 3;
    const survivors = scene.cluster.ids.filter((id) => id !== owner);
    // Members ask each other every second what they hold; nobody can miss what nobody told.
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    const ended = scene.cluster.node(owner).ended();
    scene.cluster.node(owner).signal('SIGKILL');
    await ended;
    await scene.cluster.until(
      async () => {
        const wipes = survivors.map((id) => scene.metric(id, 'queen_ephemeral_wipes_total'));
        return (await Promise.all(wipes)).some((value) => value > 0);
      },
      { withinMs: 180_000, what: 'a survivor to count what was lost' },
    );
  });
});
