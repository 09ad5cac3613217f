/** The tenant header (messages.md §1.4), off and on: names are scoped, foreign partitions unknown. */
import { TestBroker } from '../support/broker.js';
import { Calls } from './calls.js';

const A = '0199c0de-0000-7000-8000-00000000000a';
const B = '0199c0de-0000-7000-8000-00000000000b';
const DEFAULT = '00000000-0000-0000-0000-000000000001';
const HEADER = 'x-queen-tenant';

const ROUTES = [
  ['POST', '/api/v1/push', '{"items":[]}'],
  ['GET', '/api/v1/pop/queue/q', undefined],
  ['GET', '/api/v1/pop/queue/q/partition/p', undefined],
  ['GET', '/api/v1/pop?namespace=n', undefined],
  ['POST', '/api/v1/ack', '{}'],
  ['POST', '/api/v1/ack/batch', '{}'],
  ['POST', '/api/v1/lease/x/extend', undefined],
  ['POST', '/api/v1/configure', '{"queue":"q"}'],
  ['DELETE', '/api/v1/resources/queues/q', undefined],
  ['GET', '/api/v1/resources/queues', undefined],
  ['GET', '/api/v1/resources/queues/q', undefined],
  ['GET', '/api/v1/resources/queues/q/depth', undefined],
  ['GET', '/api/v1/resources/queues/q/sizes', undefined],
] as const;

describe('tenancy on', () => {
  let broker: TestBroker;

  beforeAll(async () => {
    broker = await TestBroker.start({
      QUEEN_TENANCY_HEADER: 'true',
      QUEEN_KV_TRUSTED_PROXY: 'true',
    });
  });

  afterAll(() => broker.stop());

  const as = (tenant: string | undefined, method: string, path: string, body?: string) =>
    broker.send(method, path, body, tenant === undefined ? {} : { headers: { [HEADER]: tenant } });

  const push = (tenant: string | undefined, queue: string, id: string) => {
    const items = [{ queue, transactionId: id, payload: { id } }];
    return as(tenant, 'POST', '/api/v1/push', JSON.stringify({ items }));
  };

  it.each(ROUTES)('%s %s refuses a malformed header', async (method, path, body) => {
    for (const tenant of ['x', A.slice(1), `${A}0`, `{${A}}`, A.replaceAll('-', '')]) {
      const answer = await as(tenant, method, path, body);
      expect(answer.status).toBe(400);
      expect(answer.json).toEqual({ error: 'invalid x-queen-tenant header (must be a UUID)' });
    }
  });

  it.each(ROUTES)('%s %s refuses the reserved tenant', async (method, path, body) => {
    const answer = await as('00000000-0000-0000-0000-000000000000', method, path, body);
    expect(answer.status).toBe(403);
    expect(answer.json).toEqual({ error: expect.any(String), code: 'reserved_tenant' });
  });

  it('scopes queues, dedup, groups and listings', async () => {
    for (const tenant of [A, B]) expect((await push(tenant, 'q', 'same')).status).toBe(201);
    const again = await push(A, 'q', 'same');
    expect(again.json[0].status).toBe('duplicate');
    const popped = await as(B, 'GET', '/api/v1/pop/queue/q?consumerGroup=g&subscriptionMode=all');
    expect(popped.json.messages).toHaveLength(1);
    const other = await as(A, 'GET', '/api/v1/pop/queue/q?consumerGroup=g&subscriptionMode=all');
    expect(other.json.messages).toHaveLength(1);
    expect(other.json.partitionId).not.toBe(popped.json.partitionId);
    const listed = await as(A, 'GET', '/api/v1/resources/queues');
    expect(listed.json.queues).toHaveLength(1);
    expect((await as(undefined, 'GET', '/api/v1/resources/queues')).json.queues).toHaveLength(0);
  });

  it('treats a partition and a lease of another tenant as nonexistent', async () => {
    await push(A, 'fence', 'a');
    const { json } = await as(A, 'GET', '/api/v1/pop/queue/fence');
    const { partitionId, leaseId } = json;
    const ack = JSON.stringify({ transactionId: 'a', partitionId, leaseId });
    const foreign = await as(B, 'POST', '/api/v1/ack', ack);
    expect(foreign.json[0]).toMatchObject({ success: false, error: `no partition ${partitionId}` });
    const extended = await as(B, 'POST', `/api/v1/lease/${leaseId}/extend`);
    expect(extended.json.renewed).toBe(0);
    expect((await as(A, 'POST', `/api/v1/lease/${leaseId}/extend`)).json.renewed).toBe(1);
    expect((await as(A, 'POST', '/api/v1/ack', ack)).json[0].success).toBe(true);
  });

  it('deletes only its own queue', async () => {
    await push(A, 'twin', 'a');
    await push(B, 'twin', 'b');
    await as(A, 'DELETE', '/api/v1/resources/queues/twin');
    expect((await as(A, 'GET', '/api/v1/resources/queues/twin')).status).toBe(404);
    expect((await as(B, 'GET', '/api/v1/resources/queues/twin')).status).toBe(200);
  });

  it('discovers only its own queues', async () => {
    await push(A, 'shared.a', 'a');
    await push(B, 'shared.b', 'b');
    const popped = await as(B, 'GET', '/api/v1/pop?namespace=shared&partitions=10');
    expect(popped.json.messages.map((m: { transactionId: string }) => m.transactionId)).toEqual([
      'b',
    ]);
  });

  it('is the default tenant without a header, in any case of the UUID', async () => {
    await push(undefined, 'plain', 'a');
    expect((await push(DEFAULT, 'plain', 'a')).json[0].status).toBe('duplicate');
    await push(A, 'cased', 'a');
    expect((await push(A.toUpperCase(), 'cased', 'a')).json[0].status).toBe('duplicate');
  });

  it('is not asked for by health', async () => {
    expect((await as('x', 'GET', '/health')).status).toBe(200);
  });
});

describe('tenancy off', () => {
  it('ignores the header, whatever it says', async () => {
    const broker = await TestBroker.start();
    try {
      const calls = new Calls(broker);
      await calls.push('q', 'a');
      for (const tenant of ['nonsense', A, '00000000-0000-0000-0000-000000000000']) {
        const headers = { [HEADER]: tenant };
        const answer = await broker.send('GET', '/api/v1/resources/queues/q', undefined, {
          headers,
        });
        expect(answer.status).toBe(200);
      }
    } finally {
      await broker.stop();
    }
  });
});
