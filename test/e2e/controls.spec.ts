/** Operators' controls over HTTP: switches and what they stop, quotas and the ladder, purge of a tenant. */
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import { eventually } from './calls.js';

const A = '00000000-0000-4000-8000-00000000000a';
const B = '00000000-0000-4000-8000-00000000000b';
const NOBODY = '00000000-0000-0000-0000-000000000000';

let broker: TestBroker;

beforeAll(async () => {
  broker = await TestBroker.start({
    QUEEN_TENANCY_HEADER: 'true',
    QUEEN_KV_TRUSTED_PROXY: 'true',
    QUEEN_KV_REQUIRE_GRANT: 'false',
    QUEEN_KV_WRITE_RATE: '1',
    QUEEN_KV_WRITE_BURST: '40',
    QUEEN_KV_READ_RATE: '100000',
    QUEEN_KV_READ_BURST: '100000',
  });
});

afterAll(() => broker.stop());

function send(
  method: string,
  path: string,
  body?: unknown,
  tenant: string = A,
): Promise<HttpAnswer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  return broker.send(method, path, text, { headers: { 'x-queen-tenant': tenant } });
}

const kv = (operation: object, tenant?: string): Promise<HttpAnswer> =>
  send('POST', '/api/v1/kv', [operation], tenant);
const get = { op: 'get', ns: 'n', key: 'k' };
const put = (key = 'k'): object => ({ op: 'put', ns: 'n', key, value: 1, forever: true });
const quota = (fields: object): Promise<HttpAnswer> =>
  send('POST', '/api/v1/resources/quota', { kind: 'kv', ...fields });

describe('switches', () => {
  const state = { kvEnabled: true, timersScheduleEnabled: true, timersFireEnabled: true };

  afterEach(() => send('POST', '/api/v1/system/kv-timers', { kv: true, timersFire: true }));

  it('say how they stand', async () => {
    const answer = await send('GET', '/api/v1/system/kv-timers');
    expect(answer.json).toEqual({ ...state, quotaTenants: 0, quotaAgeMs: null, quotaHot: 0 });
    expect((await send('GET', '/api/v1/system/ephemeral')).json).toEqual({
      ephemeralEnabled: true,
    });
    expect((await send('GET', '/api/v1/system/shared-state')).json).toMatchObject({
      ...{ enabled: true, reason: 'raft_state_machine', queues: 0 },
      appliedIndex: expect.any(Number) as number,
    });
  });

  it('stop reads, writes, browsing and locks of keys, with a time to come back', async () => {
    await kv(put());
    const off = await send('POST', '/api/v1/system/kv-timers', { kv: false });
    expect(off.json).toMatchObject({ ...state, kvEnabled: false });
    for (const answer of [
      await kv(get),
      await kv(put()),
      await send('GET', '/api/v1/kv/n/k'),
      await send('GET', '/api/v1/resources/kv/namespaces'),
      await send('POST', '/api/v1/resources/kv/list', { namespace: 'n' }),
      await send('POST', '/api/v1/locks', [{ op: 'get', name: 'x' }]),
    ]) {
      expect([answer.status, answer.json.error, answer.headers.get('retry-after')]).toEqual([
        ...[503, 'kv_disabled', '1'],
      ]);
    }
    await send('POST', '/api/v1/system/kv-timers', { kv: true });
    expect((await kv(get)).json.results[0].found).toBe(true);
  });

  it('outlive a restart', async () => {
    await send('POST', '/api/v1/system/kv-timers', { timersFire: false });
    await send('POST', '/api/v1/system/ephemeral', { enabled: false });
    await broker.restart();
    expect((await send('GET', '/api/v1/system/kv-timers')).json).toMatchObject({
      ...{ kvEnabled: true, timersFireEnabled: false },
    });
    const ephemeral = await send('GET', '/api/v1/system/ephemeral');
    expect(ephemeral.json).toEqual({ ephemeralEnabled: false });
    const on = await send('POST', '/api/v1/system/ephemeral', { enabled: true });
    expect(on.json).toEqual({ ephemeralEnabled: true, mirrored: true });
  });

  it.each([
    ['kv-timers', {}, 'at least one of kv, timersSchedule, timersFire (boolean) is required'],
    ['kv-timers', { kv: 1 }, 'kv must be a boolean'],
    ['kv-timers', [], 'object required'],
    ['ephemeral', { enabled: 'yes' }, 'enabled (boolean) is required'],
    ['ephemeral', {}, 'enabled (boolean) is required'],
  ])('%s refuses %j', async (name, body, error) => {
    const answer = await send('POST', `/api/v1/system/${name}`, body);
    expect([answer.status, answer.json]).toEqual([400, { error }]);
  });
});

