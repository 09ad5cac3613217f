/**
 * Operating three nodes with three raft groups: an entry of one group that cannot be applied is named with
 * its group and passed over, a damaged segment of one group is rebuilt by `queen repair`, and a node that
 * was away for long gets the snapshots of all groups. What is done to one group leaves the others as they are.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ClusterProcesses } from '../support/cluster-processes.js';
import { NodeFilePort } from '../../src/raft/wal/index.js';
import { readManifest, segmentFileName } from '../../src/raft/wal/manifest.js';
import { SHORT_LOG } from './operations/scene.js';

jest.setTimeout(400_000);

const WITHIN_MS = 120_000;
const GROUPS = [0, 1, 2] as const;
const tenantOf = (group: number): string => `0199c0de-0000-7000-8000-00000000000${group + 1}`;
const PAYLOAD = 'x'.repeat(40_000);
const POISON = 'poison/key';
const ENV = {
  ...SHORT_LOG,
  QUEEN_TENANT_GROUPS: GROUPS.map((group) => `${tenantOf(group)}=${group}`).join(','),
  ...{ QUEEN_TENANCY_HEADER: 'true', QUEEN_KV_TRUSTED_PROXY: 'true' },
  ...{ QUEEN_KV_REQUIRE_GRANT: 'false', QUEEN_TEST_REFUSE_APPLY_KV: POISON },
  ...{ QUEEN_TAIL_CACHE_MB: '0', QUEEN_SCRUB_BYTES_PER_S: '0' },
};

let cluster: ClusterProcesses;
/** Acknowledged of each group's tenant. */
let pushed: number[];

beforeEach(async () => {
  pushed = [0, 0, 0];
  cluster = await ClusterProcesses.start({ groups: GROUPS.length, env: ENV });
  await cluster.until(() => allReady(cluster.ids), {
    withinMs: WITHIN_MS,
    what: 'three ready nodes',
  });
});

afterEach(() => cluster.remove());

async function allReady(ids: readonly number[]): Promise<boolean> {
  const all = await Promise.all(ids.map((id) => cluster.health(id)));
  return all.every((health) => health?.status === 200);
}

