/**
 * Answers what the columns cannot: where a start instant falls between two appends, how much of a
 * delayed partition is due, and where a batch must end to stay inside the byte bound. Requests of all
 * lanes are gathered; one view serves a batch. Results of a lane that restarted meanwhile are dropped.
 */
import { micros } from '../../common/ids.js';
import type { GroupView } from '../../raft/group/group.js';
import type { AppendSpan } from '../../reads/append-rows.js';
import { appendHolding, firstOffsetAtOrAfter, lastOffsetWithin } from '../../reads/append-rows.js';
import type { ConsumerLane } from './consumer-lane.js';
import type { DispatcherHost } from './dispatcher-host.js';
import type { KnownDue } from './hold-rules.js';
import { delayMicros } from './hold-rules.js';
import type { InspectContext, StartPolicy } from './inspect.js';
import { policyOfStart, seedFromColumns } from './inspect.js';

/** Lookups served by one view before others get a turn. */
const BATCH = 256;

export interface LookupEvents {
  /** Results of the slots are in place. */
  resolved(lane: ConsumerLane, slots: readonly number[]): void;
  failed(lane: ConsumerLane, error: Error): void;
}

interface Found {
  readonly id: number;
  readonly seed: number | null;
  readonly due: KnownDue | null;
  readonly cut: { readonly first: number; readonly last: number } | null;
}

interface Asked {
  readonly view: GroupView;
  readonly context: InspectContext;
}

export class LookupRunner {
  private readonly pending = new Set<ConsumerLane>();
  private running: Promise<void> | null = null;
  /** Partitions whose start or hold had to be read from the store. */
  served = 0;
  /** Last failure per lane, for those who await `resolve`. */
  private readonly failures = new WeakMap<ConsumerLane, Error>();

  constructor(
    private readonly host: Pick<DispatcherHost, 'tables' | 'view'>,
    private readonly options: {
      readonly maxPopBytes: number;
      readonly context: () => InspectContext;
    },
    private readonly events: LookupEvents,
  ) {}

  request(lane: ConsumerLane): void {
    this.pending.add(lane);
    this.running ??= this.run();
  }

  /** Resolves when the lane has no lookups left; rejects when the rows could not be read. */
  async resolve(lane: ConsumerLane): Promise<void> {
    this.failures.delete(lane);
    while (lane.lookups.size > 0) {
      this.request(lane);
      await this.running;
      const failure = this.failures.get(lane);
      if (failure !== undefined) throw failure;
    }
  }

  private async run(): Promise<void> {
    // Requests made in this turn share the view, and `running` is set before anything is served.
    await Promise.resolve();
    for (let lane = first(this.pending); lane !== undefined; lane = first(this.pending)) {
      this.pending.delete(lane);
      await this.serve(lane);
    }
    // In the same step as the last look at `pending`: a request can not slip in between.
    this.running = null;
  }

  private async serve(lane: ConsumerLane): Promise<void> {
    const { generation } = lane;
    const asked: [slot: number, wanted: number][] = [];
    for (const lookup of lane.lookups) {
      if (asked.length === BATCH) break;
      asked.push(lookup);
    }
    const found: Found[] = [];
    try {
      const view = await this.host.view();
      try {
        const context = this.options.context();
        for (const lookup of asked) found.push(await this.lookUp(lane, lookup, { view, context }));
      } finally {
        await view.close();
      }
    } catch (error) {
      this.fail(lane, error instanceof Error ? error : new Error(String(error)));
      return;
    }
    this.served += found.length;
    if (lane.generation === generation) this.keep(lane, asked, found);
    if (lane.lookups.size > 0) this.pending.add(lane);
  }

  /** The lookups stay: their slots are in no other list, and the next pop of the lane asks again. */
  private fail(lane: ConsumerLane, error: Error): void {
    this.failures.set(lane, error);
    this.events.failed(lane, error);
  }

  private keep(lane: ConsumerLane, asked: readonly [number, number][], found: Found[]): void {
    const slots: number[] = [];
    asked.forEach(([slot, wanted], index) => {
      slots.push(slot);
      // Somebody may have asked for more while this was read.
      if ((lane.lookups.get(slot) ?? 0) <= wanted) lane.lookups.delete(slot);
      const result = found[index];
      if (result === undefined) return;
      const { id, seed, due, cut } = result;
      if (seed !== null && !lane.seeds.has(id)) lane.seeds.set(id, seed);
      if (due !== null) lane.dues.set(id, due);
      if (cut !== null) lane.cuts.set(id, cut);
    });
    this.events.resolved(lane, slots);
  }

  private async lookUp(
    lane: ConsumerLane,
    [slot, wanted]: readonly [slot: number, wanted: number],
    { view, context }: Asked,
  ): Promise<Found> {
    const { partitions, cursors } = this.host.tables;
    const span: AppendSpan = {
      queueId: lane.queueId,
      partitionId: partitions.id(slot),
      first: partitions.logStart(slot),
      last: partitions.lastOffset(slot),
    };
    const id = span.partitionId;
    const cursor = cursors.find(slot, lane.groupId);
    const isPlaced = cursor >= 0 && !cursors.isStart(cursor);
    const known = isPlaced ? cursors.committed(cursor) : lane.seeds.get(id);
    const policy =
      cursor >= 0 ? policyOfStart(this.host.tables, cursor) : lane.policy(lane.intentFor(slot));
    const committed = known ?? (await this.startOf(slot, policy, { view, span }));
    const seed = known === undefined ? committed : null;
    const start = Math.max(committed + 1, span.first);
    const rest: AppendSpan = { ...span, first: start };
    if (start > span.last) return { id, seed, due: null, cut: null };
    const delay = delayMicros(context, lane.queueId);
    const due = delay === 0 ? null : await findDue(view, rest, { delay, now: context.nowMicros });
    if (wanted === 0) return { id, seed, due, cut: null };
    const end = Math.min(span.last, start + wanted - 1);
    const last = await lastOffsetWithin(view, { ...rest, last: end }, this.options.maxPopBytes);
    return { id, seed, due, cut: { first: start, last } };
  }

  private async startOf(
    slot: number,
    policy: StartPolicy,
    { view, span }: { readonly view: GroupView; readonly span: AppendSpan },
  ): Promise<number> {
    return (
      seedFromColumns(this.host.tables, slot, policy) ??
      (await firstOffsetAtOrAfter(view, span, micros(policy.instantMicros))) - 1
    );
  }
}

async function findDue(
  view: GroupView,
  span: AppendSpan,
  at: { readonly delay: number; readonly now: number },
): Promise<KnownDue> {
  // Due: stamp + delay <= now, so the first that is not is stamped above now - delay.
  const next = await firstOffsetAtOrAfter(view, span, micros(at.now - at.delay + 1));
  const held = next > span.last ? null : await appendHolding(view, span, next);
  const nextAt = held === null ? 0 : held.row.createdAt + at.delay;
  return { last: next - 1, nextAt, asOf: at.now };
}

function first(lanes: ReadonlySet<ConsumerLane>): ConsumerLane | undefined {
  for (const lane of lanes) return lane;
  return undefined;
}
