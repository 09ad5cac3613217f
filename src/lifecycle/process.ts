/**
 * The life of the process: configuration, boot, listen, signals, exit codes (cluster.md §1.11, §2.9).
 * One FATAL line and exit 1 when the boot fails; exit 0 after a graceful stop; SIGABRT (134) after a fault
 * that nobody caught. Signals are taken once.
 */
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { BROKER_VERSION } from '../common/version.js';
import { ConfigError, loadConfig, monotonicMs } from '../config/index.js';
import type { LoadedConfig, QueenConfig } from '../config/index.js';
import { OpenConnections } from '../http/open-connections.js';
import type { Logger } from '../logging/index.js';
import { createLogger, emergencyLogger, logConfig } from '../logging/index.js';
import { createApp } from './boot.js';
import { letHeapGrow, letYoungGenerationGrow } from './heap-growth.js';
import { STOP_BOUNDS, stopServing } from './stop-serving.js';

const MIN_POOL_THREADS = 16;

export async function runProcess(): Promise<void> {
  let logger: Logger = emergencyLogger(process.env['QUEEN_LOG_JSON']);
  try {
    const loaded = loadConfig(process.env);
    const { config } = loaded;
    logger = createLogger({ filter: config.logging.filter, json: config.logging.json });
    abortOnPanic(logger);
    announce(logger, loaded);
    letYoungGenerationGrow();
    const app = await createApp(config, logger);
    const connections = new OpenConnections(app.getHttpServer(), monotonicMs);
    stopOnSignals(app, connections, logger);
    letHeapGrow();
    await app.listen(config.server.port, config.server.bindHost);
    logger.child('boot').info('listening', {
      version: BROKER_VERSION,
      addr: `${config.server.bindHost}:${portOf(app, config)}`,
      data_dir: config.raft.dir,
    });
  } catch (error) {
    logger.fatal(reasonOf(error));
    process.exit(1);
  }
}

function announce(logger: Logger, loaded: LoadedConfig): void {
  const boot = logger.child('boot');
  logConfig(logger, loaded);
  const threads = Number(process.env['UV_THREADPOOL_SIZE'] ?? 4);
  if (!(threads >= MIN_POOL_THREADS)) {
    boot.error('the thread pool is too small: start through bin/queen.cjs', { threads });
  }
}

/** A fault that nobody caught may have left state half changed: nothing more is done with it (exit 134). */
function abortOnPanic(logger: Logger): void {
  process.on('uncaughtException', (error: unknown) => {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    logger.child('panic').error('core panic: aborting', { fatal: true, error: why });
    process.abort();
  });
}

/**
 * Stops once, in this order: parked pops are answered, the port closes, what is in flight is finished,
 * the groups close with a last checkpoint. Further signals change nothing.
 */
function stopOnSignals(
  app: NestFastifyApplication,
  connections: OpenConnections,
  logger: Logger,
): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping) return;
    stopping = true;
    const log = logger.child('shutdown');
    log.info('signal received, draining in-flight requests', { signal });
    stopServing({ connections, log, close: () => app.close() }, STOP_BOUNDS).then(
      (isComplete) => {
        if (isComplete) log.info('shutdown complete');
        else log.error('shutdown not complete in time', { after_ms: STOP_BOUNDS.endMs });
        process.exit(isComplete ? 0 : 1);
      },
      (error: unknown) => {
        log.error('shutdown failed', { error: reasonOf(error) });
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

function portOf(app: NestFastifyApplication, config: QueenConfig): number {
  const address: unknown = app.getHttpServer().address();
  if (address !== null && typeof address === 'object' && 'port' in address) {
    return Number(address.port);
  }
  return config.server.port;
}

function reasonOf(error: unknown): string {
  if (error instanceof ConfigError) return error.message;
  return error instanceof Error ? error.message : String(error);
}
