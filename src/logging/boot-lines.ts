/**
 * The lines of a boot: `config: <group>` with the effective configuration, one WARN per refused or
 * ignored variable, and the logger that can say FATAL before there is a configuration.
 */
import { describeConfig, type LoadedConfig } from '../config/index.js';
import { createLogger, type LineDestination, type Logger } from './logger.js';

export const BOOT_TARGET = 'boot';

export function logConfig(logger: Logger, { config, warnings }: LoadedConfig): void {
  for (const warning of warnings) logger.log('warn', BOOT_TARGET, warning);
  for (const { group, fields } of describeConfig(config)) {
    logger.log('info', BOOT_TARGET, `config: ${group}`, fields);
  }
}

/**
 * For a boot that failed before its configuration was read. `jsonText` is the raw QUEEN_LOG_JSON:
 * only a clear yes gives JSON lines.
 */
export function emergencyLogger(jsonText?: string, destination?: LineDestination): Logger {
  const json = /^\s*(true|1|yes|on)\s*$/i.test(jsonText ?? '');
  return createLogger({ filter: 'info', json, ...(destination ? { destination } : {}) });
}
