/**
 * Locks on three real nodes whose leader is stopped and resumed: two contenders never hold at once, and
 * a holder that was replaced commits nothing under its old guard, whatever it believes.
 */
import { ClusterProcesses, pause } from '../support/cluster-processes.js';
import { HISTORY_ENV } from './linearizability/history-run.js';

const TTL_SECONDS = 2;
/** Clocks of the nodes are one clock here; what is left is rounding. */
const TOLERANCE_MS = 20;
const CALL_LIMIT_MS = 5_000;

interface Permit {
  readonly owner: string;
  readonly token: number;
  readonly guard: object;
  /** A holder may believe in its permit from the answer until the lifetime after its request. */
  readonly from: number;
  readonly until: number;
}

interface LockElement {
  readonly acquired: boolean;
  readonly token: number;
  readonly guard: object;
}

describe('locks on three nodes', () => {
  let cluster: ClusterProcesses;
  let asked = 0;

  beforeAll(async () => {
    cluster = await ClusterProcesses.start({ env: HISTORY_ENV });
    await cluster.leader();
  });

  afterAll(() => cluster.remove());

  /** Asks the nodes in turn; null when the one asked gave no answer. */
  async function send(path: string, body: object): Promise<Record<string, unknown> | null> {
    const id = cluster.ids[asked++ % cluster.ids.length] ?? 1;
    try {
      const response = await fetch(cluster.url(id) + path, {
        method: 'POST',
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(CALL_LIMIT_MS),
      });
      const answer = (await response.json()) as Record<string, unknown>;
      return response.status === 200 ? answer : null;
    } catch (error) {
      // A stopped node does not answer; the next one is asked.
      void error;
      return null;
    }
  }

  async function acquire(name: string, owner: string): Promise<Permit | null> {
    const sent = performance.now();
    const operation = { op: 'acquire', name, owner, ttlSeconds: TTL_SECONDS };
    const answer = await send('/api/v1/locks', { operations: [operation] });
    const [element] = (answer?.['results'] ?? []) as readonly LockElement[];
    if (element?.acquired !== true) return null;
    const { token, guard } = element;
    const until = sent + TTL_SECONDS * 1000;
    return { owner, token, guard, from: performance.now(), until };
  }

  async function eventually<T>(attempt: () => Promise<T | null>): Promise<T> {
    const end = performance.now() + 60_000;
    for (;;) {
      const found = await attempt();
      if (found !== null) return found;
      if (performance.now() > end) throw new Error(`nothing in a minute\n${cluster.logs()}`);
      await pause(50);
    }
  }

  /** Commits under the guard, or tells why not. */
  async function guarded(permit: Permit): Promise<{ success: boolean; reason: string | null }> {
    const key = { ns: 'guarded', key: 'token' };
    const put = { op: 'put', ...key, value: permit.token, forever: true };
    const kv = [permit.guard, put];
    const answer = await eventually(() => send('/api/v1/transaction', { operations: [], kv }));
    return { success: answer['success'] === true, reason: (answer['reason'] ?? null) as string };
  }

  async function stopLeaderFor(ms: number): Promise<void> {
    const leader = cluster.node(await cluster.leader());
    leader.signal('SIGSTOP');
    await pause(ms);
    leader.signal('SIGCONT');
  }

  it('two contenders under pauses never hold at once; the replaced one commits nothing', async () => {
    const name = `job-${Date.now()}`;
    const permits: Permit[] = [];
    let holder = await eventually(() => acquire(name, 'owner-0'));
    permits.push(holder);
    for (let round = 1; round <= 3; round += 1) {
      const own = await guarded(holder);
      // On a slow machine the permit may be over before the answer; never before its time.
      expect(own.success || performance.now() >= holder.until).toBe(true);
      const stopped = stopLeaderFor(TTL_SECONDS * 1000 + 500);
      const next = await eventually(() => acquire(name, `owner-${round}`));
      await stopped;
      permits.push(next);
      expect(await guarded(holder)).toEqual({ success: false, reason: 'kv_precondition' });
      // It may have expired while the cluster was without a leader; its owner then takes it anew.
      holder = await eventually(() => acquire(name, `owner-${round}`));
      permits.push(holder);
    }
    permits.forEach((permit, i) => {
      const before = permits[i - 1];
      if (before === undefined) return;
      expect(permit.token).toBeGreaterThanOrEqual(before.token);
      if (permit.owner === before.owner) return;
      expect(permit.token).toBeGreaterThan(before.token);
      expect(permit.from).toBeGreaterThan(before.until - TOLERANCE_MS);
    });
  });
});
