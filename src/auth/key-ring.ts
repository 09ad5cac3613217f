/**
 * Which key verifies a token (cluster.md §9.3): the secret for HS, for RS and EdDSA the configured
 * public key when it is of that kind, else the JWKS by `kid`. It says "the operator gave no such key"
 * and "nobody knows this key id" apart, for the first is the broker's fault and the second the caller's.
 */
import type { KeyObject } from 'node:crypto';
import type { JwksKeys } from './jwks.js';
import type { KeyKind, PublicKey } from './key-material.js';
import { KeyUnavailable, REFUSAL, Unauthenticated } from './refusal.js';

export const TOKEN_ALGORITHMS = [
  'HS256',
  'HS384',
  'HS512',
  'RS256',
  'RS384',
  'RS512',
  'EdDSA',
] as const;
export type TokenAlgorithm = (typeof TOKEN_ALGORITHMS)[number];

/** What a configured algorithm accepts: RS256 takes its stronger sisters, auto takes all. */
export function acceptedBy(configured: TokenAlgorithm | 'auto'): ReadonlySet<string> {
  if (configured === 'auto') return new Set(TOKEN_ALGORITHMS);
  if (configured === 'RS256') return new Set(['RS256', 'RS384', 'RS512']);
  return new Set([configured]);
}

export interface KeyMaterial {
  readonly secret: Uint8Array | null;
  /** `invalid`: a PEM was given and is none. */
  readonly publicKey: PublicKey | 'invalid' | null;
  readonly jwks: JwksKeys | null;
}

export class KeyRing {
  constructor(private readonly material: KeyMaterial) {}

  async keyOf(algorithm: TokenAlgorithm, kid: string): Promise<KeyObject | Uint8Array> {
    const { secret, publicKey, jwks } = this.material;
    if (algorithm.startsWith('HS')) {
      if (secret === null) throw new KeyUnavailable();
      return secret;
    }
    if (publicKey === 'invalid') throw new KeyUnavailable();
    const kind: KeyKind = algorithm === 'EdDSA' ? 'ed25519' : 'rsa';
    if (publicKey?.kind === kind) return publicKey.key;
    if (jwks === null) throw new KeyUnavailable();
    const found = await jwks.find(kid, kind);
    if (found !== null) return found;
    throw jwks.isLoaded ? new Unauthenticated(REFUSAL.unknownKey) : new KeyUnavailable();
  }
}
