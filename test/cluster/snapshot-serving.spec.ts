/**
 * The node that serves a snapshot keeps its latency while it makes and sends it: a follower that was away
 * for longer than the log comes back to a leader with many partitions and messages, under even writes. Their
 * p99 meanwhile is compared with that beside a follower that comes back from the log: a process that
 * starts takes as much of this machine. Medians of a few rounds.
 */
import { median } from '../bench/http/latency-record.js';
import { pause } from '../support/cluster-processes.js';
import { EvenWriters, percentile99 } from './even-writers.js';
import { Scene, SHORT_LOG } from './operations/scene.js';

jest.setTimeout(600_000);

const WITHIN_MS = 90_000;
const ROUNDS = 5;
const MOST_TRIES = 15;
const SENT = 'raft: snapshot sent';
/** Long enough for the log to let go of what was missed; too short for that. */
const [AWAY_MS, MOMENT_MS] = [5_000, 200];
const PARTITIONS = 100_000;
const PARTITIONS_A_PUSH = 1_000;
const MESSAGE_BYTES = 100_000;
/** 200 MB of messages. */
const MESSAGES = 2_000;
/** Together more than the log keeps. */
const WRITES = 50;
const WRITE_BYTES = 60_000;
const LOAD = { perSecond: 1_000, batch: 10, partitions: 64, payloadBytes: 200 };
/** Of the p99 without a snapshot; or the budget for a p99 at half load (ARCHITECTURE.md §10), if that is more. */
const FACTOR = 2;
const BUDGET_MS = 25;

let scene: Scene;

afterEach(async () => {
  await scene.ledger.stop(true);
  await scene.cluster.remove();
});

async function push(leader: number, items: readonly object[]): Promise<void> {
  const response = await fetch(`${scene.cluster.url(leader)}/api/v1/push`, {
    method: 'POST',
    body: JSON.stringify({ items }),
    signal: AbortSignal.timeout(WITHIN_MS),
  });
  await response.text();
  expect(response.status).toBe(201);
}

/** What a snapshot of a broker in use holds: rows of many partitions, and messages. */
async function fill(leader: number): Promise<void> {
  for (let first = 0; first < PARTITIONS; first += PARTITIONS_A_PUSH) {
    const items = Array.from({ length: PARTITIONS_A_PUSH }, (_, i) => ({
      ...{ queue: 'rows', partition: `p${first + i}`, payload: i },
    }));
    await push(leader, items);
  }
  const payload = 'x'.repeat(MESSAGE_BYTES);
  for (let i = 0; i < MESSAGES; i += 10) {
    const items = Array.from({ length: 10 }, () => ({ queue: 'bytes', partition: 'p', payload }));
    await push(leader, items);
  }
}

interface Return {
  /** Of the pushes from the member's start until it is ready, or has been sent a snapshot; ascending, ms. */
  readonly tookMs: readonly number[];
  readonly bySnapshot: boolean;
}

/** A follower is killed, may miss writes, and starts again beside even writes. */
async function comesBack(missed: number): Promise<Return> {
  const { cluster } = scene;
  const leader = await cluster.leader(scene.ids, WITHIN_MS);
  const away = scene.others(leader)[0] ?? 0;
  await scene.kill(away);
  if (missed > 0) await scene.ledger.push(missed);
  const { reloads } = cluster.node(away);
  const tookMs = await EvenWriters.beside(cluster.url(leader), LOAD, async (writers) => {
    await pause(missed > 0 ? AWAY_MS : MOMENT_MS);
    await writers.take();
    const mark = cluster.node(leader).logged;
    const isSent = (): boolean => cluster.node(leader).since(mark).join('').includes(SENT);
    scene.start(away);
    await cluster.until(async () => isSent() || (await cluster.health(away))?.status === 200, {
      withinMs: WITHIN_MS,
      what: 'the member to be back, or to be sent a snapshot',
    });
    return writers.take();
  });
  await cluster.ready(away, WITHIN_MS);
  return { tookMs, bySnapshot: cluster.node(away).reloads > reloads };
}

/** Until the member came back by a snapshot, or from the log, as wanted. */
async function oneReturn(bySnapshot: boolean): Promise<readonly number[]> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const back = await comesBack(bySnapshot ? WRITES : 0);
    if (back.bySnapshot === bySnapshot) return back.tookMs;
  }
  throw new Error(`no return ${bySnapshot ? 'by a snapshot' : 'from the log'}`);
}

it('serves a snapshot beside its writes', async () => {
  scene = await Scene.start({ env: SHORT_LOG }, { payloadBytes: WRITE_BYTES });
  await fill(await scene.cluster.leader(scene.ids, WITHIN_MS));
  const fromLog: number[] = [];
  const bySnapshot: number[] = [];
  let slowestMs = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    fromLog.push(percentile99(await oneReturn(false)));
    const tookMs = await oneReturn(true);
    bySnapshot.push(percentile99(tookMs));
    slowestMs = Math.max(slowestMs, tookMs.at(-1) ?? 0);
  }
  const pairs = fromLog.map((ms, i) => `${ms.toFixed(1)}/${(bySnapshot[i] ?? 0).toFixed(1)}`);
  const [withoutMs, servingMs] = [median(fromLog), median(bySnapshot)];
  process.stdout.write(
    `push p99 beside a member that comes back, medians of ${ROUNDS}: from the log ${withoutMs.toFixed(1)} ms, ` +
      `by a snapshot ${servingMs.toFixed(1)} ms (${pairs.join(', ')}), slowest ${slowestMs.toFixed(0)} ms; ` +
      `${await scene.finish()}\n`,
  );
  expect(servingMs).toBeLessThanOrEqual(Math.max(FACTOR * withoutMs, BUDGET_MS));
});
