import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { RaftModule } from '../raft/index.js';
import { BrokerIndicator } from './broker.indicator.js';
import { HealthController } from './health.controller.js';

/** Readiness for orchestrators and people. Liveness is a TCP connect, never this route. */
@Module({
  imports: [TerminusModule.forRoot({ logger: false }), RaftModule],
  controllers: [HealthController],
  providers: [BrokerIndicator],
  exports: [BrokerIndicator],
})
export class HealthModule {}
