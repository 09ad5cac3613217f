/**
 * What this process did with keys and locks since its start; plain numbers that the metrics read. One
 * count per operation, never a tenant in a label (state.md §1.12).
 */
import { QuantileSummary } from '../common/quantile-summary.js';

export const KV_OPS = ['get', 'getMany', 'getPrefix', 'put', 'delete', 'incr', 'check'] as const;
export type KvOpLabel = (typeof KV_OPS)[number];
export const LOCK_OPS = ['acquire', 'renew', 'release', 'get'] as const;
export type LockOpLabel = (typeof LOCK_OPS)[number];
export type OpResult = 'applied' | 'rejected' | 'error';
export const READ_REJECTIONS = ['rate_limited', 'quota', 'pool', 'disabled'] as const;
export type ReadRejection = (typeof READ_REJECTIONS)[number];

/** Counts and durations of the operations of one surface. */
export class OpFigures<Op extends string> {
  readonly counts = new Map<string, number>();
  readonly durations = new Map<Op, QuantileSummary>();

  constructor(
    private readonly ops: readonly Op[],
    private readonly monotonicMs: () => number,
  ) {}

  count(op: Op, result: OpResult): void {
    const key = `${op} ${result}`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  /** A call's duration is divided evenly over its operations. */
  observe(ops: readonly Op[], durationMs: number): void {
    const nowMs = this.monotonicMs();
    for (const op of ops) {
      let summary = this.durations.get(op);
      if (summary === undefined) {
        summary = new QuantileSummary();
        this.durations.set(op, summary);
      }
      summary.observe((durationMs * 1000) / ops.length, nowMs);
    }
  }

  /** One row per operation and result that occurred. */
  rows(): { readonly op: Op; readonly result: string; readonly value: number }[] {
    return this.ops.flatMap((op) =>
      (['applied', 'rejected', 'error'] as const).flatMap((result) => {
        const value = this.counts.get(`${op} ${result}`);
        return value === undefined ? [] : [{ op, result, value }];
      }),
    );
  }
}

export class StateTraffic {
  readonly kv: OpFigures<KvOpLabel>;
  readonly locks: OpFigures<LockOpLabel>;
  bytesIn = 0;
  bytesOut = 0;
  readonly rejections = new Map<ReadRejection, number>();
  timerRejections = new Map<string, number>();

  constructor(monotonicMs: () => number) {
    this.kv = new OpFigures(KV_OPS, monotonicMs);
    this.locks = new OpFigures(LOCK_OPS, monotonicMs);
  }

  rejected(reason: ReadRejection): void {
    this.rejections.set(reason, (this.rejections.get(reason) ?? 0) + 1);
  }

  timerRejected(reason: string): void {
    this.timerRejections.set(reason, (this.timerRejections.get(reason) ?? 0) + 1);
  }
}
