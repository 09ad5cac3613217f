/**
 * Looks for silent damage while the node runs: sealed segments at a bounded rate, pass after pass, and
 * from time to time every row of the store. What it finds stops the node, with a log line naming file,
 * place and cure; it repairs nothing. A pass that cannot read for another reason is reported and tried
 * again with the next one.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { GroupLog, RowRange, StorePort } from './group/ports.js';
import type { ScrubOptions, ScrubReport } from './wal/index.js';

/** Every key a store may hold. */
const ALL_ROWS: RowRange = { gte: Uint8Array.of(0), lt: Uint8Array.of(0xff) };
const SECOND_MS = 1000;

export interface ScrubPace {
  /** Of sealed segments; 0 turns their scrub off. */
  readonly bytesPerSecond: number;
  /** Between the end of one pass over the segments and the next. */
  readonly pauseMs: number;
  readonly rowsPerSecond: number;
  /** Between two scrubs of the store; 0 turns them off. */
  readonly storeEveryMs: number;
}

export interface ScrubParts {
  readonly wal: { scrub(options: ScrubOptions): Promise<ScrubReport> };
  readonly store: Pick<StorePort, 'pages'>;
  readonly log: GroupLog;
  /** The node stops. */
  damaged(error: Error): void;
}

export class BackgroundScrub {
  private readonly ending = new AbortController();
  private running: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly parts: ScrubParts,
    private readonly pace: ScrubPace,
  ) {}

  start(): void {
    const { bytesPerSecond, pauseMs, storeEveryMs } = this.pace;
    this.running = Promise.all([
      bytesPerSecond > 0 ? this.repeat(0, pauseMs, () => this.segments()) : null,
      storeEveryMs > 0 ? this.repeat(storeEveryMs, storeEveryMs, () => this.rows()) : null,
    ]);
  }

  /** Resolves when nothing is read any more. */
  async stop(): Promise<void> {
    this.ending.abort();
    await this.running;
  }

  private async repeat(firstMs: number, pauseMs: number, pass: () => Promise<void>): Promise<void> {
    for (let waitMs = firstMs; await this.sleep(waitMs); waitMs = pauseMs) {
      try {
        await pass();
      } catch (error) {
        this.parts.log.warn('scrub pass ended early', { error: String(error) });
      }
    }
  }

  private async segments(): Promise<void> {
    const { wal, log } = this.parts;
    const report = await wal.scrub({
      bytesPerSecond: this.pace.bytesPerSecond,
      signal: this.ending.signal,
      sleep: (ms) => this.sleep(ms),
      onDamage: (damage) => {
        const { file, byteOffset, reason, cure } = damage;
        log.error('damaged segment found by the scrub', { file, byte: byteOffset, reason, cure });
        this.parts.damaged(damage);
      },
    });
    if (report.segments > 0) log.info('segments scrubbed', { ...report });
  }

  /** Reading a row checks it and reports damage; each slice has its own short-lived snapshot. */
  private async rows(): Promise<void> {
    const { store, log } = this.parts;
    let from = ALL_ROWS.gte;
    let count = 0;
    for (;;) {
      const page = await firstPage(store, { gte: from, lt: ALL_ROWS.lt });
      const last = page.at(-1);
      if (last === undefined) break;
      count += page.length;
      from = keyAfter(last[0]);
      if (!(await this.sleep((page.length * SECOND_MS) / this.pace.rowsPerSecond))) return;
    }
    log.info('store scrubbed', { rows: count });
  }

  /** False when the scrub is to end. */
  private async sleep(ms: number): Promise<boolean> {
    const { signal } = this.ending;
    if (signal.aborted) return false;
    try {
      await delay(ms, undefined, { signal, ref: false });
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      throw error;
    }
  }
}

async function firstPage(
  store: Pick<StorePort, 'pages'>,
  range: RowRange,
): Promise<readonly (readonly [Uint8Array, Uint8Array])[]> {
  for await (const page of store.pages(range)) return page;
  return [];
}

function keyAfter(key: Uint8Array): Uint8Array {
  const next = new Uint8Array(key.length + 1);
  next.set(key);
  return next;
}
