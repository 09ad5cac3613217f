/**
 * messages.md §1, the rows that no other file shows: unparsable numbers, forms of ids and times, deadlines.
 * The rest of §1: transport.spec (§1.1), access-matrix.spec (§1.3), tenancy.spec (§1.4).
 */
import { QueenError } from '../../../src/common/errors.js';
import { monotonicMs } from '../../../src/config/index.js';
import { Groups } from '../../../src/raft/index.js';
import { type HttpAnswer, TestBroker } from '../../support/broker.js';
import { Calls, eventually, freshQueue } from '../calls.js';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const LEASE = '0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff';
const DIGITS = /^\d+$/;
const MICROS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const MILLIS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const DEFAULT_MS = 25_000;
const STATEMENT_MS = 45_000;

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start({
    POP_DEFAULT_TIMEOUT_MS: String(DEFAULT_MS),
    QUEEN_STMT_TIMEOUT_MS: String(STATEMENT_MS),
  });
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

afterEach(() => jest.restoreAllMocks());

describe('§1.1 row: an unparsable number outside the pop routes is the default', () => {
  it.each([
    '/api/v1/messages?limit=x&offset=y',
    '/api/v1/messages?limit=1.5',
    '/api/v1/messages?limit=',
    '/api/v1/dlq?limit=x&offset=y',
    '/api/v1/resources/queues?limit=x&offset=y',
    '/api/v1/consumer-groups/lagging?minLagSeconds=x',
    '/api/v1/traces/names?limit=x&offset=y',
    '/api/v1/traces/by-name/n?limit=x&offset=y',
  ])('%s', async (path) => {
    const [plain = ''] = path.split('?');
    const answer = await broker.get(path);
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual((await broker.get(plain)).json);
  });
});

/** One message that was popped, traced and dead-lettered: everything that shows an id or a time. */
async function scene() {
  const queue = freshQueue('ids');
  const [pushed] = await calls.push(queue, 'a', 'b');
  const group = { consumerGroup: 'g', subscriptionMode: 'all' };
  const { json: popped } = await calls.pop(queue, group);
  const { partitionId, leaseId } = popped;
  await broker.post('/api/v1/traces', {
    ...{ transactionId: 'a', partitionId, traceNames: [`${queue}-trace`], data: {} },
  });
  const lagging = await eventually(async () => {
    const { json } = await broker.get('/api/v1/consumer-groups/lagging?minLagSeconds=0');
    return json.find((row: { queue_name: string }) => row.queue_name === queue) ?? null;
  });
  await calls.ack({ partitionId, leaseId }, 'g', { id: 'a', status: 'dlq', error: 'e' });
  const detail = await calls.detail(queue);
  return {
    ...{ queue, pushed, popped, detail, partition: detail.partitions[0] },
    lagging,
    letter: (await broker.get(`/api/v1/dlq?queue=${queue}`)).json.messages[0],
    listed: (await broker.get(`/api/v1/messages?queue=${queue}`)).json.messages[0],
    trace: (await broker.get(`/api/v1/traces/by-name/${queue}-trace`)).json.traces[0],
    listedQueue: (await broker.get(`/api/v1/resources/queues?search=${queue}`)).json.queues[0],
  };
}

type Scene = Awaited<ReturnType<typeof scene>>;

