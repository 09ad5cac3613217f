/** What a node says of a member that the leader hears and that does not answer, and of a drain that reaches nobody. */
import { EngineHarness } from '../../../test/support/ephemeral-engine.js';
import { BinaryWriter } from '../../common/binary-writer.js';
import type { NodeId } from '../../common/ids.js';
import { recordingLogger } from '../../logging/index.js';
import type { ChannelListener } from '../../raft/index.js';
import type { EphemeralGate } from '../gate.js';
import { ClusterNeighbours, type ClusterParts } from './cluster-neighbours.js';

const ONE = 1 as NodeId;
const TWO = 2 as NodeId;
const READY_VERB = 8;
const LEAVING_VERB = 7;

/** Node 1 of two; node 2 is a stand-in that answers what it is told to. */
class Scene {
  readonly engine = new EngineHarness();
  readonly log = recordingLogger();
  readonly neighbours: ClusterNeighbours;
  /** Verbs the other node answers with 200; the others do not reach it. */
  answers: readonly number[] = [];
  private probes = 0;
  private listener: ChannelListener | null = null;

  constructor() {
    const parts: ClusterParts = {
      engine: this.engine.engine,
      gate: { limits: () => ({ maxBytes: null, maxQueues: null }) } as unknown as EphemeralGate,
      group: this.group(),
      channel: {
        send: (_to, parts) => this.sent(Buffer.concat(parts)),
        isConnected: () => true,
        listen: (listener) => (this.listener = listener),
      },
      memberTtlMs: 4000,
      nowMs: () => this.engine.nowMs,
      isListening: () => true,
      logger: this.log,
    };
    this.neighbours = new ClusterNeighbours(parts);
    this.neighbours.start();
  }

  private group(): ClusterParts['group'] {
    const seen = { voter: true, lastAckMs: 10, matched: null };
    return {
      status: () => ({ nodeId: ONE }),
      membersView: () => ({
        ...{ leader: ONE, ageMs: 0 },
        members: [
          { nodeId: ONE, ...seen },
          { nodeId: TWO, ...seen },
        ],
      }),
      cluster: {
        members: () => ({ addresses: new Map([[TWO, { raft: 'b:7400', http: 'b:6632' }]]) }),
      },
    } as unknown as ClusterParts['group'];
  }

  private sent(frame: Buffer): boolean {
    const [kind, verb] = [frame[0], frame[5] ?? 0];
    if (kind !== 1) return true;
    if (verb === READY_VERB) this.probes += 1;
    if (!this.answers.includes(verb)) return false;
    const writer = new BinaryWriter(64);
    writer.u8(2);
    writer.u32(frame.readUInt32LE(1));
    writer.u16(200);
    writer.u16(0);
    if (verb === READY_VERB) writer.raw(Buffer.from('{"epoch":"e","rings":0,"messages":0}'));
    const answer = writer.toBytes();
    setImmediate(() => this.listener?.received(TWO, answer));
    return true;
  }

  async until(check: () => boolean, stepMs = 10): Promise<void> {
    const end = performance.now() + 60_000;
    while (!check()) {
      if (performance.now() > end) throw new Error('never');
      await new Promise((resolve) => setTimeout(resolve, 10));
      this.engine.nowMs += stepMs;
    }
  }

  /** Node 1 looked at the members once more, at the time it is. */
  async looked(): Promise<void> {
    const before = this.probes;
    await this.until(() => this.probes > before, 0);
  }

  warnings() {
    return this.log.lines.filter(({ level }) => level === 'warn');
  }

  async stop(): Promise<void> {
    this.neighbours.stop();
    await this.engine.stop();
  }
}

it('a member that is silent for 30 s is told of once, with its addresses, and counted until it answers', async () => {
  const scene = new Scene();
  await scene.looked();
  scene.engine.nowMs += 29_000;
  await scene.looked();
  expect([scene.warnings(), scene.neighbours.silentPeers]).toEqual([[], 0]);
  scene.engine.nowMs += 2_000;
  await scene.looked();
  expect(scene.neighbours.silentPeers).toBe(1);
  scene.engine.nowMs += 2_000;
  await scene.looked();
  expect(scene.warnings()).toHaveLength(1);
  expect(scene.warnings()[0]?.fields).toMatchObject({
    ...{ node: TWO, http: 'b:6632', raft: 'b:7400', takes_partitions: false },
  });
  scene.answers = [READY_VERB];
  await scene.until(() => scene.neighbours.silentPeers === 0);
  await scene.stop();
});

it('a drain gives up after 15 s and says what was lost', async () => {
  const scene = new Scene();
  scene.answers = [READY_VERB, LEAVING_VERB];
  await scene.until(() => scene.log.lines.some(({ message }) => message === 'placement changed'));
  scene.engine.push('q', 'p', [1, 2, 3]);
  const fromMs = scene.engine.nowMs;
  // Time passes fast, and by steps: nothing passes while this process stands still.
  const clock = setInterval(() => {
    scene.engine.nowMs += 20;
  }, 1);
  await scene.neighbours.drain();
  clearInterval(clock);
  const took = scene.engine.nowMs - fromMs;
  const told = scene.log.lines.find(({ message }) => message === 'ephemeral rings handed over');
  expect(told?.fields).toMatchObject({ peers: 1, told: 1, rings: 1, delivered: 0, lost: 1 });
  expect(scene.neighbours.wipes).toBe(1);
  expect(took).toBeGreaterThanOrEqual(15_000);
  await scene.stop();
});
