/**
 * Two tenants on every documented route: tenant B calls each of them with the names and ids of tenant A,
 * with every example body of the document turned towards A's things. B must see nothing of A's, and A
 * must find everything as it was. Routes of the node or the cluster have no tenant and are named here.
 */
import { DocumentJudge, type ApiDocument, type Media } from '../support/api-document.js';
import { TestBroker, type HttpAnswer } from '../support/broker.js';

const A = '0199c0de-0000-7000-8000-00000000000a';
const B = '0199c0de-0000-7000-8000-00000000000b';
const RESERVED = '00000000-0000-0000-0000-000000000000';
const QUEUE = 'secret-queue';
const GROUP = 'secret-group';
/** In payloads, labels and errors of A, never in what B sends. */
const CLASSIFIED = 'classified';

/** Marked C in admin.md, and switches of the whole cluster. */
const OF_THE_NODE =
  /^\S+ (\/health|\/metrics|\/metrics\/prometheus|\/status|\/|\/assets\/.*|\/favicon.*|\/api\/v1\/(stats|raft|system)\/.*|\/api\/v1\/analytics\/(system|worker)-metrics|\/api\/v1\/status\/analytics)$/;
/** Their refusals have shapes of their own, or they answer the same to everybody. */
const WITHOUT_TENANT_CHECK = /^\S+ (\/auth\/|\/api\/v1\/ephemeral\/_)/;

let broker: TestBroker;
let judge: DocumentJudge;
/** What A's things are called. */
let ids: Readonly<Record<string, string>>;

const as = (tenant: string, method: string, path: string, body?: unknown): Promise<HttpAnswer> =>
  broker.send(method, path, body === undefined ? undefined : JSON.stringify(body), {
    headers: { 'x-queen-tenant': tenant },
  });

beforeAll(async () => {
  broker = await TestBroker.start({
    QUEEN_TENANCY_HEADER: 'true',
    QUEEN_KV_TRUSTED_PROXY: 'true',
    QUEEN_KV_REQUIRE_GRANT: 'false',
    QUEEN_EPHEMERAL_REQUIRE_GRANT: 'false',
    DEFAULT_TIMEOUT: '500',
  });
  judge = new DocumentJudge((await broker.get('/docs-json')).json as ApiDocument);
  ids = await furnish();
});

afterAll(() => broker.stop());

/** A's things: a queue with messages, a group with a lease, a dead letter, and what else there are routes for. */
async function furnish(): Promise<Readonly<Record<string, string>>> {
  const payload = { note: CLASSIFIED };
  const items = ['t-1', 't-2', 't-3'].map((transactionId) => ({
    ...{ queue: QUEUE, transactionId, payload },
  }));
  await as(A, 'POST', '/api/v1/configure', { queue: QUEUE, namespace: `${CLASSIFIED}-ns` });
  expect((await as(A, 'POST', '/api/v1/push', { items })).status).toBe(201);
  const pop = `/api/v1/pop/queue/${QUEUE}?consumerGroup=${GROUP}&subscriptionMode=all&batch=1`;
  const first = (await as(A, 'GET', pop)).json;
  await as(A, 'POST', '/api/v1/ack', {
    ...{ transactionId: 't-1', partitionId: first.partitionId, leaseId: first.leaseId },
    ...{ status: 'dlq', consumerGroup: GROUP, error: CLASSIFIED },
  });
  const held = (await as(A, 'GET', pop)).json;
  const letter = (await as(A, 'GET', `/api/v1/dlq?queue=${QUEUE}`)).json.messages[0];
  await furnishState();
  return {
    ...{ queue: QUEUE, group: GROUP, consumerGroup: GROUP, partition: 'Default', id: letter.id },
    ...{ partitionId: held.partitionId, transactionId: 't-2', leaseId: held.leaseId },
    ...{ ns: 'secret-ns', key: 'secret-key', timerKey: 'secret-timer', name: 'secret-trace' },
  };
}

/** State of the other planes; a route that does not exist answers 404 and leaves nothing. */
async function furnishState(): Promise<void> {
  const deliverAt = '2999-01-01T00:00:00Z';
  await as(A, 'PUT', '/api/v1/kv/secret-ns/secret-key', { value: CLASSIFIED });
  await as(A, 'POST', '/api/v1/timers', {
    operations: [
      { op: 'schedule', queue: QUEUE, timerKey: 'secret-timer', deliverAt, payload: CLASSIFIED },
    ],
  });
  await as(A, 'POST', '/api/v1/ephemeral/push', {
    queue: QUEUE,
    messages: [{ payload: CLASSIFIED }],
  });
}

