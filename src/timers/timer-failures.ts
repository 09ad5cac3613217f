/** What the log says no with, in the envelope of the timer plane (state.md §2.7). */
import { QueenError } from '../common/errors.js';
import { planeRefusal } from '../preparation/state-failures.js';
import type { PlaneWords } from '../preparation/state-failures.js';

const WORDS: PlaneWords = {
  fault: 'timers_error',
  unavailable: 'timers_unavailable',
  reasons: {
    timeout: 'timers_timeout',
    outcome_unknown: 'timers_timeout',
    retry: 'timers_retry',
    no_leader: 'no_leader',
  },
};

/** Runs a call; its failures leave as refusals of the timer plane. */
export async function answering<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw planeRefusal(error, WORDS);
  }
}

/** The command had no effect and nobody can tell any more what it would have done. */
export function outcomeLost(): QueenError {
  return new QueenError('retry');
}
