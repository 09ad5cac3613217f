/**
 * How far back a queue recognises transactionIds (spec §2.9, §2.10), from replicated state alone. Nodes
 * forget rows and ids of trimmed appends on their own once these are older than the queue's window; a
 * window raised later must not reach back to what one node forgot and another still has:
 *
 *   window 60 s            raised to 1 h at T
 *   ───────────────┬───────────┬──────────────► append time
 *     may be gone  │  T − 60 s │ T
 *                  └ recognisedSince: nothing older counts, on any node
 */
import type { QueueOptions } from '../commands/catalogue.js';
import type { QueueRow } from '../tables/tables.js';

const MICROS_PER_SECOND = 1_000_000;

/** For how long after its append a message stays recognised by every node, seconds. */
export function replicatedWindowSeconds(options: QueueOptions): number {
  return Math.max(0, options.dedupWindowSeconds, options.completedRetentionSeconds);
}

/** Call with the new options still to come: notes how far back the old ones reached. */
export function noteRecognition(queue: QueueRow, next: QueueOptions, now: number): void {
  const before = replicatedWindowSeconds(queue.options);
  if (replicatedWindowSeconds(next) <= before) return;
  queue.recognisedSince = Math.max(queue.recognisedSince, now - before * MICROS_PER_SECOND);
}

/** Oldest append time that counts for the dedup of a push at `now`, µs. */
export function oldestRecognised(queue: QueueRow, now: number): number {
  const window = queue.options.dedupWindowSeconds * MICROS_PER_SECOND;
  return Math.max(queue.recognisedSince, now - window);
}
