/** The families of the leader's sweepers move with what they do: fires, repeats, dead keys, lateness. */
import { TestBroker } from '../support/broker.js';
import { readExposition } from '../support/exposition.js';
import { eventually } from './calls.js';

let broker: TestBroker;

beforeAll(async () => {
  broker = await TestBroker.start({ QUEEN_RAFT_KV_SWEEP_MS: '50' });
});
afterAll(() => broker.stop());

async function value(sample: string): Promise<number> {
  const { text } = await broker.get('/metrics/prometheus');
  for (const { samples } of readExposition(text).values()) {
    const found = samples.get(sample);
    if (found !== undefined) return found;
  }
  return 0;
}

const reaches = (sample: string, least: number): Promise<true> =>
  eventually(async () => ((await value(sample)) >= least ? true : null));

const fired = (result: string): string => `queen_timers_fired_total{result="${result}"}`;
const LATE = 'queen_timers_oldest_late_seconds';

const schedule = (timerKey: string, delayMs: number): Promise<unknown> =>
  broker.post('/api/v1/timers', [
    { op: 'schedule', queue: 'swept', timerKey, delayMs, txn: 'one', payload: 'MQ==' },
  ]);

it('count fires, repeats and dead keys, and how late and how long', async () => {
  await broker.post('/api/v1/kv', [{ op: 'put', ns: 's', key: 'k', value: 1, ttlSeconds: 1 }]);
  await schedule('a', 20);
  await reaches(fired('appended'), 1);
  await schedule('b', 20);
  await reaches(fired('duplicate'), 1);
  await reaches('queen_sweeper_rows_total{phase="expiry"}', 1);
  expect(await value(fired('appended'))).toBe(1);
  expect(await value('queen_sweeper_rows_total{phase="timers"}')).toBe(2);
  expect(await value('queen_timers_fire_lag_seconds_count')).toBeGreaterThan(0);
  expect(await value('queen_timers_fire_lag_seconds_sum')).toBeGreaterThan(0);
  for (const phase of ['timers', 'expiry']) {
    const name = `queen_sweeper_cycle_milliseconds{phase="${phase}"}`;
    expect(await value(name)).toBeGreaterThan(0);
  }
});

it('show how long the oldest due timer waits while fires are held back', async () => {
  await broker.post('/api/v1/system/kv-timers', { timersFire: false });
  await schedule('c', 1);
  await eventually(async () => ((await value(LATE)) > 0 ? true : null));
  await broker.post('/api/v1/system/kv-timers', { timersFire: true });
  await eventually(async () => ((await value(LATE)) === 0 ? true : null));
});
