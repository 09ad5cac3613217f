/**
 * From a token to an identity: algorithm, signature, claims, in this order, each with its own refusal.
 * A verified token is remembered until it expires or the keys change; a refused one never is.
 */
import { compactVerify, decodeProtectedHeader, errors } from 'jose';
import { readUtf8 } from '../common/utf8.js';
import { judgeClaims, type Claims, type ClaimRules, type VerifiedToken } from './claims.js';
import type { Identity } from './identity.js';
import { TOKEN_ALGORITHMS, type KeyRing, type TokenAlgorithm } from './key-ring.js';
import { REFUSAL, Unauthenticated } from './refusal.js';
import { TokenCache } from './token-cache.js';
import { VerificationGate } from './verification-gate.js';

const MAX_TOKEN_CHARS = 16_384;
const CACHE_BYTES = 8 * 1024 * 1024;

export interface AuthenticatorOptions {
  readonly accepted: ReadonlySet<string>;
  readonly keys: KeyRing;
  readonly rules: ClaimRules;
  /** Wall clock, milliseconds. */
  readonly now: () => number;
  readonly cacheBytes?: number;
}

export class Authenticator {
  private readonly cache: TokenCache;
  private readonly gate = new VerificationGate();
  private readonly running = new Map<string, Promise<Identity>>();
  /** Grows when the keys change, so that a verification begun before is not remembered. */
  private generation = 0;

  constructor(private readonly options: AuthenticatorOptions) {
    this.cache = new TokenCache(options.cacheBytes ?? CACHE_BYTES);
  }

  get cachedBytes(): number {
    return this.cache.sizeBytes;
  }

  /** The identity of a token that was verified before; null when it has to be verified. */
  known(token: string): Identity | null {
    return this.cache.get(token, this.options.now());
  }

  /** Rejects with the refusal. Callers with the same token share one verification. */
  verify(token: string): Promise<Identity> {
    const running = this.running.get(token);
    if (running !== undefined) return running;
    const verification = this.verifyAndRemember(token).finally(() => this.running.delete(token));
    this.running.set(token, verification);
    return verification;
  }

  forgetAll(): void {
    this.generation += 1;
    this.cache.clear();
  }

  private async verifyAndRemember(token: string): Promise<Identity> {
    const { generation } = this;
    const { algorithm, kid } = this.headerOf(token);
    const key = await this.options.keys.keyOf(algorithm, kid);
    const claims = await this.gate.run(() => claimsOf(token, key, algorithm));
    const verified = judgeClaims(claims, this.options.rules, this.options.now());
    if (typeof verified === 'string') throw new Unauthenticated(verified);
    this.remember(token, verified, generation);
    return verified.identity;
  }

  private remember(token: string, verified: VerifiedToken, generation: number): void {
    if (generation === this.generation) this.cache.set(token, verified);
  }

  private headerOf(token: string): { readonly algorithm: TokenAlgorithm; readonly kid: string } {
    if (token.length > MAX_TOKEN_CHARS) throw new Unauthenticated(REFUSAL.malformed);
    const { alg, kid } = decodedHeader(token);
    const algorithm = TOKEN_ALGORITHMS.find((one) => one === alg);
    if (algorithm === undefined || !this.options.accepted.has(algorithm)) {
      throw new Unauthenticated(REFUSAL.algorithm);
    }
    return { algorithm, kid: typeof kid === 'string' ? kid : '' };
  }
}

function decodedHeader(token: string): ReturnType<typeof decodeProtectedHeader> {
  try {
    return decodeProtectedHeader(token);
  } catch (error) {
    if (error instanceof TypeError) throw new Unauthenticated(REFUSAL.malformed);
    throw error;
  }
}

type VerifyKey = Parameters<typeof compactVerify>[1];

async function claimsOf(token: string, key: VerifyKey, algorithm: string): Promise<Claims> {
  try {
    const { payload } = await compactVerify(token, key, { algorithms: [algorithm] });
    const claims: unknown = JSON.parse(readUtf8(payload, 0, payload.length));
    if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) {
      throw new Unauthenticated(REFUSAL.malformed);
    }
    return claims as Claims;
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) {
      throw new Unauthenticated(REFUSAL.signature);
    }
    if (error instanceof errors.JOSEError || error instanceof SyntaxError) {
      throw new Unauthenticated(REFUSAL.malformed);
    }
    throw error;
  }
}
