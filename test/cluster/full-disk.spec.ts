/**
 * A full disk on one node of three (cluster.md §2.8, §2.9), really full: its data lies on a small
 * filesystem. Past the high mark the node turns its own clients away and serves the rest; at 100 % it
 * stops and stays up; with space again it comes back. A ledger goes along: nothing is lost.
 */
import { Scene } from './operations/scene.js';
import { CAN_MOUNT, SmallDisk } from './operations/small-disk.js';

jest.setTimeout(480_000);

const WITHIN_MS = 60_000;
const DISK_MIB = 128;
const WRITES = 30;
const ENV = { QUEEN_RAFT_SEGMENT_BYTES: '1048576', QUEEN_RAFT_DURABLE_EVERY_MS: '200' };

let scene: Scene;
let disk: SmallDisk | null = null;

afterEach(async () => {
  await scene.ledger.stop(true);
  await scene.cluster.remove();
  disk?.remove();
  disk = null;
});

async function send(
  id: number,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; code: unknown; body: unknown }> {
  const response = await fetch(scene.cluster.url(id) + path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(WITHIN_MS),
  });
  const text = await response.text();
  const parsed = (text === '' ? null : JSON.parse(text)) as { code?: unknown } | null;
  return { status: response.status, code: parsed?.code, body: parsed };
}

const push = (id: number): ReturnType<typeof send> =>
  send(id, 'POST', '/api/v1/push', { items: [{ queue: 'side', partition: 'p', payload: 1 }] });

async function untilPush(id: number, status: number): Promise<void> {
  await scene.cluster.until(async () => (await push(id)).status === status, {
    withinMs: WITHIN_MS,
    what: `a push through node ${id} to answer ${status}`,
  });
}

/** Leadership goes to this node: whoever leads else is restarted. */
async function makeLeader(id: number): Promise<void> {
  for (;;) {
    const leader = await scene.cluster.leader(scene.ids, WITHIN_MS);
    if (leader === id) return;
    await scene.cluster.stop(leader);
    await scene.cluster.leader(scene.others(leader), WITHIN_MS);
    scene.start(leader);
    await scene.cluster.ready(leader);
  }
}

/** Pop and ack through the node, and a delete of a key. */
async function expectServes(id: number): Promise<void> {
  const popped = await send(id, 'GET', '/api/v1/pop/queue/side/partition/p?batch=1&wait=false');
  expect(popped.status).toBe(200);
  const { messages } = popped.body as {
    messages: { transactionId: string; partitionId: string; leaseId: string }[];
  };
  const [message] = messages;
  const ack = await send(id, 'POST', '/api/v1/ack', { ...message, status: 'completed' });
  expect(ack.status).toBe(200);
  expect((await send(id, 'DELETE', '/api/v1/kv/disk/key')).status).toBe(200);
}

const cases = (['follower', 'leader'] as const).map((role) => [role] as const);

it.each(cases)('a %s: 507, stopped at 100 %%, back with space', async (role) => {
  if (!CAN_MOUNT) throw new Error('needs user namespaces: `unshare -rm` must work here');
  scene = await Scene.start({ env: ENV }, { payloadBytes: 25_000 });
  const { cluster, ledger } = scene;
  const id = await scene.follower();
  for (let i = 0; i < 3; i += 1) expect((await push(id)).status).toBe(201);
  await cluster.stop(id);
  disk = await SmallDisk.under(cluster, id, DISK_MIB);
  scene.start(id);
  await cluster.ready(id);
  if (role === 'leader') await makeLeader(id);

  // Past the high mark: its own clients only.
  disk.fill(92);
  await untilPush(id, 507);
  expect(await push(id)).toMatchObject({ status: 507, code: 'storage_full' });
  const put = await send(id, 'PUT', '/api/v1/kv/disk/key', { value: 1, forever: true });
  expect(put).toMatchObject({ status: 507, code: 'storage_full' });
  await expectServes(id);
  expect(cluster.node(id).log).toMatch(/raft storage pressure changed.*full=true/);
  const before = (await cluster.health(id, 30_000))?.applied ?? 0;
  const [other = 0] = scene.others(id);
  expect((await push(other)).status).toBe(201);
  ledger.start();
  await ledger.written(WRITES);
  await cluster.until(
    async () => ((await cluster.health(id))?.applied ?? 0) > before + WRITES / 2,
    {
      withinMs: WITHIN_MS,
      what: 'entries of other nodes to arrive on the full one',
    },
  );
  expect((await cluster.health(id, 30_000))?.status).toBe(200);

  // Space returns.
  disk.empty();
  await untilPush(id, 201);
  expect(cluster.node(id).log).toMatch(/raft storage pressure changed.*full=false/);

  // Not one byte is left: it stops, stays up and says why; the others go on.
  disk.fill(100);
  await cluster.until(async () => (await cluster.health(id))?.role === 'stopped', {
    withinMs: WITHIN_MS,
    what: 'the node to stop at 100 %',
  });
  expect((await cluster.health(id, 30_000))?.status).toBe(503);
  expect((await cluster.health(id, 30_000))?.apply.failure).toMatchObject({
    class: 'NODE-LOCAL',
    error: expect.stringMatching(/ENOSPC|[Nn]o space left/) as string,
  });
  expect((await push(id)).status).toBe(503);
  expect(cluster.node(id).isRunning).toBe(true);
  await cluster.leader(scene.others(id), WITHIN_MS);
  await ledger.written(WRITES);

  // The volume grew: a restart is all.
  disk.empty();
  await cluster.stop(id);
  scene.start(id);
  await cluster.ready(id);
  await ledger.written(WRITES);
  await untilPush(id, 201);
  process.stdout.write(`full disk of a ${role}: ${await scene.finish()}\n`);
});
