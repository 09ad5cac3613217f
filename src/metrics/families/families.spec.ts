/** Families over several groups, and the bound on labels, with doubles of the groups. */
import { Registry } from 'prom-client';
import { groupId, tenantId } from '../../common/ids.js';
import { RequestStages } from '../../http/request-stages.js';
import type { QueueRow, Tables } from '../../machine/tables/tables.js';
import type { DispatcherFigures, Groups, GroupStatus } from '../../raft/index.js';
import { ConflationMinutes } from '../conflation-minutes.js';
import { registerFamily, type Family } from '../family.js';
import { EphemeralFigures } from '../../http/ephemeral-figures.js';
import { consumptionFamilies } from './consumption.js';
import { ephemeralFamilies } from './ephemeral.js';
import { queueFamilies } from './queues.js';
import type { RaftHealth } from '../../raft/index.js';
import { raftFamilies } from './raft.js';

interface Double {
  readonly role?: GroupStatus['role'];
  readonly inflight?: number;
  readonly storageFull?: boolean;
  readonly queues?: readonly (readonly [name: string, deadLetters: number])[];
}

function doubleOf(
  groups: readonly Double[],
  dispatchers: readonly DispatcherFigures[] = [],
): Groups {
  const all = groups.map(({ role, inflight, storageFull, queues }, id) => ({
    id: groupId(id),
    status: () => ({
      ...{ role: role ?? 'leader', inflight: inflight ?? 0, storageFull: storageFull ?? false },
      ...{ lastLog: 9, commit: 8, applied: 7, durable: 6 },
    }),
    tables: {
      names: { tenantUuid: () => Uint8Array.from([...new Array<number>(15).fill(0), 1]) },
      queues: {
        live: () =>
          (queues ?? []).map(([name, deadLetters], at): Partial<QueueRow> => {
            return { id: (at + 1) as QueueRow['id'], tenant: tenantId(1), name, deadLetters };
          }),
      },
      partitions: { count: 3 },
      cursors: { count: 2 },
      leases: { count: 1 },
      totals: { messagesAppended: 5, messagesRetained: 4, bytesRetained: 400 },
    } as unknown as Tables,
  }));
  return {
    members: { streamsOpened: 0 },
    first: all[0],
    all: () => all,
    figures: () => all.map(() => ({ diskUsedPercent: null, overlayBytes: 7, commandsWritten: 5 })),
    dispatcherFigures: () => dispatchers,
  } as unknown as Groups;
}

async function read(families: readonly Family[], name: string): Promise<Record<string, number>> {
  const registry = new Registry();
  for (const family of families) registerFamily(registry, family);
  const lines = (await registry.getSingleMetricAsString(name)).split('\n');
  const samples = lines.filter((line) => !line.startsWith('#'));
  return Object.fromEntries(
    samples.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(name.length, at), Number(line.slice(at + 1))];
    }),
  );
}

const minutes = (): ConflationMinutes => new ConflationMinutes(1_000, () => 0);

it('shows each of several groups under its label', async () => {
  const families = raftFamilies(doubleOf([{ inflight: 3 }, { inflight: 4, storageFull: true }]), {
    ...{ raft: () => ({}) as RaftHealth, isReady: () => true },
  });
  expect(await read(families, 'queen_raft_ready')).toEqual({ '': 1 });
  expect(await read(families, 'queen_raft_inflight')).toEqual({
    '{group="0"}': 3,
    '{group="1"}': 4,
  });
  expect(await read(families, 'queen_raft_storage_full')).toEqual({ '': 1 });
  expect(await read(families, 'queen_raft_retained_bytes')).toEqual({
    '{group="0"}': 400,
    '{group="1"}': 400,
  });
  const indexes = { log: 9, committed: 8, applied: 7, durable: 6 };
  expect(await read(families, 'queen_raft_index')).toEqual(
    Object.fromEntries(
      ['0', '1'].flatMap((group) =>
        Object.entries(indexes).map(([kind, at]) => [`{group="${group}",kind="${kind}"}`, at]),
      ),
    ),
  );
  expect(await read(families, 'queen_raft_disk_used_percent')).toEqual({});
});

