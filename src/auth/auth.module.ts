/** The global guard, only when tokens are checked at all, and the end of what refreshes keys. */
import { Global, Module, type DynamicModule, type OnApplicationShutdown } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AccessGuard } from './access.guard.js';
import type { BuiltAuth } from './build.js';

class KeyRefresh implements OnApplicationShutdown {
  constructor(private readonly auth: BuiltAuth) {}

  onApplicationShutdown(): void {
    this.auth.close();
  }
}

@Global()
@Module({})
export class AuthModule {
  static forRoot(auth: BuiltAuth | null): DynamicModule {
    if (auth === null) return { module: AuthModule };
    return {
      module: AuthModule,
      providers: [
        { provide: APP_GUARD, useClass: AccessGuard },
        { provide: KeyRefresh, useFactory: () => new KeyRefresh(auth) },
      ],
    };
  }
}
