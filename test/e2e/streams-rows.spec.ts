/**
 * The tables of the streams plane row by row over HTTP (state.md §4): acks by status, what a cycle leaves
 * out and fills in, filters and pages of a state read, its bounds, codes, and what the log says no with.
 */
import type { ErrorCode } from '../../src/common/errors.js';
import { QueenError } from '../../src/common/errors.js';
import { Groups } from '../../src/raft/index.js';
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import { Calls, eventually, freshQueue, idsOf, type Wire } from './calls.js';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/;
const MIB = 1024 * 1024;

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});
afterAll(() => broker.stop());
afterEach(() => jest.restoreAllMocks());

const post = (path: string, body: object): Promise<HttpAnswer> =>
  broker.post(`/streams/v1/${path}`, body);

interface Scene {
  readonly queue: string;
  readonly target: { readonly query_id: string; readonly partition_id: string };
  readonly leaseId: string;
}

/** A query, and a leased batch of three of group `g`. */
async function scene(): Promise<Scene> {
  const queue = freshQueue('source');
  await calls.push(queue, 'a', 'b', 'c');
  const popped = await pop(queue);
  const { partitionId: partition_id, leaseId } = popped.json;
  const query = { name: queue, source_queue: queue, config_hash: 'h' };
  const { query_id } = (await post('queries', query)).json;
  return { queue, target: { query_id, partition_id }, leaseId };
}

const pop = (queue: string): Promise<HttpAnswer> =>
  calls.pop(queue, { batch: 10, consumerGroup: 'g', subscriptionMode: 'all' });

const cycle = ({ target }: Scene, fields: object): Promise<HttpAnswer> =>
  post('cycle', { ...target, consumer_group: 'g', ...fields });

describe('a registration', () => {
  const again = ({ queue }: Scene, fields: object): Promise<HttpAnswer> =>
    post('queries', { name: queue, source_queue: queue, config_hash: 'h', ...fields });

  it.each<[string, object, number, object, number]>([
    ['the same', {}, 200, { success: true, config_hash: 'h', fresh: false, reset: false }, 1],
    [
      'the same with a reset, which is none',
      { reset: true, sink_queue: 'elsewhere' },
      ...([200, { success: true, config_hash: 'h', fresh: false, reset: false }, 1] as const),
    ],
    [
      'another hash',
      { config_hash: 'h2' },
      ...([409, { success: false, error: expect.any(String) as string }, 1] as const),
    ],
    [
      'another hash with a reset',
      { config_hash: 'h2', reset: true },
      ...([200, { success: true, config_hash: 'h2', fresh: false, reset: true }, 0] as const),
    ],
  ])('once more: %s', async (_what, fields, status, body, left) => {
    const source = await scene();
    await cycle(source, { state_ops: [{ key: 'k', value: 1 }] });
    const answer = await again(source, fields);
    const { query_id } = source.target;
    expect([answer.status, answer.json]).toEqual([
      status,
      { ...body, query_id, name: source.queue },
    ]);
    expect((await post('state/get', source.target)).json.rows).toHaveLength(left);
    // The group's cursor and lease are not touched.
    const ack = { leaseId: source.leaseId, count: 3 };
    expect((await cycle(source, { ack })).json.success).toBe(true);
  });
});

