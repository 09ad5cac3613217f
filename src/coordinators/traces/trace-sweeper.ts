/**
 * Removes old traces on the leader (messages.md §13): looks at the oldest in a view, at most LIMIT a
 * command, and comes back at once while a look is full. The machine removes what it finds, so a late or
 * repeated proposal does nothing.
 */
import { encodeSweepTraces } from '../../machine/commands/index.js';
import { traceCountKeys } from '../../machine/apply/traces.js';
import { tracesBefore } from '../../machine/tables/trace-keys.js';
import type { TracePlace } from '../../machine/tables/trace-keys.js';
import { decodeTraceRow } from '../../machine/tables/trace-row.js';
import { keyU64 } from '../../common/key-writer.js';
import type { CoordinatorHost, CoordinatorPort } from '../../raft/index.js';

/** Traces of one command; each stands in up to 130 rows. */
const LIMIT = 64;
const ROW_ID_AT = 9;

export type TraceSweepHost = Pick<CoordinatorHost, 'view' | 'propose' | 'nowMicros'>;

export interface TraceSweepOptions {
  readonly sweepMs: number;
  readonly retentionMs: number;
  log(event: string, fields: Readonly<Record<string, unknown>>): void;
}

export class TraceSweeper implements CoordinatorPort {
  private timer: NodeJS.Timeout | null = null;
  private isSweeping = false;

  constructor(
    private readonly host: TraceSweepHost,
    private readonly options: TraceSweepOptions,
  ) {}

  start(): void {
    this.timer ??= setInterval(() => void this.tick(), this.options.sweepMs).unref();
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  /** One at a time; what it could not do is old still at the next. */
  private async tick(): Promise<void> {
    if (this.isSweeping) return;
    this.isSweeping = true;
    try {
      while (this.timer !== null && (await this.sweep()) === LIMIT);
    } catch (error) {
      // A lost leadership or a stopping store: whoever leads next sweeps.
      if (this.timer !== null) {
        this.options.log('sweep of traces failed', { error: String(error) });
      }
    } finally {
      this.isSweeping = false;
    }
  }

  /** How many it found. */
  private async sweep(): Promise<number> {
    const before = this.host.nowMicros() - this.options.retentionMs * 1000;
    if (before <= 0) return 0;
    const traces: TracePlace[] = [];
    const counts = new Map<string, Uint8Array>();
    const view = await this.host.view();
    try {
      for await (const [key, value] of view.iterate({ ...tracesBefore(before), limit: LIMIT })) {
        traces.push({ createdAt: keyU64(key, 1), rowId: key.slice(ROW_ID_AT) });
        for (const count of traceCountKeys(decodeTraceRow(value))) {
          counts.set(Buffer.from(count).toString('latin1'), count);
        }
      }
    } finally {
      await view.close();
    }
    if (traces.length === 0 || this.timer === null) return 0;
    await this.host.propose({ bytes: encodeSweepTraces({ traces, counts: [...counts.values()] }) });
    return traces.length;
  }
}