describe('quotas', () => {
  it('are set under three paths, in both spellings, and echo all limits', async () => {
    const body = { kind: 'kv', tenantId: B, max_rows: 5, maxBytes: null, maxQueues: 7 };
    for (const path of ['resources/quota', 'system/quota', 'system/quotas']) {
      const answer = await send('POST', `/api/v1/${path}`, body);
      expect([answer.status, answer.json]).toEqual([
        200,
        {
          ...{ success: true, tenant: B, kind: 'kv', enabled: true, maxRows: 5, maxBytes: null },
          ...{ maxTimers: null, maxTimerHorizonSeconds: null, maxReadsPerSecond: null },
          ...{ maxWritesPerSecond: null, maxQueues: null, maxMessagesPerSecond: null },
          maxQueries: null,
        },
      ]);
    }
  });

  it.each([
    [{ kind: 'other' }, 400, { error: 'kind must be kv, ephemeral, or streams' }],
    [{ maxRows: -1 }, 400, { code: 'bad_request' }],
    [{ maxRows: 1.5 }, 400, { code: 'bad_request' }],
    [{ enabled: 'no' }, 400, { code: 'bad_request' }],
    [{ tenant: 'x' }, 400, { code: 'bad_request' }],
    [{ tenant: NOBODY }, 403, { success: false, code: 'reserved_tenant' }],
  ])('%j is refused', async (body, status, shape) => {
    const answer = await quota(body);
    expect(answer.status).toBe(status);
    expect(answer.json).toMatchObject(shape);
  });

  it('bound rows and bytes, name 403 without a time to come back, and let deletes pass', async () => {
    await quota({ tenant: B, maxRows: 2, maxWritesPerSecond: 1000 });
    expect((await kv(put('a'), B)).status).toBe(200);
    expect((await kv(put('b'), B)).status).toBe(200);
    const full = await kv(put('c'), B);
    expect([full.status, full.json.error, full.json.reason]).toEqual([
      ...[403, 'kv_quota_exceeded', 'kv_quota_exceeded'],
    ]);
    expect(full.headers.get('retry-after')).toBeNull();
    expect((await send('GET', '/api/v1/system/kv-timers')).json).toMatchObject({
      ...{ quotaTenants: 1, quotaAgeMs: 0, quotaHot: 1 },
    });
    expect((await kv({ op: 'delete', ns: 'n', key: 'a' }, B)).json.results[0].applied).toBe(true);
    expect((await kv(put('c'), B)).status).toBe(200);
    await broker.restart();
    expect((await kv(put('d'), B)).json.error).toBe('kv_quota_exceeded');
    await quota({ tenant: B, enabled: false });
    expect((await kv(put('d'), B)).json).toMatchObject({ error: 'feature_gated' });
    expect((await kv(get, B)).status).toBe(200);
  });

  it('without one the node’s rates hold: 429 with a time to come back', async () => {
    const tenant = '00000000-0000-4000-8000-00000000000c';
    let answer = await kv(put(), tenant);
    for (let i = 0; i < 60 && answer.status === 200; i++) answer = await kv(put(), tenant);
    expect([answer.status, answer.json.error, answer.json.reason]).toEqual([
      ...[429, 'rate_limited', 'rate_limited'],
    ]);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect((await kv(get, tenant)).status).toBe(200);
  });
});

describe('the purge of a tenant', () => {
  it('takes queues, keys and locks at once, and nobody else’s', async () => {
    await quota({ tenant: A, maxWritesPerSecond: 1000 });
    const items = [{ queue: 'q', payload: 1 }];
    await send('POST', '/api/v1/push', { items });
    await kv(put('mine'));
    await send('POST', '/api/v1/locks', [{ op: 'acquire', name: 'l', ttlSeconds: 60 }]);
    await quota({ tenant: B, enabled: true });
    await kv(put('theirs'), B);
    const purged = await send('DELETE', `/api/v1/resources/tenant?tenant=${A}`);
    expect(purged.json).toEqual({ success: true, tenant: A, partitionsDeleted: 1, done: true });
    expect((await send('GET', '/api/v1/resources/kv/namespaces')).json).toEqual({ namespaces: [] });
    expect((await send('GET', '/api/v1/resources/queues/q')).status).toBe(404);
    expect((await kv({ ...get, key: 'theirs' }, B)).json.results[0].found).toBe(true);
    const again = await kv({ op: 'putIfAbsent', ns: 'n', key: 'mine', value: 2, forever: true });
    expect(again.json.results[0].applied).toBe(true);
    await broker.restart();
    expect((await send('GET', '/api/v1/resources/kv/namespaces')).json).toEqual({
      namespaces: [{ namespace: 'n', keys: 1 }],
    });
    await send('POST', '/api/v1/push', { items });
    await eventually(async () =>
      (await send('GET', '/api/v1/pop/queue/q?autoAck=true')).status === 200 ? true : null,
    );
  });

  it('is not for the default tenant nor for the broker’s own', async () => {
    const own = await send(
      'DELETE',
      '/api/v1/resources/tenant',
      undefined,
      A.replace(/.$/, '1').replace('4000-8', '0000-0'),
    );
    expect([own.status, own.json]).toEqual([
      400,
      { success: false, error: 'refusing to purge the default tenant' },
    ]);
    const reserved = await send('DELETE', '/api/v1/resources/tenant', { tenant: NOBODY });
    expect([reserved.status, reserved.json.code]).toEqual([403, 'reserved_tenant']);
    const nothing = await send('DELETE', '/api/v1/resources/tenant', {
      tenant: '00000000-0000-4000-8000-0000000000ff',
    });
    expect(nothing.json).toMatchObject({ success: true, partitionsDeleted: 0, done: true });
  });
});
