/** Resolves the tenant of a request. */
import { Module } from '@nestjs/common';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { Tenancy } from './tenant.js';

@Module({
  providers: [
    {
      provide: Tenancy,
      inject: [QUEEN_CONFIG],
      useFactory: (config: QueenConfig) => new Tenancy(config.security.tenancyHeader),
    },
  ],
  exports: [Tenancy],
})
export class TenancyModule {}
