/**
 * The registry of this application's metrics. Its own, not the library's global one, so that two brokers
 * in one process (tests) do not share numbers.
 */
import { Module } from '@nestjs/common';
import { Registry } from 'prom-client';

export const METRICS_REGISTRY = Symbol('METRICS_REGISTRY');

@Module({
  providers: [{ provide: METRICS_REGISTRY, useFactory: () => new Registry() }],
  exports: [METRICS_REGISTRY],
})
export class RegistryModule {}
