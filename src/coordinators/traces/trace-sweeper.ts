/**
 * Bounds what traces take, on the leader (messages.md §13): those kept long enough go, then the oldest of
 * a message that has too many, then the oldest of all beyond their number. At most LIMIT a command. The
 * machine removes what it finds, so a late or repeated proposal does nothing.
 */
import { encodeSweepTraces } from '../../machine/commands/index.js';
import { tracesBefore, tracesFrom } from '../../machine/tables/trace-keys.js';
import type { CoordinatorHost, CoordinatorPort, GroupView } from '../../raft/index.js';
import { doomed, TraceCensus } from './trace-census.js';
import type { DoomedTraces } from './trace-census.js';

/** Traces of one command; each stands in up to 130 rows. */
const LIMIT = 64;

export type TraceSweepHost = Pick<CoordinatorHost, 'view' | 'propose' | 'nowMicros'>;

export interface TraceSweepOptions {
  readonly sweepMs: number;
  readonly retentionMs: number;
  /** Traces kept at most, of one message and of all; Infinity: no bound. */
  readonly maxPerMessage: number;
  readonly maxTotal: number;
  log(event: string, fields: Readonly<Record<string, unknown>>): void;
}

type Look = (view: GroupView) => Promise<DoomedTraces>;

export class TraceSweeper implements CoordinatorPort {
  private timer: NodeJS.Timeout | null = null;
  private isSweeping = false;
  private census: TraceCensus;

  constructor(
    private readonly host: TraceSweepHost,
    private readonly options: TraceSweepOptions,
  ) {
    this.census = new TraceCensus(options.maxPerMessage);
  }

  /** Another leader may have removed some: they are counted anew. */
  start(): void {
    if (this.timer !== null) return;
    this.census = new TraceCensus(this.options.maxPerMessage);
    this.timer = setInterval(() => void this.tick(), this.options.sweepMs).unref();
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  private get isRunning(): boolean {
    return this.timer !== null;
  }

  /** One at a time; what it could not do is still to be done at the next. */
  private async tick(): Promise<void> {
    if (this.isSweeping) return;
    this.isSweeping = true;
    const { census } = this;
    try {
      await this.sweepOld(census);
      await this.sweepBeyondBounds(census);
    } catch (error) {
      // A lost leadership or a stopping store: whoever leads next sweeps.
      if (!this.isRunning) return;
      this.options.log('sweep of traces failed', { error: String(error) });
      // Nobody can tell what was removed: they are counted anew.
      this.census = new TraceCensus(this.options.maxPerMessage);
    } finally {
      this.isSweeping = false;
    }
  }

  private async sweepOld(census: TraceCensus): Promise<void> {
    const before = this.host.nowMicros() - this.options.retentionMs * 1000;
    if (before <= 0) return;
    while ((await this.remove(census, oldest(tracesBefore(before), LIMIT))) === LIMIT);
  }

  private async sweepBeyondBounds(census: TraceCensus): Promise<void> {
    const { maxTotal, maxPerMessage } = this.options;
    if (maxTotal === Infinity && maxPerMessage === Infinity) return;
    for (const message of await this.looked((view) => census.readOn(view))) {
      const look: Look = (view) => census.beyondBound(view, message, LIMIT);
      while ((await this.remove(census, look)) === LIMIT);
    }
    while (census.total > maxTotal) {
      const excess = Math.min(census.total - maxTotal, LIMIT);
      if ((await this.remove(census, oldest(tracesFrom(0), excess))) === 0) return;
    }
  }

  /** Removes what the look finds; how many that were, 0 once this node stopped leading. */
  private async remove(census: TraceCensus, look: Look): Promise<number> {
    if (!this.isRunning) return 0;
    const { traces, counts } = await this.looked(look);
    if (traces.length === 0 || !this.isRunning) return 0;
    await this.host.propose({ bytes: encodeSweepTraces({ traces, counts }) });
    census.removed(traces);
    return traces.length;
  }

  private async looked<T>(look: (view: GroupView) => Promise<T>): Promise<T> {
    const view = await this.host.view();
    try {
      return await look(view);
    } finally {
      await view.close();
    }
  }
}

function oldest(range: ReturnType<typeof tracesFrom>, limit: number): Look {
  return async (view) => {
    const rows: [Uint8Array, Uint8Array][] = [];
    for await (const [key, value] of view.iterate({ ...range, limit })) {
      rows.push([key.slice(), value.slice()]);
    }
    return doomed(rows);
  };
}
