/** Who may use ephemeral queues and how much, over HTTP: the switch, grants, rates, quotas, bounds (state.md §0.5, §5.2, §5.6). */
import { TestBroker, type HttpAnswer } from '../support/broker.js';

const API = '/api/v1/ephemeral';
const MAX_BYTES = 64 * 1024;
const BURST = 50;

let broker: TestBroker;
let tenants = 0;

beforeAll(async () => {
  broker = await TestBroker.start({
    QUEEN_TENANCY_HEADER: 'true',
    QUEEN_KV_TRUSTED_PROXY: 'true',
    QUEEN_EPHEMERAL_MAX_BYTES: String(MAX_BYTES),
    QUEEN_EPHEMERAL_RATE: '1',
    QUEEN_EPHEMERAL_BURST: String(BURST),
  });
});

afterAll(() => broker.stop());

class Tenant {
  readonly id = `00000000-0000-4000-8000-${String((tenants += 1)).padStart(12, '0')}`;

  send(method: string, path: string, body?: unknown): Promise<HttpAnswer> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return broker.send(method, path, text, { headers: { 'x-queen-tenant': this.id } });
  }

  async grant(limits: object = {}): Promise<this> {
    const body = { kind: 'ephemeral', tenant: this.id, enabled: true, ...limits };
    expect((await this.send('POST', '/api/v1/resources/quota', body)).status).toBe(200);
    return this;
  }

  push(queue: string, payloads: readonly unknown[], partition = 'p'): Promise<HttpAnswer> {
    const messages = payloads.map((payload) => ({ payload }));
    return this.send('POST', `${API}/push`, { queue, partition, messages });
  }

  async pop(queue: string, query = ''): Promise<unknown[]> {
    const answer = await this.send('GET', `${API}/pop?queue=${queue}&batch=100&${query}`);
    expect(answer.status).toBe(200);
    return (answer.json.messages as { payload: unknown }[]).map(({ payload }) => payload);
  }
}

const shown = (answer: HttpAnswer): unknown[] => [
  answer.status,
  (answer.json as { code?: string } | undefined)?.code,
  answer.headers.get('retry-after'),
];

/** Every route of the family that the gate stands before. */
const ROUTES: readonly (readonly [method: string, path: string, body?: object])[] = [
  ['POST', '/push', { queue: 'q', messages: [{ payload: 1 }] }],
  ['GET', '/pop?queue=q'],
  ['HEAD', '/pop?queue=q'],
  ['GET', '/pop?queue=q&wait=true&timeout=20000'],
  ['POST', '/ack', { queue: 'q', acks: [{ id: 'e:1:p:0' }] }],
  ['POST', '/configure', { queue: 'q', options: {} }],
  ['POST', '/reset', { queue: 'q' }],
  ['DELETE', '/queue/q'],
  ['GET', '/queues'],
  ['GET', '/queues/q/depth'],
];

const EMPTY_PUSH = { queue: 'q', messages: [] };

describe('the switch', () => {
  const turn = (enabled: boolean): Promise<HttpAnswer> =>
    broker.post('/api/v1/system/ephemeral', { enabled });

  afterEach(() => turn(true));

  it('stops every route with a time to come back, and keeps what is there', async () => {
    const tenant = await new Tenant().grant();
    await tenant.push('q', ['kept']);
    expect((await turn(false)).json).toEqual({ ephemeralEnabled: false, mirrored: true });
    for (const [method, path, body] of ROUTES) {
      const answer = await tenant.send(method, API + path, body);
      const code = method === 'HEAD' ? undefined : 'ephemeral_disabled';
      expect([method, path, ...shown(answer)]).toEqual([method, path, 503, code, '1']);
    }
    const empty = await tenant.send('POST', `${API}/push`, EMPTY_PUSH);
    expect([empty.status, empty.json]).toEqual([201, { pushed: 0 }]);
    await turn(true);
    expect(await tenant.pop('q')).toEqual(['kept']);
  });

  it('is off for all tenants, before grants are looked at', async () => {
    await turn(false);
    expect(shown(await new Tenant().push('q', [1]))).toEqual([503, 'ephemeral_disabled', '1']);
  });
});

describe('the grant', () => {
  it.each([
    ['absent', null],
    ['taken back', { enabled: false }],
  ])('%s: every route is 403 without a time to come back', async (_, row) => {
    const tenant = new Tenant();
    if (row !== null) await tenant.grant(row);
    for (const [method, path, body] of ROUTES) {
      const answer = await tenant.send(method, API + path, body);
      const code = method === 'HEAD' ? undefined : 'feature_gated';
      expect([method, path, ...shown(answer)]).toEqual([method, path, 403, code, null]);
    }
    const empty = await tenant.send('POST', `${API}/push`, EMPTY_PUSH);
    expect(empty.status).toBe(201);
    await tenant.grant();
    expect((await tenant.push('q', [1])).status).toBe(201);
  });
});

