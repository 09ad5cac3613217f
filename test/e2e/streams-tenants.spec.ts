/**
 * Streams of several tenants over HTTP (state.md §4.1, §4): the grant and its bound on queries, and that
 * queries, partitions and state of one tenant are nothing to another.
 */
import { TestBroker, type HttpAnswer } from '../support/broker.js';

const DEFAULT = '00000000-0000-0000-0000-000000000001';

let broker: TestBroker;
let tenants = 0;

beforeAll(async () => {
  broker = await TestBroker.start({
    ...{ QUEEN_TENANCY_HEADER: 'true', QUEEN_KV_TRUSTED_PROXY: 'true' },
  });
});
afterAll(() => broker.stop());

const fresh = (): string =>
  `00000000-0000-4000-8000-0000000${(++tenants).toString(16).padStart(5, '0')}`;

function send(tenant: string, method: string, path: string, body?: object): Promise<HttpAnswer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  return broker.send(method, path, text, { headers: { 'x-queen-tenant': tenant } });
}

const grant = (tenant: string, fields: object = {}): Promise<HttpAnswer> =>
  send(tenant, 'POST', '/api/v1/resources/quota', {
    ...{ kind: 'streams', tenant, enabled: true },
    ...fields,
  });

const register = (tenant: string, name: string, fields: object = {}): Promise<HttpAnswer> =>
  send(tenant, 'POST', '/streams/v1/queries', {
    ...{ name, source_queue: 'orders', config_hash: 'h1' },
    ...fields,
  });

const verdict = ({ status, json }: HttpAnswer): unknown[] => [status, json.fresh ?? json.denied];

async function scene(tenant: string): Promise<{ query_id: string; partition_id: string }> {
  const items = [{ queue: 'orders', transactionId: 'a', payload: 1 }];
  await send(tenant, 'POST', '/api/v1/push', { items });
  const popped = await send(tenant, 'GET', '/api/v1/pop/queue/orders');
  const { query_id } = (await register(tenant, 'q')).json;
  const target = { query_id, partition_id: popped.json.partitionId };
  const state_ops = [{ key: 'k', value: tenant }];
  await send(tenant, 'POST', '/streams/v1/cycle', { ...target, state_ops });
  return target;
}

const state = (tenant: string, target: object): Promise<HttpAnswer> =>
  send(tenant, 'POST', '/streams/v1/state/get', target);

describe('the grant', () => {
  it.each<[string, object | null, unknown[]]>([
    ['no row', null, [403, true]],
    ['a row that is off', { enabled: false }, [403, true]],
    ['a row', {}, [200, true]],
    ['room for one', { maxQueries: 1 }, [200, true]],
    ['room for none', { max_queries: 0 }, [403, true]],
  ])('%s', async (_what, fields, expected) => {
    const tenant = fresh();
    if (fields !== null) expect((await grant(tenant, fields)).status).toBe(200);
    const answer = await register(tenant, 'q');
    expect(verdict(answer)).toEqual(expected);
    if (answer.status !== 403) return;
    const error = expect.any(String) as string;
    expect(answer.json).toEqual({ success: false, denied: true, error });
    expect(answer.headers.get('retry-after')).toBeNull();
  });

  it('is asked for new names only', async () => {
    const tenant = fresh();
    await grant(tenant, { maxQueries: 1 });
    const { query_id } = (await register(tenant, 'q')).json;
    expect(verdict(await register(tenant, 'other'))).toEqual([403, true]);
    await grant(tenant, { enabled: false });
    expect(verdict(await register(tenant, 'q'))).toEqual([200, false]);
    const reset = await register(tenant, 'q', { config_hash: 'h2', reset: true });
    expect([reset.status, reset.json.reset, reset.json.query_id]).toEqual([200, true, query_id]);
  });

  it('is nothing the default tenant needs', async () => {
    expect(verdict(await register(DEFAULT, 'q'))).toEqual([200, true]);
  });
});

it('the state of one tenant is nothing to another', async () => {
  const [own, other] = [fresh(), fresh()];
  await grant(own);
  await grant(other);
  const [mine, theirs] = [await scene(own), await scene(other)];
  expect(mine.query_id).not.toBe(theirs.query_id);
  expect((await state(own, mine)).json.rows).toMatchObject([{ key: 'k', value: own }]);
  expect((await state(other, theirs)).json.rows).toMatchObject([{ key: 'k', value: other }]);
  for (const foreign of [
    theirs,
    { ...mine, query_id: theirs.query_id },
    { ...mine, partition_id: theirs.partition_id },
  ]) {
    const read = await state(own, foreign);
    expect([read.status, read.json]).toEqual([404, { error: 'not found' }]);
    const state_ops = [{ key: 'k', value: 'stolen' }];
    const cycle = await send(own, 'POST', '/streams/v1/cycle', { ...foreign, state_ops });
    expect([cycle.status, cycle.json]).toEqual([404, { success: false, error: 'not found' }]);
  }
  const sink = [{ queue: 'sink', transactionId: 's' }];
  await send(own, 'POST', '/streams/v1/cycle', { ...mine, push_items: sink });
  expect((await send(other, 'GET', '/api/v1/pop/queue/sink')).status).toBe(204);
  // A reset of one leaves what the other has.
  await register(own, 'q', { config_hash: 'h2', reset: true });
  expect((await state(own, mine)).json.rows).toEqual([]);
  expect((await state(other, theirs)).json.rows).toMatchObject([{ key: 'k', value: other }]);
});
