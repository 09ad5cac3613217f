/**
 * Public keys in the two forms they come in, a PEM or a JSON web key, as key objects of the kinds that
 * tokens may be signed with: RSA of at least 2048 bits, and Ed25519. Anything else is refused here.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';

export type KeyKind = 'rsa' | 'ed25519';

export interface PublicKey {
  readonly kind: KeyKind;
  readonly key: KeyObject;
}

export interface JwksKey extends PublicKey {
  /** '' when the set gives it none. */
  readonly kid: string;
}

const MIN_RSA_BITS = 2048;
/** Other uses of an RSA key than a PKCS #1 signature, by its `alg`. */
const SIGNING = new Set<unknown>([undefined, 'RS256', 'RS384', 'RS512', 'EdDSA', 'Ed25519']);

/** Null when the text is no PEM of a usable key. */
export function keyOfPem(pem: string): PublicKey | null {
  return usable(() => createPublicKey(pem));
}

/** The usable keys of a JWKS; null when the document is none. */
export function keysOfJwks(document: unknown): readonly JwksKey[] | null {
  const members = isRecord(document) ? document['keys'] : undefined;
  if (!Array.isArray(members)) return null;
  return members.flatMap((jwk: unknown): JwksKey[] => {
    if (!isRecord(jwk) || jwk['use'] === 'enc' || !SIGNING.has(jwk['alg'])) return [];
    const { kty, n, e, crv, x, kid } = jwk;
    // Only the public members: a set that leaks a private key still verifies, and nothing else.
    const members = kty === 'RSA' ? { kty, n, e } : { kty, crv, x };
    const key = usable(() => createPublicKey({ key: members as JsonWebKeyMembers, format: 'jwk' }));
    return key === null ? [] : [{ ...key, kid: typeof kid === 'string' ? kid : '' }];
  });
}

type JsonWebKeyMembers = Readonly<Record<string, string>>;

function usable(create: () => KeyObject): PublicKey | null {
  let key: KeyObject;
  try {
    key = create();
  } catch {
    // Every text that is no key throws; which one it was is for whoever configured it to see.
    return null;
  }
  if (key.asymmetricKeyType === 'ed25519') return { kind: 'ed25519', key };
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  return key.asymmetricKeyType === 'rsa' && bits >= MIN_RSA_BITS ? { kind: 'rsa', key } : null;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
