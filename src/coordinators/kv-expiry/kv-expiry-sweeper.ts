/**
 * Removes expired keys on the leader (state.md §1.7): every sweep one bounded command that names the
 * oldest rows of the expiry index with the versions it saw. The machine judges each again, so a late or
 * repeated proposal does nothing. Expired keys are invisible without it; it only gives their space back.
 */
import { CommandKind } from '../../machine/commands/catalogue.js';
import { encodeKvSweep } from '../../machine/commands/index.js';
import type { KvSweepCandidate } from '../../machine/commands/index.js';
import { kvDueRange, kvExpiresAt, kvExpiryVersion } from '../../machine/tables/kv-keys.js';
import { decodeKvExpiryRow } from '../../machine/tables/kv-rows.js';
import type { CoordinatorHost, CoordinatorPort } from '../../raft/index.js';
import type { SweepFigures } from '../sweep-figures.js';

/** Bytes of one sweep command, whatever the number of rows allowed. */
const MAX_COMMAND_BYTES = 256 * 1024;
/** Most rows a command can name. */
const MAX_ROWS = 4096;

export type KvExpiryHost = Pick<CoordinatorHost, 'view' | 'propose' | 'nowMicros'>;

export interface KvExpiryOptions {
  readonly sweepMs: number;
  readonly limit: number;
  readonly figures: SweepFigures;
  readonly monotonicMs: () => number;
  log(event: string, fields: Readonly<Record<string, unknown>>): void;
}

export class KvExpirySweeper implements CoordinatorPort {
  private timer: NodeJS.Timeout | null = null;
  private isSweeping = false;
  private readonly limit: number;

  constructor(
    private readonly host: KvExpiryHost,
    private readonly options: KvExpiryOptions,
  ) {
    this.limit = Math.min(options.limit, MAX_ROWS);
  }

  start(): void {
    this.timer ??= setInterval(() => void this.tick(), this.options.sweepMs).unref();
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  /** One sweep at a time; what it could not do is due again at the next. */
  private async tick(): Promise<void> {
    if (this.isSweeping) {
      this.options.figures.skips.expiry += 1;
      return;
    }
    this.isSweeping = true;
    try {
      await this.sweep();
    } catch (error) {
      // A lost leadership or a stopping store: whoever leads next sweeps.
      if (this.timer !== null) {
        this.options.log('sweep of expired keys failed', { error: String(error) });
      }
    } finally {
      this.isSweeping = false;
    }
  }

  private async sweep(): Promise<void> {
    const { figures, monotonicMs } = this.options;
    const beganMs = monotonicMs();
    const candidates = await this.due();
    if (candidates.length === 0 || this.timer === null) return;
    const outcome = await this.host.propose({ bytes: encodeKvSweep({ candidates }) });
    if (outcome.kind === CommandKind.KvSweep) figures.rows.expiry += outcome.removed;
    figures.cycleMs.expiry = monotonicMs() - beganMs;
  }

  /** The oldest rows that are due now. */
  private async due(): Promise<KvSweepCandidate[]> {
    const candidates: KvSweepCandidate[] = [];
    let bytes = 0;
    const view = await this.host.view();
    try {
      const range = { ...kvDueRange(this.host.nowMicros()), limit: this.limit };
      for await (const [key, value] of view.iterate(range)) {
        const rowKey = decodeKvExpiryRow(value);
        bytes += rowKey.length;
        if (candidates.length > 0 && bytes > MAX_COMMAND_BYTES) break;
        candidates.push({ expiresAt: kvExpiresAt(key), version: kvExpiryVersion(key), rowKey });
      }
    } finally {
      await view.close();
    }
    return candidates;
  }
}