describe('§1.2', () => {
  let seen: Scene;

  beforeAll(async () => {
    seen = await scene();
  });

  it.each<[string, (s: Scene) => unknown]>([
    ['message id of a push', (s) => s.pushed?.message_id],
    ['message id of a pop', (s) => s.popped.messages[0].id],
    ['dead letter id', (s) => s.letter.id],
    ['message id of a dead letter', (s) => s.letter.messageId],
    ['queue id in the detail', (s) => s.detail.id],
    ['queue id in the list', (s) => s.listedQueue.id],
    ['leaseId', (s) => s.popped.leaseId],
  ])('row: %s is a lowercase UUID of version 7', (_what, pick) => {
    expect(pick(seen)).toMatch(UUID_V7);
  });

  it('row: transactionId of a transaction is a lowercase UUID of version 7', async () => {
    const answer = await broker.post('/api/v1/transaction', {
      operations: [{ type: 'push', items: [{ queue: seen.queue, payload: 1 }] }],
    });
    expect(answer.json.transactionId).toMatch(UUID_V7);
  });

  it.each<[string, (s: Scene) => unknown]>([
    ['pop', (s) => s.popped.partitionId],
    ['message of a pop', (s) => s.popped.messages[0].partitionId],
    ['dead letters', (s) => s.letter.partitionId],
    ['traces', (s) => s.trace.partitionId],
  ])('row: partitionId of %s is a decimal text', (_what, pick) => {
    expect(pick(seen)).toBe(seen.popped.partitionId);
    expect(pick(seen)).toMatch(DIGITS);
  });

  it.each<[string, (s: Scene) => unknown]>([
    ['messages', (s) => s.listed.partitionId],
    ['the queue detail', (s) => s.partition.id],
    ['lagging groups', (s) => s.lagging.partition_id],
  ])('row: the partition of %s is its UUID', (_what, pick) => {
    expect(pick(seen)).toBe(seen.partition.id);
    expect(pick(seen)).toMatch(UUID_V7);
  });

  it.each(['/api/v1/messages/:id/b', '/api/v1/traces/:id/a'])(
    'row: %s takes either form',
    async (path) => {
      const bodies: unknown[] = [];
      for (const id of [seen.popped.partitionId, seen.partition.id]) {
        const answer = await broker.get(path.replace(':id', id));
        expect(answer.status).toBe(200);
        bodies.push(answer.json);
      }
      expect(bodies[0]).toEqual(bodies[1]);
    },
  );

  it('row: acks and acks of transactions take the decimal form alone', async () => {
    const ack = { transactionId: 'b', partitionId: seen.partition.id, consumerGroup: 'g' };
    const [row] = (await broker.post('/api/v1/ack', ack)).json;
    expect(row).toMatchObject({ success: false, error: 'partitionId is not a partition id' });
    const operations = [{ type: 'ack', ...ack }];
    const rolled = (await broker.post('/api/v1/transaction', { operations })).json;
    expect(rolled.success).toBe(false);
  });

  it.each<[string, RegExp, (s: Scene) => unknown]>([
    ['pop createdAt', MICROS, (s) => s.popped.messages[0].createdAt],
    ['dead letter failedAt', MICROS, (s) => s.letter.failedAt],
    ['trace createdAt', MICROS, (s) => s.trace.createdAt],
    ['queue createdAt', MICROS, (s) => s.detail.createdAt],
    ['partition createdAt', MICROS, (s) => s.partition.createdAt],
    ['message list createdAt', MILLIS, (s) => s.listed.createdAt],
    ['lagging oldest_unconsumed_at', MILLIS, (s) => s.lagging.oldest_unconsumed_at],
  ])('row: %s is written as %s', (_what, form, pick) => {
    expect(pick(seen)).toMatch(form);
  });

  it('row: leaseExpiresAt of the message list has 3 digits', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    await calls.pop(queue);
    const [row] = (await broker.get(`/api/v1/messages?queue=${queue}`)).json.messages;
    expect(row.leaseExpiresAt).toMatch(MILLIS);
  });

  it('row: txnHash is 32 hex characters, in message listings only', () => {
    expect(seen.listed.txnHash).toMatch(/^[0-9a-f]{32}$/);
    for (const other of [seen.popped.messages[0], seen.letter, seen.trace]) {
      expect(other).not.toHaveProperty('txnHash');
    }
  });

  it('row: times that are sent count to the millisecond', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    const [message] = (await calls.pop(queue)).json.messages;
    // Cut to milliseconds it is not after the message, so the message is found.
    const subscriptionFrom = `${message.createdAt.slice(0, 23)}Z`;
    const found = await calls.pop(queue, { consumerGroup: 'g', subscriptionFrom });
    expect(found.json.messages).toHaveLength(1);
  });
});