/** A's state as A reads it, without what time alone changes. */
async function viewOfA(): Promise<unknown> {
  const { partitionId } = ids;
  const paths = [
    `/api/v1/resources/queues/${QUEUE}/depth?group=${GROUP}`,
    `/api/v1/resources/queues?stats=lanes`,
    `/api/v1/consumer-groups/${GROUP}`,
    `/api/v1/dlq`,
    `/api/v1/messages?queue=${QUEUE}`,
    `/api/v1/messages/${partitionId}/t-2`,
    '/api/v1/kv/secret-ns/secret-key',
    `/api/v1/timers/${QUEUE}`,
    `/api/v1/ephemeral/queues/${QUEUE}/depth`,
  ];
  const views = await Promise.all(paths.map((path) => as(A, 'GET', path)));
  return views.map(({ status, json }, i) => ({ path: paths[i], status, json: steady(json) }));
}

const MOVING = /lag|age|seconds|perSecond|rate|now/i;

function steady(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(steady);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !MOVING.test(name));
  return Object.fromEntries(kept.map(([name, inner]) => [name, steady(inner)]));
}

function pathOf(template: string): string {
  return template
    .replaceAll(/\{([^}]*)\}/g, (_, name: string) => ids[name] ?? QUEUE)
    .replace('*', ids['key'] ?? '');
}

/** The examples of the route with A's names and ids in them. */
function bodiesOf(media: Media | undefined): unknown[] {
  const examples = Object.values(media?.examples ?? {}).map(({ value }) => value);
  if (media?.example !== undefined) examples.push(media.example);
  return examples.map((example) => JSON.parse(JSON.stringify(example, towardsA)) as unknown);
}

function towardsA(name: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (/^(queue|queueName)$/.test(name)) return QUEUE;
  if (/^(consumerGroup|group)$/.test(name)) return GROUP;
  return ids[name] ?? value;
}

const routes = () => judge.operations().filter(({ route }) => !OF_THE_NODE.test(route));

it('B sees nothing of A and changes nothing of A, on any route', async () => {
  const before = await viewOfA();
  expect(JSON.stringify(before)).toContain(CLASSIFIED);
  // Deletions come last: the others then meet a B that has things of the same names.
  const ordered = routes().sort(
    (x, y) => Number(x.route.startsWith('DELETE')) - Number(y.route.startsWith('DELETE')),
  );
  for (const { route, operation } of ordered) {
    const [method = '', template = ''] = route.split(' ');
    const bodies = bodiesOf(operation.requestBody?.content['application/json']);
    for (const body of bodies.length === 0 ? [undefined] : bodies) {
      const path = pathOf(template);
      const query = method === 'DELETE' || method === 'GET' ? `?queue=${QUEUE}` : '';
      const answer = await as(B, method, path + query, body);
      expect([route, answer.status]).not.toEqual([route, 500]);
      expect([route, answer.text.includes(CLASSIFIED)]).toEqual([route, false]);
    }
  }
  expect(await viewOfA()).toEqual(before);
}, 120_000);

it('lists of B do not name what is A’s', async () => {
  const stranger = '0199c0de-0000-7000-8000-00000000000c';
  for (const { route } of routes()) {
    const [method = '', template = ''] = route.split(' ');
    if (method !== 'GET' || template.includes('{')) continue;
    const { text } = await as(stranger, method, template);
    expect([route, text.includes('secret-')]).toEqual([route, false]);
  }
});

it('a malformed and a reserved tenant are refused on every route', async () => {
  for (const { route } of routes().filter(({ route }) => !WITHOUT_TENANT_CHECK.test(route))) {
    const [method = '', template = ''] = route.split(' ');
    const media = judge.operation(route).requestBody?.content['application/json'];
    const [body] = bodiesOf(media);
    const malformed = await as('nobody', method, pathOf(template), body);
    expect([route, malformed.status, malformed.json]).toEqual([
      ...[route, 400],
      { error: 'invalid x-queen-tenant header (must be a UUID)' },
    ]);
    const reserved = await as(RESERVED, method, pathOf(template), body);
    expect([route, reserved.status, reserved.json?.code]).toEqual([route, 403, 'reserved_tenant']);
  }
});
