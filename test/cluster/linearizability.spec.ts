/** A few histories of concurrent key-value calls on three real nodes; all of them: npm run linearizability. */
import { ClusterProcesses } from '../support/cluster-processes.js';
import { FAULTS } from './linearizability/fault.js';
import { HISTORY_ENV } from './linearizability/history-run.js';
import { runRound } from './linearizability/history-round.js';
import { WORKLOADS } from './linearizability/workloads.js';

const CALLS = 150;

describe('keys on three nodes', () => {
  let cluster: ClusterProcesses;

  beforeAll(async () => {
    cluster = await ClusterProcesses.start({ env: HISTORY_ENV, faulty: true });
    await cluster.leader();
  });

  afterAll(() => cluster.remove());

  it.each(FAULTS)('are linearizable under a %s', async (fault) => {
    const seed = Date.now() % 1_000_000;
    const histories = WORKLOADS.length;
    const results = await runRound(cluster, { fault, seed, first: 0, histories, calls: CALLS });
    expect(results).toHaveLength(histories);
    for (const { undecided, linearizable, workload, recorded, ...result } of results) {
      const { calls, nodes, duringFault } = result;
      const shown = linearizable ? '' : JSON.stringify(recorded);
      expect({ seed, workload, linearizable, shown }).toEqual({
        ...{ seed, workload, linearizable: true, shown: '' },
      });
      expect(calls).toBeGreaterThanOrEqual(CALLS);
      expect(nodes).toBe(cluster.ids.length);
      expect(duringFault).toBeGreaterThan(0);
      expect(undecided).toBe(false);
    }
    // The checker sees what is wrong in histories like these.
    expect(results.some(({ staleRejected }) => staleRejected === true)).toBe(true);
    expect(results.every(({ staleRejected }) => staleRejected !== false)).toBe(true);
  });
});