describe('rates', () => {
  it('are counted in messages, at most a whole burst at once, and only for pushes', async () => {
    const tenant = await new Tenant().grant();
    expect((await tenant.push('q', new Array<number>(BURST + 9).fill(1))).status).toBe(201);
    const refused = await tenant.push('q', [1, 2, 3]);
    expect([refused.status, refused.json.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await tenant.pop('q', 'commitOnDelivery=true')).toHaveLength(BURST + 9);
    for (const [method, path, body] of ROUTES.filter(([, path]) => path !== '/push')) {
      if (path.includes('wait=true')) continue;
      expect([200, 201, 404]).toContain((await tenant.send(method, API + path, body)).status);
    }
    // Of other tenants' tokens nothing was taken.
    expect((await (await new Tenant().grant()).push('q', [1])).status).toBe(201);
  });

  it.each([['maxMessagesPerSecond'], ['maxMsgsPerSec'], ['max_msgs_per_sec']])(
    'a quota of the tenant (%s) replaces those of the node',
    async (name) => {
      const tenant = await new Tenant().grant({ [name]: 1000 });
      for (let n = 0; n < 4; n += 1) {
        const pushed = await tenant.push('q', new Array<number>(200).fill(1));
        expect(pushed.status).toBe(201);
        await tenant.pop('q', 'batch=1000&commitOnDelivery=true');
      }
    },
  );
});

describe('what does not fit', () => {
  const ten = 'x'.repeat(8);

  it.each([
    ['maxLength', { maxLength: 2 }, {}, [429, 'queue_full', null]],
    ['maxBytes', { maxBytes: 25 }, {}, [429, 'queue_full', null]],
    ['bytes of the tenant', {}, { maxBytes: 25 }, [403, 'ephemeral_quota_exceeded', null]],
  ])('%s', async (_, options, limits, expected) => {
    const tenant = await new Tenant().grant(limits);
    await tenant.send('POST', `${API}/configure`, { queue: 'q', options });
    expect((await tenant.push('q', [ten, ten])).status).toBe(201);
    expect(shown(await tenant.push('q', [ten]))).toEqual(expected);
    // All or nothing: what would fit alone is not taken.
    expect(shown(await tenant.push('q', [1, ten, ten]))).toEqual(expected);
    // What is full is emptied as ever, and takes again.
    expect(await tenant.pop('q', 'commitOnDelivery=true')).toEqual([ten, ten]);
    expect((await tenant.push('q', [ten])).status).toBe(201);
  });

  it('queues of the tenant: 503 for a push that would make one more, a pop still makes it', async () => {
    const tenant = await new Tenant().grant({ maxQueues: 1 });
    expect((await tenant.push('one', [1])).status).toBe(201);
    expect(shown(await tenant.push('two', [1]))).toEqual([503, 'ephemeral_unavailable', '1']);
    expect((await tenant.push('one', [1])).status).toBe(201);
    expect(await tenant.pop('two')).toEqual([]);
    expect((await tenant.push('two', [1])).status).toBe(201);
  });

  it('bytes of the node: 503 for every tenant until there is room', async () => {
    const large = 'x'.repeat(MAX_BYTES / 2 + 1000);
    const [one, two] = [await new Tenant().grant(), await new Tenant().grant()];
    expect((await one.push('q', [large])).status).toBe(201);
    for (const tenant of [one, two]) {
      expect(shown(await tenant.push('q', [large]))).toEqual([503, 'ephemeral_unavailable', '1']);
    }
    const listed = await one.send('GET', `${API}/queues`);
    expect(listed.json.cellBytes).toBeGreaterThan(MAX_BYTES / 2);
    expect(await one.pop('q', 'commitOnDelivery=true')).toEqual([large]);
    expect((await two.push('q', [large])).status).toBe(201);
    await two.send('DELETE', `${API}/queue/q`);
  });

  it('dropOldest makes room in the partition that is pushed to, and says what was skipped', async () => {
    const tenant = await new Tenant().grant();
    const options = { maxLength: 4, policy: 'dropOldest' };
    await tenant.send('POST', `${API}/configure`, { queue: 'q', options });
    await tenant.pop('q', 'partition=a&group=g');
    await tenant.push('q', ['b1', 'b2'], 'b');
    await tenant.push('q', ['a1', 'a2'], 'a');
    expect((await tenant.push('q', ['a3'], 'a')).status).toBe(201);
    // Only what the partition holds can go.
    expect(shown(await tenant.push('q', ['a4', 'a5', 'a6'], 'a'))).toEqual([
      ...[429, 'queue_full', null],
    ]);
    const depth = await tenant.send('GET', `${API}/queues/q/depth?group=g`);
    expect(depth.json.groups).toEqual([{ group: 'g', pending: 4, skipped: 1 }]);
    const [queue] = (await tenant.send('GET', `${API}/queues`)).json.queues as object[];
    expect(queue).toMatchObject({ depth: 4, drops: { bounds: 1, ttl: 0, retry: 0 } });
    expect(await tenant.pop('q', 'group=g')).toEqual(['a2', 'a3', 'b1', 'b2']);
  });
});

it('the quotas of a tenant survive a restart', async () => {
  const tenant = await new Tenant().grant({ maxBytes: 12 });
  await broker.restart();
  expect((await tenant.push('q', ['x'.repeat(8)])).status).toBe(201);
  expect(shown(await tenant.push('q', ['x'.repeat(8)]))).toEqual([
    ...[403, 'ephemeral_quota_exceeded', null],
  ]);
});
