/**
 * What a timer call is refused with (state.md §2.2, §2.7): shape, edge checks, validation after the
 * ladder, sizes, failures of the log. One bad operation refuses the whole call.
 */
import { QueenError, type ErrorCode } from '../../src/common/errors.js';
import { Groups } from '../../src/raft/index.js';
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import { freshQueue } from './calls.js';

const HOUR = 3_600_000;
const HORIZON_S = 90 * 24 * 3600;

let broker: TestBroker;

beforeAll(async () => {
  broker = await TestBroker.start({
    ...{ QUEEN_TIMERS_MAX_OPS_PER_CALL: '8', QUEEN_TIMERS_MAX_PAYLOAD_BYTES: '1000' },
    ...{ QUEEN_RAFT_ENTRY_MAX_BYTES: '6000' },
    ...{ QUEEN_KV_WRITE_RATE: '100000', QUEEN_KV_WRITE_BURST: '100000' },
  });
});
afterAll(() => broker.stop());

const BASE = {
  op: 'schedule',
  queue: 'q',
  timerKey: 'k',
  delayMs: HOUR,
  txn: 't',
  payload: 'MQ==',
};
const with_ = (fields: object): object => ({ ...BASE, ...fields });
const post = (...operations: unknown[]): Promise<HttpAnswer> =>
  broker.post('/api/v1/timers', { operations });

describe('the body', () => {
  it.each(['{', '"x"', '7', 'null', '{}', '{"operations":{}}', '{"operations":null}', ''])(
    '%j is none',
    async (body) => {
      const { status, json } = await broker.send('POST', '/api/v1/timers', body);
      expect([status, json.error, json.reason]).toEqual([
        ...[400, 'timers_bad_request', 'timers_bad_body'],
      ]);
    },
  );

  it('has at most so many operations', async () => {
    const many = Array.from({ length: 9 }, (_, i) => with_({ timerKey: `k${i}` }));
    const { status, json } = await post(...many);
    expect([status, json.error, json.reason]).toEqual([
      ...[400, 'timers_bad_request', 'timers_too_many_ops'],
    ]);
  });
});

const EDGE: readonly (readonly [what: string, operation: unknown, reason: string])[] = [
  ['no object', 'x', 'timers_bad_op'],
  ['null', null, 'timers_bad_op'],
  ['an array', [], 'timers_bad_op'],
  ['a field with _', with_({ _x: 1 }), 'timers_server_owned_field'],
  [
    'a field with _ in a cancel',
    { op: 'cancel', queue: 'q', timerKey: 'k', _a: 0 },
    'timers_server_owned_field',
  ],
  ['no queue', with_({ queue: undefined }), 'timers_queue_required'],
  ['an empty queue', with_({ queue: '' }), 'timers_queue_required'],
  ['a null queue', with_({ queue: null }), 'timers_queue_required'],
  ['no delay', with_({ delayMs: undefined }), 'timers_delay_required'],
  ['a delay as text', with_({ delayMs: '5' }), 'timers_delay_required'],
  ['a null delay', with_({ delayMs: null }), 'timers_delay_required'],
  ['no payload', with_({ payload: undefined }), 'timers_payload_required'],
  ['a payload as JSON', with_({ payload: { a: 1 } }), 'timers_payload_required'],
  ['no base64', with_({ payload: '*' }), 'timers_payload_not_base64'],
  ['base64 without padding', with_({ payload: 'MQ' }), 'timers_payload_not_base64'],
  ['base64 of URLs', with_({ payload: '_-A=' }), 'timers_payload_not_base64'],
];

/** Judged after the ladder; the reason is a text. */
const VALIDATION: readonly (readonly [what: string, operation: object, text: RegExp])[] = [
  ['an unknown op', with_({ op: 'snooze' }), /op must be/],
  ['no op', { queue: 'q', timerKey: 'k' }, /op must be/],
  ...[
    ...[
      'producerSub',
      'producer_sub',
      'messageId',
      'message_id',
      'tenant',
      'tenantId',
      'tenant_id',
    ],
    ...['deliverAt', 'deliver_at', 'delaySeconds', 'delay_seconds', 'attempts', 'claimToken'],
    ...['claim_token', 'claimedUntil'],
  ].map((name) => [`the field ${name}`, with_({ [name]: 1 }), new RegExp(name)] as const),
  ['no queue in a cancel', { op: 'cancel', timerKey: 'k' }, /queue/],
  ['no key', with_({ timerKey: undefined }), /timerKey/],
  ['an empty key', with_({ timerKey: '' }), /timerKey/],
  ['an empty partition', with_({ partition: '' }), /partition/],
  ['a null partition', with_({ partition: null }), /partition/],
  ['no txn', with_({ txn: undefined }), /txn/],
  ['an empty txn', with_({ txn: '' }), /txn/],
  ['payloadZstd maybe', with_({ payloadZstd: 'maybe' }), /payloadZstd/],
  ['encrypted 2', with_({ encrypted: 2 }), /encrypted/],
  ['no zstd', with_({ payloadZstd: true }), /zstd/],
];

