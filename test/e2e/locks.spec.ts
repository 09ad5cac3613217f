/** Locks and semaphores over HTTP: answers, refusals, contention, expiry, guards as key-value checks. */
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import { eventually, type Wire } from './calls.js';

let broker: TestBroker;

beforeAll(async () => {
  broker = await TestBroker.start({
    QUEEN_KV_WRITE_RATE: '100000',
    QUEEN_KV_WRITE_BURST: '100000',
    QUEEN_KV_READ_RATE: '100000',
    QUEEN_KV_READ_BURST: '100000',
  });
});

afterAll(() => broker.stop());

let names = 0;
const fresh = (): string => `lock-${++names}`;

type Op = Readonly<Record<string, unknown>>;

const call = (...operations: Op[]): Promise<HttpAnswer> =>
  broker.post('/api/v1/locks', { operations });

async function one(operation: Op): Promise<Wire> {
  const answer = await call(operation);
  if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
  return answer.json.results[0];
}

const acquire = (name: string, owner: string | null = 'w-1', more: Op = {}): Op => ({
  ...{ op: 'acquire', name, ttlSeconds: 60 },
  ...(owner === null ? {} : { owner }),
  ...more,
});

describe('a lock', () => {
  it('is acquired once, answers its guard, and is released by its token', async () => {
    const name = fresh();
    const answer = await call(acquire(name));
    const { token } = answer.json.results[0];
    expect(answer.text).toBe(
      `{"results":[{"index":0,"op":"acquire","name":"${name}","acquired":true,"slot":0,` +
        `"token":${token},"owner":"w-1","guard":{"op":"check","ns":"queen-locks",` +
        `"key":"${name}#0","expect":${token},"required":true}}]}`,
    );
    expect(await one(acquire(name, 'w-2'))).toEqual({
      ...{ index: 0, op: 'acquire', name, acquired: false, reason: 'held' },
      holders: [{ slot: 0, owner: 'w-1' }],
    });
    expect(await one({ op: 'release', name, token: token + 1 })).toEqual({
      ...{ index: 0, op: 'release', name, released: false, reason: 'lost', slot: 0 },
      holders: [{ slot: 0, owner: 'w-1' }],
    });
    expect(await one({ op: 'release', name, token })).toEqual({
      ...{ index: 0, op: 'release', name, released: true, slot: 0 },
    });
    expect(await one({ op: 'release', name, token })).toMatchObject({
      ...{ released: false, reason: 'lost', holders: [] },
    });
    const next = await one(acquire(name, 'w-2'));
    expect(next.token).toBeGreaterThan(token);
  });

  it('is the same again for its owner, and nobody’s without one', async () => {
    const name = fresh();
    const first = await one(acquire(name));
    expect(await one(acquire(name))).toMatchObject({ already: true, token: first.token });
    const anonymous = fresh();
    const { owner } = await one(acquire(anonymous, null));
    expect(owner).toBeNull();
    expect(await one(acquire(anonymous, null))).toMatchObject({
      ...{ acquired: false, reason: 'held', holders: [{ slot: 0, owner: null }] },
    });
  });

  it('is renewed by its token or by its owner, with another token each time', async () => {
    const name = fresh();
    const { token } = await one(acquire(name));
    const renewed = await one({ op: 'renew', name, ttlSeconds: 60, token });
    expect(renewed).toEqual({
      ...{ index: 0, op: 'renew', name, renewed: true, slot: 0 },
      token: renewed.token,
      guard: expect.objectContaining({ expect: renewed.token }) as object,
    });
    expect(renewed.token).toBeGreaterThan(token);
    const stale = { op: 'renew', name, ttlSeconds: 60, token };
    expect(await one(stale)).toMatchObject({
      ...{ renewed: false, reason: 'lost', slot: 0, holders: [{ slot: 0, owner: 'w-1' }] },
    });
    expect(await one({ ...stale, owner: 'w-2' })).toMatchObject({ renewed: false });
    expect(await one({ ...stale, owner: 'w-1' })).toMatchObject({ renewed: true });
    expect(await one({ ...stale, name: fresh() })).toMatchObject({ reason: 'lost', holders: [] });
  });

  it('shows who holds it, since when and until when', async () => {
    const name = fresh();
    expect(await one({ op: 'get', name })).toEqual({
      ...{ index: 0, op: 'get', name, held: false, holders: [] },
    });
    const { token } = await one(acquire(name));
    const [before] = (await one({ op: 'get', name })).holders;
    expect(before).toMatchObject({ slot: 0, owner: 'w-1', token, since: before.renewedAt });
    await one({ op: 'renew', name, ttlSeconds: 90, token });
    const [after] = (await one({ op: 'get', name })).holders;
    expect([after.since, after.owner]).toEqual([before.since, 'w-1']);
    expect(Date.parse(after.expiresAt) - Date.parse(after.renewedAt)).toBe(90_000);
  });

  it('is free when its time is over; the token of the former holder is worth nothing', async () => {
    const name = fresh();
    const { token } = await one(acquire(name, 'w-1', { ttlSeconds: 1 }));
    const next = await eventually(async () => {
      const taken = await one(acquire(name, 'w-2'));
      return taken.acquired === true ? taken : null;
    });
    expect(next.token).toBeGreaterThan(token);
    expect(await one({ op: 'renew', name, ttlSeconds: 5, token, owner: 'w-1' })).toMatchObject({
      ...{ renewed: false, holders: [{ slot: 0, owner: 'w-2' }] },
    });
  });

  it('its guard holds in a key-value call while it is held and loses afterwards', async () => {
    const name = fresh();
    const { guard, token } = await one(acquire(name));
    const put = { op: 'put', ns: 'guarded', key: name, value: 1, forever: true };
    const kv = (): Promise<HttpAnswer> => broker.post('/api/v1/kv', { operations: [guard, put] });
    expect((await kv()).json.results[1].applied).toBe(true);
    await one({ op: 'renew', name, ttlSeconds: 60, token });
    expect((await kv()).json).toMatchObject({
      ...{ ok: false, reason: 'kv_precondition', failedIndex: 0, kvReason: 'version' },
      value: { owner: 'w-1' },
    });
    await one({ op: 'release', name, token: (await one(acquire(name))).token });
    expect((await kv()).json).toMatchObject({ kvReason: 'absent', value: null });
  });

  it('one of many contenders wins', async () => {
    const name = fresh();
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, i) => one(acquire(name, `w-${i}`))),
    );
    expect(all.filter(({ acquired }) => acquired)).toHaveLength(1);
  });
});

