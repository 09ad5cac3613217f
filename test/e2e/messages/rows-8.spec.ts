/**
 * Rows of messages.md §8 (transactions), named by their section: what keys and timers add to a request,
 * every reason of §8.5 that a client can cause, the engine's answers, and what a repeat does (§8.6).
 * The rows of acks, pushes and positions alone: test/e2e/transaction.spec.ts, transaction-positions.spec.ts.
 */
import { TestBroker, type HttpAnswer } from '../../support/broker.js';
import { Calls, eventually, freshQueue, idsOf, messagesOf, type Wire } from '../calls.js';

const HOUR = 3_600_000;
const KEY = 'ab'.repeat(32);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

let broker: TestBroker;
let calls: Calls;
let spaces = 0;

beforeAll(async () => {
  broker = await TestBroker.start({ QUEEN_ENCRYPTION_KEY: KEY });
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

const run = (body: unknown): Promise<HttpAnswer> => broker.post('/api/v1/transaction', body);
const freshSpace = (): string => `rows8-${(spaces += 1)}`;

const put = (ns: string, key: string, more: object = {}): object => ({
  ...{ op: 'put', ns, key, value: 1, forever: true },
  ...more,
});
const schedule = (queue: string, timerKey: string, more: object = {}): object => ({
  ...{ op: 'schedule', queue, timerKey, txn: timerKey, delayMs: HOUR, payload: 'MQ==' },
  ...more,
});
const push = (queue: string, transactionId?: string): object => ({
  ...{ type: 'push', queue, payload: 1 },
  ...(transactionId === undefined ? {} : { transactionId }),
});

/** A queue with one leased message and the ack of it. */
async function leased(): Promise<{ queue: string; ack: object }> {
  const queue = freshQueue('in');
  await calls.push(queue, 'a');
  const [message] = messagesOf(await calls.pop(queue));
  const { transactionId, partitionId, leaseId } = message!;
  return { queue, ack: { type: 'ack', transactionId, partitionId, leaseId } };
}

const stored = async (queue: string): Promise<number> =>
  (await broker.post('/api/v1/fetch', { entries: [{ queue, offset: 0 }] })).json.entries[0].records
    .length;

describe('8.1 request', () => {
  it('8.1 kv: 64 operations on 256 keys pass', async () => {
    const ns = freshSpace();
    const keys = Array.from({ length: 193 }, (_, i) => `k${i}`);
    const puts = Array.from({ length: 63 }, (_, i) => put(ns, `p${i}`));
    const { json } = await run({ kv: [...puts, { op: 'getMany', ns, keys }] });
    expect(json).toMatchObject({ success: true });
    expect(json.results).toHaveLength(64);
  });

  it('8.1 timers: more than 256, beyond the horizon, and payloads above 1 MiB pass', async () => {
    const queue = freshQueue();
    const payload = Buffer.from(JSON.stringify('x'.repeat(1_200_000))).toString('base64');
    const many = Array.from({ length: 300 }, (_, i) => schedule(queue, `t${i}`));
    const year = schedule(queue, 'far', { delayMs: 20 * 365 * 24 * HOUR });
    const { json } = await run({ timers: [...many, year, schedule(queue, 'big', { payload })] });
    expect(json).toMatchObject({ success: true });
    expect(json.results).toHaveLength(302);
    const count = await broker.get(`/api/v1/timers/${queue}?limit=1000`);
    expect(count.json.rows).toHaveLength(302);
  });

  it('8.1 positions: 16,384 pass', async () => {
    const queue = freshQueue();
    await calls.configure(queue, {});
    const positions = Array.from({ length: 16_384 }, (_, i) => ({
      ...{ queue, consumerGroup: 'g', partition: `p${i % 4}`, offset: i },
    }));
    const { json } = await run({ positions });
    expect(json.success).toBe(true);
    expect(json.results).toHaveLength(16_384);
  });

  it.each<[string, object]>([
    ['kv', { kv: [{ op: 'delete', ns: 'rows8', key: 'none' }] }],
    ['timers', { timers: [{ op: 'cancel', queue: 'rows8', timerKey: 'none' }] }],
  ])('8.1 at least one part: %s alone is one', async (_row, body) => {
    expect((await run(body)).json).toMatchObject({ success: true });
  });
});

describe('8.4 success', () => {
  it('8.4 kv, timer and position elements, in one flat index space after acks and push items', async () => {
    const { queue, ack } = await leased();
    const [out, ns] = [freshQueue('out'), freshSpace()];
    const { json } = await run({
      operations: [ack, { type: 'push', items: [{ queue: out, payload: 1 }, push(out, 'r')] }],
      kv: [put(ns, 'k'), { op: 'incr', ns, key: 'n', delta: 2, forever: true }],
      timers: [schedule(out, 't', { txn: 'x' }), { op: 'cancel', queue: out, timerKey: 'none' }],
      positions: [{ queue, consumerGroup: 'other', offset: 1 }],
    });
    expect(json.results.map((row: Wire) => [row.index, row.type, row.opIndex])).toEqual([
      [0, 'ack', undefined],
      [1, 'push', undefined],
      [2, 'push', undefined],
      [3, 'kv', 0],
      [4, 'kv', 1],
      [5, 'timer', 0],
      [6, 'timer', 1],
      [7, 'position', 0],
    ]);
    const [, , , written, counted, scheduled, absent] = json.results;
    const version = expect.any(Number) as number;
    expect(written).toMatchObject({ op: 'put', applied: true, key: 'k', value: 1, version });
    expect(counted).toMatchObject({ op: 'incr', applied: true, key: 'n', value: 2, version });
    expect(scheduled).toEqual({
      ...{ index: 5, type: 'timer', opIndex: 0, ok: true, status: 'scheduled' },
      ...{ queue: out, timerKey: 't', txn: 'x', messageId: expect.stringMatching(UUID) as string },
      deliverAt: expect.stringMatching(/\.\d{6}Z$/) as string,
    });
    expect(absent).toMatchObject({ ok: false, status: 'absent', queue: out, timerKey: 'none' });
  });

  it.each([
    ['failed, budget spent', 0, 'failed', true],
    ['failed, budget left', 3, 'failed', false],
    ['retry', 0, 'retry', false],
    ['completed', 0, 'completed', false],
  ])('8.4 ack.dlq of %s', async (_row, retryLimit, status, dlq) => {
    const queue = freshQueue('in');
    await calls.configure(queue, { retryLimit });
    await calls.push(queue, 'a');
    const [message] = messagesOf(await calls.pop(queue));
    const { transactionId, partitionId, leaseId } = message!;
    const ack = { type: 'ack', transactionId, partitionId, leaseId, status };
    expect((await run({ operations: [ack] })).json.results).toMatchObject([{ dlq }]);
    expect((await broker.get(`/api/v1/dlq?queue=${queue}`)).json.total).toBe(dlq ? 1 : 0);
  });
});

/** [row of §8.5, status, reason, body around the operations]. */
type Refusal = readonly [row: string, status: number, reason: string, body: () => object];
const kv =
  (...operations: object[]): (() => object) =>
  () => ({ kv: operations });
const timers =
  (...operations: object[]): (() => object) =>
  () => ({ timers: operations });
const N = 'rows8';

const REFUSALS: readonly Refusal[] = [
  ['an operation that is no object', 400, 'kv_bad_request', () => ({ kv: [1] })],
  ['a put without value', 400, 'kv_bad_request', kv({ op: 'put', ns: N, key: 'k', forever: true })],
  ['an unknown op', 400, 'kv_unknown_op', kv({ op: 'swap', ns: N, key: 'k' })],
  ['a namespace', 400, 'kv_bad_namespace', kv(put('UPPER', 'k'))],
  ['a key', 400, 'kv_bad_key', kv(put(N, ''))],
  ['a time to live', 400, 'kv_bad_ttl', kv(put(N, 'k', { forever: false, ttlSeconds: 0 }))],
  ['no expiry', 400, 'kv_expiry_not_specified', kv(put(N, 'k', { forever: false }))],
  ['two expiries', 400, 'kv_expiry_not_specified', kv(put(N, 'k', { ttlSeconds: 5 }))],
  ['an expectation', 400, 'kv_bad_expect', kv(put(N, 'k', { expect: -1 }))],
  [
    '65 operations',
    400,
    'kv_too_many_ops',
    kv(...Array.from({ length: 65 }, (_, i) => put(N, `k${i}`))),
  ],
  [
    '257 keys',
    400,
    'kv_too_many_keys',
    kv(put(N, 'k'), { op: 'getMany', ns: N, keys: Array.from({ length: 256 }, (_, i) => `${i}`) }),
  ],
  [
    'a key twice',
    400,
    'kv_duplicate_key_in_call',
    kv(put(N, 'k'), { op: 'delete', ns: N, key: 'k' }),
  ],
  ['a tenant', 400, 'kv_tenant_not_an_input', kv(put(N, 'k', { tenant: 'x' }))],
  [
    'a prefix',
    400,
    'kv_get_prefix_not_allowed_in_transaction',
    kv({ op: 'getPrefix', ns: N, prefix: 'p' }),
  ],
  ['a long key', 413, 'kv_key_too_large', kv(put(N, 'k'.repeat(600)))],
  ['a long value', 413, 'kv_value_too_large', kv(put(N, 'k', { value: 'x'.repeat(70_000) }))],
  ['a timer op', 400, 'bad_request', timers({ op: 'snooze', queue: N, timerKey: 't' })],
  ['a timer without payload', 400, 'bad_request', timers(schedule(N, 't', { payload: undefined }))],
  ['a timer twice', 400, 'bad_request', timers(schedule(N, 't'), schedule(N, 't'))],
  ['producerSub', 400, 'timers_server_owned_field', timers(schedule(N, 't', { producerSub: 'x' }))],
  ['a field with _', 400, 'timers_server_owned_field', timers(schedule(N, 't', { _x: 1 }))],
  ['a part that is no array', 400, 'bad_request', () => ({ timers: {} })],
  ['kv as an operation', 400, 'bad_request', () => ({ operations: [{ type: 'kv', ns: N }] })],
];

describe('8.5 rollback', () => {
  it.each(REFUSALS)('8.5 %s: %i %s', async (_row, status, reason, body) => {
    const { queue, ack } = await leased();
    const parts = body() as { operations?: object[] };
    const answer = await run({ ...parts, operations: [ack, ...(parts.operations ?? [])] });
    expect([answer.status, answer.json]).toEqual([
      status,
      {
        transactionId: expect.stringMatching(UUID) as string,
        ...{ success: false, reason, error: expect.any(String) as string, results: [] },
      },
    ]);
    expect(await calls.depth(queue)).toMatchObject({ pending: 1, processing: 1 });
  });

  it('8.5 encrypted on a timer of a queue that encrypts: 200 bad_request', async () => {
    const queue = freshQueue();
    await calls.configure(queue, { encryptionEnabled: true });
    const answer = await run({ timers: [schedule(queue, 't', { encrypted: true })] });
    expect([answer.status, answer.json.reason]).toEqual([200, 'bad_request']);
  });

  it.each<[string, object, object]>([
    ['exists', { op: 'putIfAbsent', value: 2, forever: true }, { value: 1 }],
    ['version', { op: 'put', value: 2, forever: true, expect: 99_999 }, { value: 1 }],
    ['limit', { op: 'incr', delta: 1, max: 1, forever: true }, { value: 1 }],
    ['absent', { op: 'check', key: 'none', expect: 3 }, { version: 0, value: null }],
    ['type', { op: 'incr', key: 'text', delta: 1, forever: true }, {}],
  ])('8.5 kv_precondition: %s, with the place of the operation', async (kvReason, op, shown) => {
    const { queue, ack } = await leased();
    const [ns, out] = [freshSpace(), freshQueue('out')];
    await broker.post('/api/v1/kv', [put(ns, 'k'), put(ns, 'text', { value: 'x' })]);
    const lost = { ns, key: 'k', required: true, ...op };
    const answer = await run({
      operations: [ack, { type: 'push', items: [push(out), push(out)] }],
      kv: [put(ns, 'fresh'), lost],
      timers: [schedule(out, 't')],
    });
    expect([answer.status, answer.json]).toEqual([
      200,
      {
        transactionId: expect.stringMatching(UUID) as string,
        ...{ success: false, reason: 'kv_precondition', error: expect.any(String) as string },
        ...{ results: [], ok: false, failedIndex: 4, kvReason },
        ...{ version: expect.any(Number) as number, value: answer.json.value, ...shown },
      },
    ]);
    expect(await calls.depth(queue)).toMatchObject({ pending: 1, processing: 1 });
    expect((await broker.get(`/api/v1/kv/${ns}/fresh`)).json).toMatchObject({ found: false });
    expect((await broker.get(`/api/v1/timers/${out}/t`)).json).toMatchObject({ found: false });
    expect((await broker.get(`/api/v1/resources/queues/${out}`)).status).toBe(404);
  });

  it('8.5 an operation that is not required may lose: the rest is done', async () => {
    const { queue, ack } = await leased();
    const ns = freshSpace();
    const { json } = await run({
      operations: [ack],
      kv: [{ op: 'check', ns, key: 'none', expect: 3 }, put(ns, 'k')],
    });
    expect(json.results).toMatchObject([
      {},
      { applied: false, reason: 'absent' },
      { applied: true },
    ]);
    expect(await calls.depth(queue)).toMatchObject({ pending: 0, processing: 0 });
  });

  it('8.5 rejected_ack: a lease whose time is over', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    const [message] = messagesOf(await calls.pop(queue, { leaseSeconds: 1 }));
    const { transactionId, partitionId, leaseId } = message!;
    await eventually(async () => ((await calls.depth(queue)).processing === 0 ? true : null));
    const ack = { type: 'ack', transactionId, partitionId, leaseId };
    expect((await run({ operations: [ack] })).json).toMatchObject({
      ...{
        success: false,
        reason: 'rejected_ack',
        error: expect.stringMatching(/^QTXN/) as string,
      },
    });
  });

  it('8.3 the first failing part decides: acks, pushes, positions, kv', async () => {
    const { ack } = await leased();
    const [out, ns] = [freshQueue('out'), freshSpace()];
    await calls.push(out, 'known');
    const lost = { op: 'check', ns, key: 'none', expect: 3, required: true };
    const positions = [{ queue: freshQueue('none'), consumerGroup: 'g', offset: 0 }];
    const stale = { ...ack, transactionId: 'nobody' };
    const reason = async (body: object): Promise<string> => (await run(body)).json.reason;
    const all = { positions, kv: [lost] };
    expect(await reason({ ...all, operations: [stale, push(out, 'known')] })).toBe('rejected_ack');
    expect(await reason({ ...all, operations: [ack, push(out, 'known')] })).toBe('duplicate');
    expect(await reason({ ...all, operations: [ack, push(out, 'r')] })).toBe('queue_not_found');
    expect(await reason({ kv: [lost], operations: [ack, push(out, 'r')] })).toBe('kv_precondition');
    expect(await stored(out)).toBe(1);
  });
});

describe('8.5 answers of the engine', () => {
  it.each<[string, Record<string, string>, number, string | undefined]>([
    ['507 storage_full', { QUEEN_RAFT_DISK_HIGH_PCT: '1' }, 507, 'storage_full'],
    ['401 without a token', { JWT_ENABLED: 'true', JWT_SECRET: 's'.repeat(32) }, 401, undefined],
  ])('8.5 %s, without the envelope', async (_row, env, status, code) => {
    const other = await TestBroker.start(env);
    try {
      const answer = await other.post('/api/v1/transaction', { operations: [push('q')] });
      expect([answer.status, answer.json.code]).toEqual([status, code]);
      expect(answer.json).not.toHaveProperty('results');
    } finally {
      await other.stop();
    }
  });
});

describe('8.6 the same body again', () => {
  it('8.6 without a gate it applies again', async () => {
    const ns = freshSpace();
    const body = { kv: [{ op: 'incr', ns, key: 'n', delta: 1, forever: true }] };
    await run(body);
    expect((await run(body)).json.results).toMatchObject([{ value: 2 }]);
  });

  it.each(['rejected_ack', 'duplicate', 'kv_precondition'])('8.6 gate: %s', async (reason) => {
    const [ns, out] = [freshSpace(), freshQueue('out')];
    const count = { op: 'incr', ns, key: 'n', delta: 1, forever: true };
    const marker = { op: 'putIfAbsent', ns, key: 'done', value: 1, forever: true, required: true };
    const gates: Readonly<Record<string, object>> = {
      rejected_ack: { operations: [(await leased()).ack], kv: [count] },
      duplicate: { operations: [push(out, 'step-1')], kv: [count] },
      kv_precondition: { kv: [marker, count] },
    };
    expect((await run(gates[reason])).json.success).toBe(true);
    expect((await run(gates[reason])).json).toMatchObject({ success: false, reason });
    expect((await broker.get(`/api/v1/kv/${ns}/n`)).json).toMatchObject({ value: 1 });
  });

  it('8.2 requiredLeases alone fences nothing; an unfenced ack of a settled message is a no-op', async () => {
    const { queue, ack } = await leased();
    const bare = { ...ack, leaseId: '' };
    expect((await run({ operations: [ack] })).json.success).toBe(true);
    const out = freshQueue('out');
    const again = await run({ operations: [bare, push(out, 'r')], requiredLeases: [] });
    expect(again.json.success).toBe(true);
    expect(idsOf(await calls.pop(out))).toEqual(['r']);
    expect((await calls.pop(queue)).status).toBe(204);
  });
});
