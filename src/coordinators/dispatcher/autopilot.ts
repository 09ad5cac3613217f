/**
 * What a pop takes when its client left the choice to us (spec §5.6): as many partitions as are its
 * share of the ready ones, and as many messages as the group acks in one drain time. Measured per lane
 * on the leader, in memory; a new leader starts at the minimum.
 */
import type { GrantOutcome } from '../../machine/commands/catalogue.js';
import type { InspectContext } from './inspect.js';

export interface AutopilotOptions {
  readonly drainMs: number;
  readonly batchMin: number;
  readonly batchMax: number;
}

export const DEFAULT_AUTOPILOT: AutopilotOptions = { drainMs: 200, batchMin: 100, batchMax: 1000 };

const ALPHA = 0.25;
const MICROS = 1_000_000;
/** A lease not acked within this time gives no sample. */
const SAMPLE_WINDOW_MICROS = 300 * MICROS;
const MAX_PARTITIONS = 64;
/** Leases watched per lane; beyond it new ones give no sample. */
const MAX_WATCHED = 10_000;

interface Watched {
  readonly committed: number;
  readonly sinceMicros: number;
}

/** Moving average of messages acked per second of lease. */
export class AckRate {
  private perSecond: number | null = null;
  private readonly watched = new Map<number, Watched>();

  /** A lease was granted on the cursor. */
  granted(cursorSlot: number, committed: number, nowMicros: number): void {
    this.watched.delete(cursorSlot);
    this.forgetOld(nowMicros);
    if (this.watched.size >= MAX_WATCHED) return;
    this.watched.set(cursorSlot, { committed, sinceMicros: nowMicros });
  }

  /** The cursor moved or lost its lease. */
  changed(
    cursorSlot: number,
    now: { readonly committed: number; readonly leased: boolean; readonly nowMicros: number },
  ): void {
    const watched = this.watched.get(cursorSlot);
    if (watched === undefined) return;
    const acked = now.committed - watched.committed;
    if (acked === 0 && now.leased) return;
    this.watched.delete(cursorSlot);
    const elapsed = now.nowMicros - watched.sinceMicros;
    if (acked > 0 && elapsed <= SAMPLE_WINDOW_MICROS) this.sample(acked, Math.max(elapsed, 1));
  }

  batch(options: AutopilotOptions): number {
    if (this.perSecond === null) return options.batchMin;
    const drained = Math.round((this.perSecond * options.drainMs) / 1000);
    return Math.min(Math.max(drained, options.batchMin), options.batchMax);
  }

  private sample(messages: number, elapsedMicros: number): void {
    const rate = (messages * MICROS) / elapsedMicros;
    this.perSecond =
      this.perSecond === null ? rate : this.perSecond + ALPHA * (rate - this.perSecond);
  }

  private forgetOld(nowMicros: number): void {
    for (const [cursorSlot, { sinceMicros }] of this.watched) {
      if (nowMicros - sinceMicros <= SAMPLE_WINDOW_MICROS) return;
      this.watched.delete(cursorSlot);
    }
  }
}

/** Share of the ready partitions for one of the pops that want some. */
export function autopilotWidth(readyPartitions: number, pops: number): number {
  const share = Math.ceil(readyPartitions / Math.max(pops, 1));
  return Math.min(Math.max(share, 1), MAX_PARTITIONS);
}

/** Notes the leases of a grant, so that their acks are measured. */
export function watchAcks(rate: AckRate, grant: GrantOutcome, context: InspectContext): void {
  if (grant.commitOnDelivery) return;
  const { partitions, cursors } = context.tables;
  for (const { partitionId, groupId } of grant.ranges) {
    const slot = partitions.byId(partitionId);
    const cursor = slot < 0 ? -1 : cursors.find(slot, groupId);
    if (cursor >= 0) rate.granted(cursor, cursors.committed(cursor), context.nowMicros);
  }
}
