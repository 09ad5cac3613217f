/** Acknowledgement, black box (messages.md §6.1, §6.2, §6.5, G8, G18): forms, words, fencing. */
import { TestBroker } from '../support/broker.js';
import { type AckRow, Calls, freshQueue, idsOf, type Message } from './calls.js';

const OTHER_LEASE = '0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff';

describe('ack', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start();
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  const popped = async (ids: readonly string[], options: object = {}) => {
    const queue = freshQueue();
    await calls.configure(queue, { retryLimit: 1, ...options });
    await calls.push(queue, ...ids);
    const { json } = await calls.pop(queue);
    return { queue, json };
  };

  const next = async (queue: string): Promise<string[]> => idsOf(await calls.pop(queue));

  describe.each(['/api/v1/ack', '/api/v1/ack/batch'])('%s', (route) => {
    it('takes the single form and answers one row', async () => {
      const { json } = await popped(['a']);
      const { partitionId, leaseId } = json;
      const answer = await broker.post(route, {
        transactionId: 'a',
        partitionId,
        leaseId,
        status: 'completed',
        error: null,
        extra: 1,
      });
      expect(answer.status).toBe(200);
      expect(answer.json).toEqual([
        {
          index: 0,
          transactionId: 'a',
          success: true,
          error: null,
          leaseReleased: true,
          dlq: false,
          noop: false,
        },
      ]);
    });

    it('takes the batch form and answers in input order', async () => {
      const { json } = await popped(['a', 'b', 'c']);
      const { partitionId, leaseId } = json;
      const acknowledgments = ['c', 'a', 'b'].map((transactionId) => ({
        transactionId,
        partitionId,
        leaseId,
      }));
      const answer = await broker.post(route, { acknowledgments });
      expect(answer.json.map((row: AckRow) => [row.index, row.transactionId, row.success])).toEqual(
        [
          [0, 'c', true],
          [1, 'a', true],
          [2, 'b', true],
        ],
      );
    });

    it.each(['[]', 'null'])('acknowledgments %s is one single ack, which fails', async (list) => {
      const answer = await broker.send('POST', route, `{"acknowledgments":${list}}`);
      expect(answer.status).toBe(200);
      expect(answer.json).toEqual([
        {
          index: 0,
          transactionId: '',
          success: false,
          error: expect.any(String),
          leaseReleased: false,
          dlq: false,
          noop: false,
        },
      ]);
    });

    it.each([
      ['no JSON', 'x'],
      ['empty', ''],
      ['an array', '[]'],
      ['null', 'null'],
      ['partitionId number', '{"transactionId":"a","partitionId":1}'],
      ['transactionId number', '{"transactionId":1,"partitionId":"1"}'],
      ['status number', '{"transactionId":"a","partitionId":"1","status":1}'],
      ['leaseId object', '{"transactionId":"a","partitionId":"1","leaseId":{}}'],
      ['error array', '{"transactionId":"a","partitionId":"1","error":[]}'],
      ['consumerGroup number', '{"transactionId":"a","partitionId":"1","consumerGroup":1}'],
      ['acknowledgments object', '{"acknowledgments":{}}'],
      ['acknowledgment text', '{"acknowledgments":["a"]}'],
      ['inner partitionId number', '{"acknowledgments":[{"transactionId":"a","partitionId":1}]}'],
    ])('%s is bad_body', async (_name, body) => {
      const answer = await broker.send('POST', route, body);
      expect([answer.status, answer.json?.code]).toEqual([400, 'bad_body']);
    });

    it('413 names a group that is too long', async () => {
      const body = { consumerGroup: 'g'.repeat(412), transactionId: 'a', partitionId: '1' };
      const answer = await broker.post(route, body);
      expect([answer.status, answer.json.code]).toEqual([413, 'name_too_long']);
      expect(answer.json.error).toContain('group');
    });
  });

  describe('what names no partition', () => {
    it.each(['', 'abc', '-1', '1.5', ' 1', '0x1', '0199c0de-1111-7222-8333-444455556666'])(
      '%j: not a partition id',
      async (partitionId) => {
        const answer = await broker.post('/api/v1/ack', { transactionId: 'a', partitionId });
        expect(answer.json[0]).toMatchObject({
          success: false,
          error: 'partitionId is not a partition id',
        });
      },
    );

    it.each(['999999999', '9007199254740993', '18446744073709551615'])(
      '%s: no such partition',
      async (partitionId) => {
        const answer = await broker.post('/api/v1/ack', { transactionId: 'a', partitionId });
        expect(answer.json[0].error).toBe(`no partition ${partitionId}`);
      },
    );

    it('fails only its own items', async () => {
      const { json } = await popped(['a']);
      const { partitionId, leaseId } = json;
      const answer = await broker.post('/api/v1/ack/batch', {
        acknowledgments: [
          { transactionId: 'x', partitionId: 'nonsense' },
          { transactionId: 'a', partitionId, leaseId },
          { transactionId: 'y', partitionId: '999999' },
        ],
      });
      expect(answer.json.map((row: AckRow) => row.success)).toEqual([false, true, false]);
    });
  });

  describe('status words', () => {
    it.each(['completed', 'COMPLETED', 'success', 'ok', '', 'Done'])(
      '%j completes',
      async (status) => {
        const { queue, json } = await popped(['a']);
        const [row] = await calls.ack(json, undefined, { id: 'a', status });
        expect(row).toMatchObject({ success: true, leaseReleased: true });
        expect(await next(queue)).toEqual([]);
      },
    );

    it.each(['retry', 'RETRY', 'Retry', 'failed', 'FAILED'])('%j redelivers', async (status) => {
      const { queue, json } = await popped(['a']);
      await calls.ack(json, undefined, { id: 'a', status });
      expect(await next(queue)).toEqual(['a']);
    });

    it.each(['dlq', 'DLQ'])('%j files', async (status) => {
      const { queue, json } = await popped(['a']);
      const [row] = await calls.ack(json, undefined, { id: 'a', status });
      expect(row!.dlq).toBe(true);
      expect((await calls.detail(queue)).totals.deadLetter).toBe(1);
    });

    it('null completes', async () => {
      const { queue, json } = await popped(['a']);
      const { partitionId, leaseId } = json;
      const body = { transactionId: 'a', partitionId, leaseId, status: null };
      expect((await broker.post('/api/v1/ack', body)).json[0].success).toBe(true);
      expect(await next(queue)).toEqual([]);
    });
  });

  describe('fencing', () => {
    const ackOne = async (fields: object): Promise<AckRow> =>
      (await broker.post('/api/v1/ack', { transactionId: 'a', ...fields })).json[0];

    it.each([OTHER_LEASE, 'no uuid', OTHER_LEASE.toUpperCase()])(
      'a foreign lease %s fails',
      async (leaseId) => {
        const { queue, json } = await popped(['a']);
        const row = await ackOne({ partitionId: json.partitionId, leaseId });
        expect(row).toMatchObject({ success: false, error: 'invalid or expired lease' });
        expect(row).toMatchObject({ leaseReleased: false, noop: false });
        expect((await calls.depth(queue)).processing).toBe(1);
      },
    );

    it.each([{}, { leaseId: '' }, { leaseId: null }])(
      'no lease %j is no fence: it completes and releases what somebody holds',
      async (fields) => {
        const { queue, json } = await popped(['a']);
        const row = await ackOne({ partitionId: json.partitionId, ...fields });
        expect(row).toMatchObject({ success: true, leaseReleased: true });
        expect((await calls.depth(queue)).pending).toBe(0);
      },
    );

    it('an unfenced ack cannot reach beyond the batch of a live lease', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a', 'b');
      const { json } = await calls.pop(queue, { batch: 1 });
      const body = { transactionId: 'b', partitionId: json.partitionId };
      expect((await broker.post('/api/v1/ack', body)).json[0].success).toBe(false);
    });

    it('an unfenced ack without any lease moves the cursor to its message', async () => {
      const { queue, json } = await popped(['a', 'b', 'c']);
      await calls.ack(json, undefined, { id: 'a', status: 'retry' });
      const body = { transactionId: 'b', partitionId: json.partitionId };
      const [row] = (await broker.post('/api/v1/ack', body)).json;
      expect(row).toMatchObject({ success: true, leaseReleased: false });
      expect(await next(queue)).toEqual(['c']);
    });

    it('a signal without any lease changes nothing and still succeeds', async () => {
      const { queue, json } = await popped(['a', 'b']);
      await calls.ack(json, undefined, { id: 'a', status: 'retry' });
      for (const status of ['failed', 'retry', 'dlq']) {
        const row = await ackOne({ partitionId: json.partitionId, status });
        expect(row).toMatchObject({ success: true, dlq: false, leaseReleased: false });
      }
      expect((await calls.detail(queue)).totals.deadLetter).toBe(0);
      expect(await next(queue)).toEqual(['a', 'b']);
    });

    it('fails without a cursor: the group never read the partition', async () => {
      const { json } = await popped(['a']);
      const fields = { partitionId: json.partitionId, consumerGroup: 'never-seen' };
      expect(await ackOne(fields)).toMatchObject({ success: false, leaseReleased: false });
    });

    it('targets queue mode when the group is left out, or only on the items', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a');
      const { json } = await calls.pop(queue, { consumerGroup: 'g', subscriptionMode: 'all' });
      const { partitionId, leaseId } = json;
      const item = { transactionId: 'a', partitionId, leaseId, consumerGroup: 'g' };
      const rows = (await broker.post('/api/v1/ack/batch', { acknowledgments: [item] })).json;
      expect(rows[0].success).toBe(false);
      const [row] = await calls.ack(json, 'g', 'a');
      expect(row).toMatchObject({ success: true, leaseReleased: true });
    });

    it('a stale worker never moves the cursor of another', async () => {
      const { queue, json: stale } = await popped(['a', 'b']);
      await calls.ack(stale, undefined, { id: 'a', status: 'retry' });
      const { json: live } = await calls.pop(queue);
      const rows = await calls.ack(stale, undefined, 'a', 'b');
      expect(rows.map((row) => row.success)).toEqual([false, false]);
      expect((await calls.ack(live, undefined, 'a', 'b'))[1]!.leaseReleased).toBe(true);
    });
  });

  it('applies several targets of one call independently', async () => {
    const queue = freshQueue();
    const partitions = ['1', '2', '3'];
    await calls.push(queue, ...partitions.map((partition) => ({ id: `m${partition}`, partition })));
    const { json } = await calls.pop(queue, { partitions: 3 });
    const acknowledgments = json.messages.map((message: Message, i: number) => ({
      transactionId: message.transactionId,
      partitionId: message.partitionId,
      leaseId: i === 1 ? OTHER_LEASE : message.leaseId,
    }));
    const answer = await broker.post('/api/v1/ack/batch', { acknowledgments });
    expect(answer.json.map((row: AckRow) => row.success)).toEqual([true, false, true]);
    expect(await calls.depth(queue)).toMatchObject({ pending: 1, processing: 1 });
  });
});
