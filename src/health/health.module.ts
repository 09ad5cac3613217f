/**
 * Readiness for orchestrators and people: `GET /health`. Liveness is a TCP connect, never this route,
 * because a node without a quorum is alive.
 */
import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { Groups, RaftModule, Readiness } from '../raft/index.js';
import { BrokerIndicator } from './broker.indicator.js';
import { HealthController } from './health.controller.js';

@Module({
  imports: [TerminusModule.forRoot({ logger: false }), RaftModule],
  controllers: [HealthController],
  providers: [
    BrokerIndicator,
    {
      provide: Readiness,
      inject: [Groups, QUEEN_CONFIG],
      useFactory: (groups: Groups, config: QueenConfig) => new Readiness(groups, config.raft),
    },
  ],
})
export class HealthModule {}
