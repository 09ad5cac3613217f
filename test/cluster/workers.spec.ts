/** The small run of test/cluster/workers-main.ts: order, loss, repeats and dead letters under faults. */
import { ClusterProcesses } from '../support/cluster-processes.js';
import { WorkersRun } from './workers-run.js';

jest.setTimeout(480_000);

it('twenty workers of three groups settle everything once and in order over random faults', async () => {
  const seed = Date.now() % 1_000_000;
  const cluster = await ClusterProcesses.start();
  try {
    const options = { partitions: 100, messagesPerPartition: 20, faults: 4, seed };
    const report = await new WorkersRun(cluster, { ...options, settleMs: 120_000 }).run();
    expect({ seed, violations: report.violations }).toEqual({ seed, violations: [] });
    expect(report.pushed).toBe(2_000);
    expect(report.deadLetters).toBeGreaterThan(0);
  } finally {
    await cluster.remove();
  }
});
