/**
 * What may go of one partition: first from the columns alone whether to look at all, then from its
 * index rows, at most a batch of appends. The unit is the whole append and only a prefix goes.
 *
 *   logStart                                    stamps rise from append to append
 *   │ append │ append │ append │ append │ …
 *   └ older than the rule ────┘ first that stays
 */
import type { PartitionTrim } from '../../machine/commands/index.js';
import { TrimRule } from '../../machine/commands/index.js';
import { AppendRowView } from '../../machine/tables/append-row.js';
import { appendRange, keyBaseOffset } from '../../machine/tables/keyspaces.js';
import { settledBy, settledByAll } from '../../machine/tables/settled.js';
import type { QueueRow, Tables } from '../../machine/tables/tables.js';
import type { RowView } from '../../reads/append-rows.js';
import type { FirstAppends } from './first-appends.js';
import type { RetentionRules } from './retention-rules.js';

/** Rules in the order in which they explain an equal cut. */
const RULES = [TrimRule.Completed, TrimRule.Age, TrimRule.MaxWait] as const;

export interface Judged {
  readonly tables: Tables;
  readonly queue: QueueRow;
  readonly rules: RetentionRules;
  readonly firsts: FirstAppends;
  /** Appends cut per partition and round. */
  readonly batchSize: number;
}

export interface PlannedTrim {
  readonly trim: PartitionTrim;
  /** More of it may be due. */
  readonly isCut: boolean;
}

/** Whether the partition may have something due, from what is in memory. */
export function mayBeDue(judged: Judged, slot: number): boolean {
  const { tables, rules, firsts } = judged;
  const { partitions } = tables;
  const logStart = partitions.logStart(slot);
  if (logStart > partitions.lastOffset(slot)) return false;
  const id = partitions.id(slot);
  const known = firsts.createdAt(slot, id, logStart);
  // The first append of a partition is stamped with its creation time.
  const oldest = known ?? partitions.createdAt(slot);
  const { below } = rules;
  if (oldest < below[TrimRule.MaxWait] || oldest < below[TrimRule.Age]) return true;
  if (oldest >= below[TrimRule.Completed]) return false;
  const settled = settledByAll(tables, slot);
  return settled >= (firsts.lastOffset(slot, id, logStart) ?? logStart);
}

function sinkSettled(judged: Judged, slot: number): number {
  const { tables, queue, rules } = judged;
  if (rules.sink === null) return Infinity;
  const group = tables.names.group(queue.tenant, rules.sink.group);
  return group === undefined ? -1 : settledBy(tables, slot, group);
}

/** Reads the oldest appends and says what goes; null when nothing does. */
export async function planTrim(
  judged: Judged,
  view: RowView,
  slot: number,
): Promise<PlannedTrim | null> {
  const { partitions } = judged.tables;
  const plan = new TrimPlan(judged, slot);
  const span = { first: plan.logStart, limit: partitions.lastOffset(slot) + 1 };
  const range = appendRange(judged.queue.id, plan.id, span);
  const row = new AppendRowView();
  let appends = 0;
  for await (const [key, value] of view.iterate({ ...range, limit: judged.batchSize + 1 })) {
    row.open(value);
    if (appends === judged.batchSize || !plan.take(keyBaseOffset(key), row)) break;
    appends += 1;
  }
  return plan.result(appends === judged.batchSize);
}

class TrimPlan {
  readonly id: PartitionTrim['partitionId'];
  readonly logStart: number;
  private readonly settled: number;
  private readonly sinkSettled: number;
  private readonly next: Record<TrimRule, number>;
  /** Record bytes up to below `next` of each rule. */
  private readonly bytes: Record<TrimRule, number> = { 0: 0, 1: 0, 2: 0 };
  private readonly open = new Set<TrimRule>(RULES);
  private unheldBelow = 0;
  private removed = 0;

  constructor(
    private readonly judged: Judged,
    private readonly slot: number,
  ) {
    const { tables } = judged;
    this.id = tables.partitions.id(slot);
    this.logStart = tables.partitions.logStart(slot);
    this.settled = settledByAll(tables, slot);
    this.sinkSettled = sinkSettled(judged, slot);
    this.next = { 0: this.logStart, 1: this.logStart, 2: this.logStart };
  }

  /** Looks at the next append; false when it stays by every rule. */
  take(base: number, row: AppendRowView): boolean {
    const last = base + row.count - 1;
    const { sink } = this.judged.rules;
    if (sink !== null && row.createdAt < sink.unheldBelow) this.unheldBelow = last + 1;
    for (let i = 0; i < row.count; i += 1) this.removed += row.length(i);
    for (const rule of this.open) {
      if (this.goes(rule, row.createdAt, last)) {
        this.next[rule] = last + 1;
        this.bytes[rule] = this.removed;
      } else {
        this.open.delete(rule);
      }
    }
    if (this.open.size > 0) return true;
    this.noteFirst(base, last, row.createdAt);
    return false;
  }

  result(isCut: boolean): PlannedTrim | null {
    const { queue } = this.judged;
    const { logStart, next, bytes } = this;
    const rule = RULES.reduce((best, one) => (next[one] > next[best] ? one : best));
    if (next[rule] <= logStart) return null;
    const trim: PartitionTrim = {
      ...{ queueId: queue.id, partitionId: this.id, optionsVersion: queue.optionsVersion, rule },
      ...{ logStart, next: next[rule], removedBytes: bytes[rule], unheldBelow: this.unheldBelow },
    };
    return { trim, isCut };
  }

  private goes(rule: TrimRule, createdAt: number, last: number): boolean {
    const { below, sink } = this.judged.rules;
    if (createdAt >= below[rule]) return false;
    if (rule === TrimRule.MaxWait) return true;
    if (rule === TrimRule.Completed && last > this.settled) return false;
    if (sink === null || createdAt < sink.unheldBelow) return true;
    return last <= this.sinkSettled && createdAt < sink.settledBelow;
  }

  /** The append at which nothing goes any more is the first one of the next round. */
  private noteFirst(base: number, last: number, createdAt: number): void {
    const start = Math.max(...Object.values(this.next));
    if (start !== base) return;
    this.judged.firsts.set(this.slot, this.id, start, { createdAt, lastOffset: last });
  }
}