describe('acks', () => {
  const completed = ['completed', 'success', 'acked', 'ok', '', undefined, 'COMPLETED', 'Ok'];

  it.each(completed)('status %j takes the whole batch', async (status) => {
    const source = await scene();
    const ack = { leaseId: source.leaseId, status, count: 2 };
    const { json } = await cycle(source, { ack });
    expect(json.ack_result).toEqual({ success: true, count: 2, lease_released: true, dlq: false });
    expect((await calls.depth(source.queue, 'g')).pending).toBe(0);
    expect(idsOf(await pop(source.queue))).toEqual([]);
  });

  it.each(completed)('status %j without release takes the first of it', async (status) => {
    const source = await scene();
    const ack = { leaseId: source.leaseId, status, count: 2 };
    const { json } = await cycle(source, { ack, release_lease: false });
    expect(json.ack_result).toEqual({ success: true, count: 2, lease_released: false, dlq: false });
    // The rest comes back in order when the lease is over.
    expect(idsOf(await pop(source.queue))).toEqual([]);
    const failed = await cycle(source, { ack: { leaseId: source.leaseId, status: 'failed' } });
    expect(failed.json.ack_result.lease_released).toBe(true);
    expect(idsOf(await pop(source.queue))).toEqual(['c']);
  });

  it.each(['failed', 'retry', 'nonsense', 5, true])(
    'status %j gives the batch back',
    async (status) => {
      for (const release_lease of [true, false]) {
        const source = await scene();
        const ack = { leaseId: source.leaseId, status, count: 2 };
        const { json } = await cycle(source, { ack, release_lease });
        expect(json.ack_result).toEqual({
          ...{ success: true, count: 0, lease_released: true, dlq: false },
        });
        expect(idsOf(await pop(source.queue))).toEqual(['a', 'b', 'c']);
      }
    },
  );

  it.each([
    [-5, 0],
    [1.9, 1],
    [2 ** 40, 2 ** 31 - 1],
    [null, 0],
    [undefined, 0],
  ])('a count of %j counts as %j', async (count, shown) => {
    const source = await scene();
    const ack = { leaseId: source.leaseId, count };
    expect((await cycle(source, { ack })).json.ack_result.count).toBe(shown);
  });

  it.each<[string, (scene: Scene) => object]>([
    ['no lease id', () => ({ ack: {} })],
    ['what is no lease id', () => ({ ack: { leaseId: 'x' } })],
    ['another lease', ({ target }) => ({ ack: { leaseId: target.query_id } })],
    ['another group', ({ leaseId }) => ({ ack: { leaseId }, consumer_group: 'h' })],
    ['no group, which is queue mode', ({ leaseId }) => ({ ack: { leaseId }, consumer_group: '' })],
  ])('%s refuses the whole cycle', async (_what, fields) => {
    const source = await scene();
    const sink = freshQueue('sink');
    const answer = await cycle(source, {
      ...{ push_items: [{ queue: sink, payload: 1 }], state_ops: [{ key: 'k', value: 1 }] },
      ...fields(source),
    });
    expect([answer.status, answer.json]).toEqual([
      200,
      { success: false, error: 'invalid or expired lease', reason: 'rejected_ack' },
    ]);
    expect((await post('state/get', source.target)).json.rows).toEqual([]);
    expect((await calls.pop(sink)).status).toBe(204);
  });

  it('needs a lease once: the second cycle of a batch is refused', async () => {
    const source = await scene();
    const ack = { leaseId: source.leaseId, count: 3 };
    expect((await cycle(source, { ack })).json.success).toBe(true);
    expect((await cycle(source, { ack })).json.reason).toBe('rejected_ack');
  });
});

describe('items and operations of a cycle', () => {
  it('leaves out items without a queue and fills in what is missing', async () => {
    const source = await scene();
    const sink = freshQueue('sink');
    const messageId = '0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff';
    const push_items = [
      { queue: sink },
      { queue: '', payload: 1 },
      { payload: 1 },
      { queue: sink, data: { n: 1 }, messageId },
      { queue: sink, payload: null, data: 2, transactionId: 't', partition: 'p' },
    ];
    const { json } = await cycle(source, { push_items });
    const [first, second, third] = json.push_results;
    expect(json.push_results).toHaveLength(3);
    expect(first.messageId).toMatch(UUID_V7);
    expect(first.transactionId).toBe(first.messageId);
    expect(second).toEqual({
      ...{ queueName: sink, messageId, transactionId: messageId, status: 'created' },
    });
    expect(third.transactionId).toBe('t');
    const stored = await calls.popPinned(sink, 'Default');
    expect(stored.json.messages.map(({ data }: Wire) => data)).toEqual([{}, { n: 1 }]);
    const other = await calls.popPinned(sink, 'p');
    expect(other.json.messages.map(({ data }: Wire) => data)).toEqual([null]);
  });

  it('a message that is stored already refuses it whole', async () => {
    const source = await scene();
    const sink = freshQueue('sink');
    await calls.push(sink, 'old');
    const push_items = ['new', 'old'].map((transactionId) => ({ queue: sink, transactionId }));
    const state_ops = [{ key: 'k', value: 1 }];
    const ack = { leaseId: source.leaseId, count: 3 };
    const answer = await cycle(source, { push_items, state_ops, ack });
    expect([answer.status, answer.json]).toEqual([
      200,
      { success: false, error: expect.stringContaining(sink), reason: 'duplicate' },
    ]);
    expect(idsOf(await calls.pop(sink))).toEqual(['old']);
    expect((await post('state/get', source.target)).json.rows).toEqual([]);
    // The lease still stands.
    expect((await cycle(source, { ack })).json.success).toBe(true);
  });

  it('operations in order: no type is an upsert, no value is null, no key is left out', async () => {
    const source = await scene();
    const { json } = await cycle(source, {
      state_ops: [
        { type: 'upsert', key: 'a', value: 1 },
        { key: 'b' },
        { key: 7, value: 1 },
        { value: 1 },
        { key: 'c', value: 1 },
        { type: 'delete', key: 'c', value: 9 },
        { key: 'a', value: [2] },
        { type: 'delete', key: 'nothing' },
      ],
    });
    expect([json.success, json.ack_result, json.state_ops_applied]).toEqual([true, null, 6]);
    const { rows } = (await post('state/get', source.target)).json;
    expect(rows).toEqual([
      { key: 'a', value: [2], updated_at: expect.stringMatching(/^\S+\.\d{6}Z$/) },
      { key: 'b', value: null, updated_at: rows[0].updated_at },
    ]);
  });

  it('an unknown operation fails it whole', async () => {
    const source = await scene();
    const state_ops = [
      { key: 'a', value: 1 },
      { type: 'merge', key: 'a' },
    ];
    const answer = await cycle(source, { state_ops });
    expect([answer.status, answer.json.success, answer.json.reason]).toEqual([
      ...[200, false, 'bad_request'],
    ]);
    expect((await post('state/get', source.target)).json.rows).toEqual([]);
  });

  it('an idle flush needs no lease; its messages wake who waits', async () => {
    const source = await scene();
    const sink = freshQueue('sink');
    await calls.configure(sink, {});
    const { answer } = await calls.park(() => calls.pop(sink, { wait: true, timeout: 15_000 }));
    const { json } = await cycle(source, {
      ...{ ack: null, consumer_group: 'nobody', push_items: [{ queue: sink, transactionId: 'w' }] },
    });
    expect(json.success).toBe(true);
    expect(idsOf(await answer)).toEqual(['w']);
    expect((await calls.detail(sink)).totals.total).toBe(1);
  });
});

