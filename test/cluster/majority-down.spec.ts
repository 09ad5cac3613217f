/**
 * Two of three nodes are gone: requests end at their deadline with the codes of cluster.md §1.9, the
 * survivor's readiness tells within the quorum window, and everything goes on when a node is back.
 */
import { ClusterProcesses } from '../support/cluster-processes.js';
import { Calls, idsOf, type Popped, type Reply } from './calls.js';

jest.setTimeout(480_000);

const DEADLINE_MS = 3_000;
const QUORUM_WINDOW_MS = 5_000;
/** For the processes of a busy machine, after a deadline. */
const SLACK_MS = 5_000;
const POP_WAIT_MS = 2_500;

function expectRefused(reply: Reply, codes: readonly string[], deadlineMs = DEADLINE_MS): void {
  const { code } = reply.body as { readonly code: string };
  expect({ status: reply.status, retryAfter: reply.retryAfter }).toEqual({
    status: 503,
    retryAfter: '1',
  });
  expect(codes).toContain(code);
  expect(reply.tookMs).toBeGreaterThan(deadlineMs - 200);
  expect(reply.tookMs).toBeLessThan(deadlineMs + SLACK_MS);
}

describe.each(['leader', 'follower'])('a majority is down, a %s survives', (survivorRole) => {
  let cluster: ClusterProcesses;
  let calls: Calls;
  let survivor = 0;
  let gone: readonly number[] = [];
  let held: Popped;
  let downAtMs = 0;

  beforeAll(async () => {
    cluster = await ClusterProcesses.start({
      env: { DEFAULT_TIMEOUT: String(DEADLINE_MS), QUEEN_STMT_TIMEOUT_MS: String(DEADLINE_MS) },
    });
    calls = new Calls(cluster);
    const leader = await cluster.leader();
    survivor = survivorRole === 'leader' ? leader : (cluster.ids.find((id) => id !== leader) ?? 0);
    gone = cluster.ids.filter((id) => id !== survivor);
    expect((await calls.push(survivor, 'down', 'before')).status).toBe(201);
    const popped = await calls.pop(survivor, 'down', 10_000);
    expect(idsOf(popped)).toEqual(['before']);
    held = popped.body as Popped;
    const ends = gone.map((id) => cluster.node(id).ended());
    downAtMs = performance.now();
    for (const id of gone) cluster.node(id).signal('SIGKILL');
    await Promise.all(ends);
  });

  afterAll(() => cluster.remove());

  it('ends every request at its deadline', async () => {
    const [push, ack, depth, pop] = await Promise.all([
      calls.push(survivor, 'down', 'while'),
      calls.ack(survivor, held),
      calls.depth(survivor, 'down'),
      calls.pop(survivor, 'down', POP_WAIT_MS),
    ]);
    expectRefused(push, ['no_leader', 'timeout']);
    expectRefused(ack, ['no_leader', 'timeout', 'outcome_unknown']);
    expectRefused(depth, ['no_leader', 'timeout']);
    // A parked pop knows of no message; it never claims one.
    expect(idsOf(pop)).toEqual([]);
    expect(pop.tookMs).toBeLessThan(POP_WAIT_MS + SLACK_MS);
  });

  it('turns unready within the quorum window', async () => {
    await cluster.until(async () => (await cluster.health(survivor))?.status === 503, {
      withinMs: QUORUM_WINDOW_MS + SLACK_MS,
      what: 'the survivor to answer 503',
    });
    const tookMs = performance.now() - downAtMs;
    process.stdout.write(`a ${survivorRole} survives: 503 after at most ${tookMs.toFixed(0)} ms\n`);
    // Without a leader nothing is tried for long: the code is then no_leader.
    const push = await calls.push(survivor, 'down', 'later');
    expectRefused(push, ['no_leader', 'timeout']);
  });

  it('goes on when one node is back', async () => {
    const fromMs = performance.now();
    const back = gone[0] ?? 0;
    cluster.node(back).start();
    await cluster.leader([survivor, back]);
    const tookMs = performance.now() - fromMs;
    process.stdout.write(
      `a ${survivorRole} survives: ready ${tookMs.toFixed(0)} ms after a start\n`,
    );
    for (const id of ['while', 'later', 'after']) {
      const pushed = await calls.push(survivor, 'down', id);
      expect(pushed.status).toBe(201);
    }
    // Asked before and answered "in doubt", or not: the repeat of the same ack settles it.
    const acked = await calls.ack(back, held);
    expect(acked.body).toEqual([expect.objectContaining({ success: true })]);
    const rest: string[] = [];
    for (let i = 0; i < 3; i += 1) {
      const popped = await calls.pop(back, 'down', 10_000);
      rest.push(...idsOf(popped));
      expect((await calls.ack(survivor, popped.body as Popped)).status).toBe(200);
    }
    expect(rest.sort()).toEqual(['after', 'later', 'while']);
    expect((await calls.pop(survivor, 'down')).status).toBe(204);
  });
});
