/**
 * A leader that was frozen, and lost its office meanwhile, never answers from its old state: no stale
 * read, no lease on what the next leader gave away. Requests lie in its sockets while it is frozen, and
 * the network keeps it from hearing of the new term, so a build that answers reads without a round of
 * the quorum is caught every time; the last test plants that build.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ClusterProcesses, pause } from '../support/cluster-processes.js';
import { Calls, idsOf, type Popped, type Reply } from './calls.js';

jest.setTimeout(480_000);

const QUEUE = 'stale';
const DEADLINE_MS = 6_000;
const REQUESTS = 5;
const BURSTS = 4;

interface Answers {
  readonly reads: readonly Reply[];
  readonly pops: readonly Reply[];
}

const pendingOf = (reply: Reply): number => (reply.body as { readonly pending: number }).pending;

async function startCluster(root?: string): Promise<ClusterProcesses> {
  const cluster = await ClusterProcesses.start({
    faulty: true,
    ...(root === undefined ? {} : { root }),
    env: { DEFAULT_TIMEOUT: String(DEADLINE_MS) },
  });
  await cluster.leader();
  return cluster;
}

/** One message is known to all; the next leader settles it and takes three more. */
async function askFrozenLeader(cluster: ClusterProcesses): Promise<Answers> {
  const calls = new Calls(cluster);
  const old = await cluster.leader();
  const others = cluster.ids.filter((id) => id !== old);
  expect((await calls.push(old, QUEUE, 'first')).status).toBe(201);
  expect(pendingOf(await calls.depth(old, QUEUE))).toBe(1);
  cluster.node(old).signal('SIGSTOP');
  cluster.mesh.isolate(old);
  let reads: Promise<Reply>[] = [];
  let pops: Promise<Reply>[] = [];
  try {
    const leader = await cluster.leader(others);
    const popped = await calls.pop(leader, QUEUE, 10_000);
    expect(idsOf(popped)).toEqual(['first']);
    expect((await calls.ack(leader, popped.body as Popped)).status).toBe(200);
    for (const id of ['a', 'b', 'c']) {
      expect((await calls.push(leader, QUEUE, id)).status).toBe(201);
    }
    expect(idsOf(await calls.pop(leader, QUEUE, 10_000))).toEqual(['a']);
    reads = Array.from({ length: REQUESTS }, () => calls.depth(old, QUEUE));
    pops = Array.from({ length: REQUESTS }, () => calls.pop(old, QUEUE));
    await pause(300);
  } finally {
    cluster.node(old).signal('SIGCONT');
  }
  const answers = { reads: await Promise.all(reads), pops: await Promise.all(pops) };
  cluster.mesh.heal();
  return answers;
}

/** dist/ with a read barrier that asks nobody. */
function plantReadsWithoutRound(): string {
  const root = mkdtempSync(join(tmpdir(), 'queen-planted-'));
  for (const part of ['dist', 'bin', 'package.json']) {
    cpSync(resolve(part), join(root, part), { recursive: true });
  }
  symlinkSync(resolve('node_modules'), join(root, 'node_modules'));
  const file = join(root, 'dist', 'raft', 'group', 'cluster', 'read-rounds.js');
  const code = readFileSync(file, 'utf8');
  const planted = code.replace(
    /^ {4}wait\(options\) \{$/m,
    '$&\n        return Promise.resolve();',
  );
  expect(planted).not.toBe(code);
  writeFileSync(file, planted);
  return root;
}

describe('a leader frozen while another was elected', () => {
  let cluster: ClusterProcesses | null = null;

  afterEach(async () => {
    await cluster?.remove();
    cluster = null;
  });

  it('gives no stale read and no lease', async () => {
    cluster = await startCluster();
    const { reads, pops } = await askFrozenLeader(cluster);
    for (const read of reads) {
      if (read.status === 200) expect(pendingOf(read)).toBe(3);
      else expect(read.status).toBe(503);
    }
    for (const pop of pops) {
      expect(idsOf(pop)).toEqual([]);
      expect([204, 503]).toContain(pop.status);
    }
  });

  it('frozen at any moment of a read, answers nothing older than the read', async () => {
    cluster = await startCluster();
    const calls = new Calls(cluster);
    let known = 0;
    let stale = 0;
    let answered = 0;
    expect((await calls.push(1, QUEUE, 'm-0')).status).toBe(201);
    known = 1;
    for (let burst = 0; burst < BURSTS; burst += 1) {
      const old = await cluster.leader();
      const at = cluster.ids.find((id) => id !== old) ?? 0;
      let reading = true;
      const readers = Array.from({ length: 4 }, async () => {
        while (reading) {
          const least = known;
          const read = await calls.depth(old, QUEUE);
          if (read.status !== 200) continue;
          answered += 1;
          if (pendingOf(read) < least) stale += 1;
        }
      });
      await pause(50 + burst * 13);
      cluster.node(old).signal('SIGSTOP');
      try {
        const others = cluster.ids.filter((id) => id !== old);
        await cluster.leader(others);
        for (let i = 0; i < 5; i += 1) {
          expect((await calls.push(at, QUEUE, `m-${known}`)).status).toBe(201);
          known += 1;
        }
      } finally {
        cluster.node(old).signal('SIGCONT');
      }
      await pause(300);
      reading = false;
      await Promise.all(readers);
    }
    expect(stale).toBe(0);
    expect(answered).toBeGreaterThan(BURSTS);
  });

  it('a build that answers without a round is caught', async () => {
    const root = plantReadsWithoutRound();
    try {
      cluster = await startCluster(root);
      const { reads } = await askFrozenLeader(cluster);
      const stale = reads.filter((read) => read.status === 200 && pendingOf(read) !== 3);
      expect(stale.length).toBeGreaterThan(0);
    } finally {
      await cluster?.remove();
      cluster = null;
      rmSync(root, { recursive: true, force: true });
    }
  });
});
