/**
 * Entry of the logging room: create one logger at start, inject LOGGER elsewhere, take a child per
 * target, sample whatever may repeat.
 */
export { BOOT_TARGET, emergencyLogger, logConfig } from './boot-lines.js';
export { LOG_LEVELS, type LogLevel } from './filter.js';
export type { LogFields } from './line.js';
export {
  createLogger,
  type LineDestination,
  type Logger,
  type LoggerOptions,
  type TargetLogger,
} from './logger.js';
export { LOGGER, LoggingModule } from './logging.module.js';
export { NestLogger } from './nest-logger.js';
export {
  recordingLogger,
  silentLogger,
  type RecordedLine,
  type RecordingLogger,
} from './recording.js';
export { sampledLogger, type SampledLogger, type SamplingOptions } from './sampled.js';
