/**
 * How many traces there are, and which messages have more than they may. Traces are made in the order of
 * their stamps and only the sweeper removes them, so that reading on from the newest stamp read finds
 * every new one; those of that very stamp are counted again.
 *
 *   read before ────────────────┤ mark │ new since │
 *                               └── read again ────┘
 */
import { traceKeyOfEntry, tracedMessageKey, tracesFrom } from '../../machine/tables/trace-keys.js';
import { messageEntryRange, placeOfTraceKey } from '../../machine/tables/trace-keys.js';
import type { TracedMessage, TracePlace } from '../../machine/tables/trace-keys.js';
import { decodeTraceCount, decodeTraceRow } from '../../machine/tables/trace-row.js';
import { traceCountKeys } from '../../machine/apply/traces.js';
import type { GroupView } from '../../raft/index.js';
import { Slices } from '../../reads/slices.js';

/** Messages remembered while new traces are read; beyond it some are looked at twice. */
const MAX_CHECKED = 100_000;
/** Messages named at once; reading goes on behind them the next time. */
const MAX_CROWDED = 1_000;

/** Traces to be removed, with the counts they stand in. */
export interface DoomedTraces {
  readonly traces: readonly TracePlace[];
  readonly counts: readonly Uint8Array[];
}

export class TraceCensus {
  /** All that were read and not removed since. */
  total = 0;
  private mark = 0;
  private atMark = 0;

  constructor(private readonly maxPerMessage: number) {}

  /** Reads what is new; answers the messages with too many traces. */
  async readOn(view: GroupView): Promise<TracedMessage[]> {
    const slices = new Slices();
    const checked = new Set<string>();
    const crowded = new Map<string, TracedMessage>();
    this.total -= this.atMark;
    this.atMark = 0;
    for await (const [key, value] of view.iterate(tracesFrom(this.mark))) {
      const { createdAt } = placeOfTraceKey(key);
      if (createdAt !== this.mark) {
        if (crowded.size >= MAX_CROWDED) break;
        this.mark = createdAt;
        this.atMark = 0;
      }
      this.total += 1;
      this.atMark += 1;
      const { tenant, partitionId, hash } = decodeTraceRow(value);
      const countKey = tracedMessageKey({ tenant, partitionId, hash });
      const text = Buffer.from(countKey).toString('latin1');
      if (partitionId !== 0 && !checked.has(text)) {
        if (checked.size >= MAX_CHECKED) checked.clear();
        checked.add(text);
        if ((await excessOf(view, countKey, this.maxPerMessage)) > 0) {
          crowded.set(text, { tenant, partitionId, hash });
        }
      }
      if (slices.isSpent()) await slices.pause();
    }
    return [...crowded.values()];
  }

  removed(traces: readonly TracePlace[]): void {
    const counted = traces.filter(({ createdAt }) => createdAt <= this.mark);
    this.total -= counted.length;
    this.atMark -= counted.filter(({ createdAt }) => createdAt === this.mark).length;
  }

  /** The oldest traces that a message has beyond its bound, at most `limit`. */
  async beyondBound(view: GroupView, message: TracedMessage, limit: number): Promise<DoomedTraces> {
    const excess = await excessOf(view, tracedMessageKey(message), this.maxPerMessage);
    const keys: Uint8Array[] = [];
    if (excess > 0) {
      const range = { ...messageEntryRange(message), limit: Math.min(excess, limit) };
      for await (const [key] of view.iterate(range)) keys.push(traceKeyOfEntry(key));
    }
    const rows: [Uint8Array, Uint8Array][] = [];
    for (const key of keys) {
      const value = await view.get(key);
      if (value !== undefined) rows.push([key, value]);
    }
    return doomed(rows);
  }
}

/** The rows of traces as a sweep names them. */
export function doomed(rows: Iterable<readonly [Uint8Array, Uint8Array]>): DoomedTraces {
  const traces: TracePlace[] = [];
  const counts = new Map<string, Uint8Array>();
  for (const [key, value] of rows) {
    traces.push(placeOfTraceKey(key));
    for (const count of traceCountKeys(decodeTraceRow(value))) {
      counts.set(Buffer.from(count).toString('latin1'), count);
    }
  }
  return { traces, counts: [...counts.values()] };
}

async function excessOf(view: GroupView, countKey: Uint8Array, most: number): Promise<number> {
  if (most === Infinity) return 0;
  const value = await view.get(countKey);
  return value === undefined ? 0 : decodeTraceCount(value) - most;
}
