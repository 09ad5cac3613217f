/** Plugs the retention sweeper into every group, with its settings. */
import { setTimeout as delay } from 'node:timers/promises';
import type { QueenConfig } from '../../config/index.js';
import { monotonicMs } from '../../config/index.js';
import type { Logger } from '../../logging/index.js';
import { encodeDropPartitions, encodeTrimPartitions } from '../../machine/commands/index.js';
import type { Groups } from '../../raft/index.js';
import { RetentionSweeper } from './retention-sweeper.js';

const DAY_MICROS = 86_400_000_000;
const CLEANUP_EVERY_MS = 60_000;

export function attachRetention(groups: Groups, config: QueenConfig, logger: Logger): void {
  const { retention } = config;
  const log = logger.child('retention');
  groups.attachCoordinator(
    (host) =>
      new RetentionSweeper(host, {
        intervalMs: retention.intervalMs,
        batchSize: retention.batchSize,
        partitionsPerSecond: retention.scan ? retention.scanPerSecond : Infinity,
        cleanupAfterMicros: retention.partitionCleanup
          ? retention.partitionCleanupDays * DAY_MICROS
          : null,
        cleanupEveryMs: CLEANUP_EVERY_MS,
        encodeTrim: encodeTrimPartitions,
        encodeDrop: encodeDropPartitions,
        sleep: (ms) => delay(ms, undefined, { ref: false }),
        monotonicMs,
        failed: (error) => log.info('retention round ended early', { why: String(error) }),
      }),
  );
}
