/**
 * One simulated member: core, disk that survives crashes, state machine whose checkpoint survives,
 * queues that do not. It plays the driver and keeps rules D1 to D7.
 */
import { logIndex, nodeId, type LogIndex, type NodeId } from '../../../src/common/ids.js';
import { RaftCore } from '../../../src/raft/core/core.js';
import { decodeConfigChange } from '../../../src/raft/core/membership-codec.js';
import { changeConfig, memberIds, sameConfig } from '../../../src/raft/core/membership.js';
import type { Message } from '../../../src/raft/core/messages.js';
import type { CoreState } from '../../../src/raft/core/state.js';
import type { ConfigState, Entry, Ready, SnapshotMeta } from '../../../src/raft/core/types.js';
import { MemoryLog } from './memory-log.js';
import { SafetyViolation, type Oracle } from './oracle.js';
import type { Prng } from './prng.js';
import type { Swarm } from './swarm.js';

/** State machine contents: enough to compare sequences and to restart from. */
interface Machine {
  applied: LogIndex;
  digest: number;
  config: ConfigState;
}

interface AppendJob {
  readonly ready: Ready;
  /** Rule D1: messages of this and later Readys that wait for the ballot to be on disk. */
  held: Message[];
}

export class SimNode {
  readonly disk = new MemoryLog();
  core: RaftCore | undefined;
  private machine: Machine;
  private checkpoint: Machine;
  private appendJobs: AppendJob[] = [];
  private applyJobs: (readonly Entry[])[] = [];

  constructor(
    readonly id: NodeId,
    private readonly world: {
      readonly random: Prng;
      readonly swarm: Swarm;
      readonly oracle: Oracle;
      readonly post: (message: Message) => void;
      /** Safety is judged after every step, before the next one can change the membership. */
      readonly touched: (node: SimNode) => void;
    },
    seed: SnapshotMeta | undefined,
  ) {
    if (seed !== undefined) {
      this.disk.installSnapshot(seed);
      this.disk.hardState = { term: seed.term, vote: nodeId(0), commit: seed.index };
    }
    const config = this.disk.config;
    this.machine = { applied: seed?.index ?? logIndex(0), digest: 0, config };
    this.checkpoint = { ...this.machine };
    this.start();
  }

  get state(): CoreState {
    return (this.core as unknown as { state: CoreState }).state;
  }

  start(): void {
    const { swarm, random } = this.world;
    this.machine = { ...this.checkpoint };
    this.disk.config = this.machine.config;
    this.disk.snapshotSource = (peer) => this.offerSnapshot(peer);
    this.core = new RaftCore({
      id: this.id,
      log: this.disk,
      random: (bound) => random.below(bound),
      applied: this.machine.applied,
      ...swarm.core,
    });
  }

  /** One that does not know the peer yet is replaced, which takes a while. */
  private offerSnapshot(peer: NodeId): SnapshotMeta | 'preparing' {
    const { snapshot } = this.disk;
    const isUseful = snapshot !== undefined && memberIds(snapshot.config).includes(peer);
    if (!isUseful) this.takeCheckpoint(false);
    return !isUseful || this.world.random.chance(0.1) ? 'preparing' : snapshot;
  }

  crash(): void {
    this.core = undefined;
    this.appendJobs = [];
    this.applyJobs = [];
    this.world.oracle.forgetCommit(this.id);
  }

  hasAppendJob(): boolean {
    return this.appendJobs.length > 0;
  }

  hasApplyJob(): boolean {
    return this.applyJobs.length > 0;
  }

  handleReady(core: RaftCore): void {
    if (!core.hasReady()) return;
    const ready = core.takeReady();
    for (const read of ready.readStates) this.world.oracle.checkRead(read.context, read.index);
    const job: AppendJob = { ready, held: [] };
    const early = !this.world.swarm.holdBallots ? undefined : this.lastHoldingJob(job);
    if (early === undefined) ready.messages.forEach(this.world.post);
    else early.held.push(...ready.messages);
    if (ready.persist !== undefined) this.appendJobs.push(job);
    if (ready.committed.length > 0) this.applyJobs.push(ready.committed);
    if (this.world.swarm.core.asyncStorage) return;
    while (this.hasAppendJob()) this.finishAppend(core);
    while (this.hasApplyJob()) this.finishApply(core);
  }

  private lastHoldingJob(job: AppendJob): AppendJob | undefined {
    return [...this.appendJobs, job].reverse().find((other) => other.ready.holdMessages);
  }

  finishAppend(core: RaftCore): void {
    const job = this.appendJobs.shift();
    if (job === undefined) return;
    const { hardState, snapshot, entries, messagesAfterPersist, persist } = job.ready;
    if (snapshot !== undefined) this.installSnapshot(snapshot);
    this.disk.append(entries);
    if (hardState !== undefined) this.disk.setHardState(hardState);
    job.held.forEach(this.world.post);
    messagesAfterPersist.forEach(this.world.post);
    if (persist !== undefined) core.onPersisted(persist);
    this.world.touched(this);
  }

  private installSnapshot(snapshot: SnapshotMeta): void {
    this.disk.installSnapshot(snapshot);
    if (snapshot.index <= this.machine.applied) return;
    this.machine = {
      applied: snapshot.index,
      digest: this.world.oracle.digestAt(snapshot.index),
      config: snapshot.config,
    };
    this.checkpoint = { ...this.machine };
  }

  finishApply(core: RaftCore): void {
    const entries = this.applyJobs.shift();
    for (const entry of entries ?? []) {
      // Rule D2: a snapshot has overtaken this entry.
      if (entry.index <= this.machine.applied) continue;
      this.applyEntry(core, entry);
    }
    const last = entries?.[entries.length - 1];
    if (last !== undefined) core.onApplied(last.index);
    this.world.touched(this);
  }

  private applyEntry(core: RaftCore, entry: Entry): void {
    if (entry.index !== this.machine.applied + 1) {
      throw new SafetyViolation(
        `node ${this.id} applied ${entry.index} after ${this.machine.applied}`,
      );
    }
    this.machine.digest = this.world.oracle.checkApplied(this.id, entry, this.machine.digest);
    this.machine.applied = entry.index;
    if (entry.kind !== 'membership') return;
    const change = decodeConfigChange(entry.data);
    if (change === 'malformed') throw new SafetyViolation('malformed membership entry');
    const outcome = changeConfig(this.machine.config, change);
    if (!outcome.ok) throw new SafetyViolation(`membership entry refused: ${outcome.refusal}`);
    this.machine.config = outcome.config;
    const overtaken = entry.index <= this.state.configIndex;
    const config = core.applyConfigChange(change, entry.index);
    this.world.touched(this);
    if (!overtaken && !sameConfig(config, outcome.config)) {
      throw new SafetyViolation(`node ${this.id} has another membership at ${entry.index}`);
    }
  }

  /** The state machine becomes durable; now and then it is offered as snapshot and the log is cut. */
  takeCheckpoint(compact: boolean): void {
    const { applied, config } = this.machine;
    const term = this.disk.termOf(applied);
    // Installed in memory of the core, not yet on disk.
    if (typeof term !== 'number') return;
    this.checkpoint = { ...this.machine };
    this.disk.snapshot = { index: applied, term, config };
    if (compact) this.disk.compact(applied);
  }

  appliedIndex(): LogIndex {
    return this.machine.applied;
  }
}
