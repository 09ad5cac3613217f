/**
 * What every route shares: error answers, admission, traffic counters. The parts that Fastify's hooks
 * need exist before Nest does, so they are handed in.
 */
import { Global, Module, type DynamicModule } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { UuidMint } from '../common/uuid-v7.js';
import type { Logger } from '../logging/index.js';
import { LOGGER } from '../logging/index.js';
import { Admission } from './admission.js';
import { EphemeralFigures } from './ephemeral-figures.js';
import { ErrorFilter } from './error-filter.js';
import { KnownRoutes } from './known-routes.js';
import { systemClock, systemRandom } from '../config/index.js';
import { PageFallback } from './page-fallback.js';
import { HTTP_LOGGER, MESSAGE_IDS } from './tokens.js';
import { Traffic } from './traffic.js';
import { TransactionPlugs } from './transaction-plugs.js';

export interface HttpParts {
  readonly routes: KnownRoutes;
  readonly admission: Admission;
}

@Global()
@Module({})
export class HttpModule {
  static forRoot(parts: HttpParts): DynamicModule {
    return {
      module: HttpModule,
      providers: [
        { provide: KnownRoutes, useValue: parts.routes },
        { provide: Admission, useValue: parts.admission },
        PageFallback,
        Traffic,
        TransactionPlugs,
        EphemeralFigures,
        { provide: MESSAGE_IDS, useFactory: () => new UuidMint(systemClock, systemRandom) },
        {
          provide: HTTP_LOGGER,
          inject: [LOGGER],
          useFactory: (logger: Logger) => logger.child('http'),
        },
        { provide: APP_FILTER, useClass: ErrorFilter },
      ],
      exports: [
        Admission,
        PageFallback,
        Traffic,
        TransactionPlugs,
        EphemeralFigures,
        HTTP_LOGGER,
        MESSAGE_IDS,
      ],
    };
  }
}
