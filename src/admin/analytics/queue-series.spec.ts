/** Series of many queues over many buckets: in order, and the loop is given back all along. */
import type { Groups } from '../../raft/index.js';
import { emptyFrame, rowKey, type Frame } from '../rows/frame.js';
import { QUEUE_FIELDS } from '../rows/row-fields.js';
import type { RowGather } from '../rows/row-gather.service.js';
import { QueueSeriesService } from './queue-series.service.js';

const TENANT = new Uint8Array(16);
const BUCKETS = 20;
const QUEUES = 1_000;
const MINUTE_MS = 60_000;
const ROWS = BUCKETS * QUEUES;

function bucket(startMs: number): Frame {
  const frame = { ...emptyFrame(startMs), widthMs: MINUTE_MS };
  for (let queueId = 1; queueId <= QUEUES; queueId += 1) {
    // The reverse of their names: nothing is in order by chance.
    const row = { queueId, tenant: '0'.repeat(32), name: nameOf(queueId) };
    frame.queues.set(rowKey(row), { ...row, values: QUEUE_FIELDS.map(() => 1) });
  }
  return frame;
}

const nameOf = (queueId: number): string => `q${String(QUEUES - queueId).padStart(4, '0')}`;

function service(): QueueSeriesService {
  const queues = { byId: (id: number) => ({ id, tenant: 1, name: nameOf(id) }) };
  const groups = { ofTenant: () => ({ tables: { names: { tenant: () => 1 }, queues } }) };
  const buckets = Array.from({ length: BUCKETS }, (_, i) => bucket(i * MINUTE_MS));
  const nodes = [{ hostname: 'n1', buckets }];
  const rows = { gather: () => Promise.resolve({ nodes, missing: [] }) };
  return new QueueSeriesService(groups as unknown as Groups, rows as unknown as RowGather);
}

/** Turns of the loop while it runs. */
async function turnsOf(run: () => Promise<Buffer>): Promise<{ turns: number; text: string }> {
  let turns = 0;
  const count = (): void => {
    turns += 1;
    pending = setImmediate(count);
  };
  let pending = setImmediate(count);
  const text = (await run()).toString();
  clearImmediate(pending);
  return { turns, text };
}

interface Row {
  readonly bucket?: string;
  readonly bucketTime?: string;
  readonly queueName: string;
}
const keysOf = (rows: readonly Row[]): string[] =>
  rows.map((row) => `${row.bucket ?? row.bucketTime} ${row.queueName}`);

/** Merging the rows of the nodes alone takes a turn for each thousand. */
const MERGING = ROWS / 1_000;

it('operations come by bucket and name', async () => {
  const { turns, text } = await turnsOf(() => service().ops(TENANT, {}));
  const { series, queues } = JSON.parse(text) as { series: Row[]; queues: string[] };
  expect(series).toHaveLength(ROWS);
  expect(keysOf(series)).toEqual(keysOf(series).sort());
  expect(queues).toHaveLength(QUEUES);
  expect(turns).toBeGreaterThan(4 * MERGING);
});

it('lag comes newest bucket first', async () => {
  const { turns, text } = await turnsOf(() => service().lag(TENANT, {}));
  const rows = JSON.parse(text) as Row[];
  expect(rows).toHaveLength(ROWS);
  expect(rows[0]).toMatchObject({ bucketTime: '1970-01-01T00:19:00Z', queueName: 'q0000' });
  expect(rows.at(-1)).toMatchObject({ bucketTime: '1970-01-01T00:00:00Z', queueName: 'q0999' });
  expect(turns).toBeGreaterThan(4 * MERGING);
});

it('waiting pops come by bucket and name, with the nodes', async () => {
  const { turns, text } = await turnsOf(() => service().parked(TENANT, {}));
  const { series, replicas } = JSON.parse(text) as { series: Row[]; replicas: unknown[] };
  expect(keysOf(series)).toEqual(keysOf(series).sort());
  expect(series).toHaveLength(ROWS);
  expect(replicas).toEqual([{ hostname: 'n1', workerId: 0 }]);
  expect(turns).toBeGreaterThan(2 * MERGING);
});
