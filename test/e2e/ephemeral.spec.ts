/** Ephemeral queues over HTTP on one node: push, pop, ack, groups, leases, waits (state.md §5.2–§5.4). */
import { TestBroker, type HttpAnswer } from '../support/broker.js';
import { eventually, promptly, unhurried } from './calls.js';

const API = '/api/v1/ephemeral';
let broker: TestBroker;
let names = 0;

beforeAll(async () => {
  broker = await TestBroker.start();
});

afterAll(() => broker.stop());

const fresh = (): string => `q-${(names += 1)}`;

interface Delivered {
  readonly id: string;
  readonly partition: string;
  readonly attempts: number;
  readonly payload: unknown;
}

async function push(queue: string, payloads: unknown[], partition?: string): Promise<HttpAnswer> {
  const messages = payloads.map((payload) => ({ payload }));
  return broker.post(`${API}/push`, {
    queue,
    messages,
    ...(partition === undefined ? {} : { partition }),
  });
}

async function pop(queue: string, query = ''): Promise<Delivered[]> {
  const answer = await broker.get(`${API}/pop?queue=${queue}&batch=100&${query}`);
  expect(answer.status).toBe(200);
  expect(answer.json.queue).toBe(queue);
  return answer.json.messages as Delivered[];
}

async function ack(queue: string, acks: object[], group?: string): Promise<string[]> {
  const answer = await broker.post(`${API}/ack`, {
    queue,
    acks,
    ...(group === undefined ? {} : { group }),
  });
  expect(answer.status).toBe(200);
  const results = answer.json.results as { id: string; outcome: string }[];
  expect(results.map(({ id }) => id)).toEqual(acks.map((one) => (one as { id: string }).id));
  return results.map(({ outcome }) => outcome);
}

const payloads = (messages: Delivered[]): unknown[] => messages.map(({ payload }) => payload);

describe('push and pop', () => {
  it('gives back in order, with ids, attempts and the bytes as they came', async () => {
    const queue = fresh();
    const raw = '{"a" : 1.0, "big":12345678901234567890, "s":"\\u00e9\\ud800"}';
    const pushed = await broker.send(
      'POST',
      `${API}/push`,
      `{"messages":[{"payload":${raw}},{"payload":null},{"payload":[ 1 ]}],"queue":"${queue}"}`,
    );
    expect([pushed.status, pushed.json]).toEqual([201, { pushed: 3 }]);
    const popped = await broker.get(`${API}/pop?queue=${queue}&batch=3`);
    expect(popped.text).toContain(`"attempts":1,"payload":${raw}}`);
    expect(popped.text).toContain('"payload":[ 1 ]}');
    const [first, second] = popped.json.messages as Delivered[];
    expect(first).toMatchObject({ partition: 'Default', attempts: 1 });
    expect(first?.id).toMatch(/^e:[0-9a-f]{16}:Default:\d+$/);
    expect(second?.payload).toBeNull();
    expect(popped.headers.get('content-type')).toContain('application/json');
  });

  it('an empty pop is 200 with nothing, and creates the queue', async () => {
    const queue = fresh();
    const popped = await broker.get(`${API}/pop?queue=${queue}`);
    expect([popped.status, popped.text]).toEqual([200, `{"queue":"${queue}","messages":[]}`]);
    const listed = await broker.get(`${API}/queues`);
    expect(listed.json.queues).toContainEqual(
      expect.objectContaining({ queue, tier: 'implicit', depth: 0, bytes: 0 }),
    );
  });

  it('an empty list is taken before any gate, at any node state', async () => {
    const answer = await push(fresh(), []);
    expect([answer.status, answer.json]).toEqual([201, { pushed: 0 }]);
  });

  it('the default batch is one; batch and timeout are clamped', async () => {
    const queue = fresh();
    await push(queue, [1, 2, 3]);
    const one = await broker.get(`${API}/pop?queue=${queue}`);
    expect(one.json.messages).toHaveLength(1);
    const none = await broker.get(`${API}/pop?queue=${queue}&batch=0&timeout=-5&wait=true`);
    expect(none.json.messages).toHaveLength(1);
    expect(await pop(queue, 'batch=x')).toHaveLength(1);
  });

  it('serves all partitions in the order of their names, or the one that is named', async () => {
    const queue = fresh();
    await push(queue, ['b1', 'b2'], 'b');
    await push(queue, ['a1'], 'a');
    await push(queue, ['c:1'], 'c:d');
    expect(payloads(await pop(queue, 'partition=b'))).toEqual(['b1', 'b2']);
    const rest = await pop(queue);
    expect(payloads(rest)).toEqual(['a1', 'c:1']);
    expect(
      await ack(
        queue,
        rest.map(({ id }) => ({ id })),
      ),
    ).toEqual(['acked', 'acked']);
  });

  it('HEAD takes nothing', async () => {
    const queue = fresh();
    await push(queue, [1]);
    expect((await broker.send('HEAD', `${API}/pop?queue=${queue}`)).status).toBe(200);
    expect(await pop(queue)).toHaveLength(1);
  });
});

