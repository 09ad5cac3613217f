/**
 * Loggers for tests and for parts that run without a boot: one that drops everything and one that
 * keeps what it was told, unfiltered and unformatted.
 */
import type { LogLevel } from './filter.js';
import type { LogFields } from './line.js';
import { targetLogger, type Logger } from './logger.js';

export interface RecordedLine {
  readonly level: LogLevel;
  readonly target: string;
  readonly message: string;
  readonly fields: LogFields;
}

export interface RecordingLogger extends Logger {
  readonly lines: readonly RecordedLine[];
}

function rootOf(write: (line: RecordedLine) => void, enabled: boolean): Logger {
  const root: Omit<Logger, 'child'> = {
    isEnabled: () => enabled,
    log: (level, target, message, fields = {}) => write({ level, target, message, fields }),
    fatal: (reason) =>
      write({ level: 'error', target: 'boot', message: `FATAL: ${reason}`, fields: {} }),
  };
  return { ...root, child: (target) => targetLogger(root, target) };
}

export const silentLogger: Logger = rootOf(() => undefined, false);

export function recordingLogger(): RecordingLogger {
  const lines: RecordedLine[] = [];
  return { ...rootOf((line) => void lines.push(line), true), lines };
}