it('shows whether the node is ready, and how full its disk is, once somebody knows', async () => {
  let isReady = false;
  const groups = doubleOf([{}]);
  const figures = { diskUsedPercent: 41.5 as number | null };
  Object.assign(groups, { figures: () => [figures] });
  const families = raftFamilies(groups, {
    ...{ raft: () => ({}) as RaftHealth, isReady: () => isReady },
  });
  expect(await read(families, 'queen_raft_ready')).toEqual({ '': 0 });
  isReady = true;
  expect(await read(families, 'queen_raft_ready')).toEqual({ '': 1 });
  expect(await read(families, 'queen_raft_disk_used_percent')).toEqual({ '': 41.5 });
  figures.diskUsedPercent = 97;
  expect(await read(families, 'queen_raft_disk_used_percent')).toEqual({ '': 97 });
});

it('shows the peers that never said they serve', async () => {
  const figures = new EphemeralFigures();
  expect(await read(ephemeralFamilies(figures), 'queen_ephemeral_silent_peers')).toEqual({ '': 0 });
  const before = figures.source();
  figures.source = () => ({ ...before, silentPeers: 2 });
  expect(await read(ephemeralFamilies(figures), 'queen_ephemeral_silent_peers')).toEqual({ '': 2 });
});

it('has no label for the one group of a process', async () => {
  const families = raftFamilies(doubleOf([{ inflight: 3 }]), {
    ...{ raft: () => ({}) as RaftHealth, isReady: () => true },
  });
  expect(await read(families, 'queen_raft_inflight')).toEqual({ '': 3 });
  expect(await read(families, 'queen_raft_proposals_total')).toEqual({ '': 5 });
  expect(await read(families, 'queen_raft_index')).toMatchObject({ '{kind="log"}': 9 });
});

it('sums what the dispatchers hold', async () => {
  const loads = { lanesLoaded: 4, lanesUnloaded: 5, coldClaims: 6, conflationConflicts: 7 };
  const figures = { parked: 1, lanes: 2, readyPartitions: 3, ...loads };
  const requests = new RequestStages();
  const families = consumptionFamilies(doubleOf([{}], [figures, figures]), requests);
  expect(await read(families, 'queen_parked_long_polls')).toEqual({ '': 2 });
  expect(await read(families, 'queen_conflation_conflicts_total')).toEqual({ '': 14 });
  expect(await read(families, 'queen_consume_engine')).toEqual({
    '{kind="groups"}': 4,
    '{kind="parts"}': 2,
    '{kind="partitions"}': 6,
  });
});

it('names queues of groups that are led here, and only those with dead letters', async () => {
  const led = { queues: [['a', 2] as const, ['none', 0] as const] };
  const followed = { role: 'follower' as const, queues: [['b', 5] as const] };
  const families = queueFamilies(doubleOf([led, followed]), minutes());
  expect(await read(families, 'queen_dlq_depth_by_queue')).toEqual({ '{queue="a"}': 2 });
  expect(await read(families, 'queen_dlq_depth')).toEqual({ '': 2 });
});

it('bounds the labels to the largest queues and counts the rest', async () => {
  const queues = Array.from({ length: 1_200 }, (_, i) => [`q${i}`, i + 1] as const);
  const families = queueFamilies(doubleOf([{ queues }]), minutes());
  const shown = await read(families, 'queen_dlq_depth_by_queue');
  expect(Object.keys(shown)).toHaveLength(1_000);
  expect(Math.min(...Object.values(shown))).toBe(201);
  expect(await read(families, 'queen_metrics_queues_left_out')).toEqual({ '': 200 });
  expect(await read(families, 'queen_dlq_depth')).toEqual({ '': (1_200 * 1_201) / 2 });
});

it('shows what last-value delivery passed over', async () => {
  let now = 0;
  const conflated = new ConflationMinutes(30_000, () => now);
  const range = { queueId: 1, firstOffset: 0, lastOffset: 4, conflated: true };
  conflated.granted(0, { ranges: [range] } as unknown as Parameters<typeof conflated.granted>[1]);
  now = 30_000;
  const families = queueFamilies(doubleOf([{ queues: [['latest', 0]] }]), conflated);
  expect(await read(families, 'queen_queue_conflated_per_minute')).toEqual({
    '{queue="latest"}': 8,
  });
});
