/**
 * Every path of the API document with every method it does not serve (admin.md §0.1, messages.md
 * §14.2): a fixed route answers 405 with Allow and no body, every other one is no such route.
 */
import { TestBroker } from '../support/broker.js';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** What has a handler of its own, as the contract lists it. */
const FIXED = new Set([
  ...['push', 'pop', 'pop/queue/{queue}', 'pop/queue/{queue}/partition/{partition}'].map(api),
  ...['ack', 'ack/batch', 'lease/{leaseId}/extend', 'transaction', 'locks'].map(api),
  ...['kv', 'kv/{ns}/{key}', 'timers', 'timers/{queue}', 'timers/{queue}/{timerKey}'].map(api),
  ...['push', 'pop', 'ack', 'configure', 'reset', 'queue/{queue}'].map(ephemeral),
  ...['_adopt', '_leaving', '_ready'].map(ephemeral),
  ...['', '/learners', '/promote', '/voters', '/members/{id}'].map(membership),
  ...[api('stats/refresh'), '/health', '/status', '/metrics', '/metrics/prometheus'],
  ...['/auth/me', '/auth/login', '/auth/logout'],
]);

function api(path: string): string {
  return `/api/v1/${path}`;
}

function ephemeral(path: string): string {
  return api(`ephemeral/${path}`);
}

function membership(path: string): string {
  return api(`system/raft/membership${path}`);
}

type Paths = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

let broker: TestBroker;
let paths: Paths;

beforeAll(async () => {
  broker = await TestBroker.start();
  paths = ((await broker.get('/docs-json')).json as { paths: Paths }).paths;
});

afterAll(() => broker.stop());

/** A concrete path may be one of several templates. */
function servedOn(path: string): string[] {
  const served = new Set<string>();
  for (const [template, operations] of Object.entries(paths)) {
    const pattern = template.replaceAll('.', '\\.').replace(/\{[^}]+\}/g, '[^/]+');
    if (!new RegExp(`^${pattern}$`).test(path)) continue;
    for (const method of Object.keys(operations)) served.add(method.toUpperCase());
  }
  if (served.has('GET')) served.add('HEAD');
  return [...served].sort();
}

it('every documented path, every method it does not serve', async () => {
  const wrong: unknown[] = [];
  let asked = 0;
  for (const template of Object.keys(paths)) {
    const path = template.replace(/\{[^}]+\}/g, 'x');
    const served = servedOn(path);
    for (const method of METHODS.filter((one) => !served.includes(one))) {
      const answer = await broker.send(method, path);
      const seen = [answer.status, answer.headers.get('allow'), answer.text];
      const body = { code: 'no_such_route', error: 'not found', path };
      const text = method === 'HEAD' ? '' : JSON.stringify(body);
      const due = FIXED.has(template) ? [405, served.join(', '), ''] : [404, null, text];
      if (JSON.stringify(seen) !== JSON.stringify(due)) wrong.push([method, template, seen, due]);
      asked += 1;
    }
  }
  expect(wrong).toEqual([]);
  expect([...FIXED].filter((template) => paths[template] === undefined)).toEqual([]);
  expect(asked).toBeGreaterThan(300);
});

it.each(['/streams/v1/nope', '/streams/', '/streams/v1/queries/x'])(
  '%s is no such route, as below /api/',
  async (path) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const { status, json } = await broker.send(method, path);
      expect([status, json]).toEqual([404, { code: 'no_such_route', error: 'not found', path }]);
    }
  },
);

it.each([
  ['GET', '/auth/nope'],
  ['POST', '/docs'],
  ['DELETE', '/nope'],
])('%s %s is not found, in the shape of other trees', async (method, path) => {
  const { status, json } = await broker.send(method, path);
  expect([status, json]).toEqual([404, { error: 'Not Found', code: 'no_such_route' }]);
});