describe('a state read', () => {
  const ROWS: readonly [string, unknown][] = [
    ['\u00e9', { windowEnd: 10 }],
    ['a', { windowEnd: 5 }],
    ['a\u001fx', { acc: 1, windowEnd: 10.5 }],
    ['b', { windowEnd: '5' }],
    ['b2', [5]],
    ['c', null],
  ];
  let source: Scene;
  let uuid: string;

  beforeAll(async () => {
    source = await scene();
    await cycle(source, { state_ops: ROWS.map(([key, value]) => ({ key, value })) });
    const listed = await broker.get(`/api/v1/messages?queue=${source.queue}`);
    uuid = listed.json.messages[0].partitionId;
  });

  const keys = async (filter: object): Promise<string[]> =>
    (await post('state/get', { ...source.target, ...filter })).json.rows.map(
      ({ key }: Wire) => key,
    );
  const all = ['a', 'a\u001fx', 'b', 'b2', 'c', '\u00e9'];

  it.each<[string, object, string[]]>([
    ['nothing', {}, all],
    ['nulls', { keys: null, key_prefix: null, ripe_at_or_before: null }, all],
    ['empty filters', { keys: [], key_prefix: '' }, all],
    ['keys', { keys: ['c', 'zz', 'a', 'a'] }, ['a', 'c']],
    ['keys that are no text', { keys: [1, null, 'b'] }, ['b']],
    ['no key there is', { keys: [7] }, []],
    ['a prefix', { key_prefix: 'a' }, ['a', 'a\u001fx']],
    ['a prefix of bytes', { key_prefix: '\u00e9' }, ['\u00e9']],
    ['windows that end by then', { ripe_at_or_before: 10 }, ['a', '\u00e9']],
    ['windows by a fraction', { ripe_at_or_before: 10.5 }, ['a', 'a\u001fx', '\u00e9']],
    ['no window yet', { ripe_at_or_before: 4.9 }, []],
    ['all three', { keys: ['a', '\u00e9'], key_prefix: 'a', ripe_at_or_before: 99 }, ['a']],
    ['behind a key', { after: 'a' }, all.slice(1)],
    ['behind a key that is none', { after: 'b1' }, all.slice(3)],
    ['behind, under a prefix', { after: 'a', key_prefix: 'a' }, ['a\u001fx']],
    ['behind the whole prefix', { after: 'b', key_prefix: 'a' }, []],
    ['before the prefix', { after: 'a', key_prefix: 'b' }, ['b', 'b2']],
    ['keys behind a key', { after: 'b', keys: ['a', 'b', 'c'] }, ['c']],
  ])('of %s', async (_what, filter, found) => {
    expect(await keys(filter)).toEqual(found);
    expect(await keys({ ...filter, partition_id: uuid })).toEqual(found);
  });

  it('answers no more than it says', async () => {
    const { json } = await post('state/get', { ...source.target, keys: ['a'] });
    expect(json).toEqual({
      success: true,
      rows: [{ key: 'a', value: { windowEnd: 5 }, updated_at: expect.any(String) }],
    });
  });

  it.each<[string, object]>([
    ['every row', {}],
    ['a prefix', { key_prefix: 'b' }],
    ['keys', { keys: ['c', 'a', 'b'] }],
    ['windows', { ripe_at_or_before: 20 }],
  ])('goes in pages over %s', async (_what, filter) => {
    const found: string[] = [];
    let after: string | null = '';
    for (let pages = 0; after !== null; pages += 1) {
      const { json } = await post('state/get', { ...source.target, ...filter, limit: 1, after });
      expect(json.rows).toHaveLength(1);
      expect(json.truncated).toBe(json.next_after !== null);
      if (json.truncated) expect(json.next_after).toBe(json.rows[0].key);
      found.push(json.rows[0].key);
      after = json.next_after;
      expect(pages).toBeLessThan(all.length);
    }
    expect(found).toEqual(await keys(filter));
  });

  it.each([
    ['no query', { query_id: undefined }],
    ['what is no query id', { query_id: 'x' }],
    ['a query id as number', { query_id: 7 }],
    ['no partition', { partition_id: '' }],
    ['a partition as number', { partition_id: 1 }],
    ['keys as text', { keys: 'a' }],
    ['10,001 keys', { keys: Array.from({ length: 10_001 }, () => 'k') }],
    ['a prefix as number', { key_prefix: 1 }],
    ['a time as text', { ripe_at_or_before: '5' }],
    ['a limit as text', { limit: '5' }],
    ['half a limit', { limit: 1.5 }],
    ['a cursor as number', { after: 1 }],
  ])('refuses %s', async (_what, fields) => {
    const answer = await post('state/get', { ...source.target, ...fields });
    expect([answer.status, answer.json.code]).toEqual([400, 'bad_request']);
  });

  it.each(['{', '[]', '"x"', ''])('refuses the body %j', async (body) => {
    for (const path of ['queries', 'state/get', 'cycle']) {
      const answer = await broker.send('POST', `/streams/v1/${path}`, body);
      expect([answer.status, answer.json.code]).toEqual([400, 'bad_body']);
    }
  });

  it('has at most 16 MiB of rows; pages show what is larger', async () => {
    const large = await scene();
    const text = 'x'.repeat(6 * MIB);
    for (const key of ['k1', 'k2', 'k3']) {
      await cycle(large, { state_ops: [{ key, value: text }] });
    }
    const whole = await post('state/get', large.target);
    expect([whole.status, whole.json.code]).toEqual([413, 'payload_too_large']);
    expect(whole.json.error).toContain('limit');
    const sizes = async (fields: object): Promise<unknown[]> => {
      const { status, json } = await post('state/get', { ...large.target, ...fields });
      return [status, json.rows?.map(({ key }: Wire) => key), json.next_after];
    };
    expect(await sizes({ limit: 1000 })).toEqual([200, ['k1', 'k2'], 'k2']);
    expect(await sizes({ limit: 1000, after: 'k2' })).toEqual([200, ['k3'], null]);
    expect(await sizes({ keys: ['k3', 'k1'] })).toEqual([200, ['k1', 'k3'], undefined]);
  });
});

