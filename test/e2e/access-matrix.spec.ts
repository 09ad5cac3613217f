/**
 * Every route of the API document with every role, and with tokens that must not pass: who gets 401,
 * who gets 403, who is served. The expected levels are typed from the contract (`spec-levels.ts`).
 */
import { Admission } from '../../src/http/admission.js';
import { DocumentJudge, type ApiDocument } from '../support/api-document.js';
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import { SECRET, secondsNow, tokenOf } from '../support/tokens.js';
import { RawClient } from './raw-http.js';
import { PASSING, specLevelOf } from './spec-levels.js';

const ROLES = ['admin', 'read-write', 'read-only', 'write-only', 'none'] as const;
const FORBIDDEN = { error: 'Insufficient permissions' };

/** Hundreds of calls each. */
jest.setTimeout(180_000);

let broker: TestBroker;
let judge: DocumentJudge;
const tokens = new Map<string, string>();

beforeAll(async () => {
  broker = await TestBroker.start({ JWT_ENABLED: 'true', JWT_SECRET: SECRET });
  for (const role of ROLES) tokens.set(role, await tokenOf({ sub: role, role }));
  const document = await call('GET', '/docs-json', tokens.get('admin'));
  judge = new DocumentJudge(document.json as ApiDocument);
});

afterAll(() => broker.stop());

function call(method: string, path: string, token?: string): Promise<HttpAnswer> {
  const headers: Record<string, string> = {};
  if (token !== undefined) headers['authorization'] = `Bearer ${token}`;
  return broker.send(method, path, /^(GET|HEAD)$/.test(method) ? undefined : '', { headers });
}

/** A call of the route that harms nothing: names nobody has, no body. */
function pathOf(route: string): readonly [method: string, path: string] {
  const [method = '', template = ''] = route.split(' ');
  return [method, template.replaceAll(/\{[^}]*\}/g, 'nobody').replace('*', 'nobody')];
}

/** Answers of who checks tokens; a route may say 401 in its own words. */
const isAuthAnswer = ({ status, json, headers }: HttpAnswer): boolean =>
  (status === 401 && headers.has('www-authenticate')) ||
  (status === 403 && json?.error === FORBIDDEN.error);

it('knows the level of every route from the contract, and the document says the same', () => {
  for (const { route, operation } of judge.operations()) {
    const level = specLevelOf(route);
    expect([route, level]).toEqual([route, expect.any(String)]);
    expect(operation.description).toContain(`Access level: \`${level}\`.`);
  }
  expect(judge.operations().length).toBeGreaterThan(25);
});

it('lets exactly the roles of the level pass', async () => {
  for (const { route } of judge.operations()) {
    const level = specLevelOf(route) ?? 'admin';
    for (const role of ROLES) {
      const answer = await call(...pathOf(route), tokens.get(role));
      const passed = level === 'public' || PASSING[level].includes(role);
      expect([route, role, !isAuthAnswer(answer)]).toEqual([route, role, passed]);
      if (!passed) {
        expect([answer.status, answer.json]).toEqual([403, FORBIDDEN]);
        expect(judge.answerFaults(route, answer)).toEqual([]);
      }
    }
  }
});

it('HEAD of a route is as closed as its GET', async () => {
  for (const { route } of judge.operations().filter(({ route }) => route.startsWith('GET '))) {
    const [, path] = pathOf(route);
    const level = specLevelOf(route) ?? 'admin';
    const answer = await call('HEAD', path);
    expect([route, isAuthAnswer(answer)]).toEqual([route, level !== 'public']);
  }
});