describe('a semaphore', () => {
  it('has as many permits as its limit, each once', async () => {
    const name = fresh();
    const all = await Promise.all(
      Array.from({ length: 6 }, (_, i) => one(acquire(name, `w-${i}`, { limit: 3 }))),
    );
    const won = all.filter(({ acquired }) => acquired);
    const slots = won.map(({ slot }) => slot);
    expect(new Set(slots).size).toBe(slots.length);
    expect(slots.length).toBeLessThanOrEqual(3);
    for (const loser of all.filter(({ acquired }) => !acquired)) {
      expect(['held', 'contended']).toContain(loser.reason);
    }
    for (let i = 10; won.length + (i - 10) < 3; i++) {
      expect(await one(acquire(name, `w-${i}`, { limit: 3 }))).toMatchObject({ acquired: true });
    }
    const full = await one(acquire(name, 'late', { limit: 3 }));
    expect([full.reason, full.holders.map(({ slot }: Wire) => slot)]).toEqual(['held', [0, 1, 2]]);
    const mine = won[0];
    expect(await one(acquire(name, mine.owner, { limit: 3 }))).toMatchObject({
      ...{ acquired: true, already: true, slot: mine.slot, token: mine.token },
    });
    await one({ op: 'release', name, token: mine.token, slot: mine.slot });
    expect(await one(acquire(name, 'late', { limit: 3 }))).toMatchObject({
      ...{ acquired: true, slot: mine.slot },
    });
  });

  it('looks at its own slots only, and shows rows written by hand', async () => {
    const name = fresh();
    const put = (key: string, value: unknown): Promise<HttpAnswer> =>
      broker.send(
        'PUT',
        `/api/v1/kv/queen-locks/${encodeURIComponent(key)}`,
        JSON.stringify({
          value,
          forever: true,
        }),
      );
    await put(`${name}#0`, 'by hand');
    await put(`${name}#07`, { owner: 'x' });
    await put(`${name}#7`, { owner: 'y' });
    const { holders } = await one({ op: 'get', name });
    expect(holders).toMatchObject([
      { slot: 0, owner: null, expiresAt: null },
      { slot: 7, owner: 'y' },
    ]);
    const taken = await one(acquire(name, 'w', { limit: 2 }));
    expect(taken).toMatchObject({ acquired: true, slot: 1 });
    const held = await one(acquire(name, 'v', { limit: 2 }));
    expect(held.holders).toEqual([
      { slot: 0, owner: null },
      { slot: 1, owner: 'w' },
    ]);
  });
});

