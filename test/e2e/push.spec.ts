/** `POST /api/v1/push`, black box: every rule of messages.md §4.1 to §4.3, row by row. */
import { TestBroker } from '../support/broker.js';
import { Calls, freshQueue, idsOf } from './calls.js';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const LIMIT = 411;

describe('push', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start();
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  const pushText = (text: string) => broker.send('POST', '/api/v1/push', text);
  const itemText = (queue: string, rest: string) => `{"items":[{"queue":"${queue}",${rest}}]}`;

  describe('answer', () => {
    it('has exactly the fields of the contract, in request order', async () => {
      const queue = freshQueue();
      const answer = await broker.post('/api/v1/push', {
        items: [
          { queue, partition: 'a', transactionId: 't-1', payload: 1 },
          { queue, partition: 'b', transactionId: 't-2', payload: 2 },
          { queue, partition: 'a', transactionId: 't-3', payload: 3 },
        ],
      });
      expect(answer.status).toBe(201);
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
      const row = (index: number, id: string, offset: number) => ({
        index,
        message_id: expect.stringMatching(UUID_V7),
        transaction_id: id,
        queueName: queue,
        status: 'queued',
        offset,
      });
      expect(answer.json).toEqual([row(0, 't-1', 0), row(1, 't-2', 0), row(2, 't-3', 1)]);
    });

    it('is an empty array for empty items', async () => {
      const answer = await broker.post('/api/v1/push', { items: [] });
      expect([answer.status, answer.text]).toEqual([201, '[]']);
    });

    it('uses the minted message id as transactionId when none is given', async () => {
      const [row] = await calls.push(freshQueue(), { payload: 1 });
      expect(row!.transaction_id).toBe(row!.message_id);
    });

    it.each(['null', '""'])('mints for transactionId %s too', async (text) => {
      const answer = await pushText(itemText(freshQueue(), `"payload":1,"transactionId":${text}`));
      expect(answer.json[0].transaction_id).toBe(answer.json[0].message_id);
    });

    it('escapes queue names and ids like JSON does', async () => {
      const queue = 'q "\\\n\u00e4\u{1F600}';
      const [row] = await calls.push(queue, 'id "\\\t\u20ac');
      expect(row).toMatchObject({ queueName: queue, transaction_id: 'id "\\\t\u20ac' });
      const popped = await calls.pop(queue, { subscriptionMode: 'all' });
      expect(popped.json).toMatchObject({ queue });
      expect(idsOf(popped)).toEqual(['id "\\\t\u20ac']);
    });
  });

  describe('partition', () => {
    it.each([
      ['absent', '"payload":1'],
      ['null', '"payload":1,"partition":null'],
      ['empty', '"payload":1,"partition":""'],
    ])('%s means Default', async (_what, rest) => {
      const queue = freshQueue();
      expect((await pushText(itemText(queue, rest))).status).toBe(201);
      expect((await calls.pop(queue)).json.partition).toBe('Default');
    });

    it('groups survivors by (queue, partition): input order, contiguous offsets', async () => {
      const queue = freshQueue();
      await calls.push(queue, { id: '0', partition: 'x' });
      const rows = await calls.push(
        queue,
        { id: '1', partition: 'x' },
        { id: '2', partition: 'y' },
        { id: '0', partition: 'x' },
        { id: '3', partition: 'x' },
        { id: '4', partition: 'y' },
      );
      expect(rows.map((row) => [row.status, row.offset])).toEqual([
        ['queued', 1],
        ['queued', 0],
        ['duplicate', 0],
        ['queued', 2],
        ['queued', 1],
      ]);
      expect(idsOf(await calls.popPinned(queue, 'x'))).toEqual(['0', '1', '3']);
    });

    it('shares one createdAt per append and rises from append to append', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a', 'b');
      await calls.push(queue, 'c');
      const times = (await calls.pop(queue)).json.messages.map(
        (message: { createdAt: string }) => message.createdAt,
      );
      expect(times[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
      expect(times[0]).toBe(times[1]);
      expect(times[2] > times[1]).toBe(true);
    });
  });

  describe('payload', () => {
    const TEXTS = [
      'null',
      'true',
      '0',
      '-0.10e+2',
      '12345678901234567890123',
      '9007199254740993',
      '"\\ud800 lone"',
      '"\\u00e9 kept as sent"',
      '"é"',
      '[1 , 2 ,\t3]',
      '{ "b" : 1 , "a" : 2 , "b" : 3 }',
      '{"__proto__":{"polluted":1},"constructor":{"prototype":2}}',
      '""',
      '[]',
      '{}',
    ];

    it.each(TEXTS)('%s comes out byte for byte', async (text) => {
      const queue = freshQueue();
      expect((await pushText(itemText(queue, `"payload":${text}`))).status).toBe(201);
      const popped = await calls.pop(queue);
      expect(popped.text).toContain(`"data":${text},"producerSub":null`);
    });

    it('pollutes nothing', () => {
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    });
  });

  describe('ignored fields', () => {
    it('drops traceId, producerSub and unknown fields', async () => {
      const queue = freshQueue();
      const answer = await broker.post('/api/v1/push', {
        other: 1,
        items: [
          {
            queue,
            payload: 1,
            traceId: '0199c0de-1111-7222-8333-444455556666',
            producerSub: 'mallory',
            messageId: 'x',
          },
        ],
      });
      expect(answer.status).toBe(201);
      const [message] = (await calls.pop(queue)).json.messages;
      expect(message).toMatchObject({ traceId: null, producerSub: null });
    });

    it('takes the last of repeated members', async () => {
      const queue = freshQueue();
      const text = `{"items":[],"items":[{"queue":"no","queue":"${queue}","payload":1,"payload":2}]}`;
      expect((await pushText(text)).json[0]).toMatchObject({ queueName: queue });
      expect((await calls.pop(queue)).json.messages[0].data).toBe(2);
    });

    it('does not look at Content-Type', async () => {
      const queue = freshQueue();
      const body = itemText(queue, '"payload":1');
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'garbage', '/', '']) {
        const headers = { 'content-type': type };
        const answer = await broker.send('POST', '/api/v1/push', body, { headers });
        expect([type, answer.status]).toEqual([type, 201]);
      }
    });
  });

  describe('refusals', () => {
    const REFUSED: readonly [string, string, string][] = [
      ['no JSON', 'hello', 'bad_body'],
      ['empty body', '', 'bad_body'],
      ['a number', '1', 'bad_body'],
      ['an array', '[]', 'bad_body'],
      ['null', 'null', 'bad_body'],
      ['no items', '{}', 'bad_body'],
      ['items null', '{"items":null}', 'bad_body'],
      ['items object', '{"items":{}}', 'bad_body'],
      ['item null', '{"items":[null]}', 'bad_body'],
      ['item array', '{"items":[[]]}', 'bad_body'],
      ['item text', '{"items":["x"]}', 'bad_body'],
      ['queue missing', '{"items":[{"payload":1}]}', 'bad_body'],
      ['queue null', '{"items":[{"queue":null,"payload":1}]}', 'bad_body'],
      ['queue number', '{"items":[{"queue":5,"payload":1}]}', 'bad_body'],
      ['queue empty', '{"items":[{"queue":"","payload":1}]}', 'bad_request'],
      ['payload missing', '{"items":[{"queue":"q"}]}', 'bad_body'],
      ['data is no alias', '{"items":[{"queue":"q","data":1}]}', 'bad_body'],
      ['partition number', '{"items":[{"queue":"q","partition":1,"payload":1}]}', 'bad_body'],
      ['id number', '{"items":[{"queue":"q","transactionId":1,"payload":1}]}', 'bad_body'],
      ['id object', '{"items":[{"queue":"q","transactionId":{},"payload":1}]}', 'bad_body'],
      ['lone surrogate as queue', '{"items":[{"queue":"\\ud800","payload":1}]}', 'bad_body'],
      ['trailing text', '{"items":[]} x', 'bad_body'],
      ['trailing comma', '{"items":[],}', 'bad_body'],
    ];

    it.each(REFUSED)('%s', async (_name, body, code) => {
      const answer = await pushText(body);
      expect(answer.status).toBe(400);
      expect(answer.json).toEqual({ error: expect.any(String), code });
      expect(answer.headers.get('retry-after')).toBeNull();
    });

    it('refuses the whole request for one bad item: nothing is written', async () => {
      const queue = freshQueue();
      const body = `{"items":[{"queue":"${queue}","payload":1},{"queue":"${queue}"}]}`;
      expect((await pushText(body)).status).toBe(400);
      expect((await broker.get(`/api/v1/resources/queues/${queue}`)).status).toBe(404);
    });
  });

  describe('name budget', () => {
    const push = (queue: string, partition: string) =>
      broker.post('/api/v1/push', { items: [{ queue, partition, payload: 1 }] });

    it.each([
      ['queue and partition at the limit', 200, LIMIT - 200, 201],
      ['one byte over', 200, LIMIT - 199, 413],
      ['queue alone at the limit is over: Default counts', LIMIT, 0, 413],
      ['queue one byte over', LIMIT + 1, 1, 413],
    ])('%s', async (_name, queueBytes, partitionBytes, status) => {
      const answer = await push('q'.repeat(queueBytes), 'p'.repeat(partitionBytes));
      expect(answer.status).toBe(status);
      if (status !== 413) return;
      expect(answer.json.code).toBe('name_too_long');
      expect(answer.json.error).toContain('447');
    });

    it('counts bytes, not characters, and names field and length', async () => {
      const answer = await push('\u20ac'.repeat(150), 'p');
      expect(answer.json.error).toMatch(/queue.*450.*447/);
      const partition = await push('q', 'p'.repeat(500));
      expect(partition.json.error).toMatch(/partition.*500.*447/);
    });

    it('takes 65535 bytes of transactionId and no more', async () => {
      const queue = freshQueue();
      const [row] = await calls.push(queue, 'x'.repeat(65_535));
      expect(row!.status).toBe('queued');
      const answer = await broker.post('/api/v1/push', {
        items: [{ queue, payload: 1, transactionId: 'x'.repeat(65_536) }],
      });
      expect([answer.status, answer.json.code]).toEqual([400, 'bad_request']);
    });

    it('judges items in order: the first bad one names the refusal', async () => {
      const tooLong = { queue: 'q', payload: 1, transactionId: 'x'.repeat(65_536) };
      const badName = { queue: 'q'.repeat(600), payload: 1 };
      const first = await broker.post('/api/v1/push', { items: [tooLong, badName] });
      expect([first.status, first.json.code]).toEqual([400, 'bad_request']);
      const second = await broker.post('/api/v1/push', { items: [badName, tooLong] });
      expect([second.status, second.json.code]).toEqual([413, 'name_too_long']);
    });
  });

  describe('implicit queues', () => {
    it.each([
      ['billing.invoices', 'billing', 'invoices'],
      ['plain', 'plain', ''],
      ['a.b.c', 'a', 'b'],
      ['.x', '', 'x'],
    ])('%s gets its labels from the dots', async (queue, namespace, task) => {
      await calls.push(queue, 't');
      const detail = await calls.detail(queue);
      expect(detail).toMatchObject({ namespace, task });
      expect(detail.options).toMatchObject({ leaseTime: 60, retryLimit: 3 });
    });
  });
});
