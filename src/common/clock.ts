/**
 * Time as a dependency. Pure rooms receive a Clock; only the shell implements it. Verdicts never use
 * either reading: they use the stamp of the log entry.
 */

export interface Clock {
  /** Wall clock in integer milliseconds since the Unix epoch; may jump. */
  nowMs(): number;
  /** Monotonic integer microseconds since an arbitrary start; never goes back. */
  monotonicMicros(): number;
}
