/**
 * What moves with a partition, field by field: messages in their order, what each group has passed, what
 * is leased, what failed and how often it was tried. Filled on three nodes; one of them stops and returns,
 * so that its partitions move twice, and those of the others not at all.
 */
import type { EphemeralScene, HandedOver, Message } from './scene.js';

const QUEUE = 'moved';
const MESSAGES = 8;
const GROUPS = ['g', 'h', 'idle'];

export interface MovedRings {
  readonly node: number;
  readonly partitions: number;
  readonly handed: HandedOver;
  /** Fields compared, and what was not as it had to be. */
  readonly compared: number;
  readonly differences: readonly string[];
}

interface Filled {
  readonly partition: string;
  /** Ids that group g holds a lease on. */
  readonly leased: readonly string[];
}

const payloadOf = (partition: string, n: number): string => `${partition}:${n}`;
const unread = (partition: string, from: number): unknown[] =>
  Array.from({ length: MESSAGES - from }, (_, i) => [payloadOf(partition, from + i), 1]);

export class MovedRingsRun {
  private readonly differences: string[] = [];
  private compared = 0;

  constructor(
    private readonly scene: EphemeralScene,
    private readonly partitions: readonly string[],
  ) {}

  async run(): Promise<MovedRings> {
    const { scene } = this;
    await scene.send(1, 'POST', '/configure', {
      queue: QUEUE,
      options: { leaseSeconds: 600, retryLimit: 50 },
    });
    const filled: Filled[] = [];
    for (const partition of this.partitions) filled.push(await this.fill(partition));
    const node = await this.richest();
    const moving = new Set((await scene.owned(node, QUEUE)).keys());
    const before = await this.pending();
    const handed = await scene.stopNode(node);
    this.same('pending while it is away', await this.pending(), before);
    await scene.startNode(node);
    await scene.cluster.until(async () => (await scene.owned(node, QUEUE)).size === moving.size, {
      withinMs: 180_000,
      what: 'the partitions to move back',
    });
    this.same('partitions it holds again', [...(await scene.owned(node, QUEUE)).keys()].sort(), [
      ...[...moving].sort(),
    ]);
    this.same('pending when it is back', await this.pending(), before);
    for (const one of filled) await this.compare(one, moving.has(one.partition));
    const { compared, differences } = this;
    return { node, partitions: moving.size, handed, compared, differences };
  }

  /**
   * Group g: 0 done, 1 and 3 leased once, 2 failed and leased again, 4 and on unread. Group h: 0 to 2 committed
   * on delivery. Group idle: nothing read.
   */
  private async fill(partition: string): Promise<Filled> {
    const { scene } = this;
    await scene.pop(1, QUEUE, `partition=${partition}&group=idle`);
    const payloads = Array.from({ length: MESSAGES }, (_, n) => payloadOf(partition, n));
    const { status } = await scene.push(1, QUEUE, partition, payloads);
    if (status !== 201) throw new Error(`push answered ${status}`);
    const g = await scene.pop(2, QUEUE, `partition=${partition}&batch=4&group=g`);
    const [done, first, failed, third] = g.map(({ id }) => id);
    await scene.send(3, 'POST', '/ack', {
      ...{ queue: QUEUE, group: 'g' },
      acks: [{ id: done }, { id: failed, status: 'failed' }],
    });
    const [again] = await scene.pop(3, QUEUE, `partition=${partition}&batch=1&group=g`);
    if (again?.attempts !== 2) throw new Error('the failed message did not come back');
    await scene.pop(1, QUEUE, `partition=${partition}&batch=3&group=h&commitOnDelivery=true`);
    return { partition, leased: [first ?? '', again.id, third ?? ''] };
  }

  private async compare({ partition, leased }: Filled, hasMoved: boolean): Promise<void> {
    const { scene } = this;
    const at = 1 + (this.compared % scene.cluster.ids.length);
    const pop = async (group: string): Promise<unknown> => {
      const query = `partition=${partition}&batch=100&group=${group}`;
      const popped: Message[] = await scene.pop(at, QUEUE, query);
      return popped.map(({ payload, attempts }) => [payload, attempts]);
    };
    // A lease ends when its ring moves: the message comes back with one attempt more; its id is stale.
    const back = [1, 2, 3].map((n) => [payloadOf(partition, n), n === 2 ? 3 : 2]);
    const acks = leased.map((id) => ({ id }));
    const acked = await scene.send(at, 'POST', '/ack', { queue: QUEUE, group: 'g', acks });
    const outcomes = (acked.body['results'] as { outcome: string }[]).map((one) => one.outcome);
    const expected = leased.map(() => (hasMoved ? 'stale' : 'acked'));
    this.same(`${partition}: acks of leases from before`, outcomes, expected);
    this.same(`${partition}: group g`, await pop('g'), [
      ...[...(hasMoved ? back : []), ...unread(partition, 4)],
    ]);
    this.same(`${partition}: group h`, await pop('h'), unread(partition, 3));
    this.same(`${partition}: group idle`, await pop('idle'), unread(partition, 0));
    this.same(`${partition}: a new group`, await pop('new'), unread(partition, 0));
  }

  /** What every group has not passed, by partition, wherever it lives. */
  private async pending(): Promise<unknown> {
    const { scene } = this;
    const running = scene.cluster.ids.filter((id) => scene.cluster.node(id).isRunning);
    const rows: string[] = [];
    for (const group of GROUPS) {
      for (const id of running) {
        for (const [partition, pending] of await scene.owned(id, QUEUE, group)) {
          rows.push(`${partition} ${group} ${pending}`);
        }
      }
    }
    return rows.sort();
  }

  /** The node with the most partitions: something moves. */
  private async richest(): Promise<number> {
    const { ids } = this.scene.cluster;
    const sizes = await Promise.all(
      ids.map(async (id) => (await this.scene.owned(id, QUEUE)).size),
    );
    return ids[sizes.indexOf(Math.max(...sizes))] ?? 1;
  }

  private same(what: string, found: unknown, expected: unknown): void {
    this.compared += 1;
    const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
    if (a !== b) this.differences.push(`${what}: ${a} instead of ${b}`);
  }
}
