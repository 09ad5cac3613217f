/**
 * Messages that retention removed, per queue since the last look, by the rule that removed them. Every
 * node counts; only the leader's numbers are written down, so that nothing counts twice.
 */
import { TrimRule } from '../../machine/commands/retention.js';
import type { Cut } from '../../machine/machine.js';
import type { Tables } from '../../machine/tables/tables.js';

export interface Removed {
  retentionMsgs: number;
  completedRetentionMsgs: number;
  evictionMsgs: number;
  retentionEvents: number;
}

const FIELD = {
  [TrimRule.Age]: 'retentionMsgs',
  [TrimRule.Completed]: 'completedRetentionMsgs',
  [TrimRule.MaxWait]: 'evictionMsgs',
} as const;

export class RetentionCounts {
  private byQueue = new Map<number, Removed>();

  constructor(private readonly tables: Pick<Tables, 'partitions'>) {}

  trimmed(slot: number, { messages, rule }: Cut): void {
    if (messages === 0) return;
    const queueId = this.tables.partitions.queueId(slot);
    const removed = this.byQueue.get(queueId) ?? {
      ...{ retentionMsgs: 0, completedRetentionMsgs: 0, evictionMsgs: 0, retentionEvents: 0 },
    };
    removed[FIELD[rule]] += messages;
    removed.retentionEvents += 1;
    this.byQueue.set(queueId, removed);
  }

  /** By queue id; begins anew. */
  turn(): ReadonlyMap<number, Removed> {
    const removed = this.byQueue;
    this.byQueue = new Map();
    return removed;
  }
}
