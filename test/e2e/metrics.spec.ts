/**
 * Prometheus metrics of a real broker: the exposition parses, every family is there, and each value
 * moves when its event happens, by as much as it happened.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { TestBroker } from '../support/broker.js';
import { ALWAYS, SWITCHED } from '../support/metric-families.js';
import { Scrape, untilScrape as until } from '../support/scrape.js';

/** Changes of the named samples while `act` runs. */
async function changes(
  broker: TestBroker,
  samples: readonly string[],
  act: () => Promise<unknown>,
): Promise<Record<string, number>> {
  const before = await Scrape.of(broker);
  await act();
  const after = await Scrape.of(broker);
  return Object.fromEntries(
    samples.map((sample) => [sample, after.value(sample) - before.value(sample)]),
  );
}

const push = (broker: TestBroker, queue: string, count: number): Promise<unknown> =>
  broker.post('/api/v1/push', {
    items: Array.from({ length: count }, (_, i) => ({ queue, transactionId: `t${i}`, payload: i })),
  });

describe('one broker', () => {
  let broker: TestBroker;

  beforeAll(async () => {
    broker = await TestBroker.start({
      METRICS_FLUSH_MS: '1000',
      QUEEN_RAFT_DURABLE_EVERY_MS: '1500',
      QUEEN_RAFT_ADMIT_MAX_MB: '1',
      // Long enough that who waits is seen.
      QUEEN_RAFT_ADMIT_HOLD_MS: '5000',
    });
  });

  afterAll(() => broker.stop());

  it('has every family with its type, and the default ones of the process', async () => {
    const { families } = await Scrape.of(broker);
    for (const [name, type] of Object.entries({ ...ALWAYS, ...SWITCHED })) {
      expect([name, families.get(name)?.type]).toEqual([name, type]);
    }
    const own = [...families.keys()].filter((name) => name.startsWith('queen_'));
    expect(own.sort()).toEqual(Object.keys({ ...ALWAYS, ...SWITCHED }).sort());
    for (const name of ['process_cpu_seconds_total', 'nodejs_heap_size_used_bytes']) {
      expect(families.has(name)).toBe(true);
    }
  });

  it('shows the process', async () => {
    const first = await Scrape.of(broker);
    const second = await Scrape.of(broker);
    const uptime = 'queen_uptime_seconds';
    expect(second.value(uptime)).toBeGreaterThan(first.value(uptime));
    expect(first.value('queen_process_resident_memory_bytes')).toBeGreaterThan(20_000_000);
    expect(first.value('queen_event_loop_lag_avg_milliseconds')).toBeGreaterThanOrEqual(0);
    expect(first.value('queen_raft_disk_used_percent')).toBeGreaterThan(0);
    expect(first.value('queen_raft_disk_used_percent')).toBeLessThanOrEqual(100);
  });

  it('counts key-value and lock operations, their bytes and time, and what the gate refused', async () => {
    const key = { ns: 'counted', key: 'k' };
    const operations = [
      { op: 'put', ...key, value: 1, forever: true },
      { op: 'get', ...key },
    ];
    const moved = await changes(
      broker,
      [
        'queen_kv_ops_total{op="put",result="applied"}',
        'queen_kv_ops_total{op="put",result="rejected"}',
        'queen_kv_ops_total{op="get",result="applied"}',
        'queen_locks_ops_total{op="acquire",result="applied"}',
        'queen_locks_ops_total{op="acquire",result="rejected"}',
        'queen_kv_read_rejected_total{reason="disabled"}',
      ],
      async () => {
        await broker.post('/api/v1/kv', { operations });
        await broker.post('/api/v1/kv', [{ ...operations[0], op: 'putIfAbsent' }]);
        for (const owner of ['a', 'b']) {
          await broker.post('/api/v1/locks', [{ op: 'acquire', name: 'l', ttlSeconds: 9, owner }]);
        }
        await broker.post('/api/v1/system/kv-timers', { kv: false });
        await broker.post('/api/v1/kv', { operations });
        await broker.post('/api/v1/system/kv-timers', { kv: true });
      },
    );
    expect(Object.values(moved)).toEqual([1, 1, 1, 1, 1, 1]);
    const after = await Scrape.of(broker);
    for (const dir of ['in', 'out']) {
      expect(after.value(`queen_kv_bytes_total{dir="${dir}"}`)).toBeGreaterThan(50);
    }
    for (const family of ['queen_kv', 'queen_locks']) {
      const op = family === 'queen_kv' ? 'put' : 'acquire';
      const name = `${family}_op_duration_milliseconds{op="${op}",quantile="0.99"}`;
      expect(after.value(name)).toBeGreaterThan(0);
    }
  });

  it('counts a push, its log entry, and what is kept', async () => {
    const moved = await changes(
      broker,
      [
        'queen_process_push_requests_total',
        'queen_process_push_messages_total',
        'queen_raft_proposals_total',
        'queen_raft_index{kind="log"}',
        'queen_raft_index{kind="committed"}',
        'queen_raft_index{kind="applied"}',
        'queen_raft_store_ram_rows{kind="live",ks="partitions"}',
        'queen_raft_retained_messages',
        'queen_raft_log_fsync_seconds_count',
        'queen_raft_group_entries_sum',
      ],
      () => push(broker, 'pushed', 3),
    );
    expect(moved).toEqual({
      queen_process_push_requests_total: 1,
      queen_process_push_messages_total: 3,
      queen_raft_proposals_total: 1,
      'queen_raft_index{kind="log"}': 1,
      'queen_raft_index{kind="committed"}': 1,
      'queen_raft_index{kind="applied"}': 1,
      'queen_raft_store_ram_rows{kind="live",ks="partitions"}': 1,
      queen_raft_retained_messages: 3,
      queen_raft_log_fsync_seconds_count: 1,
      queen_raft_group_entries_sum: 1,
    });
  });

  it('shows bytes: kept, logged, waiting for a checkpoint, and the checkpoint', async () => {
    const moved = await changes(
      broker,
      [
        'queen_raft_retained_bytes',
        'queen_raft_log_storage{kind="bytes"}',
        'queen_raft_group_bytes_sum',
        'queen_raft_log_fsync_seconds_sum',
      ],
      () => push(broker, 'bytes', 50),
    );
    for (const value of Object.values(moved)) expect(value).toBeGreaterThan(0);
    let dirty: Scrape;
    // A checkpoint may come between the two.
    do {
      await push(broker, 'overlaid', 1);
      dirty = await Scrape.of(broker);
    } while (dirty.value('queen_raft_index{kind="durable"}') >= applied(dirty));
    expect(dirty.value('queen_raft_log_storage{kind="files"}')).toBe(1);
    await until(
      broker,
      (scrape) => scrape.value('queen_raft_index{kind="durable"}') >= applied(dirty),
    );
    const clean = await Scrape.of(broker);
    const commits = 'queen_raft_store_commit_seconds';
    expect(clean.value(`${commits}_count`)).toBeGreaterThan(0);
    expect(clean.value(`${commits}_sum`)).toBeGreaterThan(0);
    expect(clean.value(`${commits}{quantile="0.5"}`)).toBeGreaterThan(0);
    expect(clean.value('queen_raft_overlay_bytes')).toBeLessThan(
      dirty.value('queen_raft_overlay_bytes'),
    );
  });

  it('counts what ephemeral queues take in, deliver, settle and drop', async () => {
    const api = '/api/v1/ephemeral';
    const queue = 'ephemeral';
    const counted = [
      'queen_ephemeral_bytes',
      'queen_ephemeral_queues',
      'queen_ephemeral_messages_total{verb="push"}',
      'queen_ephemeral_messages_total{verb="pop"}',
      'queen_ephemeral_messages_total{verb="ack"}',
      'queen_ephemeral_dropped_total{cause="bounds"}',
      'queen_ephemeral_dropped_total{cause="ttl"}',
      'queen_ephemeral_dropped_total{cause="retry"}',
    ];
    const moved = await changes(broker, counted, async () => {
      const options = { maxLength: 2, policy: 'dropOldest', retryLimit: 1, ttlSeconds: 0.001 };
      await broker.post(`${api}/configure`, { queue, options: { ...options, ttlSeconds: 0 } });
      const messages = [{ payload: 1 }, { payload: 2 }];
      await broker.post(`${api}/push`, { queue, messages });
      const popped = await broker.get(`${api}/pop?queue=${queue}&batch=2`);
      const [first, second] = popped.json.messages as { id: string }[];
      const acks = [{ id: first!.id }, { id: second!.id, status: 'failed' }];
      await broker.post(`${api}/ack`, { queue, acks });
      await broker.post(`${api}/push`, { queue, messages });
      await broker.post(`${api}/push`, { queue, messages: [{ payload: 3 }] });
      await broker.post(`${api}/configure`, { queue, options });
      await until(
        broker,
        (scrape) => scrape.value('queen_ephemeral_dropped_total{cause="ttl"}') === 2,
      );
      await broker.post(`${api}/push`, { queue: 'held', messages: [{ payload: 'four' }] });
    });
    expect(moved).toEqual(
      Object.fromEntries(counted.map((name, i) => [name, [6, 2, 6, 2, 2, 1, 2, 1][i]])),
    );
  });

  it('counts pops, leases and what the dispatcher holds', async () => {
    await push(broker, 'popped', 2);
    const moved = await changes(
      broker,
      [
        'queen_process_pop_requests_total',
        'queen_process_pop_messages_total',
        'queen_consume_engine{kind="groups"}',
        'queen_consume_parts_total{kind="loaded"}',
        'queen_raft_store_ram_rows{kind="live",ks="cursors"}',
        'queen_raft_store_ram_rows{kind="live",ks="leases"}',
      ],
      () => broker.get('/api/v1/pop/queue/popped'),
    );
    expect(moved).toEqual({
      queen_process_pop_requests_total: 1,
      queen_process_pop_messages_total: 2,
      'queen_consume_engine{kind="groups"}': 1,
      'queen_consume_parts_total{kind="loaded"}': 1,
      'queen_raft_store_ram_rows{kind="live",ks="cursors"}': 1,
      'queen_raft_store_ram_rows{kind="live",ks="leases"}': 1,
    });
    const dropped = await changes(
      broker,
      ['queen_consume_parts_total{kind="unloaded"}', 'queen_consume_engine{kind="groups"}'],
      () => broker.send('DELETE', '/api/v1/resources/queues/popped'),
    );
    expect(Object.values(dropped)).toEqual([1, -1]);
  });

  it('knows partitions that are ready beyond what was asked for', async () => {
    const items = ['a', 'b', 'c'].map((partition) => ({ queue: 'lanes', partition, payload: 1 }));
    await broker.post('/api/v1/push', { items });
    const moved = await changes(broker, ['queen_consume_engine{kind="partitions"}'], () =>
      broker.get('/api/v1/pop/queue/lanes?batch=1'),
    );
    expect(Object.values(moved)).toEqual([2]);
  });

  it('shows pops while they wait', async () => {
    const waiting = broker.get('/api/v1/pop/queue/parked?wait=true&timeout=30000');
    await until(broker, (scrape) => scrape.value('queen_parked_long_polls') === 1);
    await push(broker, 'parked', 1);
    expect((await waiting).status).toBe(200);
    expect((await Scrape.of(broker)).value('queen_parked_long_polls')).toBe(0);
  });

  it('counts acks, failed ones apart, and dead letters by queue', async () => {
    await push(broker, 'dead "letters"', 2);
    const { json } = await broker.get(`/api/v1/pop/queue/${encodeURIComponent('dead "letters"')}`);
    const item = (transactionId: string, status: string): object => ({
      ...{ transactionId, status, partitionId: json.partitionId, leaseId: json.leaseId },
    });
    const moved = await changes(
      broker,
      [
        'queen_process_ack_requests_total',
        'queen_process_ack_messages_total',
        'queen_process_ack_failed_total',
        'queen_dlq_depth',
        'queen_dlq_depth_by_queue{queue="dead \\"letters\\""}',
      ],
      () =>
        broker.post('/api/v1/ack/batch', {
          acknowledgments: [
            item('t0', 'completed'),
            item('t1', 'dlq'),
            item('never seen', 'completed'),
          ],
        }),
    );
    expect(moved).toEqual({
      queen_process_ack_requests_total: 1,
      queen_process_ack_messages_total: 3,
      queen_process_ack_failed_total: 1,
      queen_dlq_depth: 1,
      'queen_dlq_depth_by_queue{queue="dead \\"letters\\""}': 1,
    });
    expect((await Scrape.of(broker)).value('queen_metrics_queues_left_out')).toBe(0);
  });

  it('times requests by route, method and status class', async () => {
    const count = (labels: string): string =>
      `queen_http_request_duration_seconds_count{${labels}}`;
    const samples = [
      count('method="POST",route="/api/v1/push",status="2xx"'),
      count('method="POST",route="/api/v1/push",status="4xx"'),
      count('method="",route="unmatched",status="4xx"'),
      count('method="GET",route="/api/v1/pop/queue/:queue",status="2xx"'),
    ];
    const moved = await changes(broker, samples, async () => {
      await push(broker, 'timed', 1);
      await broker.send('POST', '/api/v1/push', '{');
      await broker.get('/api/v1/nowhere/at/all');
      await broker.get('/api/v1/pop/queue/timed');
      await broker.get('/api/v1/pop/queue/other');
    });
    expect(Object.values(moved)).toEqual([1, 1, 1, 2]);
    const { families } = await Scrape.of(broker);
    const histogram = families.get('queen_http_request_duration_seconds')?.samples ?? new Map();
    const all = 'le="+Inf",method="POST",route="/api/v1/push",status="4xx"';
    expect(histogram.get(`queen_http_request_duration_seconds_bucket{${all}}`)).toBe(1);
  });

  it('shows admission: held, waiting, refused', async () => {
    const { hostname, port } = new URL(broker.url);
    const half = (): Socket => {
      const socket = connect(Number(port), hostname);
      // The broker ends a connection whose request it refused; who notices first does not matter.
      socket.on('error', () => undefined);
      socket.write(
        'POST /api/v1/push HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{"items":',
      );
      return socket;
    };
    expect((await Scrape.of(broker)).value('queen_raft_admit_bytes{kind="cap"}')).toBe(1_048_576);
    const first = half();
    const held = 'queen_raft_admit_bytes{kind="held"}';
    await until(broker, (scrape) => scrape.value(held) === 1_000_000);
    const second = half();
    const answered = once(second, 'data');
    await until(broker, (scrape) => scrape.value('queen_raft_admit_waiting') === 1);
    const [chunk] = (await answered) as [Buffer];
    expect(chunk.toString()).toMatch(/^HTTP\/1\.1 429 /);
    const after = await Scrape.of(broker);
    expect(after.value('queen_raft_admit_total{outcome="waited"}')).toBe(1);
    expect(after.value('queen_raft_admit_total{outcome="refused"}')).toBe(1);
    expect(after.value('queen_raft_admit_waiting')).toBe(0);
    first.destroy();
    second.destroy();
    await until(broker, (scrape) => scrape.value(held) === 0);
  });
});

