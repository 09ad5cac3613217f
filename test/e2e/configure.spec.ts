/** Configure and delete (messages.md §9.1, §9.2, §3): merge, replace, null, refusals, clamps, defaults. */
import { TestBroker } from '../support/broker.js';
import { Calls, freshQueue, idsOf } from './calls.js';

const DEFAULTS = {
  priority: 0,
  leaseTime: 300,
  retryLimit: 3,
  retryDelay: 1000,
  maxSize: 0,
  maxQueueSize: 0,
  ttl: 3600,
  deadLetterQueue: true,
  dlqAfterMaxRetries: true,
  delayedProcessing: 0,
  windowBuffer: 0,
  retentionSeconds: 0,
  completedRetentionSeconds: 0,
  retentionEnabled: false,
  encryptionEnabled: false,
  maxWaitTimeSeconds: 0,
  minPopWaitTime: 0,
  dedupWindowSeconds: 3600,
  retentionSinkHold: '',
  retentionSinkHoldMaxSeconds: 604_800,
};
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('configure', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start();
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  const configure = (body: object) => broker.post('/api/v1/configure', body);
  const optionsOf = async (queue: string) => (await calls.detail(queue)).options;

  it('answers exactly the fields of the contract, with the configure defaults', async () => {
    const queue = freshQueue();
    const answer = await configure({ queue });
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      configured: true,
      queueId: expect.stringMatching(UUID),
      partitionId: null,
      queue,
      namespace: '',
      task: '',
      storage: 'segments',
      options: DEFAULTS,
    });
    const detail = await calls.detail(queue);
    expect(detail).toMatchObject({ id: answer.json.queueId, options: DEFAULTS });
  });

  it('derives no labels from the name, unlike a push', async () => {
    const queue = freshQueue('a.b');
    expect((await configure({ queue })).json).toMatchObject({ namespace: '', task: '' });
    const pushed = freshQueue('a.b');
    await calls.push(pushed, 'x');
    expect(await optionsOf(pushed)).toEqual({ ...DEFAULTS, leaseTime: 60 });
  });

  describe('modes', () => {
    it.each([undefined, null, 'merge'])('%s keeps what is not named', async (mode) => {
      const queue = freshQueue();
      await configure({ queue, options: { leaseTime: 7, priority: 5, namespace: 'ns' } });
      const answer = await configure({ queue, mode, options: { priority: 6 } });
      expect(answer.json).toMatchObject({
        namespace: 'ns',
        options: { leaseTime: 7, priority: 6 },
      });
    });

    it('replace starts from the defaults, and keeps id and createdAt', async () => {
      const queue = freshQueue();
      await configure({ queue, options: { leaseTime: 7, namespace: 'ns', task: 't' } });
      const before = await calls.detail(queue);
      const answer = await configure({ queue, mode: 'replace', options: { priority: 6 } });
      expect(answer.json.options).toEqual({ ...DEFAULTS, priority: 6 });
      expect(answer.json).toMatchObject({ namespace: '', task: '' });
      expect(await calls.detail(queue)).toMatchObject({
        id: before.id,
        createdAt: before.createdAt,
      });
    });

    it('replace creates as well', async () => {
      const answer = await configure({ queue: freshQueue(), mode: 'replace' });
      expect(answer.json.options).toEqual(DEFAULTS);
    });

    it.each(['MERGE', 'patch', '', 5, true, {}, []])(
      '%j is refused without a code',
      async (mode) => {
        const answer = await configure({ queue: freshQueue(), mode });
        expect(answer.status).toBe(400);
        expect(answer.json).toEqual({ error: expect.stringMatching(/^mode must be /) });
      },
    );

    it('merging into a queue made by a push keeps its leaseTime of 60; null gives 300', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'x');
      const merged = await configure({ queue, options: { priority: 1 } });
      expect(merged.json.options.leaseTime).toBe(60);
      const nulled = await configure({ queue, options: { leaseTime: null } });
      expect(nulled.json.options.leaseTime).toBe(300);
    });
  });

  describe('null', () => {
    it.each(['merge', 'replace'])('gives every option its default, mode %s', async (mode) => {
      const queue = freshQueue();
      const other = Object.fromEntries(
        Object.entries(DEFAULTS).map(([name, value]) => {
          if (typeof value === 'boolean') return [name, !value];
          return [name, typeof value === 'number' ? value + 61 : 'x'];
        }),
      );
      await configure({ queue, options: { ...other, namespace: 'n', task: 't' } });
      const names = [...Object.keys(DEFAULTS), 'namespace', 'task'];
      const nulls = Object.fromEntries(names.map((name) => [name, null]));
      const answer = await configure({ queue, mode, options: nulls });
      expect(answer.json).toMatchObject({ namespace: '', task: '', options: DEFAULTS });
    });

    it.each([null, 5, true, {}])('%j as a text option is the empty text', async (value) => {
      const queue = freshQueue();
      await configure({ queue, options: { namespace: 'n', retentionSinkHold: 'sink' } });
      const options = { namespace: value, task: value, retentionSinkHold: value };
      const answer = await configure({ queue, options });
      expect(answer.json).toMatchObject({ namespace: '', task: '' });
      expect(answer.json.options.retentionSinkHold).toBe('');
    });
  });

  describe('where options stand', () => {
    it.each([undefined, null, 'x', 5, []])('at top level when options is %j', async (options) => {
      const queue = freshQueue();
      const answer = await configure({ queue, options, leaseTime: 9, namespace: 'n' });
      expect(answer.json).toMatchObject({ namespace: 'n', options: { leaseTime: 9 } });
    });

    it('nowhere else when options is an object, but labels at top level count', async () => {
      const queue = freshQueue();
      const answer = await configure({
        queue,
        options: {},
        leaseTime: 9,
        namespace: 'n',
        task: 't',
      });
      expect(answer.json).toMatchObject({ namespace: 'n', task: 't', options: { leaseTime: 300 } });
    });

    it('labels in options win; empty ones at top level say nothing', async () => {
      const queue = freshQueue();
      const first = await configure({ queue, namespace: 'top', options: { namespace: 'in' } });
      expect(first.json.namespace).toBe('in');
      const second = await configure({ queue, namespace: '', options: {} });
      expect(second.json.namespace).toBe('in');
      const third = await configure({ queue, namespace: '' });
      expect(third.json.namespace).toBe('in');
    });

    it('unknown options and maxQueueSize are ignored', async () => {
      const options = { maxQueueSize: 99, nonsense: 1, __proto__x: 2, constructor: 3 };
      expect((await configure({ queue: freshQueue(), options })).json.options).toEqual(DEFAULTS);
    });

    it('maxSize is echoed twice', async () => {
      const answer = await configure({ queue: freshQueue(), options: { maxSize: 42 } });
      expect(answer.json.options).toMatchObject({ maxSize: 42, maxQueueSize: 42 });
    });
  });

  describe('refusals', () => {
    const INTEGERS = Object.entries(DEFAULTS)
      .filter(([name, value]) => typeof value === 'number' && name !== 'maxQueueSize')
      .map(([name]) => name);
    const BOOLEANS = Object.entries(DEFAULTS)
      .filter(([, value]) => typeof value === 'boolean')
      .map(([name]) => name);

    it.each(INTEGERS)('%s takes integers within 32 bit only', async (name) => {
      const queue = freshQueue();
      for (const value of ['5', 1.5, true, {}, [], 2_147_483_648, -2_147_483_649]) {
        const answer = await configure({ queue, options: { [name]: value } });
        expect([value, answer.status, answer.json.code]).toEqual([value, 400, 'bad_request']);
        expect(answer.json.error).toContain(`${name} must be an integer`);
      }
      expect((await broker.get(`/api/v1/resources/queues/${queue}`)).status).toBe(404);
    });

    it.each(BOOLEANS)('%s takes booleans only', async (name) => {
      for (const value of ['true', 1, 0, {}, []]) {
        const answer = await configure({ queue: freshQueue(), options: { [name]: value } });
        expect([answer.status, answer.json.code]).toEqual([400, 'bad_request']);
        expect(answer.json.error).toContain(`${name} must be a boolean`);
      }
    });

    it.each(['a b', 'ä', 'x'.repeat(65), 'a/b'])('retentionSinkHold %j', async (value) => {
      const answer = await configure({
        queue: freshQueue(),
        options: { retentionSinkHold: value },
      });
      expect([answer.status, answer.json.code]).toEqual([400, 'bad_request']);
    });

    it.each([59, 0, -1, 31_536_001])('retentionSinkHoldMaxSeconds %i', async (value) => {
      const answer = await configure({
        queue: freshQueue(),
        options: { retentionSinkHoldMaxSeconds: value },
      });
      expect([answer.status, answer.json.code]).toEqual([400, 'bad_request']);
    });

    it.each([60, 31_536_000])('retentionSinkHoldMaxSeconds %i is taken', async (value) => {
      const options = { retentionSinkHold: 'a.B_c-9', retentionSinkHoldMaxSeconds: value };
      expect((await configure({ queue: freshQueue(), options })).json.options).toMatchObject(
        options,
      );
    });

    it.each([undefined, null, '', 5, {}, []])('queue %j', async (queue) => {
      const answer = await configure({ queue });
      expect(answer.status).toBe(400);
      expect(answer.json).toEqual({ error: expect.any(String), code: 'bad_request' });
    });

    it.each([
      '',
      'x',
      '[]',
      'null',
      '5',
      '"q"',
      '{"queue":"q"',
      '{"queue":"q"}x',
      '{"queue":"\\x"}',
    ])('body %j is bad_body', async (body) => {
      const answer = await broker.send('POST', '/api/v1/configure', body);
      expect([answer.status, answer.json.code]).toEqual([400, 'bad_body']);
    });

    it('413 for a long name', async () => {
      const answer = await configure({ queue: 'q'.repeat(412) });
      expect([answer.status, answer.json.code]).toEqual([413, 'name_too_long']);
    });
  });

  describe('clamps and negatives', () => {
    it.each([
      ['minPopWaitTime', -1, 0],
      ['minPopWaitTime', 60_001, 60_000],
      ['minPopWaitTime', 60_000, 60_000],
      ['dedupWindowSeconds', -1, 0],
      ['leaseTime', -5, -5],
      ['retryLimit', -1, -1],
      ['priority', -2_147_483_648, -2_147_483_648],
      ['priority', 2_147_483_647, 2_147_483_647],
    ])('%s %i is stored as %i', async (name, value, stored) => {
      const answer = await configure({ queue: freshQueue(), options: { [name]: value } });
      expect(answer.json.options[name]).toBe(stored);
    });

    it('a leaseTime below 1 leases for one second', async () => {
      const queue = freshQueue();
      await configure({ queue, options: { leaseTime: -5 } });
      await calls.push(queue, 'a');
      await calls.pop(queue);
      expect((await calls.pop(queue)).status).toBe(204);
      const again = await calls.pop(queue, { wait: true, timeout: 10_000 });
      expect(again.json.messages[0].deliveryAttempt).toBe(2);
    });

    it('-0 is 0', async () => {
      const answer = await broker.send(
        'POST',
        '/api/v1/configure',
        `{"queue":"${freshQueue()}","options":{"priority":-0,"ttl":1e2}}`,
      );
      expect(answer.text).toContain('"priority":0,');
      expect(answer.json.options.ttl).toBe(100);
    });
  });

  it('keeps the expiry of live leases', async () => {
    const queue = freshQueue();
    await configure({ queue, options: { leaseTime: 100 } });
    await calls.push(queue, 'a');
    const popped = await calls.pop(queue);
    await configure({ queue, options: { leaseTime: 1 } });
    const extended = await broker.post(`/api/v1/lease/${popped.json.leaseId}/extend`, {
      seconds: 1,
    });
    expect(Date.parse(extended.json.expiresAt) - Date.now()).toBeGreaterThan(80_000);
  });

  it('is remembered over a restart', async () => {
    const queue = freshQueue();
    const before = await configure({ queue, options: { leaseTime: 9, namespace: 'n' } });
    await broker.restart();
    const detail = await calls.detail(queue);
    expect(detail).toMatchObject({ id: before.json.queueId, namespace: 'n' });
    expect(detail.options.leaseTime).toBe(9);
  });

  describe('delete', () => {
    const remove = (queue: string) =>
      broker.send('DELETE', `/api/v1/resources/queues/${encodeURIComponent(queue)}`);

    it('says so when there is nothing', async () => {
      const queue = freshQueue();
      const answer = await remove(queue);
      expect(answer.status).toBe(200);
      expect(answer.json).toEqual({
        deleted: false,
        existed: false,
        queue,
        message: 'Queue not found, nothing was deleted',
      });
    });

    it('removes everything: a later push starts anew', async () => {
      const queue = 'de/lete me';
      await configure({ queue, options: { leaseTime: 9, retryLimit: 0 } });
      await calls.push(queue, 'a', 'b');
      const popped = await calls.pop(queue, { consumerGroup: 'g', subscriptionMode: 'all' });
      await calls.ack(popped.json, 'g', { id: 'a', status: 'dlq' });
      const answer = await remove(queue);
      expect([answer.status, answer.json]).toEqual([200, { deleted: true, existed: true, queue }]);
      expect((await remove(queue)).json.existed).toBe(false);
      expect((await calls.detail(queue)).error).toBe('Queue not found');
      // Its ids, offsets, options, groups and dead letters are gone with it.
      const [row] = await calls.push(queue, 'a');
      expect(row).toMatchObject({ status: 'queued', offset: 0 });
      const detail = await calls.detail(queue);
      expect(detail.options.leaseTime).toBe(60);
      expect(detail.totals.deadLetter).toBe(0);
      expect((await calls.pop(queue, { consumerGroup: 'g' })).status).toBe(204);
      expect(idsOf(await calls.pop(queue))).toEqual(['a']);
    });

    it('makes outstanding acks fail', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a');
      const popped = await calls.pop(queue);
      await remove(queue);
      const [row] = await calls.ack(popped.json, undefined, 'a');
      expect(row).toMatchObject({
        success: false,
        error: `no partition ${popped.json.partitionId}`,
      });
    });

    it('never gives a partition number twice', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a');
      const before = (await calls.pop(queue)).json.partitionId;
      await remove(queue);
      await calls.push(queue, 'a');
      expect(Number((await calls.pop(queue)).json.partitionId)).toBeGreaterThan(Number(before));
    });

    it('413 for a long name', async () => {
      const answer = await remove('q'.repeat(412));
      expect([answer.status, answer.json.code]).toEqual([413, 'name_too_long']);
    });
  });
});
