/**
 * Variables of the broker's own JWT check (cluster spec §9.3). Whether the key material suffices for
 * the algorithm needs several variables and is judged in `derive.ts`.
 */
import { boolean, integer, list, structured, text } from '../builders.js';
import { accepted } from '../variable.js';

const SECOND_MS = 1000;

/** A PEM in one line with `\n` written out becomes a real PEM. */
const unfoldPem = (raw: string): string => raw.trim().replaceAll('\\n', '\n');

export const authVariables = {
  enabled: boolean({
    name: 'JWT_ENABLED',
    fallback: false,
    doc: 'Requests need a token. Without usable key material the boot fails.',
  }),
  algorithm: text({
    name: 'JWT_ALGORITHM',
    fallback: 'HS256',
    doc: 'Exactly one of HS256 HS384 HS512 RS256 RS384 RS512 EdDSA auto. RS256 also accepts RS384 and RS512 tokens; auto accepts all seven.',
  }),
  secret: text({
    name: 'JWT_SECRET',
    fallback: null,
    secret: true,
    verbatim: true,
    doc: 'Key of the HS algorithms.',
  }),
  publicKey: structured<string | null>({
    name: 'JWT_PUBLIC_KEY',
    fallback: null,
    fallbackText: 'unset',
    secret: true,
    parse: (raw) => accepted(unfoldPem(raw)),
    doc: 'PEM for the RS algorithms and EdDSA; \\n may stand for a line break.',
  }),
  jwksUrl: text({
    name: 'JWT_JWKS_URL',
    fallback: null,
    secret: true,
    doc: 'Where keys are fetched by kid when there is no public key.',
  }),
  jwksRefreshMs: integer({
    name: 'JWT_JWKS_REFRESH_INTERVAL',
    fallback: 3600,
    min: 1,
    unit: 's',
    scale: SECOND_MS,
    doc: 'How often the JWKS is fetched again.',
  }),
  jwksTimeoutMs: integer({
    name: 'JWT_JWKS_TIMEOUT_MS',
    fallback: 5000,
    min: 1,
    unit: 'ms',
    doc: 'Deadline of one JWKS fetch.',
  }),
  issuer: text({ name: 'JWT_ISSUER', fallback: null, doc: 'Checked against iss when set.' }),
  audience: text({ name: 'JWT_AUDIENCE', fallback: null, doc: 'Checked against aud when set.' }),
  clockSkewMs: integer({
    name: 'JWT_CLOCK_SKEW',
    fallback: 30,
    unit: 's',
    scale: SECOND_MS,
    doc: 'Tolerance for exp, nbf and iat.',
  }),
  skipPaths: list({
    name: 'JWT_SKIP_PATHS',
    fallback: ['/health', '/metrics/prometheus', '/metrics', '/'],
    emptyIsValue: true,
    doc: 'Paths served without a token: exact, or a prefix when longer than / and ending with /. Set but empty clears the list.',
  }),
  rolesClaim: text({ name: 'JWT_ROLES_CLAIM', fallback: 'role', doc: 'Claim with one role.' }),
  rolesArrayClaim: text({
    name: 'JWT_ROLES_ARRAY_CLAIM',
    fallback: 'roles',
    doc: 'Claim with a list of roles.',
  }),
  roleAdmin: text({ name: 'JWT_ROLE_ADMIN', fallback: 'admin', doc: 'Name of the admin role.' }),
  roleReadWrite: text({
    name: 'JWT_ROLE_READ_WRITE',
    fallback: 'read-write',
    doc: 'Name of the read-write role.',
  }),
  roleReadOnly: text({
    name: 'JWT_ROLE_READ_ONLY',
    fallback: 'read-only',
    doc: 'Name of the read-only role.',
  }),
  roleWriteOnly: text({
    name: 'JWT_ROLE_WRITE_ONLY',
    fallback: 'write-only',
    doc: 'Name of the write-only role.',
  }),
};
