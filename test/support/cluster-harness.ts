/**
 * Three (or more) real cluster members in this process over the in-memory network: real WAL, store and
 * machine in temporary directories, real dispatcher. Members can be stopped, killed and started again.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeId } from '../../src/common/ids.js';
import { UuidMint } from '../../src/common/uuid-v7.js';
import { systemClock, systemRandom } from '../../src/config/index.js';
import { Dispatcher } from '../../src/coordinators/dispatcher/dispatcher.js';
import { encodeClaim } from '../../src/machine/commands/index.js';
import type { ClusterGroup } from '../../src/raft/group/cluster/cluster-group.js';
import type { ClusterTiming } from '../../src/raft/group/cluster/cluster-parts.js';
import type { CallOptions } from '../../src/raft/group/group.js';
import type { GroupLog } from '../../src/raft/group/ports.js';
import type { OpenedClusterGroup } from '../../src/raft/open-cluster-group.js';
import { openClusterGroup } from '../../src/raft/open-cluster-group.js';
import type { LoggedLine } from './group-harness.js';
import { MemoryNetwork } from './memory-network.js';

export const QUICK: ClusterTiming = {
  tickMs: 20,
  electionTicks: 10,
  heartbeatTicks: 1,
  pipelineEntries: 8,
  logCacheBytes: 16 * 1024 * 1024,
  leaderLeaseMs: 400,
  readyLagEntries: 1000,
  bootWaitMs: 30_000,
};

export interface StartOptions {
  readonly join?: boolean;
  /** Only these start with `create`; the others are listed as well and start later. */
  readonly early?: readonly number[];
  readonly forceRecover?: boolean;
  readonly directory?: string;
  readonly segmentBytes?: number;
  readonly timing?: Partial<ClusterTiming>;
  /** Fills the harness's directory before the first start. */
  readonly prepare?: (directory: string) => Promise<void>;
}

export class ClusterHarness {
  readonly network = new MemoryNetwork();
  readonly lines: (LoggedLine & { readonly node: number })[] = [];
  private readonly members = new Map<number, OpenedClusterGroup>();
  /** Nodes that ended to load a snapshot, as often as they did. */
  readonly reloads: number[] = [];

  private constructor(
    readonly directory: string,
    readonly ids: readonly number[],
  ) {}

  static async create(size = 3, options: StartOptions = {}): Promise<ClusterHarness> {
    const directory = await mkdtemp(join(tmpdir(), 'queen-cluster-'));
    const ids = Array.from({ length: size }, (_, i) => i + 1);
    const harness = new ClusterHarness(directory, ids);
    await options.prepare?.(directory);
    await Promise.all((options.early ?? ids).map((id) => harness.start(id, options)));
    return harness;
  }

  async start(id: number, options: StartOptions = {}): Promise<void> {
    const opened = await openClusterGroup({
      directory: options.directory ?? join(this.directory, `n${id}`),
      nodeId: id,
      clusterId: 'test',
      voters: this.ids,
      join: options.join === true,
      forceRecover: options.forceRecover === true,
      restart: () => {
        this.reloads.push(id);
      },
      timing: { ...QUICK, ...options.timing },
      ...(options.segmentBytes === undefined ? {} : { segmentBytes: options.segmentBytes }),
      checkpointMs: 50,
      diskGate: null,
      log: this.log(id),
      connect: () => this.network.port(nodeId(id)),
    });
    const mint = new UuidMint(systemClock, systemRandom);
    opened.group.attachDispatcher(
      new Dispatcher(opened.group, {
        skewMicros: 500_000,
        replyMarginMs: 50,
        maxPopBytes: 16 * 1024 * 1024,
        tickMs: 10,
        idleLaneMs: 60_000,
        monotonicMs: () => performance.now(),
        mintLeaseId: () => mint.mint(),
        encodeClaim,
      }),
    );
    this.members.set(id, opened);
  }

  group(id: number): ClusterGroup {
    const member = this.members.get(id);
    if (member === undefined) throw new Error(`node ${id} is not running`);
    return member.group;
  }

  get running(): number[] {
    return [...this.members.keys()].sort((a, b) => a - b);
  }

  /** Id of the member that leads and serves, within the time. */
  async leader(withinMs = 60_000): Promise<number> {
    const end = performance.now() + withinMs;
    while (performance.now() < end) {
      const found = this.running.find((id) => this.group(id).status().role === 'leader');
      if (found !== undefined) return found;
      await pause();
    }
    throw new Error('no leader was elected in time');
  }

  async stop(id: number): Promise<void> {
    const member = this.members.get(id);
    this.members.delete(id);
    await member?.close();
  }

  /** Ends like a crash: nothing is finished or handed over. */
  async kill(id: number): Promise<void> {
    const member = this.members.get(id);
    this.members.delete(id);
    await member?.group.abandon();
    await member?.close();
  }

  isolate(id: number): void {
    this.network.isolate(nodeId(id));
  }

  soon(ms = 60_000): CallOptions {
    return { deadlineMs: performance.now() + ms };
  }

  /** Resolves when every running member has applied the same index. */
  async settled(withinMs = 60_000): Promise<void> {
    const end = performance.now() + withinMs;
    while (performance.now() < end) {
      const applied = this.running.map((id) => this.group(id).status().applied);
      if (applied.every((index) => index === applied[0])) return;
      await pause();
    }
    throw new Error('members did not reach the same index in time');
  }

  async remove(): Promise<void> {
    await Promise.all(this.running.map((id) => this.stop(id)));
    await rm(this.directory, { recursive: true, force: true });
  }

  private log(node: number): GroupLog {
    const at =
      (level: LoggedLine['level']) =>
      (event: string, fields: Readonly<Record<string, unknown>> = {}): void => {
        this.lines.push({ node, level, event, fields });
      };
    return { info: at('info'), warn: at('warn'), error: at('error') };
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 10);
  });
}
