/**
 * What a caller without sufficient rights is told: 401 and 403 with `{"error"}` and no code (admin.md
 * §0.2). The texts are part of the contract. None of them says more than which check failed.
 */
import { HttpException } from '@nestjs/common';

export const REFUSAL = {
  missing: 'Authentication required',
  expired: 'Token has expired',
  early: 'Token not yet valid',
  fromFuture: 'Token issued in the future',
  signature: 'Invalid token signature',
  issuer: 'Invalid token issuer',
  audience: 'Invalid token audience',
  unknownKey: 'Unknown key ID',
  malformed: 'Bad token header',
  algorithm: 'Unsupported token algorithm',
} as const;

export type RefusalText = (typeof REFUSAL)[keyof typeof REFUSAL];

export class Unauthenticated extends HttpException {
  constructor(text: RefusalText) {
    super(text, 401);
  }
}

export class InsufficientPermissions extends HttpException {
  constructor() {
    super('Insufficient permissions', 403);
  }
}

/** The broker has no usable key for an algorithm it accepts: an operator's mistake, not the caller's. */
export class KeyUnavailable extends HttpException {
  constructor() {
    super('the key that verifies this token is missing or not valid', 500);
  }
}
