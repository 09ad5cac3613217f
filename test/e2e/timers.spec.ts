/** The timer plane over HTTP (state.md §2): verdicts, firing, wake-up, payloads, reads, restart. */
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import { Calls, eventually, freshQueue, idsOf, unhurried } from './calls.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const HOUR = 3_600_000;

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});
afterAll(() => broker.stop());

const base64 = (text: string): string => Buffer.from(text).toString('base64');

interface Operation {
  readonly [field: string]: unknown;
}

function schedule(queue: string, timerKey: string, fields: Operation = {}): Operation {
  return {
    ...{ op: 'schedule', queue, timerKey, delayMs: HOUR, txn: `txn-${timerKey}` },
    payload: base64('{"n":1}'),
    ...fields,
  };
}

const post = (...operations: unknown[]): Promise<HttpAnswer> =>
  broker.post('/api/v1/timers', { operations });
const path = (queue: string, key = ''): string =>
  `/api/v1/timers/${encodeURIComponent(queue)}${key === '' ? '' : `/${encodeURIComponent(key)}`}`;

describe('verdicts', () => {
  it.each<[string, (queue: string) => Operation, object]>([
    ['scheduled', (queue) => schedule(queue, 'k'), { ok: true, status: 'scheduled' }],
    ['rescheduled', (queue) => schedule(queue, 'old'), { ok: true, status: 'rescheduled' }],
    [
      'op reschedule of nothing',
      (queue) => schedule(queue, 'k', { op: 'reschedule' }),
      { ok: true, status: 'scheduled' },
    ],
    [
      'cancelled',
      (queue) => ({ op: 'cancel', queue, timerKey: 'old', txn: 'mine' }),
      { ok: true, status: 'cancelled', txn: 'txn-old' },
    ],
    [
      'absent',
      (queue) => ({ op: 'cancel', queue, timerKey: 'k' }),
      { ok: false, status: 'absent', txn: null },
    ],
    [
      'absent, with a txn',
      (queue) => ({ op: 'cancel', queue, timerKey: 'k', txn: 'mine' }),
      { ok: false, status: 'absent', txn: 'mine' },
    ],
  ])('%s', async (_name, operation, expected) => {
    const queue = freshQueue();
    await post(schedule(queue, 'old'));
    const { status, json } = await post(operation(queue));
    expect(status).toBe(200);
    expect(json.results).toEqual([expect.objectContaining({ queue, ...expected })]);
    const { status: verdict } = expected as { status: string };
    const fields = ['ok', 'status', 'queue', 'timerKey', 'txn'];
    const more = verdict.endsWith('scheduled') ? ['messageId', 'deliverAt'] : [];
    expect(Object.keys(json.results[0])).toEqual([...fields, ...more]);
    if (more.length > 0) {
      expect(json.results[0]).toMatchObject({
        messageId: expect.stringMatching(UUID),
        deliverAt: expect.stringMatching(TIME),
      });
    }
  });

  it('takes a bare array, and nothing', async () => {
    const queue = freshQueue();
    const bare = await broker.post('/api/v1/timers', [schedule(queue, 'k')]);
    expect([bare.status, bare.json.results.length]).toEqual([200, 1]);
    expect((await broker.post('/api/v1/timers', [])).json).toEqual({ results: [] });
  });

  it('delivers after the delay from when it was planned, in µs', async () => {
    const queue = freshQueue();
    const { json } = await post(schedule(queue, 'k', { delayMs: 1500.25 }));
    const peeked = (await broker.get(path(queue, 'k'))).json;
    const micros = (text: string): number => Date.parse(text) * 1000 + Number(text.slice(23, 26));
    expect(micros(json.results[0].deliverAt) - micros(peeked.createdAt)).toBe(1_500_250);
  });

  it('cancels over its own route, keys with slashes and spaces', async () => {
    const queue = freshQueue();
    await post(schedule(queue, 'a/b c'));
    const first = await broker.send('DELETE', `/api/v1/timers/${queue}/a/b%20c?txn=mine&x=1`);
    expect(first.json).toEqual({
      ...{ ok: true, status: 'cancelled', queue, timerKey: 'a/b c', txn: 'txn-a/b c' },
    });
    const second = await broker.send('DELETE', `${path(queue, 'a/b c')}?txn=mine`);
    expect(second.json).toEqual({
      ...{ ok: false, status: 'absent', queue, timerKey: 'a/b c', txn: 'mine' },
    });
  });
});

