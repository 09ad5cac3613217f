/**
 * Figures of this node: JSON at /metrics, Prometheus text at /metrics/prometheus. Reads what components
 * count; keeps almost nothing itself.
 */
import { Module, type NestModule } from '@nestjs/common';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import type { Registry } from 'prom-client';
import { CoordinatorsModule } from '../coordinators/index.js';
import { QUEEN_CONFIG, type QueenConfig } from '../config/index.js';
import { StatePlaneModule } from '../preparation/state-plane.module.js';
import { Groups, RaftModule, Readiness } from '../raft/index.js';
import { EventLoopLag } from './event-loop-lag.js';
import { FamiliesService } from './families.service.js';
import { MetricsController } from './metrics.controller.js';
import { PrometheusController } from './prometheus.controller.js';
import { METRICS_REGISTRY, RegistryModule } from './registry.module.js';

@Module({
  imports: [
    CoordinatorsModule,
    RaftModule,
    RegistryModule,
    StatePlaneModule,
    PrometheusModule.registerAsync({
      imports: [RegistryModule],
      controller: PrometheusController,
      inject: [METRICS_REGISTRY],
      useFactory: (registry: Registry) => ({
        controller: PrometheusController,
        path: 'metrics/prometheus',
        defaultMetrics: { enabled: true, config: { register: registry } },
      }),
    }),
  ],
  controllers: [MetricsController],
  providers: [
    EventLoopLag,
    FamiliesService,
    {
      provide: Readiness,
      inject: [Groups, QUEEN_CONFIG],
      useFactory: (groups: Groups, config: QueenConfig) => new Readiness(groups, config.raft),
    },
  ],
})
export class MetricsModule implements NestModule {
  constructor(private readonly families: FamiliesService) {}

  /** Called before the routes are registered, which is when hooks have to stand. */
  configure(): void {
    this.families.start();
  }
}
