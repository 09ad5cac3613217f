/**
 * G22 of messages.md §16 on one node: whatever was answered 2xx survives kill -9. A real process is
 * killed the moment the answer of one write is there, route by route, and started again on its directory.
 * Power loss: test/durability/power-loss; a cluster: test/cluster/guarantees.spec.ts.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brokerCommand, freePort, ServerProcess } from '../bench/http/server-process.js';
import type { Wire } from './calls.js';

/** Many starts of a process on a machine that may be busy. */
jest.setTimeout(300_000);

const ALL = 'consumerGroup=g&subscriptionMode=all';
const HOUR = 3_600_000;

let directory: string;
let server: ServerProcess;
let port: number;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'queen-kill-'));
  port = await freePort();
  await start();
});

afterAll(async () => {
  await server.kill();
  rmSync(directory, { recursive: true, force: true });
});

async function start(): Promise<void> {
  const place = { directory: join(directory, 'data'), port, logFile: join(directory, 'log') };
  server = await ServerProcess.start(brokerCommand(place));
}

async function send(method: string, path: string, body?: unknown): Promise<Wire> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === '' ? null : JSON.parse(text);
}

const post = (path: string, body?: unknown): Promise<Wire> => send('POST', path, body);
const get = (path: string): Promise<Wire> => send('GET', path);
const push = (queue: string, ...ids: string[]): Promise<Wire> =>
  post('push', { items: ids.map((id) => ({ queue, transactionId: id, payload: { id } })) });
const pop = (queue: string, query = ''): Promise<Wire> => get(`pop/queue/${queue}?${ALL}&${query}`);
const depth = (queue: string): Promise<Wire> => get(`resources/queues/${queue}/depth?group=g`);
const ack = ({ messages }: Wire, status: string): Promise<Wire> => {
  const [{ transactionId, partitionId, leaseId }] = messages;
  const item = { transactionId, partitionId, leaseId, status, error: 'no' };
  return post('ack', { consumerGroup: 'g', ...item });
};
const letters = async (queue: string): Promise<Wire[]> =>
  (await get(`dlq?queue=${queue}`)).messages;
const bury = async (queue: string): Promise<Wire> => {
  await push(queue, 'x');
  await ack(await pop(queue), 'dlq');
  return (await letters(queue))[0];
};
const schedule = (queue: string): object => ({
  ...{ op: 'schedule', queue, timerKey: 't', txn: 't', delayMs: HOUR, payload: 'MQ==' },
});

/** What goes before the write, the write whose answer is the last thing that happens, what must hold. */
interface Row {
  readonly name: string;
  /** Killed together with others of its kind, right after the last one's answer. */
  readonly isAdministrative?: true;
  prepare?(queue: string): Promise<Wire>;
  write(queue: string, prepared: Wire): Promise<Wire>;
  holds(queue: string, answer: Wire, prepared: Wire): Promise<void>;
}

const two = async (queue: string): Promise<Wire> => {
  await push(queue, 'a', 'b');
  return pop(queue, 'batch=1');
};

