/** Gives the process logger to every provider under the token LOGGER. */
import { Global, Module, type DynamicModule } from '@nestjs/common';
import type { Logger } from './logger.js';

export const LOGGER = Symbol('LOGGER');

@Global()
@Module({})
export class LoggingModule {
  static forRoot(logger: Logger): DynamicModule {
    const provider = { provide: LOGGER, useValue: logger };
    return { module: LoggingModule, providers: [provider], exports: [provider] };
  }
}
