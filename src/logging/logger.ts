/**
 * The logger of the process: pino for JSON lines, pino's destination for text lines. Writing is
 * synchronous, so that the last lines before an exit are never lost; whoever logs on a hot path uses
 * a sampled logger. A filtered line costs one array look-up and nothing is built for it.
 */
import { pino } from 'pino';
import { LOG_LEVELS, parseFilter, rankOf, thresholdOf, type LogLevel } from './filter.js';
import { createMicrosClock, flatFields, formatMicros, textLine } from './line.js';
import type { LogFields, LogRecord, MicrosClock } from './line.js';

/** Logs under one target. Messages are constants; what varies goes into fields. */
export interface TargetLogger {
  readonly target: string;
  isEnabled(level: LogLevel): boolean;
  log(level: LogLevel, message: string, fields?: LogFields): void;
  trace(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export interface Logger {
  isEnabled(level: LogLevel, target: string): boolean;
  log(level: LogLevel, target: string, message: string, fields?: LogFields): void;
  child(target: string): TargetLogger;
  /** ERROR boot `FATAL: <reason>`, whatever the filter says. The caller exits 1. */
  fatal(reason: string): void;
}

/** Where lines go; each text ends with a line break. */
export interface LineDestination {
  write(line: string): unknown;
}

export interface LoggerOptions {
  /** Directives; an invalid text means info and is logged as a warning. */
  readonly filter: string;
  readonly json: boolean;
  readonly destination?: LineDestination;
  readonly clock?: MicrosClock;
}

type Sink = (record: LogRecord) => void;

function standardOutput(): LineDestination {
  const destination = pino.destination({ dest: 1, sync: true });
  // A reader that went away (EPIPE) must not stop the broker; there is nowhere left to report it.
  destination.on('error', () => undefined);
  return destination;
}

function jsonSink(destination: LineDestination): Sink {
  let micros = 0;
  const lines = pino(
    {
      base: null,
      level: 'trace',
      messageKey: 'message',
      timestamp: () => `,"timestamp":"${formatMicros(micros)}"`,
      formatters: { level: (label) => ({ level: label.toUpperCase() }) },
    },
    { write: (line) => void destination.write(line) },
  );
  return (record) => {
    micros = record.micros;
    const level = record.level.toLowerCase() as LogLevel;
    lines[level]({ target: record.target, ...record.fields }, record.message);
  };
}

function textSink(destination: LineDestination): Sink {
  return (record) => void destination.write(textLine(record));
}

/** A target logger on top of any root; shared with the test loggers. */
export function targetLogger(root: Omit<Logger, 'child'>, target: string): TargetLogger {
  const enabled = new Map(LOG_LEVELS.map((level) => [level, root.isEnabled(level, target)]));
  const at =
    (level: LogLevel) =>
    (message: string, fields?: LogFields): void => {
      if (enabled.get(level) === true) root.log(level, target, message, fields);
    };
  return {
    target,
    isEnabled: (level) => enabled.get(level) === true,
    log: (level, message, fields) => at(level)(message, fields),
    trace: at('trace'),
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  };
}

export function createLogger(options: LoggerOptions): Logger {
  const { filter, warning } = parseFilter(options.filter);
  const clock = options.clock ?? createMicrosClock();
  const destination = options.destination ?? standardOutput();
  const sink = options.json ? jsonSink(destination) : textSink(destination);
  const thresholds = new Map<string, number>();
  const thresholdFor = (target: string): number => {
    const known = thresholds.get(target);
    if (known !== undefined) return known;
    const threshold = thresholdOf(filter, target);
    thresholds.set(target, threshold);
    return threshold;
  };
  const write = (level: LogLevel, target: string, message: string, fields: LogFields): void =>
    sink({
      micros: clock.now(),
      level: level.toUpperCase(),
      target,
      message,
      fields: flatFields(fields),
    });
  const root: Omit<Logger, 'child'> = {
    isEnabled: (level, target) => rankOf(level) >= thresholdFor(target),
    log: (level, target, message, fields = {}) => {
      if (rankOf(level) >= thresholdFor(target)) write(level, target, message, fields);
    },
    fatal: (reason) => write('error', 'boot', `FATAL: ${reason}`, {}),
  };
  if (warning !== null) root.log('warn', 'boot', warning);
  return { ...root, child: (target) => targetLogger(root, target) };
}
