/**
 * Tokens that were verified: a caller sends the same one with every request, and a signature is checked
 * once. Bounded in bytes (what was used longest ago goes first) and by each token's own expiry.
 */
import { LruBytes } from '../common/lru-bytes.js';
import type { VerifiedToken } from './claims.js';
import type { Identity } from './identity.js';

/** Map entry, identity and numbers beside the text. */
const ENTRY_BYTES = 256;

export class TokenCache {
  private readonly tokens: LruBytes<string, VerifiedToken>;

  constructor(maxBytes: number) {
    this.tokens = new LruBytes(maxBytes);
  }

  get sizeBytes(): number {
    return this.tokens.sizeBytes;
  }

  get(token: string, nowMs: number): Identity | null {
    const known = this.tokens.get(token);
    if (known === undefined) return null;
    if (nowMs <= known.expiresAtMs) return known.identity;
    this.tokens.delete(token);
    return null;
  }

  set(token: string, verified: VerifiedToken): void {
    const subjectBytes = verified.identity.subject?.length ?? 0;
    this.tokens.set(token, verified, token.length + subjectBytes + ENTRY_BYTES);
  }

  clear(): void {
    this.tokens.clear();
  }
}
