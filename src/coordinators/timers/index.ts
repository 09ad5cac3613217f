/** Builds the timer sweeper from the configuration. */
import { crc32 } from 'node:zlib';
import type { UuidMint } from '../../common/uuid-v7.js';
import type { QueenConfig } from '../../config/index.js';
import { monotonicMs } from '../../config/index.js';
import type { PushCommandLimits } from '../../machine/commands/catalogue.js';
import type { SweepFigures } from '../sweep-figures.js';
import { TimerSweeper } from './timer-sweeper.js';
import type { SweeperHost, TimerSweeperOptions } from './timer-sweeper.js';

export interface SweeperParts {
  readonly limits: PushCommandLimits;
  readonly mint: UuidMint;
  readonly figures: SweepFigures;
  readonly log: TimerSweeperOptions['log'];
}

export function buildTimerSweeper(
  host: SweeperHost,
  { kv, planner }: QueenConfig,
  { limits, mint, figures, log }: SweeperParts,
): TimerSweeper {
  return new TimerSweeper(host, {
    tickMs: kv.timerTickMs,
    batch: kv.timerFireBatch,
    maxBytes: kv.timerFireMaxBytes,
    entryMaxBytes: planner.entryMaxBytes,
    failure: {
      transientMicros: kv.timerTransientBackoffMs * 1000,
      backoffMinMicros: kv.timerBackoffMinMs * 1000,
      backoffMaxMicros: kv.timerBackoffMaxMs * 1000,
      maxAttempts: kv.timerMaxAttempts,
    },
    crc: (bytes, start, end) => crc32(bytes.subarray(start, end)),
    mintId: () => mint.mint(),
    isOn: () => host.tables.controls.isOn('timersFire'),
    ...{ limits, figures, log, monotonicMs },
  });
}

export { TimerSweeper } from './timer-sweeper.js';
