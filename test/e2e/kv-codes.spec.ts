/**
 * Codes of the key-value plane and of locks over HTTP (state.md §1.5, §1.6): what the log says no with, a
 * full disk, calls that fit no entry, a cluster too old for checks; and what browsing shows of rows that
 * are over, with its bounds (§1.11).
 */
import type { ErrorCode } from '../../src/common/errors.js';
import { QueenError } from '../../src/common/errors.js';
import { Groups } from '../../src/raft/index.js';
import type { Group, PreparedCommand } from '../../src/raft/index.js';
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import { eventually, type Wire } from './calls.js';

let broker: TestBroker;

beforeAll(async () => {
  broker = await TestBroker.start({
    ...{ QUEEN_KV_WRITE_RATE: '100000', QUEEN_KV_WRITE_BURST: '100000' },
    ...{ QUEEN_KV_READ_RATE: '100000', QUEEN_KV_READ_BURST: '100000' },
    ...{ QUEEN_RAFT_KV_SWEEP_MS: '3600000', QUEEN_RAFT_ENTRY_MAX_BYTES: String(1024 * 1024) },
  });
});
afterAll(() => broker.stop());
afterEach(() => jest.restoreAllMocks());

let spaces = 0;
const fresh = (): string => `codes${++spaces}`;
const group = (): Group => broker.nest.get(Groups, { strict: false }).first;

type Op = Readonly<Record<string, unknown>>;

const call = (...operations: Op[]): Promise<HttpAnswer> =>
  broker.post('/api/v1/kv', { operations });
const put = (ns: string, key: string, more: Op = {}): Op => ({
  ...{ op: 'put', ns, key, value: 1, forever: true },
  ...more,
});
const transact = (...kv: Op[]): Promise<HttpAnswer> =>
  broker.post('/api/v1/transaction', { operations: [], kv });
const lock = (operation: Op): Promise<HttpAnswer> =>
  broker.post('/api/v1/locks', { operations: [operation] });
const list = (body: Op): Promise<HttpAnswer> => broker.post('/api/v1/resources/kv/list', body);

type Call = () => Promise<HttpAnswer>;
const WRITES: Readonly<Record<string, Call>> = {
  'a batch': () => call(put('n', 'k')),
  'a mixed batch': () => call(put('n', 'k'), { op: 'get', ns: 'n', key: 'k' }),
  'a put': () => broker.send('PUT', '/api/v1/kv/n/k', '{"value":1,"forever":true}'),
  'an acquire': () => lock({ op: 'acquire', name: 'l', ttlSeconds: 60 }),
};
const READS: Readonly<Record<string, Call>> = {
  'a get': () => broker.get('/api/v1/kv/n/k'),
  'a batch of reads': () => call({ op: 'getMany', ns: 'n', keys: ['a', 'b'] }),
  'a list': () => list({ namespace: 'n' }),
  'the namespaces': () => broker.get('/api/v1/resources/kv/namespaces'),
  'a lock’s get': () => lock({ op: 'get', name: 'l' }),
  'a lost delete': () => broker.send('DELETE', '/api/v1/kv/n/none', '{"expect":7}'),
};

const shape = ({ status, json, headers }: HttpAnswer): unknown[] => [
  ...[status, json.error, json.reason ?? json.code, headers.get('retry-after')],
];

