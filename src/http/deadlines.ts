/**
 * Deadlines of calls, on the monotonic clock, in milliseconds (messages.md §1.5). A deadline is set
 * when the body is there: neither a slow upload nor waiting for admission eats a call's time.
 */
import { monotonicMs } from '../config/index.js';

const MIN_MS = 1;
const MAX_MS = 60_000;

/** Absolute deadline for a budget clamped to 1…60000 ms. */
export function deadlineAfter(budgetMs: number): number {
  return monotonicMs() + Math.min(Math.max(budgetMs, MIN_MS), MAX_MS);
}
