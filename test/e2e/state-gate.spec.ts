/**
 * The gate ladder over HTTP, rung by rung and surface by surface (state.md §0.4, §0.5): switch, grant, rate,
 * occupancy for keys, locks and timers; what passes every rung; what a transaction pays; tenants apart.
 */
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import { eventually, idsOf, unhurried, Calls } from './calls.js';

const HOUR = 3_600_000;

let broker: TestBroker;
let tenants = 0;

beforeAll(async () => {
  broker = await TestBroker.start({
    ...{ QUEEN_TENANCY_HEADER: 'true', QUEEN_KV_TRUSTED_PROXY: 'true' },
    ...{ QUEEN_KV_WRITE_RATE: '1', QUEEN_KV_WRITE_BURST: '3' },
    ...{ QUEEN_KV_READ_RATE: '1', QUEEN_KV_READ_BURST: '3' },
  });
});
afterAll(() => broker.stop());

/** A tenant nobody else uses. */
const fresh = (): string =>
  `00000000-0000-4000-8000-0000000${(++tenants).toString(16).padStart(5, '0')}`;

function send(tenant: string, method: string, path: string, body?: unknown): Promise<HttpAnswer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  return broker.send(method, path, text, { headers: { 'x-queen-tenant': tenant } });
}

const quota = (tenant: string, fields: object = {}): Promise<HttpAnswer> =>
  send(tenant, 'POST', '/api/v1/resources/quota', { kind: 'kv', tenant, enabled: true, ...fields });
const turn = (switches: object): Promise<HttpAnswer> =>
  send(fresh(), 'POST', '/api/v1/system/kv-timers', switches);

const timer = (timerKey: string, fields: object = {}): object => ({
  ...{ op: 'schedule', queue: 'q', timerKey, delayMs: HOUR, txn: timerKey, payload: 'MQ==' },
  ...fields,
});
const put = (key: string): object => ({ op: 'put', ns: 'n', key, value: 1, forever: true });
const acquire = (name: string, owner = 'w'): object => ({
  ...{ op: 'acquire', name, owner, ttlSeconds: 60 },
});

type Call = (tenant: string) => Promise<HttpAnswer>;
const GET: Call = (tenant) =>
  send(tenant, 'POST', '/api/v1/kv', [{ op: 'get', ns: 'n', key: 'k' }]);
const PUT: Call = (tenant) => send(tenant, 'POST', '/api/v1/kv', [put('k')]);
const CHECK: Call = (tenant) =>
  send(tenant, 'POST', '/api/v1/kv', [{ op: 'check', ns: 'n', key: 'k', expect: 0 }]);
const DELETE: Call = (tenant) => send(tenant, 'DELETE', '/api/v1/kv/n/k');
const LIST: Call = (tenant) =>
  send(tenant, 'POST', '/api/v1/resources/kv/list', { namespace: 'n' });
const NAMES: Call = (tenant) => send(tenant, 'GET', '/api/v1/resources/kv/namespaces');
const LOCK: Call = (tenant) => send(tenant, 'POST', '/api/v1/locks', [acquire('l')]);
const LOCK_GET: Call = (tenant) =>
  send(tenant, 'POST', '/api/v1/locks', [{ op: 'get', name: 'l' }]);
const SCHEDULE: Call = (tenant) => send(tenant, 'POST', '/api/v1/timers', [timer('k')]);
const CANCEL: Call = (tenant) => send(tenant, 'DELETE', '/api/v1/timers/q/k');
const CANCEL_BATCH: Call = (tenant) =>
  send(tenant, 'POST', '/api/v1/timers', [{ op: 'cancel', queue: 'q', timerKey: 'k' }]);
const PEEK: Call = (tenant) => send(tenant, 'GET', '/api/v1/timers/q/k');
const TIMERS: Call = (tenant) => send(tenant, 'GET', '/api/v1/timers/q');
const COUNT: Call = (tenant) => send(tenant, 'GET', '/api/v1/timers/q?mode=count&prefix=k');

const READS = { GET, LIST, NAMES, LOCK_GET };
const WRITES = { PUT, CHECK, DELETE, LOCK };
/** Never refused by any rung. */
const FREE = { CANCEL, CANCEL_BATCH, PEEK, TIMERS, COUNT };

const rows = (calls: Readonly<Record<string, Call>>): [string, Call][] => Object.entries(calls);

