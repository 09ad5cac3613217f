/** What is remembered of verified tokens, for how long and how much; shared and bounded verifications. */
import { SignJWT } from 'jose';
import { Authenticator } from './authenticator.js';
import { roleNamesOf } from './claims.js';
import { KeyRing } from './key-ring.js';
import { VerificationGate } from './verification-gate.js';

const SECRET = Buffer.from('the secret of this spec');
const NAMES = {
  roleAdmin: 'admin',
  roleReadWrite: 'read-write',
  roleReadOnly: 'read-only',
  roleWriteOnly: 'write-only',
};

let nowMs = 1_700_000_000_000;

function create(cacheBytes?: number): { auth: Authenticator; asked: () => number } {
  const ring = new KeyRing({ secret: SECRET, publicKey: null, jwks: null });
  const keyOf = jest.spyOn(ring, 'keyOf');
  const auth = new Authenticator({
    accepted: new Set(['HS256']),
    keys: ring,
    rules: {
      issuer: null,
      audience: null,
      clockSkewMs: 1_000,
      rolesClaim: 'role',
      rolesArrayClaim: 'roles',
      roleNames: roleNamesOf(NAMES),
    },
    now: () => nowMs,
    ...(cacheBytes === undefined ? {} : { cacheBytes }),
  });
  return { auth, asked: () => keyOf.mock.calls.length };
}

const tokenOf = (claims: Readonly<Record<string, unknown>>): Promise<string> =>
  new SignJWT({ ...claims }).setProtectedHeader({ alg: 'HS256' }).sign(SECRET);

it('knows a verified token until it expires', async () => {
  const { auth } = create();
  const token = await tokenOf({ role: 'admin', exp: nowMs / 1000 + 10 });
  expect(auth.known(token)).toBeNull();
  await auth.verify(token);
  expect(auth.known(token)).toMatchObject({ roles: 1 });
  nowMs += 11_000;
  expect(auth.known(token)).not.toBeNull();
  nowMs += 1;
  expect(auth.known(token)).toBeNull();
  expect(auth.cachedBytes).toBe(0);
  await expect(auth.verify(token)).rejects.toThrow('Token has expired');
});

it('remembers no refused token', async () => {
  const { auth } = create();
  const token = `${await tokenOf({ role: 'admin' })}x`;
  for (let i = 0; i < 2; i += 1) await expect(auth.verify(token)).rejects.toThrow();
  expect(auth.cachedBytes).toBe(0);
});

it('is bounded in bytes', async () => {
  const { auth } = create(4_096);
  for (let i = 0; i < 50; i += 1) await auth.verify(await tokenOf({ sub: `s${i}`, role: 'admin' }));
  expect(auth.cachedBytes).toBeLessThanOrEqual(4_096);
  expect(auth.cachedBytes).toBeGreaterThan(2_048);
});

it('forgets everything when the keys change, also what was under way', async () => {
  const { auth } = create();
  const first = await tokenOf({ sub: 'a' });
  const second = await tokenOf({ sub: 'b' });
  await auth.verify(first);
  const underWay = auth.verify(second);
  auth.forgetAll();
  await underWay;
  expect(auth.known(first)).toBeNull();
  expect(auth.known(second)).toBeNull();
});

it('verifies a token once for all who bring it at the same time', async () => {
  const { auth, asked } = create();
  const token = await tokenOf({ role: 'admin' });
  const identities = await Promise.all(Array.from({ length: 20 }, () => auth.verify(token)));
  expect(new Set(identities).size).toBe(1);
  expect(asked()).toBe(1);
});

describe('the gate', () => {
  it('runs few at once, in order, and refuses beyond its bound', async () => {
    const gate = new VerificationGate();
    const finish: (() => void)[] = [];
    const begun: number[] = [];
    const work = (i: number) => () =>
      new Promise<number>((resolve) => {
        begun.push(i);
        finish.push(() => resolve(i));
      });
    const all = Array.from({ length: 4 + 1_024 }, (_, i) => gate.run(work(i)));
    await expect(gate.run(work(-1))).rejects.toMatchObject({ code: 'overloaded' });
    expect(begun).toEqual([0, 1, 2, 3]);
    for (let i = 0; i < all.length; i += 1) {
      finish[i]?.();
      await all[i];
      // The next one begins in a later turn.
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(begun).toEqual(all.map((_, i) => i));
  });

  it('survives work that fails', async () => {
    const gate = new VerificationGate();
    for (let i = 0; i < 10; i += 1) {
      await expect(gate.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    }
    await expect(gate.run(() => Promise.resolve(1))).resolves.toBe(1);
  });
});
