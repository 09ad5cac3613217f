/**
 * Gives the frozen configuration to every provider under the token QUEEN_CONFIG. The configuration is
 * loaded before Nest starts (a bad one must print one FATAL line, not a stack of injectors).
 */
import { Global, Module, type DynamicModule } from '@nestjs/common';
import type { QueenConfig } from './queen-config.js';

export const QUEEN_CONFIG = Symbol('QUEEN_CONFIG');

@Global()
@Module({})
export class ConfigModule {
  static forRoot(config: QueenConfig): DynamicModule {
    const provider = { provide: QUEEN_CONFIG, useValue: config };
    return { module: ConfigModule, providers: [provider], exports: [provider] };
  }
}