const shape = ({ status, json, headers }: HttpAnswer): unknown[] => [
  ...[status, json.error, headers.get('retry-after')],
];

describe('the grant', () => {
  it.each(rows({ ...WRITES, SCHEDULE }))('%s needs one', async (_, call) => {
    const tenant = fresh();
    const refused = await call(tenant);
    expect(shape(refused)).toEqual([403, 'feature_gated', null]);
    expect(refused.json.reason).toBe('feature_gated');
    await quota(tenant);
    expect((await call(tenant)).status).toBe(200);
    await quota(tenant, { enabled: false });
    expect(shape(await call(tenant))).toEqual([403, 'feature_gated', null]);
  });

  it.each(rows({ ...READS, ...FREE }))('%s needs none', async (_, call) => {
    const tenant = fresh();
    expect((await call(tenant)).status).toBe(200);
    await quota(tenant, { enabled: false });
    expect((await call(tenant)).status).toBe(200);
  });
});

describe('the rate', () => {
  const exhausted = async (tenant: string, call: Call): Promise<HttpAnswer> =>
    eventually(async () => {
      const answer = await call(tenant);
      return answer.status === 429 ? answer : null;
    });

  it.each(rows({ ...READS, ...WRITES, SCHEDULE }))('%s takes a token', async (_, call) => {
    const tenant = fresh();
    await quota(tenant);
    const refused = await exhausted(tenant, call);
    expect([refused.json.error, refused.json.reason]).toEqual(['rate_limited', 'rate_limited']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  });

  it('reads and writes have buckets apart, timers and locks share that of the writes', async () => {
    const statuses = await unhurried(async (timely) => {
      const tenant = fresh();
      await quota(tenant, { maxWritesPerSecond: 1, maxReadsPerSecond: 1000 });
      await exhausted(tenant, SCHEDULE);
      // One token may come meanwhile.
      return timely(1_000, async () => {
        await exhausted(tenant, SCHEDULE);
        const calls = [PUT(tenant), LOCK(tenant), GET(tenant), LOCK_GET(tenant)];
        return (await Promise.all(calls)).map(({ status }) => status);
      });
    });
    expect(statuses.slice(0, 2)).toContain(429);
    expect(statuses.slice(2)).toEqual([200, 200]);
  });

  it.each(rows(FREE))('%s takes none', async (_, call) => {
    const tenant = fresh();
    await quota(tenant);
    for (let i = 0; i < 8; i += 1) expect((await call(tenant)).status).toBe(200);
  });

  it('one token a call, whatever is in it; none in a transaction', async () => {
    const tenant = fresh();
    await quota(tenant, { maxWritesPerSecond: 2 });
    const many = Array.from({ length: 50 }, (_, i) => put(`k${i}`));
    expect((await send(tenant, 'POST', '/api/v1/kv', many)).status).toBe(200);
    for (let i = 0; i < 8; i += 1) {
      const body = { kv: [put(`t${i}`)], timers: [timer(`t${i}`)] };
      const answer = await send(tenant, 'POST', '/api/v1/transaction', body);
      expect(answer.json.success).toBe(true);
    }
  });

  it('a mixed timer call is refused whole, with a hint', async () => {
    const tenant = fresh();
    await quota(tenant);
    const mixed: Call = (one) =>
      send(one, 'POST', '/api/v1/timers', [
        timer('a'),
        { op: 'cancel', queue: 'q', timerKey: 'b' },
      ]);
    const refused = await exhausted(tenant, mixed);
    expect(refused.headers.get('x-queen-timers-hint')).toContain('DELETE');
    expect((await exhausted(tenant, SCHEDULE)).headers.get('x-queen-timers-hint')).toBeNull();
  });
});

describe('occupancy', () => {
  const rich = { maxWritesPerSecond: 10_000 };

  it.each([
    ['rows', { maxRows: 2 }, [put('a'), put('b')], [put('c')]],
    ['bytes', { maxBytes: 4 }, [put('a'), put('b')], [put('c')]],
    [
      'rows by counters',
      { maxRows: 1 },
      [{ op: 'incr', ns: 'n', key: 'a', delta: 1, forever: true }],
      [{ op: 'incr', ns: 'n', key: 'b', delta: 1, forever: true }],
    ],
  ])('%s', async (_, limits, fitting, beyond) => {
    const tenant = fresh();
    await quota(tenant, { ...rich, ...limits });
    expect((await send(tenant, 'POST', '/api/v1/kv', fitting)).status).toBe(200);
    const full = await send(tenant, 'POST', '/api/v1/kv', beyond);
    expect(shape(full)).toEqual([403, 'kv_quota_exceeded', null]);
    for (const call of [GET, CHECK, DELETE, LIST]) expect((await call(tenant)).status).toBe(200);
    const del = { op: 'delete', ns: 'n', key: 'a' };
    expect((await send(tenant, 'POST', '/api/v1/kv', [del])).status).toBe(200);
  });

  it('timers; cancels pass and make room', async () => {
    const tenant = fresh();
    await quota(tenant, { ...rich, maxTimers: 2 });
    const schedule = (...keys: string[]): Promise<HttpAnswer> =>
      send(
        tenant,
        'POST',
        '/api/v1/timers',
        keys.map((key) => timer(key)),
      );
    expect((await schedule('a', 'b')).status).toBe(200);
    expect(shape(await schedule('c'))).toEqual([403, 'timers_quota_exceeded', null]);
    expect((await schedule('c')).json.reason).toBe('timers_quota_exceeded');
    for (const key of ['a', 'b']) await send(tenant, 'DELETE', `/api/v1/timers/q/${key}`);
    expect((await schedule('c')).status).toBe(200);
  });

  it('who waits for a lock pays nothing', async () => {
    const tenant = fresh();
    await quota(tenant, { ...rich, maxRows: 3 });
    await send(tenant, 'POST', '/api/v1/locks', [acquire('l', 'holder')]);
    for (let i = 0; i < 10; i += 1) {
      const waiting = await send(tenant, 'POST', '/api/v1/locks', [acquire('l', 'waiter')]);
      expect([waiting.status, waiting.json.results?.[0].reason]).toEqual([200, 'held']);
    }
    expect((await send(tenant, 'POST', '/api/v1/kv', [put('a')])).status).toBe(200);
  });

  it('what is there already costs nothing: counters, overwrites, renewals, reschedules', async () => {
    const tenant = fresh();
    await quota(tenant, { ...rich, maxRows: 6, maxTimers: 2 });
    const incr = { op: 'incr', ns: 'n', key: 'count', delta: 1, forever: true };
    for (let i = 0; i < 8; i += 1) {
      const kv = await send(tenant, 'POST', '/api/v1/kv', [incr, put('k')]);
      const path = await send(tenant, 'PUT', '/api/v1/kv/n/k', { value: 1, forever: true });
      const locks = await send(tenant, 'POST', '/api/v1/locks', [acquire('l')]);
      const timers = await SCHEDULE(tenant);
      expect([kv, path, locks, timers].map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    }
    // The bounds are where they were.
    const more = ['w', 'x', 'y', 'z'];
    expect((await send(tenant, 'POST', '/api/v1/kv', more.map(put))).status).toBe(403);
    const timers = ['y', 'z'].map((key) => timer(key));
    expect((await send(tenant, 'POST', '/api/v1/timers', timers)).status).toBe(403);
  });

  it('a timer call that fits no entry gives its charge back', async () => {
    const tenant = fresh();
    await quota(tenant, { ...rich, maxTimers: 2 });
    for (let i = 0; i < 3; i += 1) {
      const answer = await send(tenant, 'POST', '/api/v1/timers', [
        timer('a', { queue: 'q'.repeat(500) }),
      ]);
      expect(answer.status).toBe(413);
    }
    expect((await SCHEDULE(tenant)).status).toBe(200);
  });

  it('a call that is refused or fails gives its charge back', async () => {
    const tenant = fresh();
    await quota(tenant, { ...rich, maxRows: 2, maxTimers: 2 });
    for (let i = 0; i < 6; i += 1) {
      const kv = await send(tenant, 'POST', '/api/v1/kv', [
        put('a'),
        { ...put('b'), ttlSeconds: 1 },
      ]);
      expect(kv.json.reason).toBe('kv_expiry_not_specified');
      const timers = await send(tenant, 'POST', '/api/v1/timers', [timer('a', { txn: '' })]);
      expect(timers.json.error).toBe('timers_bad_request');
    }
    expect((await PUT(tenant)).status).toBe(200);
    expect((await SCHEDULE(tenant)).status).toBe(200);
  });

  it('the horizon of a tenant is the tighter one', async () => {
    const tenant = fresh();
    await quota(tenant, { ...rich, max_timer_horizon_s: 60 });
    const at = (delayMs: number): Promise<HttpAnswer> =>
      send(tenant, 'POST', '/api/v1/timers', [timer('k', { delayMs })]);
    expect((await at(60_000)).status).toBe(200);
    expect(shape(await at(60_001))).toEqual([403, 'timer_horizon_exceeded', null]);
    const body = { timers: [timer('far', { delayMs: HOUR })] };
    const transaction = await send(tenant, 'POST', '/api/v1/transaction', body);
    expect(transaction.json.success).toBe(true);
  });
});

describe('switches', () => {
  afterEach(() => turn({ kv: true, timersSchedule: true, timersFire: true }));

  it.each(rows({ ...READS, ...WRITES }))('%s stops with the keys', async (_, call) => {
    const tenant = fresh();
    await quota(tenant);
    await turn({ kv: false });
    expect(shape(await call(tenant))).toEqual([503, 'kv_disabled', '1']);
    // The outermost rung is named.
    expect(shape(await call(fresh()))).toEqual([503, 'kv_disabled', '1']);
  });

  it('schedules stop with theirs, nothing else does', async () => {
    const tenant = fresh();
    await quota(tenant);
    await SCHEDULE(tenant);
    await turn({ timersSchedule: false });
    expect(shape(await SCHEDULE(tenant))).toEqual([503, 'timers_disabled', '1']);
    const inside = await send(tenant, 'POST', '/api/v1/transaction', { timers: [timer('x')] });
    expect([inside.status, inside.json.reason, inside.headers.get('retry-after')]).toEqual([
      ...[403, 'timers_disabled', null],
    ]);
    const cancel = { timers: [{ op: 'cancel', queue: 'q', timerKey: 'none' }] };
    expect((await send(tenant, 'POST', '/api/v1/transaction', cancel)).json.success).toBe(true);
    for (const call of [PUT, GET, PEEK, TIMERS, COUNT])
      expect((await call(tenant)).status).toBe(200);
    expect((await CANCEL(tenant)).json.status).toBe('cancelled');
  });

  it('pending timers fire while scheduling is off; none while firing is, then oldest first', async () => {
    const calls = new Calls(broker);
    const schedule = (key: string, delayMs: number): Promise<HttpAnswer> =>
      broker.post('/api/v1/timers', [timer(key, { queue: 'held', delayMs })]);
    await broker.post('/api/v1/resources/quota', {
      ...{ kind: 'kv', enabled: true, maxWritesPerSecond: 1000 },
      tenant: '00000000-0000-0000-0000-000000000001',
    });
    expect((await schedule('first', 200)).status).toBe(200);
    await turn({ timersSchedule: false });
    const first = await eventually(async () => {
      const answer = await calls.pop('held', { autoAck: true });
      return answer.status === 200 ? answer : null;
    });
    expect(idsOf(first)).toEqual(['first']);
    await turn({ timersSchedule: true, timersFire: false });
    for (const [key, delayMs] of [
      ['b', 40],
      ['c', 60],
      ['a', -500],
    ] as const) {
      expect((await schedule(key, delayMs)).status).toBe(200);
    }
    const due = Date.now() + 150;
    await eventually(async () => (Date.now() > due ? true : null));
    expect((await calls.pop('held', { autoAck: true })).status).toBe(204);
    await turn({ timersFire: true });
    const backlog = await eventually(async () => {
      const { pending } = await calls.depth('held');
      return pending === 3 ? calls.pop('held', { batch: 10, autoAck: true }) : null;
    });
    expect(idsOf(backlog)).toEqual(['a', 'b', 'c']);
  });
});

it('timers of one tenant are nothing to another', async () => {
  const [a, b] = [fresh(), fresh()];
  await quota(a);
  await quota(b);
  const { messageId } = (await SCHEDULE(a)).json.results[0];
  expect((await PEEK(b)).json).toEqual({ found: false, queue: 'q', timerKey: 'k' });
  expect((await TIMERS(b)).json.rows).toEqual([]);
  expect((await COUNT(b)).json.count).toBe(0);
  expect((await CANCEL(b)).json).toMatchObject({ ok: false, status: 'absent' });
  expect((await SCHEDULE(b)).json.results[0].status).toBe('scheduled');
  expect((await PEEK(a)).json.messageId).toBe(messageId);
  expect((await CANCEL(b)).json.status).toBe('cancelled');
  expect((await PEEK(a)).json.found).toBe(true);
});
