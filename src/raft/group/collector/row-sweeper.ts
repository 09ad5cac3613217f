/**
 * Removes append index rows that retention cut off, once nobody can ask for them any more: a row below
 * the start of its log stays for the recognition window of its queue. Node-local, in slices, resumable:
 * what is left is found again by a seek. No verdict depends on whether a row is still there, because
 * only rows older than the window at the last applied stamp go, and a window raised later does not
 * reach back to them (machine/apply/recognition.ts).
 */
import type { PartitionId, QueueId } from '../../../common/ids.js';
import type { GroupView } from '../group.js';
import type { MachineParts, RowsPort } from '../ports.js';
import { SlotColumns } from './slot-columns.js';

/** Partitions looked at, and rows deleted, between two breaths. */
const PARTITIONS_PER_SLICE = 1000;
const ROWS_PER_SLICE = 1000;
const BREATHE_MS = 5;

export interface RowSweeperParts {
  readonly machine: MachineParts;
  readonly rows: RowsPort;
  view(): Promise<GroupView>;
  isStopped(): boolean;
}

export class RowSweeper {
  /** Stamp of the oldest row left below the start of the log; Infinity: there is none. */
  private readonly oldestLeft = new SlotColumns();

  constructor(private readonly parts: RowSweeperParts) {}

  /** One walk over all partitions, then over what dropped ones left behind. */
  async sweep(): Promise<void> {
    const { queues } = this.parts.machine.tables;
    for (const { id } of queues.live()) await this.sweepQueue(id);
    await this.sweepDropped();
  }

  private async sweepQueue(queueId: QueueId): Promise<void> {
    const { partitions, queues } = this.parts.machine.tables;
    let slot = queues.byId(queueId)?.firstPartition ?? -1;
    while (slot >= 0 && !this.parts.isStopped()) {
      const due: PartitionId[] = [];
      for (let n = 0; slot >= 0 && n < PARTITIONS_PER_SLICE; n += 1) {
        if (this.mayHaveOld(slot)) due.push(partitions.id(slot));
        slot = partitions.nextInQueue(slot);
      }
      const resumeAt = slot < 0 ? null : partitions.id(slot);
      for (const id of due) await this.sweepPartition(queueId, id);
      if (resumeAt === null) return;
      await breathe();
      // A partition dropped meanwhile ends this walk; the next one begins anew.
      slot = partitions.byId(resumeAt);
    }
  }

  /** Rows stamped below may go: the last applied stamp lies below that of any entry to come. */
  private oldestNeeded(queueId: QueueId): number {
    const { machine } = this.parts;
    return machine.machine.lastStamp() - machine.rowWindowMicros(queueId);
  }

  private mayHaveOld(slot: number): boolean {
    const { partitions } = this.parts.machine.tables;
    const logStart = partitions.logStart(slot);
    if (logStart === 0) return false;
    const left = this.oldestLeft.get(slot, partitions.id(slot), logStart);
    return left === undefined || left < this.oldestNeeded(partitions.queueId(slot));
  }

  private async sweepPartition(queueId: QueueId, id: PartitionId): Promise<void> {
    const { machine } = this.parts;
    const { partitions } = machine.tables;
    const slot = partitions.byId(id);
    if (slot < 0 || this.parts.isStopped()) return;
    const logStart = partitions.logStart(slot);
    const range = machine.appends.range({ queueId, partitionId: id }, 0, logStart);
    const left = await this.deleteRows(range, this.oldestNeeded(queueId));
    if (left === undefined || partitions.byId(id) !== slot) return;
    this.oldestLeft.set(slot, { id, mark: logStart, value: left });
  }

  /** Deletes rows stamped below; answers the stamp of the first that stays, undefined when stopped. */
  private async deleteRows(
    range: Parameters<GroupView['iterate']>[0],
    below: number,
  ): Promise<number | undefined> {
    const { machine, rows } = this.parts;
    const view = await this.parts.view();
    let deleted = 0;
    try {
      for await (const [key, value] of view.iterate(range)) {
        if (this.parts.isStopped()) return undefined;
        const { createdAt } = machine.appends.decode(machine.appends.baseOf(key), value);
        if (createdAt >= below) return createdAt;
        rows.delete(key);
        deleted += 1;
        if (deleted % ROWS_PER_SLICE === 0) await breathe();
      }
    } finally {
      await view.close();
    }
    return Infinity;
  }

  private async sweepDropped(): Promise<void> {
    const { machine, rows } = this.parts;
    const view = await this.parts.view();
    try {
      for await (const [key] of view.iterate(machine.dropped.range)) {
        const left = await this.deleteRows(machine.dropped.appendsOf(key), Infinity);
        if (left !== Infinity) return;
        rows.delete(key);
        await breathe();
      }
    } finally {
      await view.close();
    }
  }
}

/** Long enough for the checkpoint to keep the overlay small. */
function breathe(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, BREATHE_MS);
  });
}
