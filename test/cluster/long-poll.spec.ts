/** Long polls parked on any node survive a leader change: by a cut, a frozen leader, a killed one. */
import { ClusterProcesses, pause } from '../support/cluster-processes.js';
import { Calls, idsOf, type Reply } from './calls.js';

jest.setTimeout(480_000);

const WAIT_MS = 40_000;
const PARKED_MS = 500;

describe('long polls over a leader change', () => {
  let cluster: ClusterProcesses;
  let calls: Calls;
  let round = 0;

  beforeAll(async () => {
    cluster = await ClusterProcesses.start({ faulty: true });
    calls = new Calls(cluster);
    await cluster.leader();
  });

  afterAll(() => cluster.remove());

  /** Parks one poll per node, each on a queue of its own. */
  async function park(ids: readonly number[]): Promise<Map<string, Promise<Reply>>> {
    round += 1;
    const polls = new Map<string, Promise<Reply>>();
    for (const id of ids) {
      const queue = `poll-${round}-${id}`;
      polls.set(queue, calls.pop(id, queue, WAIT_MS));
    }
    await pause(PARKED_MS);
    return polls;
  }

  async function expectServed(polls: Map<string, Promise<Reply>>, at: number): Promise<void> {
    for (const queue of polls.keys()) {
      expect((await calls.push(at, queue, `m-${queue}`)).status).toBe(201);
    }
    for (const [queue, poll] of polls) {
      const reply = await poll;
      const { status, body } = reply;
      expect({ queue, ids: idsOf(reply), ...(status === 200 ? {} : { status, body }) }).toEqual({
        queue,
        ids: [`m-${queue}`],
      });
      expect(reply.tookMs).toBeLessThan(WAIT_MS - 5_000);
    }
  }

  it('a leader cut off: polls of all three nodes are served by the next one', async () => {
    const old = await cluster.leader();
    const others = cluster.ids.filter((id) => id !== old);
    const polls = await park(cluster.ids);
    cluster.mesh.isolate(old);
    const leader = await cluster.leader(others);
    expect(leader).not.toBe(old);
    cluster.mesh.heal();
    await cluster.leader();
    await expectServed(polls, leader);
  });

  it('a frozen leader: its own polls are served when it is back', async () => {
    const old = await cluster.leader();
    const others = cluster.ids.filter((id) => id !== old);
    const polls = await park(cluster.ids);
    cluster.node(old).signal('SIGSTOP');
    let leader = 0;
    try {
      leader = await cluster.leader(others);
    } finally {
      cluster.node(old).signal('SIGCONT');
    }
    await expectServed(polls, leader);
  });

  it('a killed leader: polls of the others are served', async () => {
    const old = await cluster.leader();
    const others = cluster.ids.filter((id) => id !== old);
    const polls = await park(others);
    const ended = cluster.node(old).ended();
    cluster.node(old).signal('SIGKILL');
    await ended;
    const leader = await cluster.leader(others);
    await expectServed(polls, leader);
  });
});
