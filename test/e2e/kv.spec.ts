/** Keys over HTTP: verdicts, elements, apply order, paging, paths, browsing, and a restart. */
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import { eventually, unhurried, type Wire } from './calls.js';

let broker: TestBroker;

beforeAll(async () => {
  broker = await TestBroker.start({
    QUEEN_KV_WRITE_RATE: '100000',
    QUEEN_KV_WRITE_BURST: '100000',
    QUEEN_KV_READ_RATE: '100000',
    QUEEN_KV_READ_BURST: '100000',
    QUEEN_RAFT_KV_SWEEP_MS: '20',
  });
});

afterAll(() => broker.stop());

let spaces = 0;
/** A namespace no other test uses. */
const fresh = (): string => `ns${++spaces}`;

type Op = Readonly<Record<string, unknown>>;

async function call(...operations: Op[]): Promise<HttpAnswer> {
  return broker.post('/api/v1/kv', { operations });
}

async function results(...operations: Op[]): Promise<Wire[]> {
  const answer = await call(...operations);
  if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
  return answer.json.results;
}

describe('a call', () => {
  it('answers one element per operation, index-aligned, in the exact shape', async () => {
    const ns = fresh();
    const answer = await call(
      { op: 'put', ns, key: 'a', value: { n: 1 }, forever: true },
      { op: 'incr', ns, key: 'n', delta: 2, forever: true },
      { op: 'putIfAbsent', ns, key: 'once', value: null, ttlSeconds: 60 },
      { op: 'check', ns, key: 'none', expect: 0 },
      { op: 'delete', ns, key: 'nothing' },
    );
    const [put, incr, once, check] = answer.json.results;
    expect(answer.text).toBe(
      `{"results":[{"index":0,"op":"put","applied":true,"key":"a","value":{"n":1},"version":${put.version}},` +
        `{"index":1,"op":"incr","applied":true,"key":"n","value":2,"version":${incr.version}},` +
        `{"index":2,"op":"putIfAbsent","applied":true,"key":"once","value":null,"version":${once.version}},` +
        '{"index":3,"op":"check","applied":true,"key":"none","version":0},' +
        '{"index":4,"op":"delete","applied":false,"reason":"absent","key":"nothing","value":null,"version":0}]}',
    );
    expect(check).not.toHaveProperty('value');
    expect(Number.isSafeInteger(put.version) && put.version > 0).toBe(true);
  });

  it('takes a bare array, and nothing at all', async () => {
    const ns = fresh();
    const array = await broker.post('/api/v1/kv', [{ op: 'get', ns, key: 'k' }]);
    expect(array.text).toBe('{"results":[{"index":0,"op":"get","found":false,"key":"k"}]}');
    expect((await broker.post('/api/v1/kv', [])).text).toBe('{"results":[]}');
    expect((await broker.post('/api/v1/kv', { operations: [] })).text).toBe('{"results":[]}');
  });

  it('keeps number text, order of members and escapes of a value, without whitespace', async () => {
    const ns = fresh();
    const value = '{ "z" : 12345678901234567890.10 , "a" : [ 1e2 , "\\u0041 b" ] }';
    const compact = '{"z":12345678901234567890.10,"a":[1e2,"\\u0041 b"]}';
    await broker.send('PUT', `/api/v1/kv/${ns}/k`, `{"value":${value},"forever":true}`);
    const read = await broker.get(`/api/v1/kv/${ns}/k`);
    expect(read.text).toContain(`"value":${compact},`);
  });

  it('lost verdicts carry the row in the way', async () => {
    const ns = fresh();
    const [put] = await results({ op: 'put', ns, key: 'k', value: 7, forever: true });
    const { version } = put;
    expect(
      await results(
        { op: 'putIfAbsent', ns, key: 'k', value: 1, forever: true },
        { op: 'put', ns, key: 'x', value: 1, forever: true, expect: 5 },
      ),
    ).toEqual([
      {
        ...{ index: 0, op: 'putIfAbsent', applied: false, reason: 'exists', key: 'k' },
        ...{ value: 7, version },
      },
      {
        ...{ index: 1, op: 'put', applied: false, reason: 'absent', key: 'x' },
        ...{ value: null, version: 0 },
      },
    ]);
    const [limit] = await results({ op: 'incr', ns, key: 'k', delta: 1, max: 7, forever: true });
    expect(limit).toMatchObject({ applied: false, reason: 'limit', value: 7, version });
    const [check] = await results({ op: 'check', ns, key: 'k', expect: version + 1 });
    expect(check).toMatchObject({ applied: false, reason: 'version', value: 7, version });
  });

  it('a required operation that loses undoes all of it', async () => {
    const ns = fresh();
    await results({ op: 'put', ns, key: 'b', value: { owner: 'w' }, forever: true });
    const answer = await call(
      { op: 'put', ns, key: 'a', value: 1, forever: true },
      { op: 'check', ns, key: 'b', expect: 1e15, required: true },
      { op: 'get', ns, key: 'a' },
    );
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      ...{ ok: false, reason: 'kv_precondition', failedIndex: 1, kvReason: 'version' },
      ...{ version: expect.any(Number) as number, value: { owner: 'w' } },
    });
    expect((await results({ op: 'get', ns, key: 'a' }))[0].found).toBe(false);
  });

  it('names no details that are too long to name', async () => {
    const ns = fresh();
    await results({ op: 'put', ns, key: 'k', value: 'x'.repeat(5000), forever: true });
    const answer = await call({ op: 'check', ns, key: 'k', expect: 0, required: true });
    expect(answer.json).toEqual({ ok: false, reason: 'kv_precondition' });
  });

  it('judges in byte order: the first required loser there is reported by its input index', async () => {
    const ns = fresh();
    const answer = await call(
      { op: 'check', ns, key: '\u{1f600}', expect: 1, required: true },
      { op: 'check', ns, key: '\uffff', expect: 2, required: true },
    );
    expect(answer.json).toMatchObject({ failedIndex: 1, kvReason: 'absent' });
  });

  it('reads: a get sees the side of the write it stands on, several keys see the writes', async () => {
    const ns = fresh();
    await results({ op: 'put', ns, key: 'k', value: 'old', forever: true });
    const [many, before, , after, prefix, other] = await results(
      { op: 'getMany', ns, keys: ['k', 'absent', 'new'] },
      { op: 'get', ns, key: 'k' },
      { op: 'put', ns, key: 'k', value: 'new', forever: true },
      { op: 'get', ns, key: 'k' },
      { op: 'getPrefix', ns, prefix: 'n' },
      { op: 'get', ns, key: 'new' },
      { op: 'put', ns, key: 'new', value: 1, forever: true },
    );
    expect([before.value, after.value]).toEqual(['old', 'new']);
    expect(many.rows.map(({ key, value }: Wire) => [key, value])).toEqual([
      ['k', 'new'],
      ['new', 1],
    ]);
    expect([many.missing, many.truncated]).toEqual([['absent'], false]);
    expect(prefix.rows).toHaveLength(1);
    expect(other.found).toBe(false);
  });

  it('dies with its time', async () => {
    const { ns, row } = await unhurried((timely) =>
      timely(1_000, async () => {
        const made = fresh();
        await results({ op: 'put', ns: made, key: 'k', value: 1, ttlSeconds: 1 });
        return { ns: made, row: (await results({ op: 'get', ns: made, key: 'k' }))[0] };
      }),
    );
    expect(Date.parse(row.expiresAt) - Date.parse(row.updatedAt)).toBe(1000);
    expect(row.expiresAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d*[1-9])?\+00:00$/);
    await eventually(async () => {
      const [read] = await results({ op: 'get', ns, key: 'k' });
      return read.found ? null : true;
    });
    // The sweep removes it without anybody asking for it.
    await eventually(async () => {
      const { json } = await broker.get('/api/v1/resources/kv/namespaces');
      return json.namespaces.some(({ namespace }: Wire) => namespace === ns) ? null : true;
    });
  });

  it('tells nobody of another call what it did not see: concurrent read-writes are in one order', async () => {
    const ns = fresh();
    const swap = (key: string, other: string): Promise<Wire[]> =>
      results(
        { op: 'put', ns, key, value: 1, forever: true },
        { op: 'getPrefix', ns, prefix: other, limit: 1 },
      );
    for (let round = 0; round < 20; round++) {
      const pair = [`a${round}`, `b${round}`] as const;
      const [one, two] = await Promise.all([swap(pair[0], pair[1]), swap(pair[1], pair[0])]);
      // At least one sees the other; both would mean that one read what was written after it.
      const seen = [one[1].rows.length, two[1].rows.length].sort();
      expect(seen).toEqual([0, 1]);
    }
  });
});

