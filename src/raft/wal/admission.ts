/**
 * Judges a batch before it is queued, against the log as it will be after everything queued before
 * it. A refused batch throws a RangeError and has touched nothing; what passes here can be replayed.
 */
import type { LogState } from './log-state.js';
import { RECORD_HEADER_BYTES } from './record.js';
import { TermRuns } from './term-runs.js';
import type { HardState, LogPosition, WalBatch, WalEntry } from './types.js';

/** Largest batch; positions in a segment are 32-bit. */
export const MAX_BATCH_BYTES = 1024 * 1024 * 1024;
/** Hard state and truncation record that may come with a batch. */
const EXTRA_RECORDS_BYTES = 4 * RECORD_HEADER_BYTES;

export class Admission {
  private terms: TermRuns;
  private hardState: HardState;

  constructor(state: LogState) {
    const { baseIndex, baseTerm, last } = state.terms;
    this.terms = new TermRuns(baseIndex, baseTerm);
    for (const run of state.terms.slice(baseIndex + 1, last)) this.terms.push(run.start, run.term);
    if (last > baseIndex) this.terms.push(last, state.terms.lastTerm);
    this.hardState = state.hardState;
  }

  get lastIndex(): number {
    return this.terms.last;
  }

  /** Highest commit index heard of; the writer stores it with the next batch. */
  get commit(): number {
    return this.hardState.commit;
  }

  /** Accepts the batch into the queue's view of the log; returns its size on disk. */
  admit(batch: WalBatch): number {
    const sizeBytes = this.checkEntries(batch.entries);
    const last = batch.entries[batch.entries.length - 1]?.index ?? this.terms.last;
    if (batch.hardState) this.checkHardState(batch.hardState, last);
    const first = batch.entries[0];
    if (first) this.terms.truncateTo(first.index - 1);
    for (const entry of batch.entries) this.terms.push(entry.index, entry.term);
    if (batch.hardState) this.raise(batch.hardState);
    return sizeBytes;
  }

  setCommit(commit: number): void {
    if (commit > this.terms.last) {
      throw new RangeError(`commit ${commit} above the last entry ${this.terms.last}`);
    }
    if (commit <= this.hardState.commit) return;
    this.hardState = { ...this.hardState, commit: commit as HardState['commit'] };
  }

  /** The log is thrown away and begins after `base`. */
  reset(base: LogPosition, hardState: HardState | undefined): void {
    if (base.index < this.hardState.commit) {
      throw new RangeError(`reset to ${base.index} below the commit ${this.hardState.commit}`);
    }
    if (hardState) this.checkHardState(hardState, base.index);
    this.terms = new TermRuns(base.index, base.term);
    this.raise({ ...(hardState ?? this.hardState), commit: base.index });
  }

  release(baseIndex: number): void {
    this.terms.dropBelow(baseIndex);
  }

  private raise(hardState: HardState): void {
    const commit = Math.max(hardState.commit, this.hardState.commit) as HardState['commit'];
    this.hardState = { ...hardState, commit };
  }

  private checkEntries(entries: readonly WalEntry[]): number {
    let sizeBytes = EXTRA_RECORDS_BYTES + entries.length * RECORD_HEADER_BYTES;
    const first = entries[0];
    if (!first) return sizeBytes;
    if (first.index <= this.hardState.commit) {
      throw new RangeError(`entry ${first.index} would replace a committed one`);
    }
    let term = this.terms.termOf(first.index - 1);
    if (term === undefined) {
      const { baseIndex, last } = this.terms;
      throw new RangeError(`entry ${first.index} does not follow the log (${baseIndex}, ${last}]`);
    }
    let index: number = first.index;
    for (const entry of entries) {
      if (entry.index !== index) throw new RangeError(`entry ${entry.index}, expected ${index}`);
      if (!(entry.term >= term)) throw new RangeError(`term ${entry.term} after term ${term}`);
      term = entry.term;
      index += 1;
      for (const part of entry.parts) sizeBytes += part.length;
    }
    if (sizeBytes > MAX_BATCH_BYTES) throw new RangeError(`batch of ${sizeBytes} bytes`);
    return sizeBytes;
  }

  private checkHardState(next: HardState, last: number): void {
    const { term, vote } = this.hardState;
    if (!(next.term >= term)) throw new RangeError(`hard state term ${next.term} after ${term}`);
    if (next.term === term && vote !== 0 && next.vote !== vote) {
      throw new RangeError(`second vote in term ${term}: ${next.vote} after ${vote}`);
    }
    if (!(next.commit <= last)) throw new RangeError(`commit ${next.commit} above entry ${last}`);
  }
}
