/**
 * Tokens over HTTP (cluster.md §9.3): where they may stand, algorithms and keys, roles, skip paths, and
 * the subject that messages are stamped with. Every broker here is configured like an operator would.
 */
import { ConfigError, loadConfig } from '../../src/config/index.js';
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import { edKeys, jwkOf, JwksServer, rsaKeys, SECRET, tokenOf } from '../support/tokens.js';
import { eventually } from './calls.js';

type Env = Readonly<Record<string, string>>;

const ON: Env = { JWT_ENABLED: 'true' };
const HS: Env = { ...ON, JWT_SECRET: SECRET };
const ADMIN = { sub: 'ops', role: 'admin' };
const READ = '/api/v1/resources/queues';

async function withBroker(env: Env, use: (broker: TestBroker) => Promise<void>): Promise<void> {
  const broker = await TestBroker.start(env);
  try {
    await use(broker);
  } finally {
    await broker.stop();
  }
}

const bearer = (token: string): { readonly headers: Record<string, string> } => ({
  headers: { authorization: `Bearer ${token}` },
});

const read = (broker: TestBroker, token: string): Promise<HttpAnswer> =>
  broker.send('GET', READ, undefined, bearer(token));

const outcome = ({ status, json }: HttpAnswer): [number, unknown] =>
  status === 200 ? [200, undefined] : [status, json?.error];

describe('the Authorization header', () => {
  let broker: TestBroker;
  let token: string;

  beforeAll(async () => {
    broker = await TestBroker.start(HS);
    token = await tokenOf(ADMIN);
  });

  afterAll(() => broker.stop());

  it.each([
    ['Bearer %', 200],
    ['bearer %', 200],
    ['BEARER   %', 200],
    ['%', 200],
    ['Bearer', 401],
    ['', 401],
    ['Basic %', 401],
    ['Bearer % x', 401],
    ['Bearer Bearer %', 401],
  ])('%s is %i', async (template, status) => {
    const authorization = template.replace('%', token);
    const answer = await broker.send('GET', READ, undefined, { headers: { authorization } });
    expect(answer.status).toBe(status);
  });

  it('says when there is no credential, in any spelling of none', async () => {
    for (const authorization of ['', 'Bearer', 'Bearer   ']) {
      const answer = await broker.send('GET', READ, undefined, { headers: { authorization } });
      expect(answer.json).toEqual({ error: 'Authentication required' });
    }
  });

  it.each([
    ['two parts', 'e30.e30'],
    ['no base64', '!!.!!.!!'],
    ['a header that is no object', `${btoa('5')}.e30.x`],
    ['five parts', 'a.b.c.d.e'],
    ['a token of 20 kB', `${'a'.repeat(20_000)}.e30.x`],
  ])('refuses %s', async (_what, text) => {
    expect(outcome(await read(broker, text))).toEqual([401, 'Bad token header']);
  });

  it.each([
    ['none', { alg: 'none' }],
    ['no alg', {}],
    ['ES256', { alg: 'ES256' }],
    ['PS256', { alg: 'PS256' }],
    ['a name like ours', { alg: 'hs256' }],
    ['HS384 with HS256 configured', { alg: 'HS384' }],
  ])('refuses the algorithm %s', async (_what, header) => {
    const parts = [header, ADMIN].map((part) => btoa(JSON.stringify(part)).replaceAll('=', ''));
    const answer = await read(broker, `${parts.join('.')}.`);
    expect(outcome(answer)).toEqual([401, 'Unsupported token algorithm']);
  });

  it('refuses a token whose payload was changed', async () => {
    const [head = '', , signature = ''] = (await tokenOf({ role: 'read-only' })).split('.');
    const forged = btoa(JSON.stringify(ADMIN)).replaceAll('=', '');
    const answer = await read(broker, `${head}.${forged}.${signature}`);
    expect(outcome(answer)).toEqual([401, 'Invalid token signature']);
  });

  it('refuses critical extensions it does not know', async () => {
    const header = { alg: 'HS256', crit: ['b64'], b64: false };
    const parts = [header, ADMIN].map((part) => btoa(JSON.stringify(part)).replaceAll('=', ''));
    expect((await read(broker, `${parts.join('.')}.AAAA`)).status).toBe(401);
  });
});