describe('what is refused', () => {
  const long = 'n'.repeat(513);
  it.each([
    ['push', '{'],
    ['push', '[]'],
    ['push', '{"messages":[]}'],
    ['push', '{"queue":1,"messages":[]}'],
    ['push', '{"queue":null,"messages":[]}'],
    ['push', '{"queue":"","messages":[{"payload":1}]}'],
    ['push', `{"queue":"${long}","messages":[{"payload":1}]}`],
    ['push', '{"queue":"a\\u0001b","messages":[{"payload":1}]}'],
    ['push', '{"queue":"q","partition":"","messages":[{"payload":1}]}'],
    ['push', '{"queue":"q","partition":"\\n","messages":[{"payload":1}]}'],
    ['push', '{"queue":"q","partition":3,"messages":[{"payload":1}]}'],
    ['push', '{"queue":"q"}'],
    ['push', '{"queue":"q","messages":{}}'],
    ['push', '{"queue":"q","messages":[1]}'],
    ['push', '{"queue":"q","messages":[{}]}'],
    ['push', `{"queue":"q","messages":[${'{"payload":1},'.repeat(10_000)}{"payload":1}]}`],
    ['ack', '{'],
    ['ack', '{"acks":[]}'],
    ['ack', '{"queue":"q"}'],
    ['ack', '{"queue":"q","acks":[{}]}'],
    ['ack', '{"queue":"q","acks":[{"id":7}]}'],
    ['ack', '{"queue":"q","acks":["x"]}'],
    ['ack', `{"queue":"q","group":"${long}","acks":[]}`],
    ['ack', `{"queue":"q","acks":[${'{"id":"x"},'.repeat(10_000)}{"id":"x"}]}`],
    ['configure', '{"options":{}}'],
    ['configure', '{"queue":"q","options":[]}'],
    ['configure', '{"queue":"q","options":{"retries":1}}'],
    ['configure', '{"queue":"q","options":{"maxBytes":"1"}}'],
    ['configure', '{"queue":"q","options":{"policy":"dropNewest"}}'],
    ['configure', '{"queue":"q","options":{"windowBuffer":5}}'],
    ['configure', '{"queue":"q","options":{"windowBuffer":{"ms":1,"bytes":2}}}'],
    ['reset', '{}'],
    ['reset', 'x'],
  ])('%s %.60s', async (route, body) => {
    const answer = await broker.send('POST', `${API}/${route}`, body);
    expect([answer.status, answer.json.code]).toEqual([400, 'ephemeral_bad_request']);
    expect(Object.keys(answer.json)).toEqual(['error', 'code']);
  });

  it.each([
    ['pop', 400, 'ephemeral_bad_request'],
    ['pop?queue=', 400, 'ephemeral_bad_request'],
    [`pop?queue=q&group=${long}`, 400, 'ephemeral_bad_request'],
    ['pop?queue=q&partition=%01', 400, 'ephemeral_bad_request'],
    ['queues/nobody/depth', 404, 'ephemeral_queue_not_found'],
    ['_ready', 403, 'internal_only'],
  ])('GET %s', async (path, status, code) => {
    const answer = await broker.get(`${API}/${path}`);
    expect([answer.status, answer.json.code]).toEqual([status, code]);
  });

  it.each(['_adopt', '_leaving'])('POST %s', async (path) => {
    const answer = await broker.post(`${API}/${path}`, { rings: [] });
    expect([answer.status, answer.json.code]).toEqual([403, 'internal_only']);
  });

  it('takes 10,000 messages, and names of 512 bytes', async () => {
    const queue = 'é'.repeat(256);
    const body = `{"queue":"${queue}","messages":[${'{"payload":1},'.repeat(9_999)}{"payload":1}]}`;
    expect((await broker.send('POST', `${API}/push`, body)).json).toEqual({ pushed: 10_000 });
    const popped = await broker.get(`${API}/pop?queue=${encodeURIComponent(queue)}&batch=20000`);
    expect(popped.json.messages).toHaveLength(10_000);
  });
});

