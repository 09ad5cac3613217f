/**
 * The records of one write, in order. Encoding, counting and publishing walk the same sequence, so
 * they can never disagree about what was written.
 *
 *   [commit]  per batch: [hard state] [truncation] entry entry ...
 */
import type { HardState, WalBatch, WalEntry } from './types.js';

export interface RecordVisitor {
  hardState(state: HardState): void;
  /** Entries above `last` are void. */
  truncation(last: number): void;
  entry(entry: WalEntry): void;
}

export interface GroupStart {
  readonly lastIndex: number;
  readonly hardState: HardState;
  /** Commit index known to the last batch of the group; at most its last entry. */
  readonly commit: number;
}

export function walkGroup(
  batches: readonly WalBatch[],
  start: GroupStart,
  visitor: RecordVisitor,
): void {
  let last = start.lastIndex;
  if (start.commit > start.hardState.commit && !batches.some((batch) => batch.hardState)) {
    if (batches.some((batch) => batch.entries.length > 0)) {
      visitor.hardState(withCommit(start.hardState, start.commit));
    }
  }
  for (const batch of batches) {
    if (batch.hardState) visitor.hardState(withCommit(batch.hardState, start.commit));
    const first = batch.entries[0];
    if (first && first.index <= last) visitor.truncation(first.index - 1);
    for (const entry of batch.entries) visitor.entry(entry);
    last = batch.entries[batch.entries.length - 1]?.index ?? last;
  }
}

function withCommit(hardState: HardState, commit: number): HardState {
  if (commit <= hardState.commit) return hardState;
  return { ...hardState, commit: commit as HardState['commit'] };
}