describe('the log says no', () => {
  const failing = (error: Error): void => {
    jest.spyOn(group(), 'submit').mockRejectedValue(error);
    jest.spyOn(group(), 'readBarrier').mockRejectedValue(error);
  };

  const TABLE: [ErrorCode, unknown[]][] = [
    ['timeout', [503, 'kv_unavailable', 'kv_timeout', '1']],
    ['outcome_unknown', [503, 'kv_unavailable', 'kv_timeout', '1']],
    ['retry', [503, 'kv_unavailable', 'kv_retry', '1']],
    ['no_leader', [503, 'kv_unavailable', 'kv_no_leader', '1']],
    ['internal', [500, 'kv_error', 'internal', null]],
    ['standby', [503, expect.any(String), 'standby', '1']],
    ['overloaded', [429, expect.any(String), 'overloaded', '1']],
    ['storage_full', [507, expect.any(String), 'storage_full', null]],
  ];

  it.each(TABLE)('%s', async (code, expected) => {
    failing(new QueenError(code));
    for (const [name, ask] of Object.entries({ ...WRITES, ...READS })) {
      expect([name, ...shape(await ask())]).toEqual([name, ...expected]);
    }
  });

  it('a fault nobody foresaw says no more than that', async () => {
    failing(new TypeError('secrets of the house'));
    for (const ask of Object.values({ ...WRITES, ...READS })) {
      const answer = await ask();
      expect(shape(answer)).toEqual([500, 'kv_error', 'internal', null]);
      expect(answer.text).not.toContain('secrets');
    }
  });

  it('an outcome that lacks a result', async () => {
    const submit = group().submit.bind(group());
    jest.spyOn(group(), 'submit').mockImplementation(async (command, options) => ({
      ...(await submit(command, options)),
      results: [],
    }));
    expect(shape(await call(put(fresh(), 'k')))).toEqual([
      ...[500, 'kv_error', 'kv_result_missing', null],
    ]);
  });
});

describe('checks in their order, before and behind the gate', () => {
  const switches = (on: boolean): Promise<HttpAnswer> =>
    broker.post('/api/v1/system/kv-timers', { kv: on, timersSchedule: on });
  beforeAll(() => switches(false));
  afterAll(() => switches(true));

  const large = { value: 'x'.repeat(70_000) };
  const get = { op: 'get', ns: 'n', key: 'k' };
  const keys = Array.from({ length: 1025 }, (_, i) => `${i}`);
  const timer = {
    op: 'schedule',
    queue: 'q',
    timerKey: 'k',
    txn: 't',
    delayMs: 1,
    payload: 'MQ==',
  };
  const schedule = (fields: Op): Promise<HttpAnswer> =>
    broker.post('/api/v1/timers', [{ ...timer, ...fields }]);

  it.each<[string, Call, unknown]>([
    ['a body that is none', () => broker.post('/api/v1/kv', {}), 'kv_bad_body'],
    ['no operation passes every rung', () => call(), undefined],
    [
      'too many operations, one too large',
      () => call(...Array.from({ length: 256 }, () => get), put('n', 'k', large)),
      'kv_too_many_ops',
    ],
    [
      'too many keys, a value too large',
      () => call({ op: 'getMany', ns: 'n', keys }, put('n', 'k', large)),
      'kv_too_many_keys',
    ],
    ['a value too large, a bad name', () => call(put('N', 'k', large)), 'kv_value_too_large'],
    ['a bad name', () => call(put('N', 'k')), 'kv_disabled'],
    ['an unknown operation', () => call({ op: 'x' }), 'kv_disabled'],
    ['a namespace that is none', () => list({ namespace: 'N' }), 'kv_disabled'],
    ['a bad lock', () => lock({ op: 'acquire', name: '#' }), 'locks_bad_name'],
    ['a lock', () => lock({ op: 'acquire', name: 'l', ttlSeconds: 1 }), 'kv_disabled'],
    ['no lock', () => broker.post('/api/v1/locks', []), undefined],
    ['a timer without delay', () => schedule({ delayMs: null }), 'timers_delay_required'],
    ['a timer without txn', () => schedule({ txn: '' }), 'timers_disabled'],
    ['no timer', () => broker.post('/api/v1/timers', []), undefined],
  ])('%s', async (_what, ask, expected) => {
    const { status, json } = await ask();
    expect(json.reason ?? json.error).toBe(expected);
    if (expected === undefined) expect([status, json]).toEqual([200, { results: [] }]);
  });
});

describe('a full disk', () => {
  it('knows which calls grow', async () => {
    const ns = fresh();
    const { results } = (await call(put(ns, 'a'), put(ns, 'b'))).json;
    const submitted: (boolean | undefined)[] = [];
    const submit = group().submit.bind(group());
    jest.spyOn(group(), 'submit').mockImplementation((command: PreparedCommand, options) => {
      submitted.push(command.growing);
      return submit(command, options);
    });
    await call(put(ns, 'c'));
    await call({ op: 'incr', ns, key: 'n', delta: 1, forever: true });
    await call({ op: 'delete', ns, key: 'a' });
    await call(
      { op: 'check', ns, key: 'b', expect: results[1].version },
      {
        ...{ op: 'get', ns, key: 'b' },
      },
    );
    await transact({ op: 'delete', ns, key: 'b' });
    await transact(put(ns, 'd'));
    expect(submitted).toEqual([true, true, false, false, false, true]);
  });
});