describe('groups', () => {
  it('each reads everything from the head; without a group is a group of its own', async () => {
    const queue = fresh();
    await push(queue, [1, 2]);
    for (const query of ['group=a', 'group=b', '', 'group=']) {
      const expected = query === 'group=' ? [] : [1, 2];
      expect(payloads(await pop(queue, query))).toEqual(expected);
    }
    await push(queue, [3]);
    expect(payloads(await pop(queue, 'group=a'))).toEqual([3]);
    expect(payloads(await pop(queue, 'group=late'))).toEqual([1, 2, 3]);
  });

  it('a message is freed when every known group has passed it', async () => {
    const queue = fresh();
    await pop(queue, 'group=a');
    await pop(queue, 'group=b');
    await push(queue, [1, 2]);
    const held = async (): Promise<number> =>
      (await broker.get(`${API}/queues/${queue}/depth`)).json.bytes as number;
    expect(await held()).toBe(2);
    await pop(queue, 'group=a&commitOnDelivery=true');
    expect(await held()).toBe(2);
    await pop(queue, 'group=b&autoAck=true');
    expect(await held()).toBe(0);
  });

  it('nothing is freed without any group', async () => {
    const queue = fresh();
    await push(queue, [1, 2, 3]);
    expect((await broker.get(`${API}/queues/${queue}/depth`)).json).toEqual({
      queue,
      ...{ group: null, tier: 'implicit', pending: 3, partitionsPending: 1, bytes: 3 },
      partitions: [{ partition: 'Default', pending: 3, bytes: 3 }],
      groups: [],
    });
  });
});

describe('acks', () => {
  it.each([
    [undefined, 'acked'],
    [null, 'acked'],
    ['completed', 'acked'],
    ['success', 'acked'],
    ['acked', 'acked'],
    ['ok', 'acked'],
    ['retry', 'redelivered'],
    ['failed', 'redelivered'],
    ['whatever', 'redelivered'],
  ])('status %s: %s', async (status, outcome) => {
    const queue = fresh();
    await push(queue, ['x']);
    const [message] = await pop(queue);
    expect(await ack(queue, [{ id: message!.id, status }])).toEqual([outcome]);
    const again = await pop(queue);
    expect(again.map(({ attempts }) => attempts)).toEqual(outcome === 'acked' ? [] : [2]);
  });

  it('says unknown and stale, aligned with the request', async () => {
    const queue = fresh();
    await push(queue, [1, 2]);
    const [first, second] = await pop(queue, 'group=g');
    const sequence = Number(/\d+$/.exec(first!.id)![0]);
    const acks: [id: string, outcome: string][] = [
      [first!.id, 'acked'],
      [first!.id, 'unknown'],
      ['nonsense', 'unknown'],
      ['e:zz:Default:1', 'unknown'],
      [first!.id.replace(/\d+$/, 'x'), 'unknown'],
      [first!.id.replace(/\d+$/, String(sequence + 7)), 'unknown'],
      [first!.id.replace('Default', 'other'), 'unknown'],
      ['e:0123456789abcdef:Default:0', 'stale'],
      [second!.id, 'acked'],
    ];
    const outcomes = await ack(
      queue,
      acks.map(([id]) => ({ id })),
      'g',
    );
    expect(outcomes).toEqual(acks.map(([, outcome]) => outcome));
  });

  it('a wrong group is unknown, and leaves the lease alone', async () => {
    const queue = fresh();
    await push(queue, [1]);
    const [message] = await pop(queue, 'group=g');
    expect(await ack(queue, [{ id: message!.id }])).toEqual(['unknown']);
    expect(await ack(queue, [{ id: message!.id }], 'other')).toEqual(['unknown']);
    expect(await ack(queue, [{ id: message!.id }], 'g')).toEqual(['acked']);
  });

  it('reads ids with escapes, and partitions with colons', async () => {
    const queue = fresh();
    await push(queue, [1], 'a:b"\\');
    const [message] = await pop(queue);
    const escaped = JSON.stringify(message!.id).replace('e:', '\\u0065:');
    const answer = await broker.send(
      'POST',
      `${API}/ack`,
      `{"queue":"${queue}","acks":[{"id":${escaped}}]}`,
    );
    expect(answer.json.results).toEqual([{ id: message!.id, outcome: 'acked' }]);
  });

  it('an id is stale after a restart; the declaration comes back, empty', async () => {
    const own = await TestBroker.start();
    try {
      await own.post(`${API}/configure`, { queue: 'kept', options: { maxLength: 5 } });
      await own.post(`${API}/push`, { queue: 'kept', messages: [{ payload: 1 }] });
      const popped = await own.get(`${API}/pop?queue=kept`);
      const { id } = popped.json.messages[0] as Delivered;
      await own.restart();
      const acked = await own.post(`${API}/ack`, { queue: 'kept', acks: [{ id }] });
      expect(acked.json.results).toEqual([{ id, outcome: 'stale' }]);
      const listed = await own.get(`${API}/queues`);
      expect(listed.json.queues).toMatchObject([
        { queue: 'kept', tier: 'declared', depth: 0, options: { maxLength: 5 } },
      ]);
      expect((await own.get(`${API}/queues/kept/depth`)).json).toMatchObject({
        ...{ tier: 'declared', pending: 0, partitions: [], groups: [] },
      });
    } finally {
      await own.stop();
    }
  });
});