describe('getPrefix', () => {
  it('pages in byte order with nextAfter until nothing is left', async () => {
    const ns = fresh();
    const keys = ['p', 'pa', 'p\u00e9', 'p\uffff', 'p\u{1f600}', 'pz/1'];
    const sorted = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    await results(
      ...['o', 'q', ...keys].map((key) => ({ op: 'put', ns, key, value: 1, forever: true })),
    );
    const seen: string[] = [];
    for (let after: string | null = ''; after !== null;) {
      const [page]: Wire[] = await results({ op: 'getPrefix', ns, prefix: 'p', after, limit: 2 });
      seen.push(...page.rows.map(({ key }: Wire) => key));
      expect(page.nextAfter === null).toBe(!page.truncated);
      after = page.nextAfter;
    }
    expect(seen).toEqual(sorted);
  });

  it('clamps the limit, leaves values out, and stops at 4 MiB of them', async () => {
    const ns = fresh();
    const value = 'x'.repeat(60_000);
    for (let i = 0; i < 80; i++) {
      await results({ op: 'put', ns, key: `k${String(i).padStart(2, '0')}`, value, forever: true });
    }
    const [page] = await results({ op: 'getPrefix', ns, prefix: 'k', limit: 99_999 });
    expect(page.truncated).toBe(true);
    expect(page.rows).toHaveLength(Math.ceil((4 * 1024 * 1024) / 60_002));
    const [keys] = await results({ op: 'getPrefix', ns, prefix: 'k', keysOnly: true });
    expect([keys.rows.length, keys.truncated, 'value' in keys.rows[0]]).toEqual([80, false, false]);
    const [one] = await results({ op: 'getPrefix', ns, prefix: 'k', limit: -5 });
    expect(one.rows).toHaveLength(1);
    const many = Array.from({ length: 80 }, (_, i) => `k${String(i).padStart(2, '0')}`);
    const [cut, rest] = await results(
      { op: 'getMany', ns, keys: [...many, 'zz'] },
      { op: 'getPrefix', ns, prefix: 'k', limit: 1 },
    );
    expect([cut.rows.length, cut.missing, cut.truncated]).toEqual([70, ['zz'], true]);
    expect([rest.rows, rest.truncated]).toEqual([[], true]);
  });
});

