/**
 * The loop that owns one consensus core: ticks, messages and proposals in; Readys carried out in the
 * order the core demands (persist, then messages that vouch for it, then acknowledgement; committed
 * entries to apply). Rule D1: when term or vote changed, no message of that or a later Ready leaves
 * before it is durable. Never re-entered: every entry point ends in `pump`.
 */
import type { LogIndex, NodeId, Term } from '../../../common/ids.js';
import { RaftCore } from '../../core/index.js';
import type {
  ConfigChange,
  ConfigState,
  CoreOptions,
  CoreStatus,
  Entry,
  HardState,
  Message,
  ProposeResult,
  ReadContext,
  ReadResult,
  ReadState,
  Ready,
  SoftState,
  TransferResult,
} from '../../core/index.js';
import type { PersistJob } from './persist-queue.js';
import { PersistQueue } from './persist-queue.js';

export interface RaftLoopHooks {
  append(entries: readonly Entry[], hardState: HardState | undefined): Promise<void>;
  /** Only the commit moved: remembered lazily, no sync. */
  commitMoved(commit: LogIndex): void;
  send(message: Message): void;
  committed(entries: readonly Entry[]): void;
  /** Leader or role changed, perhaps the term too. */
  softState(state: SoftState): void;
  /** The term moved while leader and role look the same. */
  termMoved(): void;
  readState(state: ReadState): void;
  /** The log cannot be written, or the core found a broken invariant. */
  failed(error: unknown): void;
}

export class RaftLoop {
  private readonly core: RaftCore;
  private readonly queue: PersistQueue;
  private pumping = false;
  private again = false;
  private stopped = false;
  private scheduled = false;
  /** Readys whose messages wait for a vote or term to become durable. */
  private holding = 0;
  /** Commit that moved while entries waited to be written. */
  private lateCommit: LogIndex | null = null;
  /** Term of the newest Ready. */
  private newestTerm: Term;

  constructor(
    options: CoreOptions,
    private readonly hooks: RaftLoopHooks,
  ) {
    this.core = new RaftCore(options);
    this.newestTerm = this.core.status().term;
    this.queue = new PersistQueue({
      append: (entries, hardState) => hooks.append(entries, hardState),
      persisted: (job) => this.persisted(job),
      settled: () => this.settled(),
      failed: (error) => hooks.failed(error),
    });
  }

  get term(): Term {
    return this.newestTerm;
  }

  status(): CoreStatus {
    return this.core.status();
  }

  tick(): void {
    this.guarded(() => this.core.tick());
  }

  step(message: Message): void {
    this.guarded(() => this.core.step(message));
  }

  propose(data: Uint8Array): ProposeResult {
    return this.enter(() => this.core.propose(data));
  }

  proposeChange(change: ConfigChange): ProposeResult {
    return this.enter(() => this.core.proposeChange(change));
  }

  readIndex(context: ReadContext): ReadResult {
    return this.enter(() => this.core.readIndex(context));
  }

  transferLeadership(to: NodeId): TransferResult {
    return this.enter(() => this.core.transferLeadership(to));
  }

  setCampaigning(allowed: boolean): void {
    this.guarded(() => this.core.setCampaigning(allowed));
  }

  reportUnreachable(id: NodeId): void {
    this.guarded(() => this.core.reportUnreachable(id));
  }

  /** The first membership of a node that was started without one. */
  adoptConfig(config: ConfigState): void {
    this.enter(() => this.core.adoptConfig(config));
  }

  reportSnapshot(id: NodeId, outcome: 'sent' | 'failed'): void {
    this.guarded(() => this.core.reportSnapshot(id, outcome));
  }

  applyConfigChange(change: ConfigChange, index: LogIndex): ConfigState {
    return this.enter(() => this.core.applyConfigChange(change, index));
  }

  /** Entries up to `index` are applied; new work is looked for at the end of the turn. */
  applied(index: LogIndex): void {
    if (this.stopped) return;
    this.core.onApplied(index);
    this.pumpSoon();
  }

  logLoaded(): void {
    this.guarded(() => this.core.onLogLoaded());
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.queue.stop();
  }

  private enter<T>(action: () => T): T {
    const result = action();
    this.pump();
    return result;
  }

  /** Entry points of peers and timers: a broken invariant stops the node, not its caller. */
  private guarded(action: () => void): void {
    if (this.stopped) return;
    try {
      action();
    } catch (error) {
      this.stopped = true;
      this.hooks.failed(error);
      return;
    }
    this.pump();
  }

  private pumpSoon(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      this.pump();
    });
  }

  private pump(): void {
    if (this.pumping) {
      this.again = true;
      return;
    }
    this.pumping = true;
    try {
      do {
        this.again = false;
        while (!this.stopped && this.core.hasReady()) this.carryOut(this.core.takeReady());
      } while (this.again);
    } catch (error) {
      this.stopped = true;
      this.hooks.failed(error);
    } finally {
      this.pumping = false;
    }
  }

  private carryOut(ready: Ready): void {
    if (ready.hardState !== undefined) {
      const moved = ready.hardState.term !== this.newestTerm;
      this.newestTerm = ready.hardState.term;
      if (moved && ready.softState === undefined) this.hooks.termMoved();
    }
    if (ready.softState !== undefined) this.hooks.softState(ready.softState);
    if (ready.snapshot !== undefined) throw new Error('a snapshot arrived that nobody can install');
    if (ready.holdMessages) this.holding += 1;
    const hold = this.holding > 0;
    if (!hold) for (const message of ready.messages) this.hooks.send(message);
    this.persist(ready, hold);
    for (const state of ready.readStates) this.hooks.readState(state);
    if (ready.committed.length > 0) this.hooks.committed(ready.committed);
  }

  private persist(ready: Ready, hold: boolean): void {
    const { entries, hardState, persist } = ready;
    const lazyCommit = hardState !== undefined && !ready.mustSync && entries.length === 0;
    if (lazyCommit) this.noteCommit(hardState.commit);
    const messages = hold
      ? [...ready.messages, ...ready.messagesAfterPersist]
      : ready.messagesAfterPersist;
    const needed = entries.length > 0 || ready.mustSync || persist !== undefined;
    if (!needed && messages.length === 0 && !ready.holdMessages) return;
    this.queue.push({
      entries,
      hardState: lazyCommit ? undefined : hardState,
      messages,
      ack: persist,
      releasesHold: ready.holdMessages,
    });
  }

  /** Entries that wait may replace what the log still ends with: that is not what is committed. */
  private noteCommit(commit: LogIndex): void {
    if (this.queue.isWaiting) this.lateCommit = commit;
    else this.hooks.commitMoved(commit);
  }

  private settled(): void {
    const { lateCommit } = this;
    if (lateCommit !== null && !this.queue.isWaiting) {
      this.lateCommit = null;
      this.hooks.commitMoved(lateCommit);
    }
    this.pump();
  }

  private persisted(job: PersistJob): void {
    if (job.releasesHold) this.holding -= 1;
    for (const message of job.messages) this.hooks.send(message);
    if (job.ack !== undefined) this.core.onPersisted(job.ack);
  }
}