describe('leases', () => {
  it('an expired lease comes back at once for who waits, with one attempt more', async () => {
    // The second lease begins when the first is over.
    await unhurried((timely) =>
      timely(2_000, async () => {
        const queue = fresh();
        await broker.post(`${API}/configure`, { queue, options: { leaseSeconds: 1 } });
        await push(queue, ['x']);
        const from = performance.now();
        const [first] = await pop(queue);
        const [again] = await pop(queue, 'wait=true&timeout=40000');
        expect(performance.now() - from).toBeGreaterThanOrEqual(990);
        expect(again).toMatchObject({ id: first!.id, attempts: 2 });
        expect(await ack(queue, [{ id: first!.id }])).toEqual(['acked']);
      }),
    );
  });

  it('is given up at the retry limit, for this group only', async () => {
    const queue = fresh();
    await broker.post(`${API}/configure`, { queue, options: { retryLimit: 2 } });
    await push(queue, ['x']);
    const [first] = await pop(queue);
    expect(await ack(queue, [{ id: first!.id, status: 'failed' }])).toEqual(['redelivered']);
    const [second] = await pop(queue);
    expect(second?.attempts).toBe(2);
    expect(await ack(queue, [{ id: second!.id, status: 'retry' }])).toEqual(['acked']);
    expect(await pop(queue)).toEqual([]);
    const listed = await broker.get(`${API}/queues`);
    const own = (listed.json.queues as { queue: string; drops: object }[]).find(
      (q) => q.queue === queue,
    );
    expect(own?.drops).toEqual({ bounds: 0, ttl: 0, retry: 1 });
  });

  it('retryLimit 0 delivers once', async () => {
    const queue = fresh();
    await broker.post(`${API}/configure`, { queue, options: { retryLimit: 0 } });
    await push(queue, ['x']);
    const [first] = await pop(queue);
    expect(await ack(queue, [{ id: first!.id, status: 'failed' }])).toEqual(['acked']);
    expect(await pop(queue)).toEqual([]);
  });

  it('what comes back goes first, in sequence order', async () => {
    const queue = fresh();
    await push(queue, [1, 2, 3, 4]);
    const [a, b, c] = await pop(queue, 'batch=3');
    await ack(queue, [
      { id: c!.id, status: 'failed' },
      { id: a!.id, status: 'failed' },
    ]);
    expect(payloads(await pop(queue))).toEqual([1, 3, 4]);
    expect(await ack(queue, [{ id: b!.id }])).toEqual(['acked']);
  });

  it('commit on delivery leaves nothing to acknowledge', async () => {
    const queue = fresh();
    await push(queue, [1]);
    const [message] = await pop(queue, 'commitOnDelivery=true');
    expect(message?.attempts).toBe(1);
    expect(await ack(queue, [{ id: message!.id }])).toEqual(['unknown']);
    expect(await pop(queue)).toEqual([]);
  });
});