describe('a fired timer', () => {
  it('is a message: txn, id, payload byte for byte, no trace', async () => {
    const queue = freshQueue();
    const payload = '{"big":12345678901234567890,  "text":"\\u00e9"}';
    const { json } = await post(
      schedule(queue, 'k', {
        delayMs: 0,
        txn: 'the-txn',
        partition: 'p',
        payload: base64(payload),
      }),
    );
    const answer = await calls.pop(queue);
    expect(answer.text).toContain(`"data":${payload}`);
    expect(answer.json.messages[0]).toMatchObject({
      ...{ id: json.results[0].messageId, transactionId: 'the-txn', partition: 'p' },
      ...{ traceId: null, producerSub: null, offset: 0 },
    });
    expect((await broker.get(path(queue, 'k'))).json).toEqual({
      ...{ found: false, queue, timerKey: 'k' },
    });
  });

  it('wakes a waiting consumer within 50 ms of its due time, and not before', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'first');
    await calls.ack((await calls.pop(queue)).json, undefined, 'first');
    // The machine may be busy: one of several tries has to be prompt, none may be early.
    const lateMs: number[] = [];
    for (let i = 0; i < 25 && !lateMs.some((late) => late < 50); i += 1) {
      const parked = await calls.park(() => calls.pop(queue, { wait: true, timeout: 30_000 }));
      const { json } = await post(schedule(queue, 'k', { delayMs: 150, txn: `t${i}` }));
      const answer = await parked.answer;
      lateMs.push(Date.now() - Date.parse(json.results[0].deliverAt));
      expect(idsOf(answer)).toEqual([`t${i}`]);
      await calls.ack(answer.json, undefined, `t${i}`);
    }
    expect(Math.min(...lateMs)).toBeLessThan(50);
    expect(Math.min(...lateMs)).toBeGreaterThanOrEqual(0);
  });

  it('keeps the order of due instants on one partition', async () => {
    const queue = freshQueue();
    const delays = [60, 20, 40, 0];
    await post(
      ...delays.map((delayMs) => schedule(queue, `k${delayMs}`, { delayMs, txn: `${delayMs}` })),
    );
    const popped = await eventually(async () => {
      const depth = await calls.depth(queue);
      return depth.pending === 4 ? calls.pop(queue, { batch: 10 }) : null;
    });
    expect(idsOf(popped)).toEqual(['0', '20', '40', '60']);
  });

  it('appends nothing when its txn is in the dedup window', async () => {
    const queue = freshQueue();
    await calls.push(queue, { id: 'dup', partition: 'Default' });
    await post(schedule(queue, 'k', { delayMs: 0, txn: 'dup' }));
    expect((await calls.depth(queue)).pending).toBe(1);
    expect((await broker.get(path(queue, 'k'))).json.found).toBe(false);
  });

  it('carries what is no JSON as base64, and unpacks zstd', async () => {
    const queue = freshQueue();
    // `{"z":1}` as one zstd frame with a raw block.
    const packed = Buffer.from(
      '28b52ffd2007390000' + Buffer.from('{"z":1}').toString('hex'),
      'hex',
    );
    await post(
      schedule(queue, 'raw', { delayMs: 0, payload: Buffer.from([0xff, 0x00]).toString('base64') }),
      schedule(queue, 'zstd', {
        ...{ delayMs: 1, payload: packed.toString('base64'), payloadZstd: 'yes' },
      }),
    );
    const popped = await eventually(async () => {
      const depth = await calls.depth(queue);
      return depth.pending === 2 ? calls.pop(queue, { batch: 10 }) : null;
    });
    const data = popped.json.messages.map((message: { data: unknown }) => message.data);
    expect(data).toEqual([{ _raw_b64: '/wA=' }, { z: 1 }]);
  });

  it('brings a large payload that never was in the store', async () => {
    const queue = freshQueue();
    const payload = JSON.stringify({ text: 'x'.repeat(200_000) });
    await post(schedule(queue, 'k', { payload: base64(payload) }));
    const peeked = (await broker.get(path(queue, 'k'))).json;
    expect(Buffer.from(peeked.payload, 'base64').toString()).toBe(payload);
    await post(schedule(queue, 'k', { delayMs: 100, payload: base64(payload) }));
    const answer = await calls.pop(queue, { wait: true, timeout: 30_000 });
    expect(answer.text).toContain(`"data":${payload}`);
  });
});