async function send(id: number, group: number, call: readonly [string, string, unknown?]) {
  const [method, path, body] = call;
  const response = await fetch(cluster.url(id) + path, {
    method,
    headers: { 'x-queen-tenant': tenantOf(group) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : (JSON.parse(text) as unknown) };
}

async function push(id: number, count: number): Promise<void> {
  for (const group of GROUPS) {
    for (let i = 0; i < count; i += 1) {
      const n = pushed[group] ?? 0;
      const transactionId = `t-${n}`;
      const items = [{ queue: 'q', partition: 'p', transactionId, payload: { n, fill: PAYLOAD } }];
      await cluster.until(
        async () => {
          const reply = await send(id, group, ['POST', '/api/v1/push', { items }]).catch(
            () => null,
          );
          return reply?.status === 201;
        },
        { withinMs: WITHIN_MS, what: `push ${n} of group ${group}` },
      );
      pushed[group] = n + 1;
    }
  }
}

/** Every message of every tenant, as this node reads it from its own files. */
async function expectAll(id: number): Promise<void> {
  for (const group of GROUPS) {
    const found: number[] = [];
    while (found.length < (pushed[group] ?? 0)) {
      const entries = [{ queue: 'q', partition: 'p', offset: found.length }];
      const { status, body } = await send(id, group, ['POST', '/api/v1/fetch', { entries }]);
      expect(status).toBe(200);
      const [entry] = (body as { entries: { records: { payload: { n: number } }[] }[] }).entries;
      if (entry === undefined || entry.records.length === 0) break;
      found.push(...entry.records.map(({ payload }) => payload.n));
    }
    const all = Array.from({ length: pushed[group] ?? 0 }, (_, n) => n);
    expect([id, group, found]).toEqual([id, group, all]);
  }
}

interface Failure {
  readonly group?: number;
  readonly index: number;
  readonly digest: string;
}

async function applyOf(id: number): Promise<{ failure: Failure | null; skipped: Failure[] }> {
  const response = await fetch(`${cluster.url(id)}/health`);
  return ((await response.json()) as { raft: { apply: { failure: Failure; skipped: Failure[] } } })
    .raft.apply;
}

it('passes over an entry of group 2, which the line names with its group', async () => {
  await push(1, 2);
  const value = { value: 1, forever: true };
  // The node that is left without a majority answers at the deadline only: nobody waits for it.
  const asked = cluster.ids.map((id) =>
    send(id, 2, ['PUT', `/api/v1/kv/${id === 1 ? POISON : 'fine/key'}`, value]).catch(() => null),
  );
  let stopped: number[] = [];
  await cluster.until(
    async () => {
      const all = await Promise.all(cluster.ids.map((id) => applyOf(id)));
      stopped = cluster.ids.filter((_, i) => all[i]?.failure !== null);
      return stopped.length >= 2;
    },
    { withinMs: WITHIN_MS, what: 'a majority to stop' },
  );
  const { failure } = await applyOf(stopped[0] ?? 0);
  expect(failure?.group).toBe(2);
  const setting = `g2/${failure?.index}:${failure?.digest}`;
  for (const id of stopped) {
    expect(cluster.node(id).log).toContain(`QUEEN_RAFT_APPLY_SKIP=${setting}`);
    expect((await cluster.health(id, 30_000))?.status).toBe(503);
  }
  // The other groups go on.
  expect((await send(stopped[0] ?? 0, 0, ['GET', '/api/v1/kv/any/key'])).status).toBe(200);
  // A stopped group, one without a majority, a call in flight: each node ends all the same, and at once.
  for (const id of cluster.ids) {
    const startMs = Date.now();
    expect(await cluster.stop(id, 'SIGTERM')).toBe(0);
    expect(Date.now() - startMs).toBeLessThan(20_000);
  }
  await Promise.all(asked);
  for (const id of cluster.ids) {
    cluster.node(id).setEnv({ QUEEN_RAFT_APPLY_SKIP: setting });
    cluster.node(id).start();
  }
  await cluster.until(() => allReady(cluster.ids), { withinMs: WITHIN_MS, what: 'all to serve' });
  for (const id of cluster.ids) {
    const { skipped, failure: left } = await applyOf(id);
    expect([left, skipped]).toMatchObject([null, [{ group: 2, index: failure?.index }]]);
  }
  await push(2, 2);
  for (const id of cluster.ids) await expectAll(id);
});

it('rebuilds a damaged segment of group 1, and gets every group by snapshot after a long time', async () => {
  const [, , id = 0] = cluster.ids;
  await push(1, 60);
  const wal = join(cluster.directoryOf(id), 'groups', 'g1', 'wal');
  await cluster.stop(id, 'SIGKILL');
  const manifest = await readManifest(new NodeFilePort(), wal);
  const row = (manifest?.segments ?? []).find((one) => one.state !== 'active');
  if (row === undefined) throw new Error('group 1 has no finished segment');
  const path = join(wal, segmentFileName(row.sequence, row.revision));
  const bytes = readFileSync(path);
  const at = Math.floor(bytes.length / 2);
  bytes[at] = (bytes[at] ?? 0) ^ 0x20;
  writeFileSync(path, bytes);
  const repaired = await cluster.node(id).command(['repair']);
  expect(repaired).toMatchObject({ code: 0 });
  expect(repaired.output).toMatch(/repaired .*groups\/g1\/wal\/.* 1 entries from a member/);

  // Away now, for longer than the logs of all groups.
  await push(1, 60);
  cluster.node(id).start();
  await cluster.until(() => allReady(cluster.ids), { withinMs: WITHIN_MS, what: 'all to serve' });
  expect(cluster.node(id).reloads).toBeGreaterThan(0);
  await push(id, 2);
  for (const one of cluster.ids) await expectAll(one);
});
