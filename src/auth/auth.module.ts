/** The global guard, only when tokens are checked at all, and the end of what refreshes keys. */
import { Global, Module, type DynamicModule, type OnApplicationShutdown } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AccessGuard } from './access.guard.js';
import type { BuiltAuth } from './build.js';

/** The `Authenticator` that knows whose a token is; null when no tokens are checked. */
export const AUTHENTICATOR = Symbol('Authenticator');

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
    const authenticator = { provide: AUTHENTICATOR, useValue: auth?.authenticator ?? null };
    const exports = [AUTHENTICATOR];
    if (auth === null) return { module: AuthModule, providers: [authenticator], exports };
    return {
      module: AuthModule,
      exports,
      providers: [
        authenticator,
        { provide: APP_GUARD, useClass: AccessGuard },
        { provide: KeyRefresh, useFactory: () => new KeyRefresh(auth) },
      ],
    };
  }
}