describe('a call', () => {
  it('runs several operations on different locks, index-aligned', async () => {
    const [a, b] = [fresh(), fresh()];
    const { token } = await one(acquire(a));
    const answer = await call(
      { op: 'get', name: fresh() },
      { op: 'renew', name: a, ttlSeconds: 60, token },
      acquire(b, 'w', { limit: 2 }),
      { op: 'release', name: fresh(), token: 5 },
    );
    expect(answer.json.results).toMatchObject([
      { index: 0, op: 'get', held: false },
      { index: 1, renewed: true },
      { index: 2, acquired: true },
      { index: 3, released: false, reason: 'lost' },
    ]);
  });

  it('takes a bare array, and nothing', async () => {
    expect((await broker.post('/api/v1/locks', [{ op: 'get', name: 'x' }])).status).toBe(200);
    expect((await broker.post('/api/v1/locks', [])).text).toBe('{"results":[]}');
  });

  const renew = { op: 'renew', name: 'n', ttlSeconds: 5, token: 1 };
  const bad: readonly (readonly [name: string, operations: unknown, reason: string])[] = [
    ['an unknown op', [{ op: 'steal', name: 'n' }], 'locks_unknown_op'],
    ['no name', [{ op: 'get' }], 'locks_bad_name'],
    ['a name with #', [{ op: 'get', name: 'a#0' }], 'locks_bad_name'],
    ['a name that is too long', [{ op: 'get', name: 'x'.repeat(257) }], 'locks_bad_name'],
    ['a control character', [{ op: 'get', name: 'a\n' }], 'locks_bad_name'],
    ['a number as name', [{ op: 'get', name: 5 }], 'locks_bad_name'],
    ['no ttl', [{ op: 'acquire', name: 'n' }], 'locks_ttl_required'],
    ['forever', [acquire('n', 'w', { forever: false })], 'locks_ttl_required'],
    ['a fractional ttl', [acquire('n', 'w', { ttlSeconds: 1.5 })], 'locks_bad_ttl'],
    ['a ttl of 0', [acquire('n', 'w', { ttlSeconds: 0 })], 'locks_bad_ttl'],
    ['a ttl as text', [acquire('n', 'w', { ttlSeconds: '5' })], 'locks_bad_ttl'],
    ['an empty owner', [acquire('n', '')], 'locks_bad_owner'],
    ['a number as owner', [acquire('n', 'w', { owner: 7 })], 'locks_bad_owner'],
    ['a limit of 0', [acquire('n', 'w', { limit: 0 })], 'locks_bad_limit'],
    ['a limit of 1025', [acquire('n', 'w', { limit: 1025 })], 'locks_bad_limit'],
    ['no token', [{ ...renew, token: undefined }], 'locks_token_required'],
    ['a token of 0', [{ ...renew, token: 0 }], 'locks_bad_token'],
    ['a token as text', [{ ...renew, token: '1' }], 'locks_bad_token'],
    ['a slot of 1024', [{ ...renew, slot: 1024 }], 'locks_bad_slot'],
    ['a tenant', [{ op: 'get', name: 'n', tenant: 't' }], 'locks_tenant_not_an_input'],
    [
      '65 operations',
      Array.from({ length: 65 }, (_, i) => ({ op: 'get', name: `n${i}` })),
      'locks_too_many_ops',
    ],
    ['a name twice', [{ op: 'get', name: 'n' }, renew], 'locks_duplicate_in_call'],
    [
      'too many slots',
      Array.from({ length: 5 }, (_, i) => ({ op: 'get', name: `n${i}` })),
      'locks_too_many_keys',
    ],
  ];

  it.each(bad)('refuses %s', async (_, operations, reason) => {
    const answer = await broker.post('/api/v1/locks', { operations });
    expect([answer.status, answer.json.error, answer.json.reason]).toEqual([
      ...[400, 'locks_bad_request', reason],
    ]);
  });

  it.each(['{', '{}', '7', ''])('refuses the body %j', async (body) => {
    const answer = await broker.send('POST', '/api/v1/locks', body);
    expect([answer.status, answer.json.reason]).toEqual([400, 'locks_bad_body']);
  });
});

it('permits survive a restart', async () => {
  const name = fresh();
  const { token } = await one(acquire(name));
  await broker.restart();
  expect(await one(acquire(name, 'w-2'))).toMatchObject({ acquired: false });
  expect(await one({ op: 'renew', name, ttlSeconds: 60, token })).toMatchObject({ renewed: true });
});
