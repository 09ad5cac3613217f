/**
 * A cluster under writes with the steps an operator takes on it (docs/recovery.md): stop, wipe, replace,
 * force, look. Every step waits for what the page says to wait for.
 */
import { ClusterProcesses, type ClusterOptions } from '../../support/cluster-processes.js';
import { MembershipCalls } from '../membership-calls.js';
import { expectOneState } from './state-digests.js';
import { WriteLedger, type LedgerOptions } from './write-ledger.js';

const READY_MS = 180_000;
const PROBE_MS = 10_000;

/** Small logs, so that a node that was away needs a snapshot. */
export const SHORT_LOG = {
  QUEEN_RAFT_SEGMENT_BYTES: '1048576',
  QUEEN_RAFT_LOG_KEEP: '20',
  QUEEN_RAFT_PURGE_HOLD_S: '0',
  QUEEN_RAFT_DURABLE_EVERY_MS: '100',
};

export class Scene {
  readonly calls: MembershipCalls;

  private constructor(
    readonly cluster: ClusterProcesses,
    readonly ledger: WriteLedger,
  ) {
    this.calls = new MembershipCalls(cluster);
  }

  static async start(options: ClusterOptions = {}, writes: LedgerOptions = {}): Promise<Scene> {
    const cluster = await ClusterProcesses.start(options);
    try {
      await cluster.leader(cluster.ids, READY_MS);
    } catch (error) {
      await cluster.remove();
      throw error;
    }
    return new Scene(cluster, new WriteLedger(cluster, writes));
  }

  get ids(): number[] {
    return this.cluster.ids;
  }

  others(id: number): number[] {
    return this.ids.filter((one) => one !== id);
  }

  async follower(): Promise<number> {
    const leader = await this.cluster.leader();
    return this.others(leader)[0] ?? 0;
  }

  start(id: number, env: Readonly<Record<string, string>> = {}): void {
    this.cluster.node(id).setEnv(env);
    this.cluster.node(id).start();
  }

  async kill(...ids: readonly number[]): Promise<void> {
    await Promise.all(ids.map((id) => this.cluster.stop(id, 'SIGKILL')));
  }

  /** The node's start ends with code 1 and this text. */
  async expectRefusal(id: number, text: string | RegExp): Promise<void> {
    const node = this.cluster.node(id);
    node.log = '';
    node.start();
    expect(await node.ended(READY_MS)).toBe(1);
    expect(node.log).toMatch(text);
  }

  /** A node has written this line. */
  says(text: string): boolean {
    return this.ids.some((id) => this.cluster.node(id).log.includes(text));
  }

  /** Every node has applied the same, and nothing more comes. */
  async settled(ids: readonly number[] = this.ids): Promise<void> {
    await this.cluster.until(
      async () => {
        const all = await Promise.all(ids.map((id) => this.cluster.health(id)));
        return new Set(all.map((health) => health?.applied)).size === 1;
      },
      { withinMs: READY_MS, what: 'every node to have applied the same' },
    );
  }

  /** DELETE, wipe, join, POST learners, POST promote; takes part and commits when it resolves. */
  async replace(id: number, through: number): Promise<void> {
    await this.calls.remove(through, id);
    if (this.cluster.node(id).isRunning) await this.kill(id);
    await this.cluster.wipe(id);
    await this.rejoin(id, through);
  }

  /** Of an empty directory whose number is free. */
  async rejoin(id: number, through: number): Promise<void> {
    const { cluster, calls } = this;
    await cluster.join(id, { QUEEN_RAFT_FORCE_RECOVER: '' });
    await cluster.until(async () => (await cluster.health(id))?.role === 'learner', {
      withinMs: READY_MS,
      what: `node ${id} to wait for its addition`,
    });
    await calls.add(through, id);
    await calls.promote(through, id);
    await cluster.ready(id, READY_MS);
    await this.probe(id);
  }

  /** UNSAFE recovery of one survivor, then its normal start. */
  async force(id: number): Promise<void> {
    const { cluster } = this;
    this.start(id, { QUEEN_RAFT_FORCE_RECOVER: String(id) });
    await this.alone(id);
    expect(cluster.node(id).log).toContain('UNSAFE RECOVERY');
    await cluster.stop(id);
    this.start(id, { QUEEN_RAFT_FORCE_RECOVER: '' });
    await this.alone(id);
  }

  /** It is the only voter and commits. */
  async alone(id: number): Promise<void> {
    await this.cluster.ready(id, READY_MS);
    expect(await this.calls.show(id)).toMatchObject({ voters: [id], learners: [], leader: id });
    await this.probe(id);
  }

  /** Does the cluster commit, through this node? */
  async probe(id: number): Promise<void> {
    await this.cluster.until(() => this.commits(id), {
      withinMs: READY_MS,
      what: `a write probe through node ${id}`,
    });
  }

  private async commits(id: number): Promise<boolean> {
    try {
      const response = await fetch(`${this.cluster.url(id)}/api/v1/kv/ops/probe`, {
        method: 'PUT',
        body: JSON.stringify({ value: 'now', ttlSeconds: 60 }),
        signal: AbortSignal.timeout(PROBE_MS),
      });
      await response.text();
      return response.status === 200;
    } catch (error) {
      // Not answered: it does not commit yet.
      return error instanceof Error ? false : false;
    }
  }

  /** Nothing acknowledged is missing, except exactly these; all nodes hold one state. */
  async finish(lost: ReadonlySet<string> = new Set()): Promise<string> {
    const { ledger, cluster } = this;
    await ledger.stop();
    for (const id of this.ids) {
      const found = await ledger.compare(id);
      expect({ id, ...found, lost: [...found.lost].sort() }).toEqual({
        ...{ id, lost: [...lost].sort(), twice: [], foreign: [] },
      });
    }
    if (this.ids.length > 1) await expectOneState(cluster);
    const gone = lost.size === 0 ? '' : ': exactly those the kept disk never had';
    return `${lost.size} of ${ledger.acknowledged.size} lost${gone}`;
  }

  /** What the ledger got acknowledged while this ran. */
  async during(work: () => Promise<unknown>): Promise<Set<string>> {
    const before = new Set(this.ledger.acknowledged);
    await work();
    return new Set([...this.ledger.acknowledged].filter((one) => !before.has(one)));
  }
}

/** Time a step takes, as the table shows it. */
export async function timed(work: () => Promise<unknown>): Promise<string> {
  const from = performance.now();
  await work();
  return `${((performance.now() - from) / 1000).toFixed(1)} s`;
}