it('a partition is unknown only when everything committed is applied here', async () => {
  const source = await scene();
  const barrier = jest.spyOn(broker.nest.get(Groups, { strict: false }).first, 'readBarrier');
  expect((await cycle(source, {})).json.success).toBe(true);
  expect(barrier).toHaveBeenCalledTimes(0);
  const missing = await cycle(source, { partition_id: '999999' });
  expect([missing.status, missing.json]).toEqual([404, { success: false, error: 'not found' }]);
  expect(barrier).toHaveBeenCalledTimes(1);
});

describe('names and sizes', () => {
  const long = 'n'.repeat(448);

  it.each([
    ['a name', { name: long }],
    ['a source', { source_queue: long }],
    ['a sink', { sink_queue: long }],
    ['a hash', { config_hash: 'h'.repeat(1025) }],
  ])('%s that is too long is 413', async (_what, fields) => {
    const query = { name: 'n', source_queue: 'q', config_hash: 'h', ...fields };
    const answer = await post('queries', query);
    expect([answer.status, answer.json.code]).toEqual([413, 'name_too_long']);
  });

  it.each([
    ['a group', { consumer_group: long, ack: {} }],
    ['a sink', { push_items: [{ queue: long }] }],
    ['a partition', { push_items: [{ queue: 'q', partition: long }] }],
    ['a state key', { state_ops: [{ key: 'k'.repeat(1025) }] }],
  ])('%s of a cycle that is too long is 413', async (_what, fields) => {
    const answer = await cycle(await scene(), fields);
    expect([answer.status, answer.json.code]).toEqual([413, 'name_too_long']);
  });

  it('an id that is too long is 400', async () => {
    const push_items = [{ queue: 'q', transactionId: 'x'.repeat(65_536) }];
    const answer = await cycle(await scene(), { push_items });
    expect([answer.status, answer.json.code]).toEqual([400, 'bad_request']);
  });

  it.each([
    ['name', { name: '' }],
    ['name as number', { name: 5 }],
    ['source', { source_queue: null }],
    ['hash', { config_hash: undefined }],
    ['sink as number', { sink_queue: 5 }],
  ])('a registration without %s is 400', async (_what, fields) => {
    const query = { name: 'n', source_queue: 'q', config_hash: 'h', ...fields };
    const answer = await post('queries', query);
    expect([answer.status, answer.json.code]).toEqual([400, 'bad_request']);
  });
});

