/**
 * Builds what checks tokens from the configuration, before the application exists: Fastify's hooks need
 * it. Fetches the JWKS once; an address that does not answer is a warning, not a failed boot.
 */
import type { AuthConfig } from '../config/index.js';
import { monotonicMs, systemClock } from '../config/index.js';
import type { TargetLogger } from '../logging/index.js';
import { Authenticator } from './authenticator.js';
import type { AuthParts } from './auth-hook.js';
import { roleNamesOf } from './claims.js';
import { JwksKeys } from './jwks.js';
import { keyOfPem } from './key-material.js';
import { acceptedBy, KeyRing, type KeyMaterial } from './key-ring.js';
import { SkipPaths } from './skip-paths.js';

export interface BuiltAuth extends AuthParts {
  close(): void;
}

/** Null when JWT_ENABLED is off. */
export async function buildAuth(config: AuthConfig, log: TargetLogger): Promise<BuiltAuth | null> {
  if (!config.enabled) return null;
  const jwks = jwksOf(config, log, () => authenticator.forgetAll());
  const authenticator = new Authenticator({
    accepted: acceptedBy(config.algorithm),
    keys: new KeyRing({
      secret: config.secret === null ? null : Buffer.from(config.secret),
      publicKey: publicKeyOf(config.publicKey, log),
      jwks,
    }),
    rules: { ...config, roleNames: roleNamesOf(config) },
    now: () => systemClock.nowMs(),
  });
  await jwks?.start();
  return {
    authenticator,
    skipPaths: new SkipPaths(config.skipPaths),
    close: () => jwks?.close(),
  };
}

function jwksOf(config: AuthConfig, log: TargetLogger, onChange: () => void): JwksKeys | null {
  const { jwksUrl: url, jwksRefreshMs: refreshMs, jwksTimeoutMs: timeoutMs } = config;
  if (url === null) return null;
  return new JwksKeys({ url, refreshMs, timeoutMs, log, now: monotonicMs, onChange });
}

function publicKeyOf(pem: string | null, log: TargetLogger): KeyMaterial['publicKey'] {
  if (pem === null) return null;
  const key = keyOfPem(pem);
  if (key !== null) return key;
  log.error(
    'JWT_PUBLIC_KEY is no PEM of an RSA key of at least 2048 bits or of an Ed25519 key: tokens that need it answer 500',
  );
  return 'invalid';
}