describe('reads', () => {
  it('shows a timer whole', async () => {
    const queue = freshQueue();
    const { json } = await post(schedule(queue, 'k/1', { partition: 'p' }));
    const peeked = (await broker.get(path(queue, 'k/1'))).json;
    expect(peeked).toEqual({
      ...{ found: true, queue, timerKey: 'k/1', partition: 'p', txn: 'txn-k/1' },
      ...{ deliverAt: json.results[0].deliverAt, messageId: json.results[0].messageId },
      ...{ payloadZstd: false, encrypted: false, producerSub: null, attempts: 0 },
      ...{ lastError: null, claimed: false, payload: base64('{"n":1}') },
      createdAt: expect.stringMatching(TIME),
      updatedAt: expect.stringMatching(TIME),
    });
    const { found: _found, payload: _payload, ...row } = peeked;
    expect((await broker.get(path(queue))).json).toEqual({
      ...{ rows: [row], truncated: false, nextAfter: null },
    });
  });

  it('pages in byte order of the keys', async () => {
    const queue = freshQueue();
    const keys = ['a', 'a\u0000', 'a/b', 'b', 'Z', 'é', '😀', '\ufffd'];
    await post(...keys.map((key) => schedule(queue, key)));
    const seen: string[] = [];
    for (let after: string | null = ''; after !== null;) {
      const { json } = await broker.get(
        `${path(queue)}?limit=3&after=${encodeURIComponent(after)}`,
      );
      expect(json.rows.length).toBeLessThanOrEqual(3);
      seen.push(...json.rows.map((row: { timerKey: string }) => row.timerKey));
      expect(json.truncated).toBe(json.nextAfter !== null);
      after = json.nextAfter;
    }
    expect(seen).toEqual([...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
  });

  it.each([
    ['limit=0', 1],
    ['limit=2', 2],
    ['limit=x', 3],
    ['limit=99999', 3],
    ['mode=list', 3],
    ['mode=', 3],
  ])('?%s gives %i rows', async (query, rows) => {
    const queue = freshQueue();
    await post(...['a', 'b', 'c'].map((key) => schedule(queue, key)));
    expect((await broker.get(`${path(queue)}?${query}`)).json.rows).toHaveLength(rows);
  });

  it('counts by prefix', async () => {
    const queue = freshQueue();
    await post(...['a', 'a/1', 'a/2', 'b'].map((key) => schedule(queue, key)));
    const count = async (prefix: string): Promise<number> =>
      (await broker.get(`${path(queue)}?mode=count&prefix=${encodeURIComponent(prefix)}`)).json
        .count;
    expect([await count('a'), await count('a/'), await count('x')]).toEqual([3, 2, 0]);
  });

  it.each([
    ['mode=sum', 'timers_read_mode_unknown'],
    ['mode=count', 'timers_count_prefix_required'],
    ['mode=count&prefix=a%00', 'timers_count_prefix_invalid'],
    [`mode=count&prefix=${'x'.repeat(129)}`, 'timers_count_prefix_too_long'],
    ['mode=count&prefix=a&limit=1', 'timers_count_page_parameters'],
    ['mode=count&prefix=a&after=b', 'timers_count_page_parameters'],
  ])('?%s is refused: %s', async (query, reason) => {
    const { status, json } = await broker.get(`${path('any')}?${query}`);
    expect([status, json.error, json.reason]).toEqual([400, 'timers_bad_request', reason]);
  });
});

describe('a restart', () => {
  it('keeps timers: large and small payloads, order, counts, none twice, none early', async () => {
    const large = JSON.stringify({ text: 'y'.repeat(50_000) });
    const queue = await unhurried(async (timely) => {
      const fresh = freshQueue();
      await timely(1_400, async () => {
        await post(
          schedule(fresh, 'small', { delayMs: 1_400, txn: 'small' }),
          schedule(fresh, 'large', { delayMs: 1_500, txn: 'large', payload: base64(large) }),
          schedule(fresh, 'gone', { delayMs: 1_450 }),
          schedule(fresh, 'far', { delayMs: 90 * 24 * HOUR }),
        );
        const { json } = await post({ op: 'cancel', queue: fresh, timerKey: 'gone' });
        expect(json.results[0].status).toBe('cancelled');
      });
      return fresh;
    });
    await broker.restart();
    const popped = await eventually(async () => {
      const depth = await calls.depth(queue);
      return depth.pending === 2 ? calls.pop(queue, { batch: 10 }) : null;
    });
    expect(idsOf(popped)).toEqual(['small', 'large']);
    expect(popped.text).toContain(large);
    const { rows } = (await broker.get(path(queue))).json;
    expect(rows.map((row: { timerKey: string }) => row.timerKey)).toEqual(['far']);
    await broker.restart();
    expect((await calls.depth(queue)).pending).toBe(2);
  });
});
