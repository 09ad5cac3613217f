/** Claims at the edges of the clock skew, of wrong types, and what roles and subject come out. */
import { judgeClaims, roleNamesOf, type ClaimRules, type Claims } from './claims.js';
import { ROLE, passes } from './access.js';
import { REFUSAL } from './refusal.js';

const NOW_S = 1_700_000_000;
const RULES: ClaimRules = {
  issuer: null,
  audience: null,
  clockSkewMs: 30_000,
  rolesClaim: 'role',
  rolesArrayClaim: 'roles',
  roleNames: roleNamesOf({
    roleAdmin: 'admin',
    roleReadWrite: 'read-write',
    roleReadOnly: 'read-only',
    roleWriteOnly: 'write-only',
  }),
};

const judge = (claims: Claims, rules: Partial<ClaimRules> = {}) =>
  judgeClaims(claims, { ...RULES, ...rules }, NOW_S * 1000);

it.each([
  [{ exp: NOW_S - 30 }, null],
  [{ exp: NOW_S - 30.001 }, REFUSAL.expired],
  [{ exp: NOW_S - 31 }, REFUSAL.expired],
  [{ exp: 0 }, REFUSAL.expired],
  [{ exp: '9999999999' }, REFUSAL.expired],
  [{ exp: null }, null],
  [{ nbf: NOW_S + 30 }, null],
  [{ nbf: NOW_S + 31 }, REFUSAL.early],
  [{ nbf: 'soon' }, REFUSAL.early],
  [{ iat: NOW_S + 30 }, null],
  [{ iat: NOW_S + 31 }, REFUSAL.fromFuture],
  [{ iat: {} }, REFUSAL.fromFuture],
  [{ exp: NOW_S - 100, nbf: NOW_S + 100, iat: NOW_S + 100 }, REFUSAL.expired],
  [{ nbf: NOW_S + 100, iat: NOW_S + 100 }, REFUSAL.early],
  [{}, null],
])('%j: %s', (claims, refusal) => {
  const verdict = judge(claims);
  expect(typeof verdict === 'string' ? verdict : null).toBe(refusal);
});

it('checks the issuer before the audience, and both after the times', () => {
  const rules = { issuer: 'i', audience: 'a' };
  expect(judge({ iss: 'x', aud: 'x' }, rules)).toBe(REFUSAL.issuer);
  expect(judge({ iss: 'i', aud: ['x'] }, rules)).toBe(REFUSAL.audience);
  expect(judge({ iss: 'x', exp: 1 }, rules)).toBe(REFUSAL.expired);
  expect(judge({ iss: 'i', aud: ['x', 'a'] }, rules)).not.toEqual(expect.any(String));
});

it('remembers a token up to its expiry and the skew, without one for good', () => {
  expect(judge({ exp: NOW_S + 1 })).toMatchObject({ expiresAtMs: (NOW_S + 31) * 1000 });
  expect(judge({})).toMatchObject({ expiresAtMs: Infinity });
});

it.each([
  [{ role: 'admin' }, ROLE.admin],
  [{ roles: ['read-only', 'write-only', 7, null] }, ROLE.readOnly | ROLE.writeOnly],
  [{ role: 'read-write', roles: ['admin'] }, ROLE.readWrite | ROLE.admin],
  [{ role: 'root', roles: ['ADMIN'] }, 0],
  [{ role: 5, roles: { 0: 'admin' } }, 0],
])('%j', (claims, roles) => {
  expect(judge(claims)).toMatchObject({ identity: { roles } });
});

it('lets roles pass as sets: write-only and read-only have nothing in common', () => {
  expect(passes('write-only', ROLE.readOnly)).toBe(false);
  expect(passes('read-only', ROLE.writeOnly)).toBe(false);
  expect(passes('read-write', ROLE.readOnly | ROLE.writeOnly)).toBe(false);
  expect(passes('admin', ROLE.readWrite)).toBe(false);
  expect(passes('public', 0)).toBe(true);
  for (const level of ['read-only', 'write-only', 'read-write', 'admin'] as const) {
    expect(passes(level, ROLE.admin)).toBe(true);
    expect(passes(level, 0)).toBe(false);
  }
});

it('gives two roles of one name both', () => {
  const roleNames = roleNamesOf({
    roleAdmin: 'ops',
    roleReadWrite: 'app',
    roleReadOnly: 'app',
    roleWriteOnly: 'w',
  });
  expect(judge({ role: 'app' }, { roleNames })).toMatchObject({
    identity: { roles: ROLE.readWrite | ROLE.readOnly },
  });
});