it('answers 401 without a token and with one that must not pass', async () => {
  const now = secondsNow();
  const admin = { role: 'admin' };
  const refused: [string, string | undefined][] = [
    ['Authentication required', undefined],
    ['Token has expired', await tokenOf({ ...admin, exp: now - 60 })],
    ['Token not yet valid', await tokenOf({ ...admin, nbf: now + 600 })],
    ['Token issued in the future', await tokenOf({ ...admin, iat: now + 600 })],
    ['Invalid token signature', await tokenOf(admin, { key: Buffer.from('another secret') })],
    ['Unsupported token algorithm', await tokenOf(admin, { alg: 'HS512' })],
    ['Bad token header', 'nonsense'],
  ];
  for (const { route } of judge.operations()) {
    const level = specLevelOf(route) ?? 'admin';
    for (const [error, token] of refused) {
      const answer = await call(...pathOf(route), token);
      if (level === 'public') {
        expect([route, isAuthAnswer(answer)]).toEqual([route, false]);
        continue;
      }
      expect([route, answer.status, answer.json]).toEqual([route, 401, { error }]);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      expect(judge.answerFaults(route, answer)).toEqual([]);
    }
  }
});

it('refuses before it reads a body or takes admission', async () => {
  const admission = broker.nest.get(Admission, { strict: false });
  for (const [role, status] of [
    [null, 401],
    ['read-only', 403],
  ] as const) {
    const client = await RawClient.open(broker.portNumber);
    const token = role === null ? [] : [`Authorization: Bearer ${tokens.get(role) ?? ''}`];
    client.request('POST /api/v1/push', ['Content-Length: 60000000', ...token]);
    expect((await client.answer()).status).toBe(status);
    expect(admission.heldBytes).toBe(0);
    client.destroy();
  }
});

describe('paths of no route', () => {
  it.each([
    ['GET', '/api/v1/nope', 'read-write', 404],
    ['POST', '/api/v1/nope', 'read-write', 404],
    ['GET', '/nope', 'read-write', 404],
    ['GET', '/docs', 'read-write', 200],
    ['GET', '/docs-json', 'read-write', 200],
    ['GET', '/docs/swagger-ui-bundle.js', 'read-write', 200],
    ['GET', '/robots.txt', 'read-write', 404],
    ['GET', '/api/v1/resources/nope', 'read-only', 404],
    ['HEAD', '/api/v1/analytics/nope', 'read-only', 404],
    ['POST', '/api/v1/resources/nope', 'read-write', 404],
    ['GET', '/api/v1/system/nope', 'admin', 404],
    ['DELETE', '/api/v1/system/nope', 'admin', 404],
    ['GET', '/internal/nope', 'admin', 404],
    ['PUT', '/api/v1/push', 'read-write', 405],
    ['GET', '/api/v1/stats/refresh', 'admin', 405],
    ['GET', '/assets/nope.js', 'public', 404],
    ['GET', '/favicon.ico', 'public', 404],
    ['POST', '/auth/login', 'public', 405],
  ] as const)('%s %s is %s', async (method, path, level, status) => {
    const bare = await call(method, path);
    expect(isAuthAnswer(bare)).toBe(level !== 'public');
    for (const role of ROLES) {
      const answer = await call(method, path, tokens.get(role));
      const passed = level === 'public' || PASSING[level].includes(role);
      if (!passed) expect([role, answer.status]).toEqual([role, 403]);
      else expect([role, isAuthAnswer(answer)]).toEqual([role, false]);
      // Pages may have come since; what matters here is who is let through.
      if (passed && answer.status !== 200) expect(answer.status).toBe(status);
    }
  });

  it.each([
    '/health/',
    '/health/../api/v1/resources/queues',
    '//api/v1/resources/queues',
    '/api/v1/resources/queues/',
    '/%61pi/v1/resources/queues',
    '/api/v1/resources/queues;x=/health',
    '/api/v1/resources/queues?/health',
    '/metrics/prometheus/x',
    '/assets/../api/v1/resources/queues',
  ])('no spelling slips through: %s', async (path) => {
    const raw = await RawClient.open(broker.portNumber);
    raw.request(`GET ${path}`);
    const { status, body } = await raw.answer();
    raw.destroy();
    expect([401, 404]).toContain(status);
    expect(body).not.toContain('"queues"');
  });
});