const applied = (scrape: Scrape): number => scrape.value('queen_raft_index{kind="applied"}');

it('has every family in docs/metrics.md, and that page has no other', () => {
  const page = readFileSync(join(process.cwd(), 'docs/metrics.md'), 'utf8');
  const tables = page.slice(0, page.indexOf('## Always 0')).split('\n');
  const rows = tables.filter((line) => line.startsWith('| `queen_'));
  const named = rows.flatMap((row) => [
    ...row
      .split('|', 2)
      .join('')
      .matchAll(/`(queen_\w+)`/g),
  ]);
  const names = named.map(([, name = '']) => name);
  expect(names.sort()).toEqual(Object.keys({ ...ALWAYS, ...SWITCHED }).sort());
});

it('shows a closed disk gate', async () => {
  const broker = await TestBroker.start({ QUEEN_RAFT_DISK_HIGH_PCT: '1' });
  try {
    expect((await Scrape.of(broker)).value('queen_raft_storage_full')).toBe(1);
    expect(await push(broker, 'q', 1)).toMatchObject({ status: 507 });
  } finally {
    await broker.stop();
  }
});

it('labels queues of a tenant that is not the default one', async () => {
  const tenant = '0199c0de-0000-7000-8000-0000000000aa';
  const broker = await TestBroker.start({
    QUEEN_TENANCY_HEADER: 'true',
    QUEEN_KV_TRUSTED_PROXY: 'true',
  });
  const send = async (method: string, path: string, body: object): Promise<unknown> => {
    const text = method === 'GET' ? {} : { body: JSON.stringify(body) };
    const headers = { 'x-queen-tenant': tenant };
    return (await fetch(broker.url + path, { method, headers, ...text })).json();
  };
  try {
    await send('POST', '/api/v1/push', { items: [{ queue: 'q', transactionId: 't', payload: 1 }] });
    const popped = await send('GET', '/api/v1/pop/queue/q', {});
    const { partitionId } = popped as { partitionId: string };
    await send('POST', '/api/v1/ack', { transactionId: 't', partitionId, status: 'dlq' });
    const labels = `{queue="q",tenant="${tenant}"}`;
    expect((await Scrape.of(broker)).value(`queen_dlq_depth_by_queue${labels}`)).toBe(1);
  } finally {
    await broker.stop();
  }
});

it('leaves out timing and admission when that is asked for', async () => {
  const broker = await TestBroker.start({ QUEEN_RAFT_METRICS: '0' });
  try {
    const { families } = await Scrape.of(broker);
    const own = [...families.keys()].filter((name) => name.startsWith('queen_'));
    expect(own.sort()).toEqual(Object.keys(ALWAYS).sort());
  } finally {
    await broker.stop();
  }
});
