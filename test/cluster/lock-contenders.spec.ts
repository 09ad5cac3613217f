/**
 * Two contenders for a lock on three real processes whose leaders are stopped and whose clocks jump: inside
 * the skew bound no two of them hold at once, and whatever the clocks do, nothing is written under a guard
 * after a newer token was handed out.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve as absolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ClusterProcesses, pause } from '../support/cluster-processes.js';
import { HISTORY_ENV, seeded } from './linearizability/history-run.js';
import { Contention } from './lock-contenders.js';

const TTL_SECONDS = 2;
/** The broker's default bound. */
const SKEW_MS = 500;
const HOUR_MS = 3_600_000;
const ROUNDS = 4;

describe('contenders for a lock', () => {
  let cluster: ClusterProcesses;
  let clocks: string;

  beforeAll(async () => {
    clocks = await mkdtemp(join(tmpdir(), 'queen-clocks-'));
    const seam = pathToFileURL(absolute('test/support/jumping-clock.mjs')).href;
    const env = { ...HISTORY_ENV, TEST_CLOCK_FILES: clocks, NODE_OPTIONS: `--import ${seam}` };
    cluster = await ClusterProcesses.start({ env });
    await cluster.leader();
  });

  afterAll(async () => {
    await cluster.remove();
    await rm(clocks, { recursive: true, force: true });
  });

  /** Sets every clock anew, forward or back, and stops the leader for longer than a lifetime. */
  async function disturb(mostMs: number, random: () => number): Promise<void> {
    for (const id of cluster.ids) {
      await writeFile(join(clocks, String(id)), String(Math.round(random() * mostMs)));
    }
    const leader = cluster.node(await cluster.leader());
    leader.signal('SIGSTOP');
    try {
      await pause(TTL_SECONDS * 1000 + 600);
    } finally {
      leader.signal('SIGCONT');
    }
    await pause(500);
  }

  /** µs the log's clock is ahead of this process's. */
  async function aheadMs(): Promise<number> {
    const id = await cluster.leader();
    const path = `${cluster.url(id)}/api/v1/kv/clock/k`;
    const body = '{"value":1,"forever":true}';
    await fetch(path, { method: 'PUT', body });
    const { updatedAt } = (await (await fetch(path)).json()) as { updatedAt: string };
    return Date.parse(updatedAt) - Date.now();
  }

  it.each([
    ['inside the skew bound', SKEW_MS],
    ['by up to an hour', HOUR_MS],
  ])('whose clocks jump %s', async (_what, mostMs) => {
    const seed = Date.now() % 1_000_000;
    const random = seeded(seed);
    const terms = { name: `job-${mostMs}`, ttlSeconds: TTL_SECONDS, skewMs: SKEW_MS, random };
    const contention = new Contention(cluster, terms);
    const owners = ['w-1', 'w-2'].map((owner) => contention.run(owner));
    for (let round = 0; round < ROUNDS; round += 1) await disturb(mostMs, random);
    contention.stop();
    await Promise.all(owners);

    const { holds, written, fenced } = contention;
    const overlaps = mostMs <= SKEW_MS ? contention.overlaps() : [];
    expect({ seed, overlaps, late: contention.lateWrites() }).toEqual({
      ...{ seed, overlaps: [], late: [] },
    });
    expect(new Set(holds.map(({ owner }) => owner)).size).toBe(2);
    expect(written.length).toBeGreaterThan(0);
    // Tokens and versions are of one counter: late writes would be seen.
    expect(written.filter(({ token, version }) => version <= token)).toEqual([]);
    expect(fenced).toBeGreaterThan(0);
    if (mostMs === HOUR_MS) expect(await aheadMs()).toBeGreaterThan(10 * SKEW_MS);
  });
});
