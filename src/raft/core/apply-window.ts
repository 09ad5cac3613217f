/**
 * Bookkeeping of entries handed to the state machine and not yet confirmed, bounded in bytes across
 * all outstanding Readys. Paging never touches the commit index.
 */
import type { LogIndex } from '../../common/ids.js';
import { entryBytes, payloadBytes, type Entry } from './types.js';

interface Batch {
  readonly last: LogIndex;
  readonly bytes: number;
  readonly payload: number;
}

export class ApplyWindow {
  applying: LogIndex;
  paused = false;
  private batches: Batch[] = [];
  private bytes = 0;

  constructor(
    public applied: LogIndex,
    private readonly maxBytes: number,
  ) {
    this.applying = applied;
  }

  /** Bytes that may still be handed out; positive unless paused. */
  room(): number {
    return this.maxBytes - this.bytes;
  }

  handOut(entries: readonly Entry[], appliable: LogIndex): void {
    const last = entries[entries.length - 1]?.index;
    if (last === undefined) return;
    const bytes = entries.reduce((sum, entry) => sum + entryBytes(entry), 0);
    this.batches.push({ last, bytes, payload: payloadBytes(entries) });
    this.applying = last;
    this.bytes += bytes;
    // A page that was cut short met the bound: wait for the state machine before the next one.
    this.paused = this.bytes >= this.maxBytes || last < appliable;
  }

  /** Late confirmations of entries covered by a snapshot are no step back. Returns payload bytes. */
  appliedTo(index: LogIndex): number {
    if (index <= this.applied) return 0;
    this.applied = index;
    if (index > this.applying) this.applying = index;
    let payload = 0;
    const open: Batch[] = [];
    for (const batch of this.batches) {
      if (batch.last > index) {
        open.push(batch);
        continue;
      }
      this.bytes -= batch.bytes;
      payload += batch.payload;
    }
    this.batches = open;
    this.paused = this.bytes >= this.maxBytes;
    return payload;
  }
}