describe('waiting', () => {
  async function parked(count: number): Promise<void> {
    const end = performance.now() + 20_000;
    while (performance.now() < end) {
      const { text } = await broker.get('/metrics/prometheus');
      if (text.includes(`\nqueen_ephemeral_parked_pops ${count}\n`)) return;
    }
    throw new Error(`never ${count} parked`);
  }

  it('a waiting pop gets what is pushed, at once; the others keep waiting in their order', async () => {
    const queue = fresh();
    const first = pop(queue, 'wait=true&timeout=60000&batch=1');
    await parked(1);
    const second = pop(queue, 'wait=true&timeout=60000&partition=p&batch=1');
    await parked(2);
    const third = pop(queue, 'wait=true&timeout=60000&batch=1&group=g');
    await parked(3);
    const all = Promise.all([first, second, third]);
    const found = await promptly(all, () => push(queue, ['one', 'two'], 'p'));
    expect(found.map(payloads)).toEqual([['one'], ['two'], ['one']]);
    await parked(0);
  });

  it('a subscriber on an empty inbox gets the first message of a partition that comes later', async () => {
    const queue = fresh();
    await pop(queue, 'group=g&partition=other');
    await push(queue, [1], 'inbox');
    await pop(queue, 'group=h&partition=inbox&commitOnDelivery=true');
    expect(payloads(await pop(queue, 'group=g&partition=inbox'))).toEqual([1]);
  });

  it('is answered at once when something is there', async () => {
    const queue = fresh();
    await push(queue, [1]);
    const from = performance.now();
    expect(payloads(await pop(queue, 'wait=true&timeout=30000'))).toEqual([1]);
    expect(performance.now() - from).toBeLessThan(10_000);
  });

  it('is empty at its timeout, and never waits with timeout 0', async () => {
    const queue = fresh();
    const from = performance.now();
    expect(await pop(queue, 'wait=true&timeout=150')).toEqual([]);
    expect(performance.now() - from).toBeGreaterThanOrEqual(149);
    expect(await pop(queue, 'wait=true&timeout=0')).toEqual([]);
  });

  it('a client that leaves takes nothing with it', async () => {
    const queue = fresh();
    const gone = new AbortController();
    const left = broker
      .send('GET', `${API}/pop?queue=${queue}&wait=true&timeout=30000`, undefined, {
        signal: gone.signal,
      })
      .catch(() => 'gone');
    await parked(1);
    gone.abort();
    expect(await left).toBe('gone');
    await parked(0);
    await push(queue, [1]);
    expect((await pop(queue)).map(({ attempts }) => attempts)).toEqual([1]);
  });

  it('a failed message wakes who waits', async () => {
    const queue = fresh();
    await push(queue, [1]);
    const [message] = await pop(queue);
    const waiting = pop(queue, 'wait=true&timeout=60000');
    await parked(1);
    const fail = () => ack(queue, [{ id: message!.id, status: 'failed' }]);
    expect((await promptly(waiting, fail)).map(({ attempts }) => attempts)).toEqual([2]);
  });

  it.each([
    ['count', { ms: 0, count: 3 }, [[1], [2], [3]], [1, 2, 3]],
    ['batch', { ms: 60_000, count: 0 }, [[1, 2, 3, 4]], [1, 2, 3, 4]],
    ['ms', { ms: 500, count: 100 }, [[1], [2]], [1, 2]],
  ])('a window closes by %s', async (what, windowBuffer, pushes, expected) => {
    const batch = what === 'batch' ? 4 : 50;
    await unhurried(async (timely) => {
      const queue = fresh();
      await broker.post(`${API}/configure`, { queue, options: { windowBuffer } });
      const query = `queue=${queue}&wait=true&timeout=60000&batch=${batch}`;
      const waiting = broker.get(`${API}/pop?${query}`);
      await parked(1);
      const pushAll = () =>
        timely(what === 'ms' ? windowBuffer.ms : 30_000, async () => {
          for (const some of pushes) await push(queue, some);
        });
      const { json } = await promptly(waiting, pushAll);
      expect(payloads(json.messages as Delivered[])).toEqual(expected);
    });
  });

  it('a window never outlasts the pop', async () => {
    const queue = fresh();
    await broker.post(`${API}/configure`, { queue, options: { windowBuffer: { ms: 60_000 } } });
    await push(queue, [1]);
    expect(payloads(await pop(queue, 'wait=true&timeout=100'))).toEqual([1]);
  });

  it('a stopping broker lets waiting pops go', async () => {
    const own = await TestBroker.start();
    const waiting = own.get(`${API}/pop?queue=w&wait=true&timeout=60000`);
    const metrics = async () => (await own.get('/metrics/prometheus')).text;
    await eventually(async () => (await metrics()).includes('ephemeral_parked_pops 1\n') || null);
    const { json } = await promptly(waiting, () => own.stop());
    expect(json).toEqual({ queue: 'w', messages: [] });
  });
});
