/**
 * The token of an Authorization header: `Bearer <token>` with the scheme in any case, or the bare
 * token. Anything else that is there is taken as a token and refused as one.
 */
const SCHEME = /^bearer(?:\s+|$)/i;

/** Null when the header carries no credential. */
export function credentialOf(header: string | undefined): string | null {
  if (header === undefined) return null;
  const text = header.trim();
  const token = SCHEME.test(text) ? text.replace(SCHEME, '') : text;
  return token === '' ? null : token;
}