describe('path routes', () => {
  it('put, get with ETag, delete', async () => {
    const ns = fresh();
    const path = `/api/v1/kv/${ns}/a/b%2Fc%20d`;
    const put = await broker.send('PUT', path, '{"value":[1],"ttlSeconds":30.0,"other":1}');
    expect(put.json).toMatchObject({ index: 0, op: 'put', applied: true, key: 'a/b/c d' });
    const got = await broker.get(path);
    expect(got.headers.get('etag')).toBe(`"${put.json.version}"`);
    expect(got.json).toMatchObject({ index: 0, op: 'get', found: true, value: [1] });
    const fenced = await broker.send('DELETE', path, '{"expect":1}');
    expect(fenced.json).toMatchObject({ applied: false, reason: 'version' });
    const gone = await broker.send('DELETE', path, ' null ');
    expect(gone.json).toEqual({ ...put.json, op: 'delete' });
    const miss = await broker.get(path);
    expect([miss.status, miss.headers.get('etag')]).toEqual([200, null]);
    expect(miss.json).toEqual({ index: 0, op: 'get', found: false, key: 'a/b/c d' });
    expect((await broker.send('DELETE', path)).json).toMatchObject({ reason: 'absent' });
  });

  it('required undoes there too', async () => {
    const ns = fresh();
    const body = '{"value":1,"forever":true,"expect":3,"required":true}';
    const answer = await broker.send('PUT', `/api/v1/kv/${ns}/k`, body);
    expect(answer.json).toEqual({
      ...{ ok: false, reason: 'kv_precondition', failedIndex: 0, kvReason: 'absent' },
      ...{ version: 0, value: null },
    });
  });
});

