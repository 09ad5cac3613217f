import { Module } from '@nestjs/common';
import { HealthModule } from '../health/health.module.js';
import { MetricsController } from './metrics.controller.js';

/** Figures of this node: JSON at /metrics, Prometheus text at /metrics/prometheus. */
@Module({
  imports: [HealthModule],
  controllers: [MetricsController],
})
export class MetricsModule {}
