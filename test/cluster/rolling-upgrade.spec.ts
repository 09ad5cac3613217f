/**
 * The cluster version gate (cluster.md §3) on real processes: a rolling upgrade under writes, the way
 * back while nothing was raised, the refusal of older builds afterwards. The older release is this
 * build with lower limits. And what the gate is for: a build that changes a verdict without it is found.
 */
import { FIRST_CLUSTER_VERSION } from '../../src/machine/queen-machine.js';
import { MACHINE_VERSION } from '../../src/machine/machine.js';
import { ClusterProcesses } from '../support/cluster-processes.js';
import { patchedBuild, type PatchedBuild } from '../support/patched-build.js';
import { MembershipCalls } from './membership-calls.js';
import { expectOneState } from './operations/state-digests.js';
import { WriteLedger } from './operations/write-ledger.js';

jest.setTimeout(480_000);

const OLD_VERSION = 4;
const OLDER_RELEASE = [
  {
    file: 'machine/machine.ts',
    find: `export const MACHINE_VERSION = ${MACHINE_VERSION};`,
    replace: `export const MACHINE_VERSION = ${OLD_VERSION};`,
  },
  {
    file: 'machine/queen-machine.ts',
    find: `export const FIRST_CLUSTER_VERSION = ${FIRST_CLUSTER_VERSION};`,
    replace: `export const FIRST_CLUSTER_VERSION = ${OLD_VERSION};`,
  },
];
/** Duplicates are not recognised, as if somebody had changed the rule and forgotten the gate. */
const OTHER_VERDICT = [
  {
    file: 'machine/apply/dedup.ts',
    find: 'if (i >= append.count || append.createdAt < scope.oldest) return false;',
    replace: 'if (i >= append.count || append.createdAt >= scope.oldest) return false;',
  },
];
const NEW_ROOT = '.';
/** What an operator may count on; a machine that is busy with other things gets more. */
const SLOWEST_MS = process.env['QUEEN_STRICT_TIMES'] === undefined ? 10_000 : 1_000;

let old: PatchedBuild;
let cluster: ClusterProcesses;

beforeAll(async () => {
  old = await patchedBuild(OLDER_RELEASE);
});

afterEach(() => cluster.remove());

afterAll(() => old.remove());

async function start(root: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
  cluster = await ClusterProcesses.start({ root, env });
  await cluster.leader();
}

async function moveTo(id: number, root: string): Promise<void> {
  expect(await cluster.stop(id)).toBe(0);
  cluster.node(id).setRoot(root);
  cluster.node(id).start();
  await cluster.ready(id);
}

async function versions(): Promise<unknown[]> {
  const all = await Promise.all(cluster.ids.map((id) => cluster.health(id)));
  return all.map((health) => health?.clusterVersion);
}

/** A write that needs version 5: refused below it, and no state changes. */
async function checkOperation(id: number): Promise<{ status: number; reason: unknown }> {
  const operations = [{ op: 'check', ns: 'gate', key: 'none', expect: 0 }];
  const response = await fetch(`${cluster.url(id)}/api/v1/kv`, {
    method: 'POST',
    body: JSON.stringify({ operations }),
  });
  const { reason } = (await response.json()) as { reason?: string };
  return { status: response.status, reason };
}

it('takes every message while all nodes restart into a newer version', async () => {
  await start(old.root);
  const ledger = new WriteLedger(cluster);
  ledger.start();
  await ledger.written(30);
  expect(await versions()).toEqual([OLD_VERSION, OLD_VERSION, OLD_VERSION]);
  expect(await checkOperation(1)).toEqual({
    status: 503,
    reason: 'kv_check_needs_cluster_version_5',
  });
  for (const id of cluster.ids) {
    // Nothing rises while one node reads less.
    expect(await versions()).toEqual([OLD_VERSION, OLD_VERSION, OLD_VERSION]);
    await moveTo(id, NEW_ROOT);
    await ledger.written(20);
  }
  await cluster.until(async () => (await versions()).every((one) => one === MACHINE_VERSION), {
    withinMs: 180_000,
    what: 'the version to rise on every node',
  });
  await ledger.written(30);
  await ledger.stop();
  expect((await checkOperation(2)).status).toBe(200);
  await ledger.check();
  const { index, digest } = await expectOneState(cluster);
  process.stdout.write(
    `rolling upgrade: ${ledger.acknowledged.size} messages, each once on every node, ` +
      `${ledger.retried} attempts repeated, slowest push ${ledger.slowestMs.toFixed(0)} ms; ` +
      `digest ${digest} at index ${index} on all\n`,
  );
  expect(ledger.slowestMs).toBeLessThanOrEqual(SLOWEST_MS);
  await refusesTheOlderBuild();
});

