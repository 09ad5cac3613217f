/**
 * Rounds of restarts under load: an owner gets SIGTERM, its rings go to the others, it returns and they
 * come back, while producers and consumers work through all nodes. At the end every message whose push was
 * answered 201 must have been delivered; pushes without an answer may or may not be there.
 */
import { EphemeralScene, type HandedOver, type Message } from './scene.js';

const QUEUE = 'churn';
const PARTITIONS = Array.from({ length: 24 }, (_, n) => `room-${n}`);
const PRODUCERS = 4;
const CONSUMERS = 4;
const BATCH = 5;
const DRAIN_MS = 60_000;
/** One node has to have room for everything while another is away: far below the queue's bounds. */
const MAX_BACKLOG = 1500;

export interface Round {
  readonly round: number;
  readonly node: number;
  readonly handed: HandedOver;
  /** Partitions of the queue that are at home there; it holds them again at the end of the round. */
  readonly home: number;
  /** From the signal to all partitions back in place. */
  readonly tookMs: number;
}

export interface ChurnResult {
  readonly rounds: readonly Round[];
  readonly acknowledged: number;
  readonly delivered: number;
  readonly missing: readonly string[];
  readonly wipes: number;
}

export class ChurnRun {
  private readonly acknowledged = new Set<string>();
  private readonly delivered = new Set<string>();
  private producing = true;
  private consuming = true;
  private numbers = 0;
  private turn = 0;
  /** What each node holds while all are there. */
  private readonly homes = new Map<number, readonly string[]>();

  constructor(
    private readonly scene: EphemeralScene,
    private readonly say: (line: string) => void,
  ) {}

  async run(rounds: number): Promise<ChurnResult> {
    const { scene } = this;
    await scene.send(1, 'POST', '/configure', {
      queue: QUEUE,
      options: { leaseSeconds: 5, retryLimit: 1000 },
    });
    for (const partition of PARTITIONS) await scene.pop(1, QUEUE, `partition=${partition}`);
    for (const id of scene.cluster.ids) {
      this.homes.set(id, [...(await scene.owned(id, QUEUE)).keys()]);
    }
    const producers = Array.from({ length: PRODUCERS }, () => this.produce());
    const consumers = Array.from({ length: CONSUMERS }, (_, n) => this.consume(n));
    const done: Round[] = [];
    for (let round = 1; round <= rounds; round += 1) done.push(await this.one(round));
    this.producing = false;
    await Promise.all(producers);
    await this.waitDelivered();
    this.consuming = false;
    await Promise.all(consumers);
    return {
      rounds: done,
      acknowledged: this.acknowledged.size,
      delivered: this.delivered.size,
      missing: this.missing(),
      wipes: await scene.wipes(scene.cluster.ids),
    };
  }

  private async one(round: number): Promise<Round> {
    const node = 1 + (round % this.scene.cluster.ids.length);
    const home = this.homes.get(node) ?? [];
    const from = performance.now();
    const handed = await this.scene.stopNode(node);
    await this.scene.startNode(node);
    await this.scene.cluster.until(
      async () => {
        const held = await this.scene.owned(node, QUEUE);
        return home.every((partition) => held.has(partition));
      },
      { withinMs: 180_000, what: `node ${node} to hold its ${home.length} partitions again` },
    );
    const tookMs = performance.now() - from;
    this.say(
      `round ${round}: node ${node}, ${handed.rings} rings, ${handed.messages} messages, ` +
        `lost ${handed.lost}, ${home.length} partitions back after ${tookMs.toFixed(0)} ms`,
    );
    if (handed.lost > 0) this.sayWhy();
    return { round, node, handed, home: home.length, tookMs };
  }

  /** What the nodes said about hand-overs that failed. */
  private sayWhy(): void {
    for (const id of this.scene.cluster.ids) {
      const lines = this.scene.cluster.node(id).log.split('\n');
      for (const line of lines.filter((one) => one.includes('hand-over failed'))) this.say(line);
    }
  }

  private missing(): string[] {
    return [...this.acknowledged].filter((one) => !this.delivered.has(one));
  }

  private async waitDelivered(): Promise<void> {
    const end = performance.now() + DRAIN_MS;
    while (this.missing().length > 0 && performance.now() < end) await pause(50);
  }

  private nextNode(): number {
    const { ids } = this.scene.cluster;
    this.turn += 1;
    return ids[this.turn % ids.length] ?? 1;
  }

  /** A push without an answer is not sent again: it may have been taken. */
  private async produce(): Promise<void> {
    while (this.producing) {
      if (this.acknowledged.size - this.delivered.size > MAX_BACKLOG) {
        await pause(20);
        continue;
      }
      const partition = PARTITIONS[this.numbers % PARTITIONS.length] ?? '';
      const payloads = Array.from({ length: BATCH }, () => `m-${(this.numbers += 1)}`);
      const { status } = await this.scene
        .push(this.nextNode(), QUEUE, partition, payloads)
        .catch(() => ({ status: 0 }));
      if (status === 201) for (const one of payloads) this.acknowledged.add(one);
      await pause(status === 201 ? 10 : 50);
    }
  }

  private async consume(start: number): Promise<void> {
    for (let n = start; this.consuming; n += CONSUMERS) {
      const partition = PARTITIONS[n % PARTITIONS.length] ?? '';
      const at = this.nextNode();
      const popped = await this.scene
        .pop(at, QUEUE, `partition=${partition}&batch=50`)
        .catch((): Message[] => []);
      for (const { payload } of popped) this.delivered.add(String(payload));
      if (popped.length === 0) {
        await pause(5);
        continue;
      }
      // Some are left to their leases, so that moves meet leased messages; never the same ones again.
      const acked = popped
        .filter(({ attempts }) => attempts > 1 || Math.random() > 1 / 7)
        .map(({ id }) => id);
      await this.scene.ack(this.nextNode(), QUEUE, acked).catch(() => undefined);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
