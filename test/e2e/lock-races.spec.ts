/**
 * Locks whose rows change between the look and the write (state.md §3.3): a semaphore that loses its slot
 * again and again is contended, a renewal decides once more; and rows that somebody wrote by hand.
 */
import { Groups } from '../../src/raft/index.js';
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import type { Wire } from './calls.js';

let broker: TestBroker;

beforeAll(async () => {
  broker = await TestBroker.start({
    ...{ QUEEN_KV_WRITE_RATE: '100000', QUEEN_KV_WRITE_BURST: '100000' },
    ...{ QUEEN_KV_READ_RATE: '100000', QUEEN_KV_READ_BURST: '100000' },
  });
});
afterAll(() => broker.stop());
afterEach(() => jest.restoreAllMocks());

let names = 0;
const fresh = (): string => `race-${++names}`;

type Op = Readonly<Record<string, unknown>>;

const kv = (...operations: Op[]): Promise<HttpAnswer> => broker.post('/api/v1/kv', { operations });

async function lock(operation: Op): Promise<Wire> {
  return (await broker.post('/api/v1/locks', { operations: [operation] })).json.results[0];
}

const acquire = (name: string, owner: string, limit: number): Promise<Wire> =>
  lock({ op: 'acquire', name, owner, limit, ttlSeconds: 60 });

const slot = (name: string, at = 0): Op => ({ ns: 'queen-locks', key: `${name}#${at}` });
const permit = (owner: string): Op => ({ value: { owner }, ttlSeconds: 60 });

/** Around every write of the call under test; answers how many there were. */
function intrude(before: () => Promise<unknown>, after: () => Promise<unknown>): () => number {
  const group = broker.nest.get(Groups, { strict: false }).first;
  const submit = group.submit.bind(group);
  let writes = 0;
  let isOwn = false;
  jest.spyOn(group, 'submit').mockImplementation(async (command, options) => {
    if (isOwn) return submit(command, options);
    writes += 1;
    isOwn = true;
    await before();
    const outcome = await submit(command, options);
    await after();
    isOwn = false;
    return outcome;
  });
  return () => writes;
}

const nothing = async (): Promise<void> => undefined;

describe('a semaphore', () => {
  const take = (name: string): Promise<HttpAnswer> =>
    kv(...[0, 1].map((at) => ({ op: 'put', ...slot(name, at), ...permit('thief') })));
  const free = (name: string): Promise<HttpAnswer> =>
    kv(...[0, 1].map((at) => ({ op: 'delete', ...slot(name, at) })));

  it('gives up after four tries: contended', async () => {
    const name = fresh();
    const writes = intrude(
      () => take(name),
      () => free(name),
    );
    expect(await acquire(name, 'w', 2)).toEqual({
      ...{ index: 0, op: 'acquire', name, acquired: false, reason: 'contended', holders: [] },
    });
    expect(writes()).toBe(4);
  });

  it('tries again and wins', async () => {
    const name = fresh();
    let times = 0;
    const writes = intrude(
      async () => (++times === 1 ? take(name) : undefined),
      async () => (times === 1 ? free(name) : undefined),
    );
    expect(await acquire(name, 'w', 2)).toMatchObject({ acquired: true, owner: 'w' });
    expect(writes()).toBe(2);
  });

  it('is held when all its slots were taken meanwhile', async () => {
    const name = fresh();
    const writes = intrude(() => take(name), nothing);
    expect(await acquire(name, 'w', 2)).toMatchObject({
      ...{ acquired: false, reason: 'held' },
      holders: [
        { slot: 0, owner: 'thief' },
        { slot: 1, owner: 'thief' },
      ],
    });
    expect(writes()).toBe(1);
  });

  it('is its owner’s when the owner took a slot meanwhile', async () => {
    const name = fresh();
    intrude(
      () => kv(...[0, 1].map((at) => ({ op: 'put', ...slot(name, at), ...permit('w') }))),
      nothing,
    );
    expect(await acquire(name, 'w', 2)).toMatchObject({ acquired: true, already: true, slot: 0 });
  });
});

