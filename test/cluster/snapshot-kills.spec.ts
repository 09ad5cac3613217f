/**
 * kill -9 of real processes at every step of a snapshot: while it is made and sent, while it is taken, and
 * while it is loaded at the start that follows exit 75. Each time the node is started again and the
 * member that was away catches up; nothing acknowledged is lost.
 */
import type { PatchedBuild } from '../support/patched-build.js';
import {
  arm,
  disarm,
  isArmed,
  killingBuild,
  RECEIVE_STEPS,
  SEND_STEPS,
} from './operations/kill-points.js';
import { Scene, SHORT_LOG } from './operations/scene.js';

jest.setTimeout(600_000);

const WITHIN_MS = 90_000;
/** Some thirty steps, each with two starts and a snapshot. */
const ALL_STEPS_MS = 2_400_000;
/** Together more than three segments of the log. */
const WRITES = 50;
const PAYLOAD_BYTES = 60_000;
/** More steps than a loading has. */
const MOST_STEPS = 40;

let build: PatchedBuild;
let scene: Scene;

beforeAll(async () => {
  build = await killingBuild();
});

afterAll(() => build.remove());

afterEach(async () => {
  await scene.ledger.stop(true);
  await scene.cluster.remove();
});

/** A follower that was away for longer than the log goes back; it does not run. */
async function awayForLong(): Promise<{ leader: number; away: number }> {
  const leader = await scene.cluster.leader(scene.ids, WITHIN_MS);
  const away = scene.others(leader)[0] ?? 0;
  await scene.kill(away);
  await scene.ledger.push(WRITES);
  return { leader, away };
}

async function untilKilled(id: number, step: string): Promise<void> {
  const { cluster } = scene;
  await cluster.until(() => Promise.resolve(!isArmed(cluster, id) && !cluster.node(id).isRunning), {
    withinMs: WITHIN_MS,
    what: `node ${id} to die at ${step}`,
  });
}

it.each(SEND_STEPS)('the sender dies at %s', async (step) => {
  scene = await Scene.start({ env: SHORT_LOG, root: build.root }, { payloadBytes: PAYLOAD_BYTES });
  const { leader, away } = await awayForLong();
  arm(scene.cluster, leader, step);
  scene.start(away);
  await untilKilled(leader, step);
  scene.start(leader);
  await scene.cluster.leader(scene.ids, WITHIN_MS);
  await scene.ledger.push(3);
  process.stdout.write(`sender killed at ${step}: ${await scene.finish()}\n`);
});

/** `done`: a snapshot was loaded and this step did not come. */
async function killReceiverAt(step: string): Promise<'killed' | 'done'> {
  const { cluster } = scene;
  for (;;) {
    const { away } = await awayForLong();
    const { reloads } = cluster.node(away);
    arm(cluster, away, step);
    scene.start(away);
    await cluster.until(
      async () => {
        if (!cluster.node(away).isRunning) return !isArmed(cluster, away);
        return (await cluster.health(away))?.status === 200;
      },
      { withinMs: WITHIN_MS, what: `node ${away} to die at ${step}, or to be ready` },
    );
    const isKilled = !isArmed(cluster, away);
    disarm(cluster, away);
    if (isKilled) scene.start(away);
    await cluster.ready(away, WITHIN_MS);
    if (isKilled) return 'killed';
    if (cluster.node(away).reloads > reloads) return 'done';
    // The log still held what it needed: it was not away for long enough.
  }
}

it(
  'the receiver dies at every step of taking and loading it',
  async () => {
    scene = await Scene.start(
      { env: SHORT_LOG, root: build.root },
      { payloadBytes: PAYLOAD_BYTES },
    );
    const loading = Array.from({ length: MOST_STEPS }, (_, i) => `install-${i + 1}`);
    const died: string[] = [];
    for (const step of [...RECEIVE_STEPS, ...loading]) {
      const outcome = await killReceiverAt(step);
      if (outcome === 'done') break;
      died.push(step);
      process.stdout.write(`receiver killed at ${step}\n`);
    }
    expect(died).toEqual(expect.arrayContaining([...RECEIVE_STEPS, 'install-1', 'install-8']));
    expect(died.length).toBeLessThan(RECEIVE_STEPS.length + MOST_STEPS);
    process.stdout.write(`receiver killed at ${died.length} steps: ${await scene.finish()}\n`);
  },
  ALL_STEPS_MS,
);