/** One way: neither the directory nor a new member of the older build is taken. */
async function refusesTheOlderBuild(): Promise<void> {
  const [id = 0, other = 0] = cluster.ids;
  await cluster.stop(id);
  const node = cluster.node(id);
  node.setRoot(old.root);
  node.start();
  expect(await node.ended()).toBe(1);
  expect(node.log).toContain(
    `effect catalogue version ${MACHINE_VERSION}, this build reads ${OLD_VERSION}`,
  );
  node.setRoot(NEW_ROOT);
  node.start();
  await cluster.ready(id);
  const calls = new MembershipCalls(cluster);
  const fourth = await cluster.join(4, {}, old.root);
  const { http, raft } = fourth.ports;
  const body = { id: 4, raft: `127.0.0.1:${raft}`, http: `127.0.0.1:${http}` };
  await cluster.until(async () => (await cluster.health(4))?.role === 'learner', {
    withinMs: 180_000,
    what: 'the older node to wait',
  });
  expect(await calls.call(other, 'POST', '/learners', body)).toMatchObject({
    status: 409,
    body: { ok: false, code: 'learner_too_old' },
  });
}

it('goes back while nothing was raised', async () => {
  await start(old.root, { QUEEN_RAFT_CLUSTER_VERSION_MS: '0' });
  const ledger = new WriteLedger(cluster);
  ledger.start();
  for (const root of [NEW_ROOT, old.root]) {
    for (const id of cluster.ids) {
      await moveTo(id, root);
      await ledger.written(10);
    }
    expect(await versions()).toEqual([OLD_VERSION, OLD_VERSION, OLD_VERSION]);
  }
  await ledger.stop();
  await ledger.check();
  await expectOneState(cluster);
});

it('finds a build that changed a verdict without the gate, by its digest', async () => {
  const wrong = await patchedBuild(OTHER_VERDICT);
  try {
    await start(NEW_ROOT);
    const ledger = new WriteLedger(cluster);
    await ledger.push(10);
    const leader = await cluster.leader();
    const id = cluster.ids.find((one) => one !== leader) ?? 0;
    await moveTo(id, wrong.root);
    // The same message twice: one node stores it again, two do not.
    for (const at of cluster.ids) await pushAgain(at);
    await cluster.until(async () => (await cluster.health(id))?.role === 'stopped', {
      withinMs: 180_000,
      what: 'the node of the wrong build to stop',
    });
    const failure = (await cluster.health(id, 30_000))?.apply.failure;
    process.stdout.write(`changed verdict: node ${id} stopped: ${JSON.stringify(failure)}\n`);
    expect(failure?.error).toMatch(/the state at index \d+ differs from that of a majority/);
    const rest = cluster.ids.filter((one) => one !== id);
    await cluster.leader(rest);
    await new WriteLedger(cluster, { queue: 'after', nodes: () => rest }).push(5);
    await ledger.check(rest);
    await expectOneState(cluster, rest);
  } finally {
    await wrong.remove();
  }
});

async function pushAgain(at: number): Promise<void> {
  const items = [{ queue: 'ledger', partition: 'p', transactionId: 't-1', payload: 'again' }];
  await fetch(`${cluster.url(at)}/api/v1/push`, {
    method: 'POST',
    body: JSON.stringify({ items }),
    signal: AbortSignal.timeout(60_000),
  }).then((response) => response.text());
}
