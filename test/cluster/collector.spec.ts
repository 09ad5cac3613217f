/**
 * Disk space of what retention removed, on three real processes (cluster.md §2.7): pushes go through every
 * node, segments are unlinked and rewritten on each of them, while one is killed and one is restarted.
 * What is retained or dead-lettered stays readable everywhere, and the three states are one.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ClusterProcesses } from '../support/cluster-processes.js';
import { Calls, type Reply } from './calls.js';
import { expectOneState } from './operations/state-digests.js';

/** Three processes that start at once on a busy machine take their time. */
const READY_MS = 180_000;

jest.setTimeout(6 * READY_MS);

const SEGMENT_BYTES = 1024 * 1024;
const ENV = {
  RETENTION_INTERVAL: '50',
  QUEEN_RAFT_SEGMENT_BYTES: String(SEGMENT_BYTES),
  QUEEN_RAFT_LOG_KEEP: '16',
  QUEEN_RAFT_DURABLE_EVERY_MS: '50',
};
const PAYLOAD = 'x'.repeat(16 * 1024);
const MEBIBYTE_OF_ITEMS = 64;
const [DYING, KEPT] = ['dying', 'kept'];

interface Item {
  readonly transactionId: string;
  readonly payload: unknown;
}

interface Letter {
  readonly id: string;
  readonly transactionId: string;
  readonly data: unknown;
}

let cluster: ClusterProcesses;
let calls: Calls;
let requests = 0;

beforeAll(async () => {
  cluster = await ClusterProcesses.start({ env: ENV });
  calls = new Calls(cluster);
  await cluster.leader(cluster.ids, READY_MS);
});

afterAll(() => cluster.remove());

/** Through the running nodes in turn, until one answers with the status. */
async function insist(status: number, call: (id: number) => Promise<Reply>): Promise<Reply> {
  const until = performance.now() + READY_MS;
  let last = 'no answer';
  while (performance.now() < until) {
    const running = cluster.ids.filter((id) => cluster.node(id).isRunning);
    requests += 1;
    const reply = await call(running[requests % running.length] ?? 1).catch((error: unknown) => {
      last = String(error);
      return null;
    });
    if (reply?.status === status) return reply;
    if (reply !== null) last = JSON.stringify(reply);
  }
  throw new Error(`never answered ${status}: ${last}`);
}

async function push(queue: string, items: readonly Item[]): Promise<void> {
  const body = { items: items.map((item) => ({ queue, partition: 'p', ...item })) };
  await insist(201, (id) => calls.send(id, '/api/v1/push', body));
}

/** A mebibyte that will go; in every other one a small message that stays: its segment is rewritten. */
async function fill(round: number): Promise<void> {
  const items = Array.from({ length: MEBIBYTE_OF_ITEMS }, (_, i) => ({
    ...{ transactionId: `d${round}-${i}`, payload: PAYLOAD },
  }));
  for (let at = 0; at < items.length; at += 16) await push(DYING, items.slice(at, at + 16));
  if (round % 2 === 0) await push(KEPT, [{ transactionId: `k${round}`, payload: { round } }]);
}

/** The message is pushed through one node, popped from the next and filed at the third. */
async function deadLetter(transactionId: string): Promise<void> {
  await push(DYING, [{ transactionId, payload: PAYLOAD }]);
  const path = `/api/v1/pop/queue/${DYING}?consumerGroup=g&subscriptionMode=all&wait=true&timeout=5000`;
  const popped = (await insist(200, (id) => calls.send(id, path))).body as {
    readonly leaseId: string;
    readonly partitionId: string;
    readonly messages: readonly { readonly transactionId: string }[];
  };
  expect(popped.messages.map((message) => message.transactionId)).toEqual([transactionId]);
  const { leaseId, partitionId } = popped;
  const ack = { transactionId, leaseId, partitionId, consumerGroup: 'g', status: 'dlq' };
  const acked = await insist(200, (id) => calls.send(id, '/api/v1/ack', ack));
  expect(acked.body).toMatchObject([{ success: true, dlq: true }]);
}

/** Segment files of a node with their sizes. */
function segments(id: number): Map<string, number> {
  const directory = join(cluster.directoryOf(id), 'wal');
  const files = readdirSync(directory).filter((name) => name.endsWith('.seg'));
  const sizeOf = (name: string): number =>
    statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0;
  return new Map(files.map((name) => [name, sizeOf(name)]));
}

