/**
 * Answers what the columns cannot: where a start instant falls between two appends, and where a batch
 * must end to stay inside the byte bound. Requests of all lanes are gathered; one view serves a batch.
 */
import { micros } from '../../common/ids.js';
import type { GroupView } from '../../raft/group/group.js';
import { firstOffsetAtOrAfter, lastOffsetWithin } from '../../reads/append-rows.js';
import type { ConsumerLane } from './consumer-lane.js';
import type { DispatcherHost } from './dispatcher-host.js';
import { seedFromColumns } from './inspect.js';

/** Lookups served by one view before others get a turn. */
const BATCH = 256;

export interface LookupEvents {
  /** Results of the slots are in place. */
  resolved(lane: ConsumerLane, slots: readonly number[]): void;
  failed(lane: ConsumerLane, error: Error): void;
}

export class LookupRunner {
  private readonly pending = new Set<ConsumerLane>();
  private running: Promise<void> | null = null;

  constructor(
    private readonly host: DispatcherHost,
    private readonly maxPopBytes: number,
    private readonly events: LookupEvents,
  ) {}

  request(lane: ConsumerLane): void {
    this.pending.add(lane);
    this.running ??= this.run().finally(() => {
      this.running = null;
    });
  }

  /** Resolves when the lane has no lookups left. */
  async resolve(lane: ConsumerLane): Promise<void> {
    while (lane.lookups.size > 0) {
      this.request(lane);
      await this.running;
    }
  }

  private async run(): Promise<void> {
    for (let lane = first(this.pending); lane !== undefined; lane = first(this.pending)) {
      this.pending.delete(lane);
      await this.serve(lane);
    }
  }

  private async serve(lane: ConsumerLane): Promise<void> {
    const slots: number[] = [];
    for (const slot of lane.lookups) {
      if (slots.length === BATCH) break;
      slots.push(slot);
    }
    try {
      const view = await this.host.view();
      try {
        for (const slot of slots) await this.lookUp(lane, slot, view);
      } finally {
        await view.close();
      }
    } catch (error) {
      for (const slot of lane.lookups) lane.lookups.delete(slot);
      this.events.failed(lane, error instanceof Error ? error : new Error(String(error)));
      return;
    }
    for (const slot of slots) lane.lookups.delete(slot);
    if (lane.lookups.size > 0) this.pending.add(lane);
    this.events.resolved(lane, slots);
  }

  private async lookUp(lane: ConsumerLane, slot: number, view: GroupView): Promise<void> {
    const { tables } = this.host;
    const { partitions, cursors } = tables;
    const span = {
      queueId: lane.queueId,
      partitionId: partitions.id(slot),
      first: partitions.logStart(slot),
      last: partitions.lastOffset(slot),
    };
    const cursor = cursors.find(slot, lane.groupId);
    let committed = cursor >= 0 ? cursors.committed(cursor) : lane.seeds.get(span.partitionId);
    if (committed === undefined) {
      const policy = lane.policy(lane.intentFor(slot));
      committed =
        seedFromColumns(tables, slot, policy) ??
        (await firstOffsetAtOrAfter(view, span, micros(policy.instantMicros))) - 1;
      lane.seeds.set(span.partitionId, committed);
    }
    const start = Math.max(committed + 1, span.first);
    if (start > span.last) return;
    const last = await lastOffsetWithin(view, { ...span, first: start }, this.maxPopBytes);
    lane.cuts.set(span.partitionId, { first: start, last });
  }
}

function first(lanes: ReadonlySet<ConsumerLane>): ConsumerLane | undefined {
  for (const lane of lanes) return lane;
  return undefined;
}
