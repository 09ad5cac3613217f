/**
 * Bad bodies (issue A): the table of JSON texts on every route that reads a body, invalid UTF-8, depth,
 * huge names, 65 MiB. The exact answer each time, and the process serves on.
 */
import { TestBroker } from '../support/broker.js';
import { JSON_CASES, type JsonCase } from '../json/cases.js';
import { Calls, freshQueue } from './calls.js';

const MIB = 1024 * 1024;

describe('bad bodies', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start();
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  const bytesOf = (before: string, bytes: Uint8Array, after: string): Uint8Array<ArrayBuffer> =>
    new Uint8Array(Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]));

  /** Several at a time: a durable push each would take long one by one. */
  const eachCase = async (visit: (one: JsonCase) => Promise<void>): Promise<void> => {
    for (let at = 0; at < JSON_CASES.length; at += 32) {
      await Promise.all(JSON_CASES.slice(at, at + 32).map(visit));
    }
  };

  const isAccepted = (verdict: string): boolean => verdict === 'y' || verdict === 'i+';

  it('as a payload: the accepted ones come out unchanged, the others are bad_body', async () => {
    const wrong: string[] = [];
    await eachCase(async ({ verdict, name, bytes }) => {
      const body = bytesOf('{"items":[{"queue":"cases","payload":', bytes, '}]}');
      const answer = await broker.send('POST', '/api/v1/push', body);
      const refused = answer.status === 400 && answer.json.code === 'bad_body';
      if (isAccepted(verdict) ? answer.status !== 201 : !refused) {
        wrong.push(`${verdict} ${name}: ${answer.status} ${answer.text}`);
      }
    });
    expect(wrong).toEqual([]);
    const accepted = JSON_CASES.filter(({ verdict }) => isAccepted(verdict));
    const popped = await calls.pop('cases', { batch: 1_000, autoAck: true });
    expect(popped.json.messages).toHaveLength(accepted.length);
    const text = popped.text;
    for (const { name, bytes } of accepted) {
      const payload = Buffer.from(bytes).toString('utf8').trim();
      expect([name, text.includes(`"data":${payload},"producerSub"`)]).toEqual([name, true]);
    }
  });

  it.each(['/api/v1/push', '/api/v1/ack', '/api/v1/ack/batch', '/api/v1/configure'])(
    'as the whole body of %s: what is refused as JSON is bad_body',
    async (path) => {
      const wrong: string[] = [];
      await eachCase(async ({ verdict, name, bytes }) => {
        const answer = await broker.send('POST', path, bytesOf('', bytes, ''));
        const known = ['bad_body', 'bad_request'].includes(answer.json?.code);
        const isRefusal = answer.status === 400 && known;
        const right = isAccepted(verdict)
          ? isRefusal || (path.includes('ack') && answer.status === 200)
          : answer.status === 400 && answer.json.code === 'bad_body';
        if (!right) wrong.push(`${verdict} ${name}: ${answer.status} ${answer.text}`);
      });
      expect(wrong).toEqual([]);
    },
  );

  const state = (code: string) => ({
    error: `${code}_bad_request`,
    reason: `${code}_bad_body`,
    detail: expect.any(String),
  });
  const ephemeral = { error: expect.any(String), code: 'ephemeral_bad_request' };

  it.each<[string, string, object]>([
    ['POST', '/api/v1/kv', state('kv')],
    ['PUT', '/api/v1/kv/n/k', state('kv')],
    ['POST', '/api/v1/resources/kv/list', state('kv')],
    ['POST', '/api/v1/timers', state('timers')],
    ['POST', '/api/v1/locks', state('locks')],
    ...['push', 'ack', 'configure', 'reset'].map((verb): [string, string, object] => [
      'POST',
      `/api/v1/ephemeral/${verb}`,
      ephemeral,
    ]),
  ])('%s %s tells of a body that is no object in its own envelope', async (method, path, due) => {
    for (const body of ['', ' ', '{', '7', 'null', '"x"', '{}x', '{"a":1,}', '\ufeff{}']) {
      const { status, json } = await broker.send(method, path, body);
      expect([body, status, json]).toEqual([body, 400, due]);
    }
    for (const bytes of [[0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d], [0x80]]) {
      const { status, json } = await broker.send(method, path, Uint8Array.from(bytes));
      expect([bytes, status, json]).toEqual([bytes, 400, due]);
    }
  });

  it.each([
    ['lone continuation', [0x80]],
    ['overlong slash', [0xc0, 0xaf]],
    ['surrogate', [0xed, 0xa0, 0x80]],
    ['above the last code point', [0xf4, 0x90, 0x80, 0x80]],
    ['cut off', [0xe2, 0x82]],
    ['0xff', [0xff]],
  ])('invalid UTF-8 (%s) in any text is bad_body', async (_name, raw) => {
    const bytes = Uint8Array.from(raw);
    for (const [before, after] of [
      ['{"items":[{"queue":"', '","payload":1}]}'],
      ['{"items":[{"queue":"q","partition":"', '","payload":1}]}'],
      ['{"items":[{"queue":"q","transactionId":"', '","payload":1}]}'],
      ['{"items":[{"queue":"q","payload":"', '"}]}'],
      ['{"', '":1,"items":[]}'],
    ] as const) {
      const answer = await broker.send('POST', '/api/v1/push', bytesOf(before, bytes, after));
      expect([answer.status, answer.json?.code]).toEqual([400, 'bad_body']);
    }
    const ack = bytesOf('{"transactionId":"', bytes, '","partitionId":"1"}');
    expect((await broker.send('POST', '/api/v1/ack', ack)).json.code).toBe('bad_body');
    const configure = bytesOf('{"queue":"', bytes, '"}');
    expect((await broker.send('POST', '/api/v1/configure', configure)).json.code).toBe('bad_body');
  });

  it('a byte order mark is no JSON', async () => {
    const body = bytesOf('', Uint8Array.of(0xef, 0xbb, 0xbf), '{"items":[]}');
    expect((await broker.send('POST', '/api/v1/push', body)).json.code).toBe('bad_body');
  });

  it('depth is bounded, not the stack', async () => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000);
    for (const path of ['/api/v1/push', '/api/v1/ack', '/api/v1/configure']) {
      const answer = await broker.send('POST', path, deep);
      expect([answer.status, answer.json.code]).toEqual([400, 'bad_body']);
    }
  });

  it('names of a megabyte are too long everywhere', async () => {
    const name = 'n'.repeat(MIB);
    const item = { queue: 'q', partition: 'p', payload: 1 };
    for (const field of ['queue', 'partition']) {
      const answer = await broker.post('/api/v1/push', { items: [{ ...item, [field]: name }] });
      expect([answer.status, answer.json.code]).toEqual([413, 'name_too_long']);
    }
    const id = await broker.post('/api/v1/push', { items: [{ ...item, transactionId: name }] });
    expect([id.status, id.json.code]).toEqual([400, 'bad_request']);
    const ack = {
      transactionId: name,
      partitionId: name,
      leaseId: name,
      status: name,
      error: name,
    };
    expect((await broker.post('/api/v1/ack', ack)).json[0].success).toBe(false);
  });

  it('__proto__ and constructor are plain names in every place', async () => {
    const queue = '__proto__';
    const text = `{"__proto__":{"items":[]},"items":[{"__proto__":{"queue":"x"},"queue":"${queue}",
      "partition":"constructor","transactionId":"toString","payload":{"__proto__":1}}]}`;
    expect((await broker.send('POST', '/api/v1/push', text)).json[0].queueName).toBe(queue);
    const popped = await calls.pop(queue, { consumerGroup: '__proto__', subscriptionMode: 'all' });
    expect(popped.json).toMatchObject({ partition: 'constructor', consumerGroup: '__proto__' });
    const [row] = await calls.ack(popped.json, '__proto__', 'toString');
    expect(row).toMatchObject({ success: true, leaseReleased: true });
    const configure = '{"queue":"__proto__","options":{"__proto__":{"leaseTime":5},"priority":1}}';
    const configured = await broker.send('POST', '/api/v1/configure', configure);
    expect(configured.json.options).toMatchObject({ leaseTime: 60, priority: 1 });
    expect(Object.prototype).not.toHaveProperty('leaseTime');
  });

  it('65 MiB is 413 in plain text, 64 MiB of items is not', async () => {
    const shell = '{"items":[{"queue":"big","payload":""}]}'.length;
    const bodyOf = (bytes: number) =>
      new Uint8Array(
        Buffer.from(`{"items":[{"queue":"big","payload":"${'x'.repeat(bytes - shell)}"}]}`),
      );
    const refused = await broker.send('POST', '/api/v1/push', bodyOf(65 * MIB));
    expect(refused.status).toBe(413);
    expect(refused.headers.get('content-type')).toMatch(/^text\/plain/);
    const taken = await broker.send('POST', '/api/v1/push', bodyOf(64 * MIB));
    expect(taken.status).toBe(201);
    const popped = await calls.pop('big', { autoAck: true });
    expect(popped.text.length).toBeGreaterThan(64 * MIB - shell);
  }, 120_000);

  it('many items in one request', async () => {
    const queue = freshQueue();
    const items = Array.from({ length: 20_000 }, (_, i) => ({ queue, payload: i }));
    const answer = await broker.post('/api/v1/push', { items });
    expect(answer.json).toHaveLength(20_000);
    expect(answer.json[19_999]).toMatchObject({ index: 19_999, offset: 19_999 });
  });

  it('the process serves on', async () => {
    expect((await broker.get('/health')).status).toBe(200);
    const queue = freshQueue();
    await calls.push(queue, 'a');
    expect((await calls.pop(queue)).status).toBe(200);
  });
});