const bytesOf = (id: number): number =>
  [...segments(id).values()].reduce((sum, bytes) => sum + bytes, 0);

/** The nodes' log files shrink; the raft log lets go of entries only as new ones come. */
async function shrink(bytes: number): Promise<void> {
  const until = performance.now() + READY_MS;
  for (let n = 0; ; n += 1) {
    await push('ticker', [{ transactionId: `t${n}`, payload: null }]);
    if (cluster.ids.every((id) => bytesOf(id) <= bytes)) return;
    if (performance.now() < until) continue;
    const left = cluster.ids.map((id) => [id, ...segments(id)]);
    throw new Error(`not ${bytes} bytes at every node: ${JSON.stringify(left)}`);
  }
}

async function lettersAt(id: number): Promise<readonly Letter[]> {
  const reply = await calls.send(id, `/api/v1/dlq?queue=${DYING}`);
  expect(reply.status).toBe(200);
  return (reply.body as { messages: Letter[] }).messages;
}

/** Every node shows every retained message and every dead letter whole. */
async function expectReadable(rounds: number, letters: readonly string[]): Promise<void> {
  const entries = [{ queue: KEPT, partition: 'p', offset: 0 }];
  const wanted = Array.from({ length: rounds / 2 }, (_, n) => ({ round: 2 * n }));
  for (const id of cluster.ids) {
    await cluster.ready(id, READY_MS);
    const found = await lettersAt(id);
    expect(found.map(({ transactionId }) => transactionId).sort()).toEqual([...letters].sort());
    expect(found.every(({ data }) => data === PAYLOAD)).toBe(true);
    const { body } = await calls.send(id, '/api/v1/fetch', { entries });
    const [entry] = (body as { entries: { records: { payload: unknown }[] }[] }).entries;
    expect(entry?.records.map(({ payload }) => payload)).toEqual(wanted);
  }
}

async function restart(id: number, signal: NodeJS.Signals): Promise<void> {
  await cluster.stop(id, signal);
  cluster.node(id).start();
}

it('segments are unlinked and rewritten on every node, over a kill and a restart', async () => {
  const letters = ['spoiled-1', 'spoiled-2', 'spoiled-3'];
  const options = { dedupWindowSeconds: 0 };
  await insist(200, (id) => calls.send(id, '/api/v1/configure', { queue: DYING, options }));
  for (const letter of letters) await deadLetter(letter);
  let round = 0;
  for (; round < 8; round += 1) await fill(round);
  const before = new Map(cluster.ids.map((id) => [id, segments(id)]));
  for (const [, files] of before) expect(files.size).toBeGreaterThanOrEqual(8);

  const aged = { queue: DYING, options: { maxWaitTimeSeconds: 1 } };
  await insist(200, (id) => calls.send(id, '/api/v1/configure', aged));
  // In the middle of it a follower is killed while messages come in, then the leader is restarted.
  const leader = await cluster.leader();
  const follower = cluster.ids.find((id) => id !== leader) ?? 1;
  await cluster.stop(follower, 'SIGKILL');
  for (const until = round + 4; round < until; round += 1) await fill(round);
  cluster.node(follower).start();
  await cluster.ready(follower, READY_MS);
  await restart(await cluster.leader(cluster.ids, READY_MS), 'SIGTERM');
  for (const until = round + 4; round < until; round += 1) await fill(round);
  await cluster.leader(cluster.ids, READY_MS);

  await shrink(4 * SEGMENT_BYTES);
  for (const id of cluster.ids) {
    const left = segments(id);
    const gone = [...(before.get(id) ?? [])].filter(([name]) => !left.has(name));
    expect(gone.length).toBeGreaterThanOrEqual(2);
    expect(cluster.node(id).log).toContain('log segments removed');
    expect(cluster.node(id).log).toContain('log segment rewritten');
  }
  await expectReadable(round, letters);
  await expectOneState(cluster);

  for (const id of cluster.ids) await restart(id, 'SIGKILL');
  await cluster.leader(cluster.ids, READY_MS);
  await expectReadable(round, letters);
  for (const id of cluster.ids) {
    const [letter] = await lettersAt(id);
    const path = `/api/v1/dlq/${letter?.id ?? ''}/replay`;
    const replayed = await calls.send(id, path, { queue: 'repaired' });
    expect([replayed.status, replayed.body]).toMatchObject([200, { result: 'moved' }]);
  }
  await expectOneState(cluster);
});
