/**
 * No answer walks all partitions of a queue in one go: of every GET of the API document, and of the
 * reads by POST, the partitions visited between two turns of the event loop are counted.
 */
import type { PartitionTable } from '../../src/machine/tables/tables.js';
import { Groups } from '../../src/raft/index.js';
import { TestBroker } from '../support/broker.js';

const PARTITIONS = 6_000;
/** A slice of a read, one of the dispatcher, and what begins in between. */
const MOST_PER_TURN = 2_500;
const QUEUE = 'many';
const GROUP = 'one';

let broker: TestBroker;
let counter: TurnCounter;
let message: { readonly partitionId: string; readonly transactionId: string };

/** Most visits of partitions in one turn, and all of them, since `take`. */
class TurnCounter {
  private now = 0;
  private most = 0;
  private all = 0;
  private pending: NodeJS.Immediate;

  constructor(partitions: PartitionTable) {
    const next = partitions.nextInQueue.bind(partitions);
    partitions.nextInQueue = (slot) => {
      this.now += 1;
      this.all += 1;
      return next(slot);
    };
    this.pending = setImmediate(() => this.turn());
  }

  take(): { readonly most: number; readonly all: number } {
    const taken = { most: Math.max(this.most, this.now), all: this.all };
    Object.assign(this, { now: 0, most: 0, all: 0 });
    return taken;
  }

  stop(): void {
    clearImmediate(this.pending);
  }

  private turn(): void {
    this.most = Math.max(this.most, this.now);
    this.now = 0;
    this.pending = setImmediate(() => this.turn());
  }
}

beforeAll(async () => {
  broker = await TestBroker.start();
  for (let at = 0; at < PARTITIONS; at += 1_000) {
    const items = Array.from({ length: 1_000 }, (_, i) => {
      return { queue: QUEUE, partition: `lane-${at + i}`, transactionId: 't', payload: i };
    });
    expect((await broker.post('/api/v1/push', { items })).status).toBe(201);
  }
  await broker.get(`/api/v1/pop/queue/${QUEUE}?consumerGroup=${GROUP}&subscriptionMode=all`);
  const { messages } = (await broker.get(`/api/v1/messages?queue=${QUEUE}&limit=1`)).json;
  message = messages[0];
  counter = new TurnCounter(broker.nest.get(Groups).first.tables.partitions);
});
afterAll(async () => {
  counter.stop();
  await broker.stop();
});

const NAMES: Readonly<Record<string, () => string>> = {
  queue: () => QUEUE,
  group: () => GROUP,
  partition: () => 'lane-7',
  partitionId: () => message.partitionId,
  transactionId: () => message.transactionId,
};

/** Every path that is read, its parameters filled in; those of pops take messages and are left out. */
async function paths(): Promise<string[]> {
  const { json } = await broker.get('/docs-json');
  return Object.entries(json.paths as Record<string, { readonly get?: unknown }>)
    .filter(([path, methods]) => methods.get !== undefined && !path.includes('/pop'))
    .map(([path]) => path.replace(/\{(\w+)\}/g, (_, name: string) => NAMES[name]?.() ?? 'none'));
}

const QUERIES = [
  ...[`resources/queues/${QUEUE}/depth?group=${GROUP}`, 'resources/queues?stats=lanes'],
  ...[`resources/partitions?queue=${QUEUE}&limit=5000`, `status?queue=${QUEUE}`],
  ...['analytics/workload?groupBy=queue', `messages?queue=${QUEUE}&limit=1000`],
  ...['messages?status=completed', 'messages?status=pending', 'messages?status=dead_letter'],
  'consumer-groups/lagging?minLagSeconds=0',
].map((path) => `/api/v1/${path}`);

it('visits a bounded number of partitions in a turn, whatever is asked', async () => {
  const all = [...(await paths()), ...QUERIES];
  expect(all.length).toBeGreaterThan(50);
  const walked: string[] = [];
  counter.take();
  for (const path of all) {
    const { status } = await broker.get(path);
    const visits = counter.take();
    expect({ path, status, tooMany: visits.most > MOST_PER_TURN ? visits.most : 0 }).toEqual({
      ...{ path, status: expect.any(Number) as number, tooMany: 0 },
    });
    if (visits.all >= PARTITIONS - 1) walked.push(path);
  }
  // The count sees the walks: these ask for a figure of every partition.
  expect(walked).toEqual(
    expect.arrayContaining([
      `/api/v1/resources/queues/${QUEUE}`,
      `/api/v1/resources/queues/${QUEUE}/depth`,
      `/api/v1/resources/queues/${QUEUE}/sizes`,
      '/api/v1/consumer-groups',
      `/api/v1/consumer-groups/${GROUP}`,
      '/api/v1/messages',
    ]),
  );
});

it.each([
  ['partitions/changed', { entries: [{ queue: QUEUE, limit: 1 }] }],
  ['consumer-groups/positions', { consumerGroup: GROUP }],
  [`consumer-groups/${GROUP}/queues/${QUEUE}/seek`, { toEnd: true }],
])('so does POST %s', async (path, body) => {
  counter.take();
  expect((await broker.post(`/api/v1/${path}`, body)).status).toBe(200);
  const { most, all } = counter.take();
  expect(all).toBeGreaterThanOrEqual(PARTITIONS - 1);
  expect(most).toBeLessThanOrEqual(MOST_PER_TURN);
});

it('pages messages of more partitions than a page as one list', async () => {
  const list = async (query: string): Promise<string[]> => {
    const { messages } = (await broker.get(`/api/v1/messages?queue=${QUEUE}&${query}`)).json;
    return (messages as { readonly partition: string }[]).map(({ partition }) => partition);
  };
  const first = await list('limit=1000');
  const pages: string[] = [];
  for (let offset = 0; offset < 1_000; offset += 250) {
    pages.push(...(await list(`limit=250&offset=${offset}`)));
  }
  expect(new Set(pages).size).toBe(1_000);
  expect(pages).toEqual(first);
});
