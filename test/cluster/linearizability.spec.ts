/** A few histories of concurrent key-value calls on three real nodes; all of them: npm run linearizability. */
import { ClusterProcesses } from '../support/cluster-processes.js';
import { HISTORY_ENV, HistoryRun } from './linearizability/history-run.js';

describe('keys on three nodes', () => {
  let cluster: ClusterProcesses;

  beforeAll(async () => {
    cluster = await ClusterProcesses.start({ env: HISTORY_ENV });
    await cluster.leader(cluster.ids, 60_000);
  });

  afterAll(() => cluster.remove());

  it.each([
    ['register', 'kill'],
    ['counter', 'pause'],
    ['keys', 'kill'],
    ['register', 'none'],
  ] as const)('%s under %s is linearizable', async (workload, fault) => {
    const seed = Date.now() % 1_000_000;
    const run = new HistoryRun(cluster, { workload, fault, seed, callsPerClient: 25 });
    const result = await run.run();
    const shown = result.linearizable ? '' : JSON.stringify(run.recorded);
    expect({ seed, linearizable: result.linearizable, shown }).toEqual({
      ...{ seed, linearizable: true, shown: '' },
    });
    expect(result.calls).toBeGreaterThan(20);
    await cluster.leader(cluster.ids, 60_000);
  });
});