describe('browsing', () => {
  it('lists namespaces in byte order and pages of one', async () => {
    const [a, b] = [`${fresh()}-b`, `${fresh()}-a`];
    for (const key of ['k1', 'k2', 'x']) {
      await results({ op: 'put', ns: a, key, value: key, forever: true });
    }
    await results({ op: 'put', ns: b, key: 'k', value: 1, ttlSeconds: 3600 });
    const { json } = await broker.get('/api/v1/resources/kv/namespaces');
    const names = json.namespaces.map(({ namespace }: Wire) => namespace);
    expect(names).toEqual([...names].sort());
    expect(json.namespaces).toContainEqual({ namespace: a, keys: 3 });
    const list = (body: object): Promise<HttpAnswer> =>
      broker.post('/api/v1/resources/kv/list', { namespace: a, ...body });
    const first = (await list({ prefix: 'k', limit: 1 })).json;
    expect(first).toEqual({
      rows: [
        {
          ...{ key: 'k1', value: 'k1', version: expect.any(Number) as number, expiresAt: null },
          updatedAt: expect.stringMatching(/^\S+T\S+\.\d{6}Z$/) as string,
        },
      ],
      ...{ truncated: true, nextAfter: 'k1', bytes: 4 },
    });
    const rest = (await list({ after: 'k1', keysOnly: true, includeExpired: true })).json;
    expect(rest.rows).toMatchObject([
      { key: 'k2', expired: false },
      { key: 'x', expired: false },
    ]);
    expect([rest.truncated, rest.nextAfter, rest.bytes]).toEqual([false, null, 0]);
    expect((await list({ prefix: 'k'.repeat(5000) })).json.rows).toEqual([]);
    const unknown = await broker.post('/api/v1/resources/kv/list', { namespace: 'nowhere' });
    expect(unknown.json).toEqual({ rows: [], truncated: false, nextAfter: null, bytes: 0 });
  });
});

