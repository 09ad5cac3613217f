/**
 * Retention and cleanup on the leader (spec §2.9): walks the partitions of queues with a rule once per
 * round, in slices at a bounded pace, and proposes bounded commands that name exact targets. Volatile:
 * what it remembers only spares reads, and losing it loses nothing. One round runs at a time.
 */
import type { PartitionId, QueueId } from '../../common/ids.js';
import { micros } from '../../common/ids.js';
import type { DropPartitionsCommand, TrimPartitionsCommand } from '../../machine/commands/index.js';
import type { Outcome } from '../../machine/commands/index.js';
import type { PartitionDrop, PartitionTrim } from '../../machine/commands/index.js';
import type { QueueRow, Tables } from '../../machine/tables/tables.js';
import type { GroupView, PreparedCommand } from '../../raft/group/group.js';
import { slotFrom } from '../../reads/partition-walk.js';
import { droppable } from './cleanup-rules.js';
import { withoutState } from './stream-state.js';
import { FirstAppends } from './first-appends.js';
import { rulesAt } from './retention-rules.js';
import { mayBeDue, planTrim } from './trim-plan.js';
import type { Judged } from './trim-plan.js';

/** Partitions judged before the loop gets a turn. */
const SLICE = 500;
/** Targets of one command. */
const MAX_TARGETS = 256;
/** A partition cut by the batch size is looked at again after this. */
const AGAIN_MS = 40;

export interface RetentionHost {
  readonly tables: Tables;
  propose(command: PreparedCommand): Promise<Outcome>;
  view(): Promise<GroupView>;
  nowMicros(): number;
}

export interface RetentionOptions {
  /** Between two rounds (RETENTION_INTERVAL). */
  readonly intervalMs: number;
  /** Appends cut per partition and round (RETENTION_BATCH_SIZE). */
  readonly batchSize: number;
  /** Pace of the walk, Infinity: as fast as the slices go. */
  readonly partitionsPerSecond: number;
  /** Idle time after which an empty partition goes; null: never. */
  readonly cleanupAfterMicros: number | null;
  readonly cleanupEveryMs: number;
  readonly encodeTrim: (command: TrimPartitionsCommand) => Uint8Array;
  readonly encodeDrop: (command: DropPartitionsCommand) => Uint8Array;
  readonly sleep: (ms: number) => Promise<void>;
  readonly monotonicMs: () => number;
  readonly failed: (error: unknown) => void;
}

interface Target {
  readonly queueId: QueueId;
  readonly partitionId: PartitionId;
}

export class RetentionSweeper {
  private readonly firsts = new FirstAppends();
  /** Rises with every start and stop: an older run ends at its next step. */
  private run = 0;
  private running = false;
  private nextCleanupMs = 0;

  constructor(
    private readonly host: RetentionHost,
    private readonly options: RetentionOptions,
  ) {}

  start(): void {
    if (this.running) return;
    this.running = true;
    this.run += 1;
    this.firsts.clear();
    void this.rounds(this.run);
  }

  stop(): void {
    if (!this.running) return;
    this.running = false;
    this.run += 1;
  }

  private async rounds(run: number): Promise<void> {
    while (this.run === run) {
      try {
        await this.round(run);
      } catch (error) {
        // Stepped down, or the store could not be read: the next round, or the next leader, goes on.
        if (this.run === run) this.options.failed(error);
      }
      if (this.run === run) await this.options.sleep(this.options.intervalMs);
    }
  }

  /** One look at everything; for tests too. */
  async round(run = this.run): Promise<void> {
    let again: Target[] = [];
    for (const { id } of this.host.tables.queues.live()) {
      if (this.run !== run) return;
      again.push(...(await this.sweepQueue(run, id)));
    }
    while (again.length > 0 && this.run === run) {
      await this.options.sleep(AGAIN_MS);
      const due = again;
      again = [];
      for (let at = 0; at < due.length && this.run === run; at += MAX_TARGETS) {
        again.push(...(await this.trim(due.slice(at, at + MAX_TARGETS))));
      }
    }
    const { cleanupAfterMicros, cleanupEveryMs, monotonicMs } = this.options;
    if (cleanupAfterMicros === null || monotonicMs() < this.nextCleanupMs) return;
    this.nextCleanupMs = monotonicMs() + cleanupEveryMs;
    await this.cleanUp(run, cleanupAfterMicros);
  }