describe('algorithms and keys', () => {
  const rsa = rsaKeys();
  const otherRsa = rsaKeys();
  const ed = edKeys();
  const secret = Buffer.from(SECRET);

  const tokens = async (): Promise<Readonly<Record<string, string>>> => ({
    HS256: await tokenOf(ADMIN, { alg: 'HS256', key: secret }),
    HS384: await tokenOf(ADMIN, { alg: 'HS384', key: secret }),
    HS512: await tokenOf(ADMIN, { alg: 'HS512', key: secret }),
    RS256: await tokenOf(ADMIN, { alg: 'RS256', key: rsa.privateKey }),
    RS384: await tokenOf(ADMIN, { alg: 'RS384', key: rsa.privateKey }),
    RS512: await tokenOf(ADMIN, { alg: 'RS512', key: rsa.privateKey }),
    EdDSA: await tokenOf(ADMIN, { alg: 'EdDSA', key: ed.privateKey }),
  });
  const BAD_ALG: [number, string] = [401, 'Unsupported token algorithm'];
  const NO_KEY: [number, string] = [
    500,
    'the key that verifies this token is missing or not valid',
  ];

  it.each([
    ['HS256', ['HS256'], { JWT_SECRET: SECRET }],
    ['HS384', ['HS384'], { JWT_SECRET: SECRET }],
    ['HS512', ['HS512'], { JWT_SECRET: SECRET }],
    ['RS256', ['RS256', 'RS384', 'RS512'], { JWT_PUBLIC_KEY: rsa.pem }],
    ['RS384', ['RS384'], { JWT_PUBLIC_KEY: rsa.pem }],
    ['RS512', ['RS512'], { JWT_PUBLIC_KEY: rsa.pem.replaceAll('\n', '\\n') }],
    ['EdDSA', ['EdDSA'], { JWT_PUBLIC_KEY: ed.pem }],
  ] as const)('%s accepts %s', async (algorithm, accepted, keys) => {
    await withBroker({ ...ON, JWT_ALGORITHM: algorithm, ...keys }, async (broker) => {
      for (const [alg, token] of Object.entries(await tokens())) {
        const expected = (accepted as readonly string[]).includes(alg) ? [200, undefined] : BAD_ALG;
        expect([alg, ...outcome(await read(broker, token))]).toEqual([alg, ...expected]);
      }
    });
  });

  it('auto accepts all seven, and lacks the keys it was not given', async () => {
    const auto = { ...ON, JWT_ALGORITHM: 'auto', JWT_PUBLIC_KEY: rsa.pem };
    await withBroker({ ...auto, JWT_SECRET: SECRET }, async (broker) => {
      for (const [alg, token] of Object.entries(await tokens())) {
        const expected = alg === 'EdDSA' ? NO_KEY : [200, undefined];
        expect([alg, ...outcome(await read(broker, token))]).toEqual([alg, ...expected]);
      }
    });
    await withBroker(auto, async (broker) => {
      expect(outcome(await read(broker, (await tokens())['HS256'] ?? ''))).toEqual(NO_KEY);
    });
  });

  it('never takes a public key for a secret', async () => {
    const forged = await tokenOf(ADMIN, { alg: 'HS256', key: Buffer.from(rsa.pem) });
    await withBroker({ ...ON, JWT_ALGORITHM: 'auto', JWT_PUBLIC_KEY: rsa.pem }, async (broker) => {
      expect((await read(broker, forged)).status).toBe(500);
    });
    await withBroker({ ...ON, JWT_ALGORITHM: 'RS256', JWT_PUBLIC_KEY: rsa.pem }, async (broker) => {
      expect(outcome(await read(broker, forged))).toEqual(BAD_ALG);
      const foreign = await tokenOf(ADMIN, { alg: 'RS256', key: otherRsa.privateKey });
      expect(outcome(await read(broker, foreign))).toEqual([401, 'Invalid token signature']);
    });
  });

  it.each([
    ['garbage', 'no pem'],
    ['a short RSA key', rsaKeys(1024).pem],
  ])('answers 500 with %s for a PEM, and serves what is public', async (_what, pem) => {
    await withBroker({ ...ON, JWT_ALGORITHM: 'RS256', JWT_PUBLIC_KEY: pem }, async (broker) => {
      expect(outcome(await read(broker, (await tokens())['RS256'] ?? ''))).toEqual(NO_KEY);
      expect((await broker.get('/health')).status).toBe(200);
    });
  });

  it('takes a configured key before the JWKS, and the JWKS for the other kind', async () => {
    const jwks = await JwksServer.start([jwkOf(ed, 'e'), jwkOf(otherRsa, 'r')]);
    const env = { JWT_ALGORITHM: 'auto', JWT_PUBLIC_KEY: rsa.pem, JWT_JWKS_URL: jwks.url };
    await withBroker({ ...ON, ...env }, async (broker) => {
      const { RS256 = '', EdDSA = '' } = await tokens();
      expect((await read(broker, RS256)).status).toBe(200);
      expect((await read(broker, EdDSA)).status).toBe(200);
      const foreign = await tokenOf(ADMIN, { alg: 'RS256', kid: 'r', key: otherRsa.privateKey });
      expect(outcome(await read(broker, foreign))).toEqual([401, 'Invalid token signature']);
    });
    await jwks.stop();
  });
});

