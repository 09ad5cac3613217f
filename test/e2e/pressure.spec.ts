/** Admission over HTTP (messages.md §14.3): who waits, 429 with Retry-After, who never waits. */
import { Admission } from '../../src/http/admission.js';
import { TestBroker } from '../support/broker.js';
import { Calls, eventually, freshQueue } from './calls.js';
import { RawClient } from './raw-http.js';

const MIB = 1024 * 1024;
const HOLD_MS = 400;

describe('pressure', () => {
  let broker: TestBroker;
  let calls: Calls;
  let admission: Admission;

  beforeAll(async () => {
    broker = await TestBroker.start({
      QUEEN_RAFT_ADMIT_MAX_MB: '1',
      QUEEN_RAFT_ADMIT_HOLD_MS: String(HOLD_MS),
    });
    calls = new Calls(broker);
    admission = broker.nest.get(Admission, { strict: false });
  });

  afterAll(() => broker.stop());

  const settled = () => eventually(async () => (admission.heldBytes === 0 ? true : null));
  const raw = () => RawClient.open(broker.portNumber);

  /** Holds `bytes` of the budget by announcing a body and not sending it. */
  const occupy = async (bytes: number): Promise<RawClient> => {
    const before = admission.heldBytes;
    const client = await raw();
    client.request('POST /api/v1/push', [`Content-Length: ${bytes}`]);
    await eventually(async () => (admission.heldBytes === before + bytes ? true : null));
    return client;
  };

  afterEach(settled);

  it('refuses with 429, Retry-After 1 to 5, after the whole hold', async () => {
    const holder = await occupy(MIB);
    const started = Date.now();
    const answer = await broker.post('/api/v1/push', { items: [] });
    expect(answer.status).toBe(429);
    expect(answer.json).toEqual({ error: expect.any(String), code: 'overloaded' });
    expect(['1', '2', '3', '4', '5']).toContain(answer.headers.get('retry-after'));
    expect(Date.now() - started).toBeGreaterThanOrEqual(HOLD_MS * 0.7);
    holder.destroy();
  });

  it('serves who waited once there is room', async () => {
    const holder = await occupy(MIB);
    const waiting = broker.post('/api/v1/push', { items: [] });
    await eventually(async () => (admission.waiting === 1 ? true : null));
    holder.destroy();
    expect((await waiting).status).toBe(201);
  });

  it('never holds up pops, acks, extends, configure or reads', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a', 'b');
    await settled();
    const holder = await occupy(MIB);
    const popped = await calls.pop(queue);
    expect(popped.status).toBe(200);
    const extended = await broker.post(`/api/v1/lease/${popped.json.leaseId}/extend`, {});
    expect(extended.json.success).toBe(true);
    expect((await calls.ack(popped.json, undefined, 'a', 'b'))[0]?.success).toBe(true);
    expect((await calls.configure(queue, {})).status).toBe(200);
    expect((await calls.depth(queue)).pending).toBe(0);
    expect((await broker.send('DELETE', `/api/v1/resources/queues/${queue}`)).status).toBe(200);
    holder.destroy();
  });

  it('forgets a client that leaves while it waits', async () => {
    const holder = await occupy(MIB);
    const client = await raw();
    client.request('POST /api/v1/push', ['Content-Length: 12'], '{"items":[]}');
    await eventually(async () => (admission.waiting === 1 ? true : null));
    client.destroy();
    await eventually(async () => (admission.waiting === 0 ? true : null));
    holder.destroy();
  });

  it('lets a request larger than the budget run alone', async () => {
    const queue = freshQueue();
    const [row] = await calls.push(queue, { payload: 'x'.repeat(2 * MIB) });
    expect(row?.status).toBe('queued');
  });

  it('gives the bytes back after every kind of answer', async () => {
    await broker.post('/api/v1/push', { items: [] });
    await broker.send('POST', '/api/v1/push', 'broken');
    await broker.send('POST', '/api/v1/push');
    await broker.send('GET', '/api/v1/push');
    await calls.push(freshQueue(), 'a');
    await settled();
    expect(admission.waiting).toBe(0);
  });

  describe('chunked bodies', () => {
    const chunk = (bytes: number): string => `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`;

    it('count as they come', async () => {
      const client = await raw();
      client.request('POST /api/v1/push', ['Transfer-Encoding: chunked']);
      client.write(chunk(300_000));
      await eventually(async () => (admission.heldBytes >= 300_000 ? true : null));
      client.destroy();
    });

    it('are refused at once when they outgrow a budget others use', async () => {
      const holder = await occupy(MIB - 100_000);
      const client = await raw();
      client.request('POST /api/v1/push', ['Transfer-Encoding: chunked']);
      client.write(chunk(150_000)).write('0\r\n\r\n');
      const answer = await client.answer();
      expect([answer.status, JSON.parse(answer.body).code]).toEqual([429, 'overloaded']);
      expect(answer.headers['retry-after']).toMatch(/^[1-5]$/);
      client.destroy();
      holder.destroy();
    });
  });
});
