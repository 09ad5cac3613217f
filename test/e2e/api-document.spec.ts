/**
 * The API document against the broker it describes: it is valid OpenAPI 3, names exactly the routes the
 * router has, its examples work when they are sent, and what the broker answers is what it declares.
 */
import { randomUUID } from 'node:crypto';
import { validate } from '@apidevtools/swagger-parser';
import type { FastifyInstance } from 'fastify';
import { ACCESS_LEVELS } from '../../src/auth/access.js';
import { PAGES } from '../../src/dashboard/pages.js';
import { KnownRoutes } from '../../src/http/known-routes.js';
import { DocumentJudge, type ApiDocument, type Media } from '../support/api-document.js';
import { TestBroker, type HttpAnswer } from '../support/broker.js';

const MAX_BODY_BYTES = 65_536;

/** Routes of the router as `METHOD /path/{param}`, without HEAD, which stands beside every GET. */
const routed = new Set<string>();

/** What a catch-all is called in the document. */
const wildcardName = (url: string): string => (url.includes('/timers/') ? 'timerKey' : 'key');

function watchRoutes(): void {
  const { attach } = KnownRoutes.prototype;
  jest.spyOn(KnownRoutes.prototype, 'attach').mockImplementation(function (
    this: KnownRoutes,
    fastify: FastifyInstance,
  ) {
    fastify.addHook('onRoute', ({ method, url }) => {
      const path = url.replace(/:([^/]+)/g, '{$1}').replace(/\*$/, `{${wildcardName(url)}}`);
      for (const one of [method].flat()) if (one !== 'HEAD') routed.add(`${one} ${path}`);
    });
    attach.call(this, fastify);
  });
}

let broker: TestBroker;
let judge: DocumentJudge;

beforeAll(async () => {
  watchRoutes();
  broker = await TestBroker.start({ QUEEN_MAX_BODY_BYTES: String(MAX_BODY_BYTES) });
  judge = new DocumentJudge((await broker.get('/docs-json')).json as ApiDocument);
});

afterAll(async () => {
  await broker.stop();
  jest.restoreAllMocks();
});

const examplesOf = ({ example, examples }: Media): [string, unknown][] => [
  ...(example === undefined ? [] : ([['example', example]] as [string, unknown][])),
  ...Object.entries(examples ?? {}).map(([name, { value }]): [string, unknown] => [name, value]),
];

describe('the document', () => {
  it('is valid OpenAPI 3', async () => {
    const copy = structuredClone(judge.document) as unknown as Parameters<typeof validate>[0];
    await expect(validate(copy)).resolves.toMatchObject({ openapi: '3.0.0' });
    const { info, servers } = judge.document;
    expect(info).toMatchObject({ title: 'Queen', version: expect.any(String) as string });
    expect(servers).toEqual([expect.objectContaining({ url: '/' })]);
  });

  it('names exactly the routes of the router', () => {
    const documented = judge.operations().map(({ route }) => route);
    const isPage = /^[A-Z]+ \/(docs($|[/-])|assets\/|favicon\.|index\.html)/;
    const pages = new Set<string>(PAGES.map((page) => `GET ${page.replace(/:(\w+)/, '{$1}')}`));
    const served = [...routed].filter((route) => !isPage.test(route) && !pages.has(route));
    expect(documented.sort()).toEqual(served.sort());
    expect(served.length).toBeGreaterThan(15);
  });

  it('describes every route, its level, its parameters and its answers', () => {
    const levels = ACCESS_LEVELS.map((level) => `Access level: \`${level}\`.`);
    const tags = judge.document.tags.map(({ name }) => name);
    for (const { route, operation } of judge.operations()) {
      expect([route, operation.summary]).toEqual([route, expect.stringMatching(/^[A-Z]/)]);
      expect(levels.filter((level) => operation.description.endsWith(level))).toHaveLength(1);
      expect(tags).toEqual(expect.arrayContaining([...operation.tags]));
      expect(operation.tags).toHaveLength(1);
      for (const parameter of operation.parameters) {
        const named = [route, parameter.name, parameter.schema['type']];
        expect(named).toEqual([route, parameter.name, expect.any(String)]);
      }
      for (const name of [...route.matchAll(/\{(\w+)\}/g)].map(([, match]) => match)) {
        expect(operation.parameters).toContainEqual(
          expect.objectContaining({ name, in: 'path', required: true }),
        );
      }
      expect(Object.keys(operation.responses).length).toBeGreaterThan(0);
    }
  });

  it('shows an example of every body, and each fits its schema', () => {
    for (const { route, operation } of judge.operations()) {
      const answers = Object.entries(operation.responses).flatMap(([status, { content }]) =>
        Object.entries(content ?? {}).map(([type, media]) => ({ at: `${status} ${type}`, media })),
      );
      const bodies = Object.entries(operation.requestBody?.content ?? {}).map(([type, media]) => ({
        at: `request ${type}`,
        media,
      }));
      for (const { at, media } of [...bodies, ...answers]) {
        const examples = examplesOf(media);
        expect([route, at, examples.length > 0]).toEqual([route, at, true]);
        for (const [name, value] of examples) {
          expect([route, at, name, judge.faults(media.schema, value)]).toEqual([
            ...[route, at, name],
            [],
          ]);
        }
      }
    }
  });

  it('says when to come back, and never gives a 204 a body', () => {
    for (const { operation } of judge.operations()) {
      const { responses } = operation;
      expect(responses['204']?.content).toBeUndefined();
      if (operation.tags.includes('operations')) continue;
      expect(responses['503']?.headers).toHaveProperty('Retry-After');
    }
    expect(judge.operation('POST /api/v1/push').responses['429']?.headers).toHaveProperty(
      'Retry-After',
    );
  });
});

