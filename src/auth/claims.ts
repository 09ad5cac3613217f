/**
 * Judges the claims of a token whose signature is right (cluster.md §9.3): expiry, start and issue
 * instants within the clock skew, issuer and audience when configured, then roles and subject. Pure.
 */
import { encodeUtf8 } from '../common/utf8.js';
import { ROLE, type RoleSet } from './access.js';
import type { Identity } from './identity.js';
import { REFUSAL, type RefusalText } from './refusal.js';

export interface ClaimRules {
  readonly issuer: string | null;
  readonly audience: string | null;
  readonly clockSkewMs: number;
  readonly rolesClaim: string;
  readonly rolesArrayClaim: string;
  /** Name of a role in tokens → its bit. */
  readonly roleNames: ReadonlyMap<string, RoleSet>;
}

export type Claims = Readonly<Record<string, unknown>>;

export interface VerifiedToken {
  readonly identity: Identity;
  /** From this wall-clock instant on the token is expired; Infinity without `exp`. */
  readonly expiresAtMs: number;
}

const SECOND_MS = 1000;

export function judgeClaims(
  claims: Claims,
  rules: ClaimRules,
  nowMs: number,
): VerifiedToken | RefusalText {
  const { clockSkewMs } = rules;
  const exp = instantOf(claims['exp']);
  const nbf = instantOf(claims['nbf']);
  const iat = instantOf(claims['iat']);
  // A claim that is no number fails its own check.
  if (!(exp === null || nowMs <= exp + clockSkewMs)) return REFUSAL.expired;
  if (!(nbf === null || nbf - clockSkewMs <= nowMs)) return REFUSAL.early;
  if (!(iat === null || iat - clockSkewMs <= nowMs)) return REFUSAL.fromFuture;
  if (rules.issuer !== null && claims['iss'] !== rules.issuer) return REFUSAL.issuer;
  if (rules.audience !== null && !names(claims['aud'], rules.audience)) return REFUSAL.audience;
  return {
    identity: { roles: rolesOf(claims, rules), subject: subjectOf(claims['sub']) },
    expiresAtMs: exp === null ? Infinity : exp + clockSkewMs,
  };
}

/** Milliseconds; null when absent, NaN when it is no number. */
function instantOf(claim: unknown): number | null {
  if (claim === undefined || claim === null) return null;
  return typeof claim === 'number' ? claim * SECOND_MS : NaN;
}

function names(claim: unknown, audience: string): boolean {
  return Array.isArray(claim) ? claim.includes(audience) : claim === audience;
}

function rolesOf(claims: Claims, { rolesClaim, rolesArrayClaim, roleNames }: ClaimRules): RoleSet {
  const single = Object.hasOwn(claims, rolesClaim) ? claims[rolesClaim] : undefined;
  const several = Object.hasOwn(claims, rolesArrayClaim) ? claims[rolesArrayClaim] : undefined;
  let roles = 0;
  for (const role of [single, ...(Array.isArray(several) ? (several as unknown[]) : [])]) {
    if (typeof role === 'string') roles |= roleNames.get(role) ?? 0;
  }
  return roles;
}

function subjectOf(claim: unknown): Uint8Array | null {
  return typeof claim === 'string' && claim !== '' ? encodeUtf8(claim) : null;
}

/** Two roles may be given one name; it then means both. */
export function roleNamesOf(names: {
  readonly roleAdmin: string;
  readonly roleReadWrite: string;
  readonly roleReadOnly: string;
  readonly roleWriteOnly: string;
}): ReadonlyMap<string, RoleSet> {
  const map = new Map<string, RoleSet>();
  const add = (name: string, bit: RoleSet): void => {
    map.set(name, (map.get(name) ?? 0) | bit);
  };
  add(names.roleAdmin, ROLE.admin);
  add(names.roleReadWrite, ROLE.readWrite);
  add(names.roleReadOnly, ROLE.readOnly);
  add(names.roleWriteOnly, ROLE.writeOnly);
  return map;
}
