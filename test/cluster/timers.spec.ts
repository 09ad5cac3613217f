/** Timers on three processes while the leader is killed twice: exactly once, never early, no cancelled one. */
import { ClusterProcesses } from '../support/cluster-processes.js';
import { TimerRun } from './timer-run.js';

jest.setTimeout(480_000);

it('fires 2,000 timers exactly once over two leader kills', async () => {
  const env = {
    QUEEN_HEAP_PCT: '0',
    QUEEN_KV_WRITE_RATE: '100000',
    QUEEN_KV_WRITE_BURST: '100000',
  };
  const cluster = await ClusterProcesses.start({ env });
  try {
    const options = { timers: 2_000, seconds: 8, kills: 2, leadMs: 4_000, settleMs: 90_000 };
    const report = await new TimerRun(cluster, options).run();
    expect(report.violations).toEqual([]);
    expect(report.scheduled).toBe(2_000);
    expect(report.cancelled).toBeGreaterThan(0);
    // A cancel whose first answer got lost counts as neither.
    expect(report.fired + report.cancelled).toBeLessThanOrEqual(2_000);
  } finally {
    await cluster.remove();
  }
});