describe('a JWKS', () => {
  const first = rsaKeys();
  const second = rsaKeys();
  const ed = edKeys();
  const token = (keys: typeof first, kid?: string, alg = 'RS256'): Promise<string> =>
    tokenOf(ADMIN, { alg, key: keys.privateKey, ...(kid === undefined ? {} : { kid }) });

  let jwks: JwksServer;

  beforeEach(async () => {
    jwks = await JwksServer.start([jwkOf(first, 'a')]);
  });

  afterEach(() => jwks.stop());

  const env = (): Env => ({ ...ON, JWT_ALGORITHM: 'auto', JWT_JWKS_URL: jwks.url });

  it('is read at boot; the key is found by its id, of the right kind', async () => {
    jwks.keys = [jwkOf(first, 'a'), jwkOf(second, 'b'), jwkOf(ed, 'e')];
    await withBroker(env(), async (broker) => {
      expect(jwks.fetches).toBe(1);
      expect((await read(broker, await token(first, 'a'))).status).toBe(200);
      expect((await read(broker, await token(second, 'b'))).status).toBe(200);
      expect((await read(broker, await token(ed, 'e', 'EdDSA'))).status).toBe(200);
      // The only Ed25519 key needs no id, two RSA keys do.
      expect((await read(broker, await token(ed, undefined, 'EdDSA'))).status).toBe(200);
      expect(outcome(await read(broker, await token(first)))).toEqual([401, 'Unknown key ID']);
      expect(outcome(await read(broker, await token(first, 'b')))[1]).toBe(
        'Invalid token signature',
      );
      expect(outcome(await read(broker, await token(first, 'e')))[1]).toBe('Unknown key ID');
    });
  });

  it('is asked again for an unknown id, at most every 5 s', async () => {
    await withBroker(env(), async (broker) => {
      jwks.keys = [jwkOf(second, 'b')];
      for (let i = 0; i < 5; i += 1) {
        expect(outcome(await read(broker, await token(second, 'x')))[1]).toBe('Unknown key ID');
      }
      expect(jwks.fetches).toBe(1);
    });
  });

  it('rotates: what its removed key signed counts no more, remembered or not', async () => {
    await withBroker({ ...env(), JWT_JWKS_REFRESH_INTERVAL: '1' }, async (broker) => {
      const old = await token(first, 'a');
      expect((await read(broker, old)).status).toBe(200);
      jwks.keys = [jwkOf(first, 'a'), jwkOf(second, 'b')];
      await eventually(async () =>
        (await read(broker, await token(second, 'b'))).status === 200 ? true : null,
      );
      expect((await read(broker, old)).status).toBe(200);
      jwks.keys = [jwkOf(second, 'b')];
      await eventually(async () => ((await read(broker, old)).status === 401 ? true : null));
    });
  });

  it.each([
    ['an error', (server: JwksServer) => (server.status = 500)],
    ['nonsense', (server: JwksServer) => (server.body = '<html>')],
    ['another document', (server: JwksServer) => (server.body = '{"keys":5}')],
    ['too much', (server: JwksServer) => (server.body = ' '.repeat(2 * 1024 * 1024))],
  ])('keeps the known keys when it answers %s', async (_what, spoil) => {
    await withBroker({ ...env(), JWT_JWKS_REFRESH_INTERVAL: '1' }, async (broker) => {
      spoil(jwks);
      const { fetches } = jwks;
      await eventually(async () => (jwks.fetches > fetches ? true : null));
      expect((await read(broker, await token(first, 'a'))).status).toBe(200);
    });
  });

  it('skips keys it cannot use', async () => {
    const weak = jwkOf(rsaKeys(1024), 'weak');
    const encryption = { ...jwkOf(second, 'enc'), use: 'enc' };
    jwks.keys = [{}, { kty: 'RSA' }, { kty: 'EC', kid: 'ec' }, weak, encryption, jwkOf(first, 'a')];
    await withBroker(env(), async (broker) => {
      expect((await read(broker, await token(first, 'a'))).status).toBe(200);
      expect(outcome(await read(broker, await token(second, 'enc')))[1]).toBe('Unknown key ID');
    });
  });

  it('does not keep a broker from starting, which then has no key', async () => {
    jwks.status = 503;
    await withBroker(env(), async (broker) => {
      expect((await broker.get('/health')).status).toBe(200);
      expect((await read(broker, await token(first, 'a'))).status).toBe(500);
    });
  });
});