describe('refusals', () => {
  const put = { op: 'put', ns: 'n', key: 'k', value: 1, forever: true };
  const get = { op: 'get', ns: 'n', key: 'k' };
  const bad: readonly (readonly [name: string, operations: unknown, reason: string])[] = [
    ['not an object', ['x'], 'kv_bad_request'],
    ['no op', [{ ns: 'n' }], 'kv_unknown_op'],
    ['an unknown op', [{ ...put, op: 'set' }], 'kv_unknown_op'],
    ['a tenant', [{ ...put, tenantId: 'x' }], 'kv_tenant_not_an_input'],
    ['a bad namespace', [{ ...put, ns: 'N' }], 'kv_bad_namespace'],
    ['no namespace', [{ op: 'get', key: 'k' }], 'kv_bad_namespace'],
    ['an empty key', [{ ...put, key: '' }], 'kv_bad_key'],
    ['a key with NUL', [{ ...put, key: 'a\0' }], 'kv_bad_key'],
    ['a null key', [{ ...put, key: null }], 'kv_bad_key'],
    ['no expiry', [{ ...put, forever: undefined }], 'kv_expiry_not_specified'],
    ['forever false', [{ ...put, forever: false }], 'kv_expiry_not_specified'],
    ['two expiries', [{ ...put, ttlSeconds: 'x' }], 'kv_expiry_not_specified'],
    ['a ttl of 0', [{ ...put, forever: undefined, ttlSeconds: 0 }], 'kv_bad_ttl'],
    ['a ttl as text', [{ ...put, forever: undefined, ttlSeconds: '5' }], 'kv_bad_ttl'],
    ['a fractional ttl', [{ ...put, forever: undefined, ttlSeconds: 1.5 }], 'kv_bad_ttl'],
    ['no value', [{ ...put, value: undefined }], 'kv_bad_request'],
    ['expect null', [{ ...put, expect: null }], 'kv_bad_expect'],
    ['expect -1', [{ ...put, expect: -1 }], 'kv_bad_expect'],
    ['expect 1.5', [{ ...put, expect: 1.5 }], 'kv_bad_expect'],
    ['expect as text', [{ ...put, expect: '1' }], 'kv_bad_expect'],
    ['putIfAbsent expect 2', [{ ...put, op: 'putIfAbsent', expect: 2 }], 'kv_bad_expect'],
    ['check without expect', [{ ...get, op: 'check' }], 'kv_bad_expect'],
    ['incr with expect', [{ ...put, op: 'incr', delta: 1, expect: 0 }], 'kv_bad_request'],
    ['incr without delta', [{ ...put, op: 'incr' }], 'kv_bad_request'],
    ['a delta as text', [{ ...put, op: 'incr', delta: '1' }], 'kv_bad_request'],
    ['a minimum as text', [{ ...put, op: 'incr', delta: 1, min: 'x' }], 'kv_bad_request'],
    ['required as text', [{ ...put, required: 'yes' }], 'kv_bad_request'],
    ['keys as text', [{ op: 'getMany', ns: 'n', keys: 'k' }], 'kv_bad_request'],
    ['no prefix', [{ op: 'getPrefix', ns: 'n' }], 'kv_prefix_required'],
    ['an empty prefix', [{ op: 'getPrefix', ns: 'n', prefix: '' }], 'kv_prefix_required'],
    ['a limit of 1.5', [{ op: 'getPrefix', ns: 'n', prefix: 'p', limit: 1.5 }], 'kv_bad_request'],
    ['keysOnly 1', [{ op: 'getPrefix', ns: 'n', prefix: 'p', keysOnly: 1 }], 'kv_bad_request'],
    ['a key twice', [put, { ...get, op: 'check', expect: 0 }], 'kv_duplicate_key_in_call'],
    ['257 operations', Array.from({ length: 257 }, () => get), 'kv_too_many_ops'],
    [
      '1025 keys',
      [{ op: 'getMany', ns: 'n', keys: Array.from({ length: 1025 }, (_, i) => `${i}`) }],
      'kv_too_many_keys',
    ],
  ];

  it.each(bad)('%s', async (_, operations, reason) => {
    const answer = await broker.post('/api/v1/kv', { operations });
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ error: 'kv_bad_request', reason });
    expect(
      Object.keys(answer.json).every((key) => ['error', 'reason', 'detail'].includes(key)),
    ).toBe(true);
  });

  it.each(['{', '"x"', '{}', '{"operations":{}}', '7', '{"operations":[]} x', ''])(
    'the body %j',
    async (body) => {
      const answer = await broker.send('POST', '/api/v1/kv', body);
      expect([answer.status, answer.json.reason]).toEqual([400, 'kv_bad_body']);
    },
  );

  it('one bad operation refuses the whole call', async () => {
    const ns = fresh();
    await call({ ...put, ns }, { ...put, ns, key: '' });
    expect((await results({ ...get, ns }))[0].found).toBe(false);
  });

  it('too large: value and key', async () => {
    const value = await call({ ...put, value: 'x'.repeat(65_535) });
    expect([value.status, value.json]).toEqual([
      413,
      expect.objectContaining({ error: 'payload_too_large', reason: 'kv_value_too_large' }),
    ]);
    const key = await call({ ...put, key: 'k'.repeat(513) });
    expect([key.status, key.json.reason]).toEqual([413, 'kv_key_too_large']);
    expect((await call({ ...put, value: 'x'.repeat(65_534) })).status).toBe(200);
    expect((await call({ ...put, key: 'k'.repeat(470) })).status).toBe(200);
  });

  it('on path routes: query strings, fields of the path, bad bodies', async () => {
    const path = '/api/v1/kv/n/k';
    const reason = async (method: string, at: string, body?: string): Promise<unknown[]> => {
      const answer = await broker.send(method, at, body);
      return [answer.status, answer.json.reason];
    };
    expect(await reason('GET', `${path}?x=1`)).toEqual([400, 'kv_no_query_string']);
    expect(await reason('PUT', path, '{"key":"x"}')).toEqual([400, 'kv_field_in_path']);
    expect(await reason('DELETE', path, '{"namespace":"x"}')).toEqual([400, 'kv_field_in_path']);
    expect(await reason('PUT', path, '[]')).toEqual([400, 'kv_bad_body']);
    expect(await reason('PUT', path)).toEqual([400, 'kv_bad_body']);
    expect(await reason('DELETE', path, '[]')).toEqual([400, 'kv_bad_body']);
    expect(await reason('GET', '/api/v1/kv/N/k')).toEqual([400, 'kv_bad_namespace']);
    expect(await reason('GET', '/api/v1/kv/n/%00')).toEqual([400, 'kv_bad_key']);
    expect(await reason('GET', '/api/v1/resources/kv/namespaces?a=1')).toEqual([
      400,
      'kv_no_query_string',
    ]);
    expect(await reason('POST', '/api/v1/resources/kv/list', '{"namespace":"N"}')).toEqual([
      400,
      'kv_bad_namespace',
    ]);
  });

  it('takes other JSON as its text where a text is due', async () => {
    const ns = fresh();
    await results({ op: 'put', ns, key: 12, value: 1, forever: true });
    expect((await results({ op: 'get', ns, key: '12' }))[0].found).toBe(true);
  });
});

it('is all there after a restart, versions go on, the dead stay dead', async () => {
  const ns = fresh();
  const [put] = await results({ op: 'put', ns, key: 'k', value: 'kept', forever: true });
  await results({ op: 'put', ns, key: 'short', value: 1, ttlSeconds: 1 });
  await broker.restart();
  const [row, again] = await results(
    { op: 'get', ns, key: 'k' },
    { op: 'put', ns, key: 'k2', value: 1, forever: true },
  );
  expect(row).toMatchObject({ found: true, value: 'kept', version: put.version });
  expect(again.version).toBeGreaterThan(put.version);
  await eventually(async () =>
    (await results({ op: 'putIfAbsent', ns, key: 'short', value: 2, forever: true }))[0].applied
      ? true
      : null,
  );
});
