/**
 * Nest's own lines under the target `nest`. Its INFO chatter about modules and routes is DEBUG here;
 * warnings and errors keep their level. Nest passes (message, …, context) and for errors
 * (message, stack, context).
 */
import type { LoggerService } from '@nestjs/common';
import type { LogLevel } from './filter.js';
import type { LogFields } from './line.js';
import type { Logger, TargetLogger } from './logger.js';

const NEST_TARGET = 'nest';
/** Tells what it throws on; the boot then says it in its one FATAL line. */
const RETHROWER = 'ExceptionHandler';

function textOf(message: unknown): string {
  if (typeof message === 'string') return message;
  return message instanceof Error ? `${message.name}: ${message.message}` : JSON.stringify(message);
}

/** The last text is the context; an earlier one with lines in it is a stack. */
function fieldsOf(rest: readonly unknown[]): LogFields {
  const texts = rest.filter((part): part is string => typeof part === 'string');
  const stack = texts.find((text) => text.includes('\n'));
  const context = texts.filter((text) => text !== stack).at(-1);
  return { context, stack };
}

export class NestLogger implements LoggerService {
  private readonly logger: TargetLogger;

  constructor(logger: Logger) {
    this.logger = logger.child(NEST_TARGET);
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write(fieldsOf(rest).context === RETHROWER ? 'debug' : 'error', message, rest);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  private write(level: LogLevel, message: unknown, rest: readonly unknown[]): void {
    if (this.logger.isEnabled(level)) this.logger.log(level, textOf(message), fieldsOf(rest));
  }
}