describe('roles', () => {
  const names = {
    JWT_ROLES_CLAIM: 'https://example.com/role',
    JWT_ROLES_ARRAY_CLAIM: 'groups',
    JWT_ROLE_ADMIN: 'root',
    JWT_ROLE_READ_ONLY: 'viewer',
  };

  it.each([
    [{}, { role: 'read-only' }, 200],
    [{}, { roles: ['x', 'read-only'] }, 200],
    [{}, { role: 'write-only', roles: ['read-only'] }, 200],
    [{}, { role: 'Read-Only' }, 403],
    [{}, { role: ['read-only'] }, 403],
    [{}, { roles: 'read-only' }, 403],
    [{}, { role: 'write-only' }, 403],
    [{}, {}, 403],
    [{}, { __proto__: null, constructor: 'admin' }, 403],
    [names, { groups: ['viewer'] }, 200],
    [names, { 'https://example.com/role': 'root' }, 200],
    [names, { role: 'read-only', roles: ['admin'] }, 403],
    [{ JWT_ROLES_CLAIM: 'constructor' }, {}, 403],
  ])('%j reads %j as %i', async (env, claims, status) => {
    await withBroker({ ...HS, ...env }, async (broker) => {
      expect((await read(broker, await tokenOf(claims))).status).toBe(status);
    });
  });
});

describe('skip paths', () => {
  it('match exactly, or below an entry that ends with a slash', async () => {
    const env = { ...HS, JWT_SKIP_PATHS: `${READ},/api/v1/status/,/` };
    await withBroker(env, async (broker) => {
      expect((await broker.get(READ)).status).toBe(200);
      expect((await broker.get(`${READ}?stats=lanes`)).status).toBe(200);
      expect((await broker.get(`${READ}/q`)).status).toBe(401);
      expect((await broker.get('/api/v1/status/queues')).status).not.toBe(401);
      expect((await broker.get('/api/v1/push')).status).toBe(401);
      // What is public stays public.
      expect((await broker.get('/health')).status).toBe(200);
    });
  });

  it('may be cleared; what is public stays public', async () => {
    await withBroker({ ...HS, JWT_SKIP_PATHS: '' }, async (broker) => {
      for (const path of ['/health', '/metrics', '/metrics/prometheus']) {
        expect([path, (await broker.get(path)).status]).toEqual([path, 200]);
      }
      expect((await broker.get('/')).status).not.toBe(401);
      expect((await broker.get('/status')).status).toBe(401);
    });
  });

  it('a skipped path takes any token, and stamps nobody', async () => {
    await withBroker({ ...HS, JWT_SKIP_PATHS: '/api/v1/push' }, async (broker) => {
      const body = JSON.stringify({ items: [{ queue: 'q', payload: 1 }] });
      const pushed = await broker.send('POST', '/api/v1/push', body, bearer('nonsense'));
      expect(pushed.status).toBe(201);
    });
  });
});