describe('the log says no', () => {
  const failing = (code: ErrorCode): void => {
    const group = broker.nest.get(Groups, { strict: false }).first;
    jest.spyOn(group, 'submit').mockRejectedValue(new QueenError(code));
    jest.spyOn(group, 'readBarrier').mockRejectedValue(new QueenError(code));
  };

  it.each<[ErrorCode, number, string | null]>([
    ['retry', 503, '1'],
    ['timeout', 503, '1'],
    ['no_leader', 503, '1'],
    ['standby', 503, '1'],
    ['storage_full', 507, null],
  ])('%s', async (code, status, retryAfter) => {
    const source = await scene();
    failing(code);
    const query = { name: 'n', source_queue: 'q', config_hash: 'h' };
    for (const answer of [
      await post('queries', query),
      await post('state/get', source.target),
      await cycle(source, {}),
    ]) {
      expect([answer.status, answer.json.code]).toEqual([status, code]);
      expect(answer.headers.get('retry-after')).toBe(retryAfter);
    }
  });

  it('a cycle that fits no entry', async () => {
    const small = await TestBroker.start({ QUEEN_RAFT_ENTRY_MAX_BYTES: String(64 * 1024) });
    try {
      const own = new Calls(small);
      await own.push('q', 'a');
      const { partitionId: partition_id } = (await own.pop('q')).json;
      const query = { name: 'n', source_queue: 'q', config_hash: 'h' };
      const { query_id } = (await small.post('/streams/v1/queries', query)).json;
      const state_ops = [{ key: 'k', value: 'x'.repeat(70_000) }];
      const body = { query_id, partition_id, state_ops };
      const answer = await small.post('/streams/v1/cycle', body);
      expect([answer.status, answer.json]).toEqual([
        200,
        { success: false, error: expect.any(String), reason: 'too_large' },
      ]);
    } finally {
      await small.stop();
    }
  });
});

it('registrations, state and cursor are there after a restart', async () => {
  const source = await scene();
  const ack = { leaseId: source.leaseId, count: 1 };
  await cycle(source, { ack, release_lease: false, state_ops: [{ key: 'k', value: 1 }] });
  await broker.restart();
  const { json } = await post('state/get', source.target);
  expect(json.rows).toMatchObject([{ key: 'k', value: 1 }]);
  const again = { name: source.queue, source_queue: source.queue, config_hash: 'h' };
  expect((await post('queries', again)).json).toMatchObject({
    ...{ fresh: false, query_id: source.target.query_id },
  });
  const failed = await eventually(async () => {
    const answer = await cycle(source, { ack: { leaseId: source.leaseId, status: 'failed' } });
    return answer.status === 200 ? answer : null;
  });
  expect(failed.json.success).toBe(true);
  expect(idsOf(await pop(source.queue))).toEqual(['b', 'c']);
});