const ROWS: readonly Row[] = [
  {
    name: 'a push',
    write: (queue) => push(queue, 'a', 'b'),
    holds: async (queue, [{ message_id }]) => {
      expect((await pop(queue)).messages).toMatchObject([{ id: message_id }, { offset: 1 }]);
    },
  },
  {
    name: 'a transaction of every part',
    prepare: two,
    write: (queue, { messages: [message] }) =>
      post('transaction', {
        operations: [
          { type: 'ack', consumerGroup: 'g', ...message },
          { type: 'push', queue, payload: 1 },
        ],
        kv: [{ op: 'put', ns: queue, key: 'k', value: 7, forever: true }],
        timers: [schedule(queue)],
        positions: [{ queue, consumerGroup: 'other', offset: 2 }],
      }),
    holds: async (queue, { success }) => {
      expect(success).toBe(true);
      expect(await depth(queue)).toMatchObject({ pending: 2, processing: 0 });
      expect(await get(`kv/${queue}/k`)).toMatchObject({ value: 7 });
      expect(await get(`timers/${queue}/t`)).toMatchObject({ found: true });
      const { entries } = await post('consumer-groups/positions', { consumerGroup: 'other' });
      expect(entries).toMatchObject([{ queue, offset: 2 }]);
    },
  },
  {
    name: 'configure',
    isAdministrative: true,
    write: (queue) => post('configure', { queue, options: { leaseTime: 77 } }),
    holds: async (queue) => {
      expect((await get(`resources/queues/${queue}`)).options.leaseTime).toBe(77);
    },
  },
  {
    name: 'a pop: its lease',
    prepare: (queue) => push(queue, 'a'),
    write: (queue) => pop(queue),
    holds: async (queue, popped) => {
      expect(await pop(queue)).toBeNull();
      expect(await ack(popped, 'completed')).toMatchObject([{ success: true, noop: false }]);
    },
  },
  {
    name: 'a commit on delivery',
    prepare: (queue) => push(queue, 'a', 'b'),
    write: (queue) => pop(queue, 'batch=1&commitOnDelivery=true'),
    holds: async (queue) => {
      expect((await pop(queue)).messages).toMatchObject([{ transactionId: 'b' }]);
    },
  },
  {
    name: 'a registration',
    isAdministrative: true,
    prepare: (queue) => push(queue, 'old'),
    write: (queue) => pop(queue, 'subscriptionFrom=now'),
    holds: async (queue) => {
      await push(queue, 'new');
      expect((await pop(queue)).messages).toMatchObject([{ transactionId: 'new' }]);
    },
  },
  {
    name: 'an ack',
    prepare: two,
    write: (_queue, popped) => ack(popped, 'completed'),
    holds: async (queue) => {
      expect((await pop(queue)).messages).toMatchObject([{ transactionId: 'b' }]);
    },
  },
  {
    name: 'a dead letter',
    prepare: two,
    write: (_queue, popped) => ack(popped, 'dlq'),
    holds: async (queue) => {
      expect(await letters(queue)).toMatchObject([{ transactionId: 'a', data: { id: 'a' } }]);
      expect((await pop(queue)).messages).toMatchObject([{ transactionId: 'b' }]);
    },
  },
  {
    name: 'an extended lease',
    prepare: two,
    write: (_queue, { leaseId }) => post(`lease/${leaseId}/extend`, { seconds: 900 }),
    holds: async (queue, { newExpiresAt }, { messages }) => {
      const { consumerGroups } = await get(`messages/${messages[0].partitionId}/a`);
      expect(consumerGroups).toMatchObject([{ name: 'g', leaseExpiresAt: newExpiresAt }]);
      expect(await depth(queue)).toMatchObject({ processing: 1 });
    },
  },
  {
    name: 'a replay',
    prepare: bury,
    write: (_queue, { id }) => post(`dlq/${id}/replay`),
    holds: async (queue, { replayedAs }) => {
      expect(await letters(queue)).toEqual([]);
      expect((await pop(queue)).messages).toMatchObject([{ id: replayedAs.message_id }]);
    },
  },
  {
    name: 'a purge',
    isAdministrative: true,
    prepare: bury,
    write: (queue) => send('DELETE', `dlq?queue=${queue}`),
    holds: async (queue) => expect(await letters(queue)).toEqual([]),
  },
  {
    name: 'a seek',
    prepare: two,
    write: (queue) => post(`consumer-groups/g/queues/${queue}/seek`, { toEnd: true }),
    holds: async (queue) => expect(await depth(queue)).toMatchObject({ pending: 0, processing: 0 }),
  },
  {
    name: 'a deleted group',
    isAdministrative: true,
    prepare: two,
    write: (queue) => send('DELETE', `consumer-groups/g/queues/${queue}`),
    holds: async (queue) => expect((await pop(queue)).messages).toHaveLength(2),
  },
  {
    name: 'a trace',
    isAdministrative: true,
    write: (queue) => post('traces', { transactionId: 'a', traceNames: [queue] }),
    holds: async (queue) => expect((await get(`traces/by-name/${queue}`)).total).toBe(1),
  },
  {
    name: 'a key',
    isAdministrative: true,
    write: (queue) => send('PUT', `kv/${queue}/k`, { value: [1], forever: true }),
    holds: async (queue, { version }) => {
      expect(await get(`kv/${queue}/k`)).toMatchObject({ value: [1], version });
    },
  },
  {
    name: 'a timer',
    isAdministrative: true,
    write: (queue) => post('timers', [schedule(queue)]),
    holds: async (queue) => expect(await get(`timers/${queue}/t`)).toMatchObject({ found: true }),
  },
  {
    name: 'a lock',
    isAdministrative: true,
    write: (queue) => post('locks', [{ op: 'acquire', name: queue, owner: 'w', ttlSeconds: 900 }]),
    holds: async (queue) => {
      const other = { op: 'acquire', name: queue, owner: 'v', ttlSeconds: 900 };
      expect((await post('locks', [other])).results).toMatchObject([{ acquired: false }]);
    },
  },
  {
    name: 'a deleted queue',
    isAdministrative: true,
    prepare: two,
    write: (queue) => send('DELETE', `resources/queues/${queue}`),
    holds: async (queue) => {
      expect(await push(queue, 'a')).toMatchObject([{ status: 'queued', offset: 0 }]);
    },
  },
];

/** Prepares all, writes one after another, kills at the last answer, looks at all. */
async function killAfter(rows: readonly Row[]): Promise<void> {
  const scenes: { row: Row; queue: string; prepared: Wire }[] = [];
  for (const row of rows) {
    const queue = `g22-${ROWS.indexOf(row)}`;
    scenes.push({ row, queue, prepared: (await row.prepare?.(queue)) ?? null });
  }
  const answers: Wire[] = [];
  for (const { row, queue, prepared } of scenes) answers.push(await row.write(queue, prepared));
  await server.kill();
  await start();
  for (const [n, { row, queue, prepared }] of scenes.entries()) {
    await row.holds(queue, answers[n], prepared);
  }
}

const alone = ROWS.filter(({ isAdministrative }) => isAdministrative !== true);

it.each(alone.map((row) => [row.name, row] as const))(
  'G22 %s that was answered is there after kill -9',
  (_name, row) => killAfter([row]),
);

it('G22 so is what administers: options, groups, traces, keys, timers, locks, deletes', () =>
  killAfter(ROWS.filter(({ isAdministrative }) => isAdministrative === true)));