describe('issuer and audience', () => {
  const env = { ...HS, JWT_ISSUER: 'https://idp', JWT_AUDIENCE: 'queen' };
  const good = { ...ADMIN, iss: 'https://idp', aud: 'queen' };

  it.each([
    [good, [200, undefined]],
    [{ ...good, aud: ['x', 'queen'] }, [200, undefined]],
    [{ ...good, iss: 'https://idp/' }, [401, 'Invalid token issuer']],
    [{ ...good, iss: undefined }, [401, 'Invalid token issuer']],
    [{ ...good, aud: 'other' }, [401, 'Invalid token audience']],
    [{ ...good, aud: ['queens'] }, [401, 'Invalid token audience']],
    [{ ...good, aud: undefined }, [401, 'Invalid token audience']],
  ])('%j', async (claims, expected) => {
    await withBroker(env, async (broker) => {
      expect(outcome(await read(broker, await tokenOf(claims)))).toEqual(expected);
    });
  });

  it('are not looked at unless configured', async () => {
    await withBroker(HS, async (broker) => {
      expect((await read(broker, await tokenOf({ ...ADMIN, iss: 'x', aud: 'y' }))).status).toBe(
        200,
      );
    });
  });
});

describe('producerSub', () => {
  const items = [
    { queue: 'q', transactionId: 'a', payload: 1, producerSub: 'forged' },
    { queue: 'q', transactionId: 'b', payload: 'é', producer_sub: 'forged' },
  ];
  const pushAs = (broker: TestBroker, token: string): Promise<HttpAnswer> =>
    broker.send('POST', '/api/v1/push', JSON.stringify({ items, producerSub: 'x' }), bearer(token));

  it('is the subject of the token, and survives a restart', async () => {
    await withBroker(HS, async (broker) => {
      const token = await tokenOf({ sub: 'Grüße, service-7', role: 'read-write' });
      expect((await pushAs(broker, token)).status).toBe(201);
      await broker.restart();
      const popped = await broker.send(
        'GET',
        '/api/v1/pop/queue/q?batch=2',
        undefined,
        bearer(token),
      );
      expect(popped.json.messages).toMatchObject([
        { transactionId: 'a', data: 1, producerSub: 'Grüße, service-7' },
        { transactionId: 'b', data: 'é', producerSub: 'Grüße, service-7' },
      ]);
    });
  });

  it.each([
    ['without a subject', {}],
    ['with an empty one', { sub: '' }],
  ])('is null %s', async (_what, claims) => {
    await withBroker(HS, async (broker) => {
      const token = await tokenOf({ ...claims, role: 'read-write' });
      expect((await pushAs(broker, token)).status).toBe(201);
      const popped = await broker.send('GET', '/api/v1/pop/queue/q', undefined, bearer(token));
      expect(popped.json.messages[0].producerSub).toBeNull();
    });
  });

  it('is null when tokens are not checked, whatever is sent', async () => {
    await withBroker({}, async (broker) => {
      const token = await tokenOf({ sub: 'somebody', role: 'admin' });
      expect((await pushAs(broker, token)).status).toBe(201);
      expect((await broker.get('/api/v1/pop/queue/q')).json.messages[0].producerSub).toBeNull();
    });
  });
});

describe('a token that runs out', () => {
  it('is refused although it was remembered', async () => {
    await withBroker({ ...HS, JWT_CLOCK_SKEW: '0' }, async (broker) => {
      const token = await tokenOf({ ...ADMIN, exp: Math.floor(Date.now() / 1000) + 2 });
      const first = await read(broker, token);
      expect([200, 401]).toContain(first.status);
      const late = await eventually(async () => {
        const answer = await read(broker, token);
        return answer.status === 401 ? answer : null;
      });
      expect(late.json).toEqual({ error: 'Token has expired' });
    });
  });
});

describe('boot', () => {
  it.each([
    { JWT_JWKS_URL: 'keys' },
    { JWT_JWKS_URL: 'ftp://keys/x' },
    { JWT_JWKS_URL: 'http://user:password@keys/x' },
  ])('is refused with %j', (env) => {
    expect(() => loadConfig({ ...ON, ...env })).toThrow(ConfigError);
    expect(() => loadConfig({ ...ON, ...env })).not.toThrow(/password/);
  });
});
