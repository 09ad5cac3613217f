/**
 * Lines that may repeat per message or per request: each (level, message) is written at most once per
 * interval, and the next one written carries `suppressed=N`. Nothing is written by a timer, so lines
 * suppressed in the last interval before silence are only counted when the line comes again.
 */
import type { LogLevel } from './filter.js';
import type { LogFields } from './line.js';
import type { TargetLogger } from './logger.js';

export interface SampledLogger {
  log(level: LogLevel, message: string, fields?: LogFields): void;
}

export interface SamplingOptions {
  readonly intervalMs?: number;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

/** Distinct messages remembered; messages are constants, so this is never reached by design. */
const MAX_MESSAGES = 256;
const DEFAULT_INTERVAL_MS = 10_000;

interface Seen {
  nextMs: number;
  suppressed: number;
}

export function sampledLogger(logger: TargetLogger, options: SamplingOptions = {}): SampledLogger {
  const { intervalMs = DEFAULT_INTERVAL_MS, now = () => performance.now() } = options;
  const seen = new Map<string, Seen>();
  return {
    log: (level, message, fields = {}) => {
      if (!logger.isEnabled(level)) return;
      const key = `${level} ${message}`;
      const entry = seen.get(key) ?? { nextMs: -Infinity, suppressed: 0 };
      if (now() < entry.nextMs) {
        entry.suppressed += 1;
        return;
      }
      const { suppressed } = entry;
      if (!seen.has(key) && seen.size >= MAX_MESSAGES) seen.clear();
      seen.set(key, { nextMs: now() + intervalMs, suppressed: 0 });
      logger.log(level, message, suppressed === 0 ? fields : { ...fields, suppressed });
    },
  };
}