describe('a renewal', () => {
  const renewed = (name: string, owner: string): Promise<HttpAnswer> =>
    kv({ op: 'put', ...slot(name), ...permit(owner) });

  it.each<[string, string, number, object]>([
    ['by its owner elsewhere, once', 'w', 1, { renewed: true, slot: 0 }],
    ['by its owner elsewhere, each time', 'w', 9, { renewed: false, reason: 'lost' }],
    ['by another', 'thief', 1, { renewed: false, holders: [{ slot: 0, owner: 'thief' }] }],
  ])('of a permit that was written %s', async (_what, owner, times, expected) => {
    const name = fresh();
    const { token } = await acquire(name, 'w', 1);
    let left = times;
    intrude(async () => (left-- > 0 ? renewed(name, owner) : undefined), nothing);
    const answer = await lock({ op: 'renew', name, owner: 'w', token, ttlSeconds: 60 });
    expect(answer).toMatchObject(expected);
  });

  it('of a permit that ended meanwhile is lost to nobody', async () => {
    const name = fresh();
    const { token } = await acquire(name, 'w', 1);
    intrude(() => kv({ op: 'delete', ...slot(name) }), nothing);
    expect(await lock({ op: 'renew', name, owner: 'w', token, ttlSeconds: 60 })).toEqual({
      ...{ index: 0, op: 'renew', name, renewed: false, reason: 'lost', slot: 0, holders: [] },
    });
  });
});

describe('a node whose clock is an hour ahead', () => {
  beforeEach(() => {
    const group = broker.nest.get(Groups, { strict: false }).first;
    const nowMicros = group.nowMicros.bind(group);
    jest.spyOn(group, 'nowMicros').mockImplementation(() => nowMicros() + 3_600_000_000);
  });

  it('does not judge by it: what is held is released, checked and deleted', async () => {
    const name = fresh();
    const { token, guard } = await acquire(name, 'w', 1);
    expect((await kv(guard)).json.results).toMatchObject([{ applied: true, version: token }]);
    expect((await acquire(name, 'other', 1)).reason).toBe('held');
    const kept = await kv({ op: 'delete', ...slot(name), expect: token + 1 });
    expect(kept.json.results).toMatchObject([{ applied: false, reason: 'version' }]);
    expect(await lock({ op: 'release', name, token })).toMatchObject({ released: true });
  });
});

describe('a row written by hand', () => {
  it.each<[string, string, string | null, RegExp]>([
    [
      'with more in it',
      '{"owner":"w","n":12345678901234567890}',
      'w',
      /^\{"owner":"w","n":12345678901234567890,"since":"\S+"\}$/,
    ],
    ['with an instant', '{"owner":"w","since":"then"}', 'w', /^\{"owner":"w","since":"then"\}$/],
    ['with nothing', '{}', null, /^\{"since":"\S+"\}$/],
    ['with an owner that is no text', '{"owner":7}', null, /^\{"owner":7,"since":"\S+"\}$/],
    ['that is no object', '[1]', null, /^\[1\]$/],
    ['that is null', 'null', null, /^null$/],
  ])('%s holds its slot and is renewed as it is', async (_what, value, owner, after) => {
    const name = fresh();
    const path = `/api/v1/kv/queen-locks/${encodeURIComponent(`${name}#0`)}`;
    const { version } = (await broker.send('PUT', path, `{"value":${value},"ttlSeconds":60}`)).json;
    expect(await acquire(name, 'other', 1)).toMatchObject({
      ...{ acquired: false, reason: 'held', holders: [{ slot: 0, owner }] },
    });
    const shown = await lock({ op: 'get', name });
    expect(shown).toMatchObject({ held: true, holders: [{ slot: 0, owner, token: version }] });
    const answer = await lock({ op: 'renew', name, token: version, ttlSeconds: 60 });
    expect(answer.renewed).toBe(true);
    const { text } = await broker.get(path);
    const [, stored] = /"value":(.*),"version":/.exec(text) ?? [];
    expect(stored).toMatch(after);
    expect((await lock({ op: 'get', name })).holders[0].token).toBe(answer.token);
  });

  it('under a key that is no slot is none', async () => {
    const name = fresh();
    for (const key of [`${name}#07`, `${name}#1024`, `${name}#x`, `${name}#`]) {
      await kv({ op: 'put', ns: 'queen-locks', key, ...permit('w') });
    }
    expect(await lock({ op: 'get', name })).toMatchObject({ held: false, holders: [] });
  });
});
