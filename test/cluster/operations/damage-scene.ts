/**
 * A single node's data directory with a known content, copied anew for every damage: what its start says,
 * and whether it then serves all of it. The node is a real process of the build.
 */
import { cpSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ClusterProcesses } from '../../support/cluster-processes.js';
import { RepairScene } from '../repair-scene.js';

const ENDED_MS = 60_000;

export const SINGLE = { QUEEN_RAFT_REPLICATOR: 'local', QUEEN_RAFT_PEERS: '' };

/** Reads come from the files, and nothing looks at them by itself. */
const READ_FROM_FILES = {
  QUEEN_RAFT_SEGMENT_BYTES: '1048576',
  QUEEN_TAIL_CACHE_MB: '0',
  QUEEN_SCRUB_BYTES_PER_S: '0',
};

export class DamageScene {
  private constructor(
    readonly cluster: ClusterProcesses,
    readonly messages: RepairScene,
    private readonly whole: string,
  ) {}

  /** `fill` writes what shall be there; then the node is killed. */
  static async make(
    env: Readonly<Record<string, string>>,
    fill: (scene: DamageScene) => Promise<void>,
    groups = 1,
  ): Promise<DamageScene> {
    const options = { size: 1, groups, env: { ...SINGLE, ...READ_FROM_FILES, ...env } };
    const cluster = await ClusterProcesses.start(options);
    const scene = new DamageScene(
      cluster,
      new RepairScene(cluster),
      join(cluster.directory, 'whole'),
    );
    try {
      await cluster.ready(1);
      await fill(scene);
      await scene.kill();
      cpSync(scene.directory, scene.whole, { recursive: true });
    } catch (error) {
      await cluster.remove();
      throw error;
    }
    return scene;
  }

  get directory(): string {
    return this.cluster.directoryOf(1);
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  get log(): string {
    return this.cluster.node(1).log;
  }

  async kill(): Promise<void> {
    if (this.cluster.node(1).isRunning) await this.cluster.stop(1, 'SIGKILL');
  }

  /** The directory as `fill` left it; the node does not run. */
  async restore(): Promise<void> {
    await this.kill();
    rmSync(this.directory, { recursive: true, force: true });
    cpSync(this.whole, this.directory, { recursive: true });
  }

  start(): void {
    this.cluster.node(1).log = '';
    this.cluster.node(1).start();
  }

  /** One FATAL line, exit 1, and it can be read: no signal ends the process. */
  async expectRefused(text: RegExp): Promise<void> {
    this.start();
    const code = await this.cluster.node(1).ended(ENDED_MS);
    expect([code, this.log]).toEqual([1, expect.stringMatching(text)]);
    expect(this.log).toContain('FATAL: ');
  }

  async expectServed(): Promise<void> {
    this.start();
    await this.cluster.ready(1);
    await this.messages.expectAll(1);
  }

  /** It starts, a read meets the damage, nothing is served any more; the reason names the file. */
  async expectStoppedByRead(text: RegExp): Promise<void> {
    this.start();
    const { cluster } = this;
    // On a busy machine the collector may meet the damage before anybody reads.
    const ready = async (): Promise<boolean> => {
      const health = await cluster.health(1);
      return health?.status === 200 || (health?.apply.failure ?? null) !== null;
    };
    await cluster.until(ready, { withinMs: ENDED_MS, what: 'the node to serve, or to stop' });
    expect(await this.messages.readAll(1)).toBeNull();
    await this.messages.expectStopped(1);
    expect(this.log).toMatch(text);
    expect((await this.cluster.health(1, 30_000))?.apply.failure?.error).toMatch(text);
    expect(this.cluster.node(1).isRunning).toBe(true);
  }

  segments(state: 'active' | 'sealed' | 'retired'): Promise<string[]> {
    return this.messages.segments(1, state);
  }

  /** Path of the largest file of a directory whose name fits. */
  largest(directory: string, names: RegExp): string {
    const found = readdirSync(this.path(directory))
      .filter((name) => names.test(name))
      .map((name) => join(this.path(directory), name))
      .sort((a, b) => statSync(b).size - statSync(a).size);
    if (found[0] === undefined) throw new Error(`${directory} holds no such file`);
    return found[0];
  }

  garbage(name: string): void {
    writeFileSync(this.path(name), 'garbage, not what was written here: 0123456789\n'.repeat(200));
  }
}