describe('§1.5', () => {
  const budgetOf = async (
    method: 'submit' | 'readBarrier' | 'pop',
    call: () => Promise<HttpAnswer>,
  ): Promise<number> => {
    const group = broker.nest.get(Groups).first;
    const budgets: number[] = [];
    jest.spyOn(group, method).mockImplementation((...args: unknown[]) => {
      const { deadlineMs } = args.at(-1) as { readonly deadlineMs: number };
      budgets.push(deadlineMs - monotonicMs());
      return Promise.reject<never>(new QueenError('timeout'));
    });
    await call();
    jest.restoreAllMocks();
    return budgets[0] ?? NaN;
  };

  const near = (budget: number, expected: number): void => {
    expect(budget).toBeLessThanOrEqual(expected);
    // Between the arrival and the call, on a busy machine; no other deadline is that near.
    expect(budget).toBeGreaterThan(expected - Math.min(15_000, expected / 2));
  };

  const item = { queue: 'deadlines', payload: 1 };
  const read = (path: string) => (): Promise<HttpAnswer> => broker.get(`/api/v1${path}`);
  const write = (path: string, body: object) => (): Promise<HttpAnswer> =>
    broker.post(`/api/v1${path}`, body);

  it.each<[string, 'submit' | 'readBarrier', () => Promise<HttpAnswer>, number]>([
    ['push', 'submit', write('/push', { items: [item] }), DEFAULT_MS],
    ['configure', 'submit', write('/configure', { queue: 'deadlines' }), DEFAULT_MS],
    ['groups', 'readBarrier', read('/consumer-groups'), DEFAULT_MS],
    ['dead letters', 'readBarrier', read('/dlq'), DEFAULT_MS],
    ['messages', 'readBarrier', read('/messages'), DEFAULT_MS],
    ['queues', 'readBarrier', read('/resources/queues'), DEFAULT_MS],
    ['traces', 'readBarrier', read('/traces/names'), DEFAULT_MS],
    [
      'transaction',
      'submit',
      write('/transaction', { operations: [{ type: 'push', items: [item] }] }),
      STATEMENT_MS,
    ],
    ['lease extend', 'submit', write(`/lease/${LEASE}/extend`, {}), STATEMENT_MS],
  ])('row: %s has its deadline; past it 503 timeout', async (_what, method, call, expected) => {
    let answer: HttpAnswer | undefined;
    const budget = await budgetOf(method, async () => (answer = await call()));
    near(budget, expected);
    expect(answer?.status).toBe(503);
    expect(answer?.text).toContain('timeout');
    expect(answer?.headers.get('retry-after')).toBe('1');
  });

  it('row: ack has its deadline; past it 503 timeout', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    const { partitionId, leaseId } = (await calls.pop(queue)).json;
    let answer: HttpAnswer | undefined;
    const body = { transactionId: 'a', partitionId, leaseId };
    const ack = async () => (answer = await broker.post('/api/v1/ack', body));
    near(await budgetOf('submit', ack), STATEMENT_MS);
    expect([answer?.status, answer?.json.code]).toEqual([503, 'timeout']);
  });

  it.each([
    ['', DEFAULT_MS],
    ['?timeout=3000', 3_000],
    ['?timeout=900000', 60_000],
    ['?timeout=900000&wait=true', 60_000],
  ])('row: pop%s has its deadline; past it the answer is empty', async (query, expected) => {
    let answer: HttpAnswer | undefined;
    const pop = async () => (answer = await broker.get(`/api/v1/pop/queue/deadlines${query}`));
    near(await budgetOf('pop', pop), expected);
    expect([answer?.status, answer?.text]).toEqual([204, '']);
  });
});