describe('what changes nothing', () => {
  it.each<[string, (ns: string) => Op[], number]>([
    ['a put that loses', (ns) => [put(ns, 'k', { expect: 99 })], 0],
    ['a put of what is there', (ns) => [put(ns, 'k', { expect: 0 })], 0],
    ['a delete that loses', (ns) => [{ op: 'delete', ns, key: 'k', expect: 99 }], 0],
    ['a delete of nothing', (ns) => [{ op: 'delete', ns, key: 'none' }], 0],
    ['a check', (ns) => [{ op: 'check', ns, key: 'none', expect: 0 }], 0],
    ['a guard that undoes it', (ns) => [put(ns, 'k', { expect: 99, required: true })], 0],
    [
      'a check beside a read, which has a place',
      (ns) => [
        { op: 'check', ns, key: 'none', expect: 0 },
        { op: 'get', ns, key: 'k' },
      ],
      1,
    ],
  ])('%s', async (_what, operations, entries) => {
    const ns = fresh();
    await call(put(ns, 'k'));
    const submit = jest.spyOn(group(), 'submit');
    const barrier = jest.spyOn(group(), 'readBarrier');
    expect((await call(...operations(ns))).status).toBe(200);
    expect([submit.mock.calls.length, barrier.mock.calls.length]).toEqual([entries, 1 - entries]);
  });
});

describe('what fits no entry', () => {
  const many = (ns: string): Op[] =>
    Array.from({ length: 20 }, (_, i) => put(ns, `k${i}`, { value: 'x'.repeat(60_000) }));

  it('is 413 and writes nothing', async () => {
    const ns = fresh();
    const answer = await call(...many(ns));
    expect(shape(answer)).toEqual([413, 'payload_too_large', 'too_large', null]);
    const inside = await transact(...many(ns));
    expect([inside.status, inside.json.success, inside.json.reason]).toEqual([
      ...[200, false, 'too_large'],
    ]);
    expect((await list({ namespace: ns })).json.rows).toEqual([]);
  });
});

describe('a cluster too old for checks', () => {
  it('takes none, on any surface, and executes nothing', async () => {
    const ns = fresh();
    const status = group().status.bind(group());
    jest.spyOn(group(), 'status').mockImplementation(() => ({ ...status(), clusterVersion: 4 }));
    const check = { op: 'check', ns, key: 'b', expect: 0 };
    const answer = await call(put(ns, 'a'), check);
    const reason = 'kv_check_needs_cluster_version_5';
    expect(shape(answer)).toEqual([503, 'kv_unavailable', reason, '1']);
    expect(answer.json.detail).toEqual(expect.any(String));
    const inside = await transact(put(ns, 'a'), check);
    expect([inside.status, inside.json.reason, inside.json.success]).toEqual([503, reason, false]);
    expect((await call(put(ns, 'b'))).json.results[0].applied).toBe(true);
    jest.restoreAllMocks();
    expect((await broker.get(`/api/v1/kv/${ns}/a`)).json.found).toBe(false);
    const now = await call({ ...check, key: 'a' });
    expect(now.json.results).toEqual([
      { index: 0, op: 'check', applied: true, key: 'a', version: 0 },
    ]);
  });
});