describe('an operation', () => {
  it.each(EDGE)('%s', async (_, operation, reason) => {
    const { status, json, headers } = await post(operation);
    expect([status, json.error, json.reason]).toEqual([400, 'timers_bad_request', reason]);
    expect(headers.get('retry-after')).toBeNull();
  });

  it.each(VALIDATION)('%s', async (_, operation, text) => {
    const { status, json } = await post(operation);
    expect([status, json.error]).toEqual([400, 'timers_bad_request']);
    expect(`${json.reason} ${json.detail ?? ''}`).toMatch(text);
  });

  it('a timer twice', async () => {
    const cancel = { op: 'cancel', queue: 'q', timerKey: 'k' };
    const { status, json } = await post(BASE, cancel);
    expect([status, json.error]).toEqual([400, 'timers_bad_request']);
    expect((await post(BASE, { ...cancel, queue: 'other' })).status).toBe(200);
  });

  it('one bad operation refuses the whole call', async () => {
    const queue = freshQueue();
    expect((await post(with_({ queue }), with_({ queue, timerKey: '' }))).status).toBe(400);
    expect((await broker.get(`/api/v1/timers/${queue}`)).json.rows).toEqual([]);
  });
});

describe('bounds', () => {
  it.each([
    ['at the horizon', HORIZON_S * 1000, 200],
    ['beyond it', HORIZON_S * 1000 + 1, 403],
    ['far beyond', 1e300, 403],
    ['due long ago', -1e300, 200],
  ])('a delay %s', async (_, delayMs, status) => {
    const answer = await post(with_({ queue: freshQueue(), delayMs }));
    expect(answer.status).toBe(status);
    if (status === 200) return;
    expect(answer.json).toMatchObject({
      ...{ error: 'timer_horizon_exceeded', reason: 'timers_horizon' },
    });
    expect(answer.headers.get('retry-after')).toBeNull();
  });

  it.each([
    ['payload', { payload: Buffer.alloc(1001, 0x31).toString('base64') }],
    [
      'unpacked payload',
      // One zstd frame of a repeated byte: 2,000 times "1".
      {
        payload: Buffer.from('28b52ffd60d00602' + '833e0031', 'hex').toString('base64'),
        payloadZstd: true,
      },
    ],
  ])('a %s that is too large', async (_, fields) => {
    const { status, json } = await post(with_(fields));
    expect([status, json.error, json.reason]).toEqual([
      ...[413, 'payload_too_large', 'timers_payload_too_large'],
    ]);
  });

  it('a call that fits no entry', async () => {
    const payload = Buffer.alloc(1000, 0x31).toString('base64');
    const many = Array.from({ length: 8 }, (_, i) => with_({ timerKey: `k${i}`, payload }));
    const { status, json } = await post(...many);
    expect([status, json.error, json.reason]).toEqual([
      ...[413, 'payload_too_large', 'timers_call_too_large'],
    ]);
  });

  it('names that are too long', async () => {
    for (const fields of [{ timerKey: 'k'.repeat(600) }, { queue: 'q'.repeat(600) }]) {
      const answer = await post(with_(fields));
      expect([answer.status, answer.json.code ?? answer.json.error]).toEqual([
        413,
        'name_too_long',
      ]);
    }
  });
});

describe('the log says no', () => {
  afterEach(() => jest.restoreAllMocks());

  const failing = (code: ErrorCode): void => {
    const group = broker.nest.get(Groups, { strict: false }).first;
    jest.spyOn(group, 'submit').mockRejectedValue(new QueenError(code));
  };

  it.each<[ErrorCode, number, object, string | null]>([
    ['timeout', 503, { error: 'timers_unavailable', reason: 'timers_timeout' }, '1'],
    ['outcome_unknown', 503, { error: 'timers_unavailable', reason: 'timers_timeout' }, '1'],
    ['retry', 503, { error: 'timers_unavailable', reason: 'timers_retry' }, '1'],
    ['no_leader', 503, { error: 'timers_unavailable', reason: 'no_leader' }, '1'],
    ['internal', 500, { error: 'timers_error' }, null],
    ['storage_full', 507, { code: 'storage_full' }, null],
    ['standby', 503, { code: 'standby' }, null],
  ])('%s', async (code, status, body, retryAfter) => {
    failing(code);
    for (const answer of [
      await post(BASE),
      await broker.send('DELETE', '/api/v1/timers/q/k'),
      await post({ op: 'cancel', queue: 'q', timerKey: 'k' }),
    ]) {
      expect([answer.status, answer.json]).toEqual([status, expect.objectContaining(body)]);
      if (retryAfter !== null) expect(answer.headers.get('retry-after')).toBe(retryAfter);
    }
  });

  it('a full disk keeps schedules out and lets cancels pass', async () => {
    const queue = freshQueue();
    await post(with_({ queue }));
    const group = broker.nest.get(Groups, { strict: false }).first;
    const status = group.status.bind(group);
    jest.spyOn(group, 'status').mockImplementation(() => ({ ...status(), storageFull: true }));
    const refused = await post(with_({ queue, timerKey: 'other' }));
    expect([refused.status, refused.json.code]).toEqual([507, 'storage_full']);
    const cancel = { op: 'cancel', queue, timerKey: 'k' };
    expect((await post(cancel)).json.results[0].status).toBe('cancelled');
  });
});

it('reads every spelling of a flag, and other JSON as its text', async () => {
  const queue = freshQueue();
  for (const flag of ['true', 't', 'yes', 'y', 'on', '1', true, 1]) {
    await post(with_({ queue, encrypted: flag }));
    expect((await broker.get(`/api/v1/timers/${queue}/k`)).json.encrypted).toBe(true);
  }
  for (const flag of ['false', 'f', 'no', 'n', 'off', '0', false, 0, null]) {
    await post(with_({ queue, encrypted: flag, payloadZstd: flag }));
    expect((await broker.get(`/api/v1/timers/${queue}/k`)).json.encrypted).toBe(false);
  }
  const { json } = await post(with_({ queue: 5, timerKey: [1], txn: { a: 1 } }));
  expect(json.results[0]).toMatchObject({ queue: '5', timerKey: '[1]', txn: '{"a":1}' });
});