  /** Partitions of the queue that were cut by the batch size. */
  private async sweepQueue(run: number, queueId: QueueId): Promise<Target[]> {
    const again: Target[] = [];
    if (this.judged(queueId) === undefined) return again;
    let due: Target[] = [];
    await this.walk(run, queueId, async (slots) => {
      const judged = this.judged(queueId);
      if (judged === undefined) return;
      const { partitions } = this.host.tables;
      for (const slot of slots) {
        if (mayBeDue(judged, slot)) due.push({ queueId, partitionId: partitions.id(slot) });
      }
      while (due.length > 0 && this.run === run) {
        again.push(...(await this.trim(due.splice(0, MAX_TARGETS))));
      }
      due = [];
    });
    return again;
  }

  private judged(queueId: QueueId): Judged | undefined {
    const { tables } = this.host;
    const queue = tables.queues.byId(queueId);
    const rules = queue === undefined ? undefined : rulesAt(queue.options, this.host.nowMicros());
    if (queue === undefined || rules === undefined) return undefined;
    return { tables, queue, rules, firsts: this.firsts, batchSize: this.options.batchSize };
  }

  /** Reads the targets' rows and proposes what goes; returns those with more to go. */
  private async trim(targets: readonly Target[]): Promise<Target[]> {
    const trims: PartitionTrim[] = [];
    const again: Target[] = [];
    const view = await this.host.view();
    try {
      for (const target of targets) {
        const judged = this.judged(target.queueId);
        const slot = this.host.tables.partitions.byId(target.partitionId);
        const planned =
          judged === undefined || slot < 0 ? null : await planTrim(judged, view, slot);
        if (planned === null) continue;
        trims.push(planned.trim);
        if (planned.isCut) again.push(target);
      }
    } finally {
      await view.close();
    }
    if (trims.length === 0) return [];
    await this.host.propose({ bytes: this.options.encodeTrim({ trims }) });
    return again;
  }

  private async cleanUp(run: number, afterMicros: number): Promise<void> {
    for (const queue of this.host.tables.queues.live()) {
      await this.walk(run, queue.id, (slots) => this.dropIdle(queue, slots, afterMicros));
    }
  }

  private async dropIdle(
    queue: QueueRow,
    slots: readonly number[],
    afterMicros: number,
  ): Promise<void> {
    const { tables } = this.host;
    const idleSince = micros(Math.max(0, this.host.nowMicros() - afterMicros));
    const idle: PartitionDrop[] = [];
    for (const slot of slots) {
      if (!droppable(tables, slot, idleSince)) continue;
      const lastOffset = tables.partitions.lastOffset(slot);
      idle.push({ queueId: queue.id, partitionId: tables.partitions.id(slot), lastOffset });
    }
    const drops = await withoutState(this.host, queue, idle);
    while (drops.length > 0) {
      const bytes = this.options.encodeDrop({ idleSince, drops: drops.splice(0, MAX_TARGETS) });
      await this.host.propose({ bytes });
    }
  }

  /** The partitions of a queue, a slice of slots at a time; slots count until the visitor waits. */
  private async walk(
    run: number,
    queueId: QueueId,
    visit: (slots: readonly number[]) => Promise<void>,
  ): Promise<void> {
    const { tables } = this.host;
    const { partitions } = tables;
    const pauseMs = (SLICE / this.options.partitionsPerSecond) * 1000;
    let slot = tables.queues.byId(queueId)?.firstPartition ?? -1;
    while (slot >= 0 && this.run === run) {
      const slots: number[] = [];
      for (; slot >= 0 && slots.length < SLICE; slot = partitions.nextInQueue(slot)) {
        slots.push(slot);
      }
      const resumeAt = slot < 0 ? null : partitions.id(slot);
      await visit(slots);
      if (resumeAt === null) return;
      await this.options.sleep(pauseMs);
      if (tables.queues.byId(queueId) === undefined) return;
      slot = slotFrom(tables, queueId, resumeAt);
    }
  }
}