describe('browsing', () => {
  it('counts rows that are over and shows them when asked', async () => {
    const ns = fresh();
    await call(put(ns, 'live'), put(ns, 'over', { forever: undefined, ttlSeconds: 1 }));
    await eventually(async () =>
      (await broker.get(`/api/v1/kv/${ns}/over`)).json.found === false ? true : null,
    );
    const { namespaces } = (await broker.get('/api/v1/resources/kv/namespaces')).json;
    expect(namespaces).toContainEqual({ namespace: ns, keys: 2 });
    const keys = async (more: Op): Promise<unknown[]> =>
      (await list({ namespace: ns, ...more })).json.rows.map((row: Wire) => [row.key, row.expired]);
    expect(await keys({})).toEqual([['live', undefined]]);
    expect(await keys({ includeExpired: true })).toEqual([
      ['live', false],
      ['over', true],
    ]);
    const { rows } = (await list({ namespace: ns, includeExpired: true, prefix: 'o' })).json;
    const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/) as string;
    expect(rows).toEqual([
      {
        ...{ key: 'over', value: 1, version: expect.any(Number) as number, expired: true },
        ...{ expiresAt: instant, updatedAt: instant },
      },
    ]);
    // To every other call it is not there.
    const gone = await call(
      { op: 'getMany', ns, keys: ['over', 'live'] },
      { op: 'getPrefix', ns, prefix: 'o' },
      { op: 'incr', ns, key: 'over', delta: 5, forever: true },
    );
    expect(gone.json.results[2]).toMatchObject({ applied: true, value: 5 });
  });

  it('a page ends at 4 MiB of values; keys alone weigh nothing', async () => {
    const ns = fresh();
    const size = 65_534;
    for (let i = 0; i < 70; i += 10) {
      const some = Array.from({ length: 10 }, (_, k) => put(ns, `k${10 + i + k}`));
      await call(...some.map((op) => ({ ...op, value: 'x'.repeat(size) })));
    }
    const page = (await list({ namespace: ns, limit: 1000 })).json;
    const fitting = Math.ceil((4 * 1024 * 1024) / (size + 2));
    expect([page.rows.length, page.truncated]).toEqual([fitting, true]);
    expect([page.bytes, page.nextAfter]).toEqual([fitting * (size + 2), page.rows.at(-1).key]);
    const rest = (await list({ namespace: ns, limit: 1000, after: page.nextAfter })).json;
    expect([rest.rows.length, rest.truncated, rest.nextAfter]).toEqual([70 - fitting, false, null]);
    const keys = (await list({ namespace: ns, limit: 1000, keysOnly: true })).json;
    expect([keys.rows.length, keys.bytes, keys.truncated]).toEqual([70, 0, false]);

    // One budget for all reads of a call: what is cut is neither a row nor missing; a get always comes.
    const names = keys.rows.map(({ key }: Wire) => key);
    const { results } = (
      await call(
        { op: 'getMany', ns, keys: [...names, 'none'] },
        { op: 'getPrefix', ns, prefix: 'k', limit: 10 },
        { op: 'getPrefix', ns, prefix: 'k', limit: 10, keysOnly: true },
        { op: 'get', ns, key: 'k10' },
      )
    ).json;
    expect(results[3].value).toHaveLength(size);
    expect([results[0].rows.length, results[0].truncated]).toEqual([fitting - 1, true]);
    expect(results[0].missing).toEqual(['none']);
    expect([results[1].rows, results[1].truncated]).toEqual([[], true]);
    expect(results[2].rows).toHaveLength(10);
  });

  it.each<[string, unknown, number | string]>([
    ['0', 0, 1],
    ['below 0', -7, 1],
    ['nothing', null, 3],
    ['far too many', 1e300, 3],
    ['a half', 1.5, 'kv_bad_request'],
    ['a text', '2', 'kv_bad_request'],
  ])('a limit of %s', async (_what, limit, expected) => {
    const ns = fresh();
    await call(put(ns, 'a'), put(ns, 'b'), put(ns, 'c'));
    const { json } = await list({ namespace: ns, limit });
    expect(json.reason ?? json.rows.length).toBe(expected);
  });

  it.each<[string, Op, string]>([
    ['no namespace', { namespace: undefined }, 'kv_bad_namespace'],
    ['a namespace as number', { namespace: 5 }, 'kv_bad_namespace'],
    ['a prefix as number', { prefix: 5 }, 'kv_bad_request'],
    ['a cursor as number', { after: 5 }, 'kv_bad_request'],
    ['keysOnly as text', { keysOnly: 'yes' }, 'kv_bad_request'],
    ['includeExpired as number', { includeExpired: 1 }, 'kv_bad_request'],
  ])('refuses %s', async (_what, fields, reason) => {
    const answer = await list({ namespace: 'n', ...fields });
    expect(shape(answer)).toEqual([400, 'kv_bad_request', reason, null]);
  });
});
