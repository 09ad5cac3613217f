/** Plugs the leader-only coordinators into every group of this process. */
import { Inject, Module, type OnModuleInit } from '@nestjs/common';
import { IMPLICIT_QUEUE } from '../common/implicit-queue.js';
import { UuidMint } from '../common/uuid-v7.js';
import type { QueenConfig } from '../config/index.js';
import { monotonicMs, QUEEN_CONFIG, systemClock, systemRandom } from '../config/index.js';
import type { Logger } from '../logging/index.js';
import { LOGGER, sampledLogger } from '../logging/index.js';
import { encodeClaim } from '../machine/commands/index.js';
import { Groups, RaftModule } from '../raft/index.js';
import { Dispatcher } from './dispatcher/dispatcher.js';
import { KvExpirySweeper } from './kv-expiry/kv-expiry-sweeper.js';
import { SwitchMirror } from './switches/switch-mirror.js';
import { buildTimerSweeper } from './timers/index.js';
import { attachRetention } from './retention/attach-retention.js';
import { SweepFigures } from './sweep-figures.js';
import { TraceSweeper } from './traces/trace-sweeper.js';

const TICK_MS = 10;
const CONFLICT_LOG_MS = 60_000;

@Module({ imports: [RaftModule], providers: [SweepFigures], exports: [SweepFigures] })
export class CoordinatorsModule implements OnModuleInit {
  @Inject(SweepFigures) private readonly figures!: SweepFigures;

  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onModuleInit(): void {
    attachRetention(this.groups, this.config, this.logger);
    const { raft, planner } = this.config;
    const conflicts = sampledLogger(this.logger.child('dispatcher'), {
      intervalMs: CONFLICT_LOG_MS,
      now: monotonicMs,
    });
    const mint = new UuidMint(systemClock, systemRandom);
    this.groups.attachDispatcher(
      (host) =>
        new Dispatcher(host, {
          skewMicros: raft.maxClockSkewMs * 1000,
          replyMarginMs: planner.popReplyMarginMs,
          maxPopBytes: planner.popMaxBytes,
          tickMs: TICK_MS,
          idleLaneMs: planner.idleUnloadMs === 0 ? Infinity : planner.idleUnloadMs,
          monotonicMs,
          autopilot: {
            drainMs: planner.autopilotDrainMs,
            batchMin: planner.autopilotBatchMin,
            batchMax: planner.autopilotBatchMax,
          },
          onConflict: (queue, group) =>
            conflicts.log('warn', 'conflation asked for differs from the stored policy', {
              queue,
              group,
            }),
          mintLeaseId: () => mint.mint(),
          encodeClaim,
        }),
    );
    this.attachTimerSweeper(mint);
    this.attachKvExpiry();
    this.attachTraceSweeper();
    this.attachSwitchMirror();
  }

  /** The others follow group 0. */
  private attachSwitchMirror(): void {
    const { first } = this.groups;
    const logger = this.logger.child('switches');
    const log = (event: string, fields: object): void => logger.warn(event, { ...fields });
    this.groups.attachCoordinator((host) =>
      host.id === first.id ? null : new SwitchMirror(host, first, { monotonicMs, log }),
    );
  }

  /** Often enough that nothing is kept for more than a tenth longer, but at least every ten seconds. */
  private attachTraceSweeper(): void {
    const { traceRetentionMs: retentionMs, tracesMax, tracesPerMessage } = this.config.retention;
    const sweepMs = Math.min(Math.max(retentionMs / 10, 1000), 10_000);
    const bounds = { maxTotal: tracesMax || Infinity, maxPerMessage: tracesPerMessage || Infinity };
    const logger = this.logger.child('traces');
    const log = (event: string, fields: object): void => logger.warn(event, { ...fields });
    this.groups.attachCoordinator(
      (host) => new TraceSweeper(host, { sweepMs, retentionMs, ...bounds, log }),
    );
  }

  private attachKvExpiry(): void {
    const { sweepMs, sweepLimit: limit } = this.config.kv;
    const logger = this.logger.child('kv');
    const log = (event: string, fields: object): void => logger.warn(event, { ...fields });
    const { figures } = this;
    this.groups.attachCoordinator(
      (host) => new KvExpirySweeper(host, { sweepMs, limit, log, figures, monotonicMs }),
    );
  }

  private attachTimerSweeper(mint: UuidMint): void {
    const log = this.logger.child('timers');
    const limits = {
      defaults: IMPLICIT_QUEUE,
      windowMinSeconds: Math.ceil(this.config.retention.txnWindowMinMs / 1000),
    };
    this.groups.attachCoordinator((host) =>
      buildTimerSweeper(host, this.config, {
        ...{ limits, mint, figures: this.figures },
        log: (event, fields) => log.warn(event, fields),
      }),
    );
  }
}