describe('the page', () => {
  it.each(['/docs', '/docs/', '/docs-json', '/docs/swagger-ui-bundle.js', '/docs/nothing'])(
    '%s has security headers',
    async (path) => {
      const { status, headers } = await broker.get(path);
      expect(status).toBe(path === '/docs/nothing' ? 404 : 200);
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
    },
  );

  it('loads nothing from elsewhere', async () => {
    const { text } = await broker.get('/docs');
    expect(text).toContain('swagger-ui-bundle.js');
    expect(text).not.toMatch(/(src|href)="(https?:)?\/\//);
    expect(text).not.toMatch(/<script>[^<]*\S[^<]*<\/script>/);
  });

  it('leaves the API without those headers', async () => {
    expect((await broker.get('/health')).headers.get('x-frame-options')).toBeNull();
  });
});

describe('what it declares is what the broker does', () => {
  /** Sends, and holds the answer against the document. */
  async function send(route: string, path: string, body?: unknown): Promise<HttpAnswer> {
    const [method = ''] = route.split(' ');
    const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
    const answer = await broker.send(method, path, text);
    expect({ route, path, faults: judge.answerFaults(route, answer) }).toEqual({
      ...{ route, path, faults: [] },
    });
    return answer;
  }

  const examples = (route: string): unknown[] => {
    const media = judge.operation(route).requestBody?.content['application/json'];
    if (media === undefined) throw new Error(`${route} has no JSON body`);
    return examplesOf(media).map(([, value]) => value);
  };

  it('takes its examples in the order the page tells, and they do what they say', async () => {
    for (const body of examples('POST /api/v1/configure')) {
      expect((await send('POST /api/v1/configure', '/api/v1/configure', body)).status).toBe(200);
    }
    for (const body of examples('POST /api/v1/push')) {
      const pushed = await send('POST /api/v1/push', '/api/v1/push', body);
      expect(pushed.status).toBe(201);
      for (const item of pushed.json) expect(item.status).toBe('queued');
    }
    const popped = await send('GET /api/v1/pop/queue/{queue}', '/api/v1/pop/queue/orders');
    expect(popped.json).toMatchObject({ partitionId: '1', partitionsClaimed: 1 });
    const [batch] = examples('POST /api/v1/ack');
    const acked = await send('POST /api/v1/ack', '/api/v1/ack', batch);
    expect(acked.json).toMatchObject([
      { success: true, leaseReleased: true },
      { success: true, leaseReleased: true },
    ]);
    const again = await send('GET /api/v1/pop/queue/{queue}', '/api/v1/pop/queue/orders');
    expect(again.json.messages).toMatchObject([{ transactionId: 'order-2', deliveryAttempt: 2 }]);
  });

  it.each(['/api/v1/ack', '/api/v1/ack/batch'])('takes every example on %s', async (path) => {
    for (const body of examples(`POST ${path}`)) {
      expect((await send(`POST ${path}`, path, body)).status).toBe(200);
    }
  });

  it('extends a lease, and says so when there is none', async () => {
    const route = 'POST /api/v1/lease/{leaseId}/extend';
    await broker.post('/api/v1/push', { items: [{ queue: 'leased', payload: 1 }] });
    const popped = await broker.get('/api/v1/pop/queue/leased');
    for (const body of [...examples(route), undefined]) {
      const extended = await send(route, `/api/v1/lease/${popped.json.leaseId}/extend`, body);
      expect(extended.json).toMatchObject({ success: true, renewed: 1 });
    }
    const unknown = await send(route, `/api/v1/lease/${randomUUID()}/extend`, {});
    expect(unknown.json).toMatchObject({ success: false, renewed: 0, expiresAt: null });
  });

  it('keeps payloads and shapes of any kind', async () => {
    const payloads = [null, true, 1.5, 'text', [1, [2]], { a: { b: null } }];
    const items = payloads.map((payload) => ({ queue: 'any', payload }));
    await send('POST /api/v1/push', '/api/v1/push', { items });
    const popped = await send(
      'GET /api/v1/pop/queue/{queue}/partition/{partition}',
      '/api/v1/pop/queue/any/partition/Default?commitOnDelivery=true',
    );
    expect(popped.json.messages.map(({ data }: { data: unknown }) => data)).toEqual(payloads);
    const pinned = 'GET /api/v1/pop/queue/{queue}/partition/{partition}';
    await send(pinned, '/api/v1/pop/queue/any/partition/nowhere');
  });

  it('reads queues as declared', async () => {
    await send('GET /api/v1/resources/queues', '/api/v1/resources/queues');
    await send('GET /api/v1/resources/queues', '/api/v1/resources/queues?stats=lanes&limit=1');
    for (const tail of ['', '/depth', '/sizes']) {
      const route = `GET /api/v1/resources/queues/{queue}${tail}`;
      const there = await send(route, `/api/v1/resources/queues/orders${tail}`);
      expect(there.status).toBe(200);
      const absent = await send(route, `/api/v1/resources/queues/nowhere${tail}`);
      expect(absent.status).toBe(404);
    }
    const depth = 'GET /api/v1/resources/queues/{queue}/depth';
    await send(depth, '/api/v1/resources/queues/orders/depth?group=billing');
  });

  it('pops by label, in groups, conflating and on autopilot', async () => {
    const pop = 'GET /api/v1/pop';
    await broker.post('/api/v1/configure', { queue: 'labelled', namespace: 'shop' });
    await broker.post('/api/v1/push', { items: [{ queue: 'labelled', payload: 1 }] });
    const found = await send(
      pop,
      '/api/v1/pop?namespace=shop&consumerGroup=g&subscriptionMode=all',
    );
    expect(found.json).toMatchObject({ queue: '', consumerGroup: 'g' });
    const queue = 'GET /api/v1/pop/queue/{queue}';
    const groups = '/api/v1/pop/queue/labelled?subscriptionMode=all';
    await send(queue, `${groups}&consumerGroup=c&conflation=true`);
    await send(queue, `${groups}&consumerGroup=c&conflation=true`);
    await send(queue, `${groups}&consumerGroup=g&conflation=true`);
    await send(queue, `${groups}&consumerGroup=a&autopilot=true`);
    expect((await send(queue, '/api/v1/pop/queue/empty')).status).toBe(204);
  });

  it('refuses as declared', async () => {
    const long = 'n'.repeat(500);
    const large = JSON.stringify({ items: [], filler: 'x'.repeat(MAX_BODY_BYTES) });
    const refusals: [string, string, unknown, number][] = [
      ['POST /api/v1/push', '/api/v1/push', '{', 400],
      ['POST /api/v1/push', '/api/v1/push', { items: [{ queue: '', payload: 1 }] }, 400],
      ['POST /api/v1/push', '/api/v1/push', { items: [{ queue: long, payload: 1 }] }, 413],
      ['POST /api/v1/push', '/api/v1/push', large, 413],
      ['POST /api/v1/configure', '/api/v1/configure', '[]', 400],
      ['POST /api/v1/configure', '/api/v1/configure', { queue: 'q', mode: 'patch' }, 400],
      ['POST /api/v1/configure', '/api/v1/configure', { queue: 'q', leaseTime: 'long' }, 400],
      ['POST /api/v1/configure', '/api/v1/configure', { queue: long }, 413],
      ['POST /api/v1/configure', '/api/v1/configure', large, 413],
      ['POST /api/v1/ack', '/api/v1/ack', '{', 400],
      ['POST /api/v1/ack', '/api/v1/ack', { consumerGroup: long }, 413],
      ['POST /api/v1/ack/batch', '/api/v1/ack/batch', { transactionId: 't', partitionId: 1 }, 400],
      ['POST /api/v1/lease/{leaseId}/extend', '/api/v1/lease/x/extend', large, 413],
      ['GET /api/v1/pop/queue/{queue}', '/api/v1/pop/queue/q?batch=many', undefined, 400],
      ['GET /api/v1/pop/queue/{queue}', '/api/v1/pop/queue/q?conflation=true', undefined, 400],
      ['GET /api/v1/pop/queue/{queue}', `/api/v1/pop/queue/${long}`, undefined, 413],
      ['GET /api/v1/pop', '/api/v1/pop', undefined, 400],
      [
        'DELETE /api/v1/resources/queues/{queue}',
        `/api/v1/resources/queues/${long}`,
        undefined,
        413,
      ],
    ];
    for (const [route, path, body, status] of refusals) {
      const answer = await send(route, path, body);
      expect([route, status]).toEqual([route, answer.status]);
    }
  });

  it('keeps messages in memory as declared', async () => {
    const api = '/api/v1/ephemeral';
    for (const route of ['configure', 'push'] as const) {
      for (const body of examples(`POST ${api}/${route}`)) {
        expect((await send(`POST ${api}/${route}`, `${api}/${route}`, body)).status).toBe(201);
      }
    }
    const popped = await send(`GET ${api}/pop`, `${api}/pop?queue=presence&batch=10`);
    expect(popped.json.messages).toHaveLength(2);
    for (const body of examples(`POST ${api}/ack`)) {
      const acked = await send(`POST ${api}/ack`, `${api}/ack`, body);
      expect(acked.json.results).toMatchObject([{ outcome: 'stale' }, { outcome: 'stale' }]);
    }
    await send(`GET ${api}/queues`, `${api}/queues`);
    await send(`GET ${api}/queues/{queue}/depth`, `${api}/queues/presence/depth?group=ui`);
    await send(`GET ${api}/queues/{queue}/depth`, `${api}/queues/nobody/depth`);
    await send(`POST ${api}/push`, `${api}/push`, { queue: '', messages: [{ payload: 1 }] });
    for (const body of examples(`POST ${api}/reset`)) {
      expect((await send(`POST ${api}/reset`, `${api}/reset`, body)).json.dropped).toBe(2);
    }
    const remove = `DELETE ${api}/queue/{queue}`;
    expect((await send(remove, `${api}/queue/presence`)).json).toMatchObject({ deleted: true });
    expect((await send(remove, `${api}/queue/presence`)).json).toMatchObject({ deleted: false });
    await send(`GET ${api}/_ready`, `${api}/_ready`);
    await send(`POST ${api}/_adopt`, `${api}/_adopt`, {});
    await send(`POST ${api}/_leaving`, `${api}/_leaving`, {});
  });

  it('deletes as declared', async () => {
    const route = 'DELETE /api/v1/resources/queues/{queue}';
    const path = '/api/v1/resources/queues/orders';
    expect((await send(route, path)).json).toMatchObject({ deleted: true });
    expect((await send(route, path)).json).toMatchObject({ deleted: false });
  });

  it('shows the operators what it declares', async () => {
    await send('GET /health', '/health');
    await send('GET /metrics', '/metrics');
    await send('GET /metrics/prometheus', '/metrics/prometheus');
    await send('GET /status', '/status');
    await send('POST /api/v1/stats/refresh', '/api/v1/stats/refresh');
  });
});

it('can fail: a wrong answer is found', async () => {
  const answer = await broker.get('/health');
  const wrong = { ...answer, json: { ...answer.json, extra: 1 } };
  expect(judge.answerFaults('GET /health', wrong)).toHaveLength(1);
  expect(judge.answerFaults('GET /health', { ...answer, status: 404 })).toHaveLength(1);
  expect(judge.answerFaults('GET /status', answer)).not.toEqual([]);
});
