/** Register, Configure, DeleteQueue, sessions, cluster version: spec §2.3, §3, §9. */
import {
  DEFAULTS,
  MachineHarness,
  submitted,
  TENANT,
} from '../../../test/support/machine-harness.js';
import {
  encodeConfigure,
  encodeDeleteQueue,
  encodeOpenSession,
  encodeRaiseVersion,
  encodeRegister,
  StartMode,
} from '../commands/index.js';
import type {
  ConfigureOutcome,
  DeleteQueueOutcome,
  PushOutcome,
  QueueOptions,
  RegisterCommand,
} from '../commands/index.js';
import { QUEUE_MODE_GROUP } from '../tables/tables.js';
import { implicitOptions } from './queues.js';

const CONFIGURE_DEFAULTS: QueueOptions = {
  ...implicitOptions('', { ...DEFAULTS, leaseTime: 300 }),
  retentionSinkHoldMaxSeconds: 604_800,
};

function configureBytes(options: Partial<QueueOptions>, replace = false): Uint8Array {
  return encodeConfigure(TENANT, {
    queue: 'orders',
    replace,
    defaults: CONFIGURE_DEFAULTS,
    options,
  });
}

function queueOf(harness: MachineHarness) {
  const tenant = harness.tables.names.tenant(TENANT);
  return tenant === undefined ? undefined : harness.tables.queues.find(tenant, 'orders');
}

function registration(harness: MachineHarness, group: string) {
  const { names, registrations } = harness.tables;
  const tenant = names.tenant(TENANT)!;
  return registrations.find(queueOf(harness)!.id, names.group(tenant, group)!);
}

describe('register (§2.3)', () => {
  it.each([
    ['all', { mode: StartMode.All }, StartMode.All, () => 0],
    ['new', { mode: StartMode.New }, StartMode.New, (now: number) => now],
    [
      'timestamp',
      { mode: StartMode.Timestamp, instant: 77 as never },
      StartMode.Timestamp,
      () => 77,
    ],
  ] as const)('stores the start policy %s', (_, policy, mode, instant) => {
    const harness = new MachineHarness();
    harness.push(['a']);
    const outcome = harness.register('g', { ...policy, namespace: 'shop', task: 'bill' });
    const now = harness.machine.lastStamp();
    expect(registration(harness, 'g')).toEqual({
      ...{ queueId: outcome.queueId, groupId: outcome.groupId },
      ...{ mode, instant: instant(now), conflation: false },
      ...{ registeredAt: now, namespace: 'shop', task: 'bill' },
    });
  });

  it('never changes a registration and raises its event once', () => {
    const harness = new MachineHarness();
    const first = harness.register('g', { mode: StartMode.New });
    const stored = { ...registration(harness, 'g')! };
    harness.advance(5);
    const again = harness.entry(
      encodeRegister(TENANT, { ...command(), mode: StartMode.All, conflation: true }),
    );
    expect(again.outcomes[0]!.outcome).toEqual(first);
    expect(again.events).toEqual([]);
    expect(registration(harness, 'g')).toEqual(stored);
  });

  it('starts queue mode at the oldest message, never conflating', () => {
    const harness = new MachineHarness();
    harness.register(QUEUE_MODE_GROUP, { mode: StartMode.New, conflation: true });
    expect(registration(harness, QUEUE_MODE_GROUP)).toMatchObject({
      mode: StartMode.All,
      instant: 0,
      conflation: false,
    });
  });

  it('creates a missing queue only when asked to', () => {
    const harness = new MachineHarness();
    expect(harness.register('g', { createQueue: false })).toMatchObject({
      queueId: null,
      groupId: null,
    });
    expect(queueOf(harness)).toBeUndefined();
    const applied = harness.entry(encodeRegister(TENANT, command()));
    const queue = queueOf(harness)!;
    expect(queue.options).toMatchObject({ leaseTime: 60, namespace: 'orders' });
    expect(applied.events.map(([name]) => name)).toEqual(['queueCreated', 'registered']);
  });

  it('without a queue only numbers the group, once', () => {
    const harness = new MachineHarness();
    const outcome = harness.register('g', { queue: '' });
    expect(outcome).toMatchObject({ queueId: null, groupId: 1 });
    expect(harness.register('g', { queue: '' })).toEqual(outcome);
    expect(queueOf(harness)).toBeUndefined();
    expect(harness.register('g').groupId).toBe(outcome.groupId);
  });

  it('takes an instant after everything earlier entries appended', () => {
    const harness = new MachineHarness();
    harness.entry(harness.pushBytes(['a']), harness.pushBytes(['b']), harness.pushBytes(['c']));
    harness.register('g', { mode: StartMode.New });
    const { partitions } = harness.tables;
    expect(registration(harness, 'g')!.instant).toBeGreaterThan(
      partitions.lastAppendAt(harness.partition()),
    );
  });

  function command(): RegisterCommand {
    return {
      ...{ queue: 'orders', group: 'g', createQueue: true, defaults: DEFAULTS },
      ...{ mode: StartMode.All, instant: 0 as never, conflation: false, namespace: '', task: '' },
      contact: null,
    };
  }
});

describe('configure (§9.1)', () => {
  it('creates with its defaults and the named options', () => {
    const harness = new MachineHarness();
    const applied = harness.entry(configureBytes({ retryLimit: 9, namespace: 'shop' }));
    const queue = queueOf(harness)!;
    expect(applied.outcomes[0]!.outcome).toMatchObject({ queueId: queue.id, created: true });
    expect(queue.options).toEqual({ ...CONFIGURE_DEFAULTS, retryLimit: 9, namespace: 'shop' });
    expect([queue.configured, queue.createdAt]).toEqual([true, harness.now]);
    expect(applied.events).toEqual([
      ['queueCreated', queue.id],
      ['queueConfigured', queue.id],
    ]);
  });

  it('merges into a queue that sprang into being, keeping its lease time', () => {
    const harness = new MachineHarness();
    harness.push(['a']);
    const { id, createdAt, optionsVersion } = queueOf(harness)!;
    expect(harness.run<ConfigureOutcome>(configureBytes({ ttl: 5 }))).toMatchObject({
      queueId: id,
      created: false,
    });
    const queue = queueOf(harness)!;
    expect(queue.options).toMatchObject({ leaseTime: 60, ttl: 5, namespace: 'orders' });
    expect(queue).toMatchObject({ id, createdAt, configured: true });
    expect(queue.optionsVersion).toBe(optionsVersion + 1);
  });

  it('replaces from the defaults, keeping id and creation time', () => {
    const harness = new MachineHarness();
    harness.run(configureBytes({ ttl: 5, namespace: 'shop' }));
    const { id, createdAt } = queueOf(harness)!;
    harness.advance(1);
    harness.run(configureBytes({ priority: 2 }, true));
    expect(queueOf(harness)).toMatchObject({ id, createdAt });
    expect(queueOf(harness)!.options).toEqual({ ...CONFIGURE_DEFAULTS, priority: 2 });
  });
});

describe('delete queue (§9.2)', () => {
  it('says whether it existed, and a later push recreates it empty', () => {
    const harness = new MachineHarness();
    const bytes = encodeDeleteQueue(TENANT, { queue: 'orders' });
    expect(harness.run<DeleteQueueOutcome>(bytes).existed).toBe(false);
    harness.push(['a', 'b']);
    harness.register('g');
    harness.claim();
    const before = { ...queueOf(harness)! };
    const partition = harness.tables.partitions.id(harness.partition());
    const applied = harness.entry(encodeDeleteQueue(TENANT, { queue: 'orders' }));
    expect(applied.outcomes[0]!.outcome).toMatchObject({ existed: true });
    expect(applied.events).toEqual([['queueDeleted', before.id]]);
    expect(harness.ack({ partitionId: partition, completed: [0], ...aside(harness) }).verdict).toBe(
      'no_partition',
    );
    const again = harness.push(['a']);
    expect([again.statuses[0], again.offsets[0]]).toEqual([0, 0]);
    expect(queueOf(harness)!.id).toBeGreaterThan(before.id);
    expect(again.partitionId).toBeGreaterThan(partition);
    expect(registration(harness, 'g')).toBeUndefined();
    expect(harness.cursor()).toBe(-1);
  });

  /** Any live queue, so that the harness can build a target. */
  function aside(harness: MachineHarness) {
    harness.push(['x'], { queue: 'aside' });
    return { queue: 'aside' };
  }
});

describe('sessions', () => {
  const directoryId = new Uint8Array(16).fill(5);
  const open = (nodeId: number, bootCount: number) =>
    encodeOpenSession({ nodeId, directoryId, bootCount });

  it('get the index of their entry and end the node’s older one', () => {
    const harness = new MachineHarness();
    harness.push(['a']);
    expect(harness.run(open(4, 1))).toMatchObject({ session: 2, nodeId: 4 });
    expect(harness.run(open(4, 2))).toMatchObject({ session: 3 });
    const late = harness.entry(submitted(harness.pushBytes(['b']), { session: 2, sequence: 1 }));
    expect(late.outcomes).toEqual([
      { session: 2, sequence: 1, outcome: { kind: 'ignored', why: 'ended' } },
    ]);
    expect(harness.tables.partitions.lastOffset(harness.partition())).toBe(0);
  });

  it('apply a command once, whatever the order and number of its copies', () => {
    const harness = new MachineHarness();
    harness.run(open(4, 1));
    const send = (id: string, sequence: number, floor = 0) => {
      const bytes = submitted(harness.pushBytes([id]), { session: 1, sequence, floor });
      return harness.entry(bytes).outcomes[0]!.outcome as PushOutcome;
    };
    expect(send('a', 2).kind).toBe(2);
    expect(send('b', 1).kind).toBe(2);
    expect(send('a', 2)).toEqual({ kind: 'ignored', why: 'seen' });
    expect(send('c', 9, 5).kind).toBe(2);
    expect(send('d', 4, 5)).toEqual({ kind: 'ignored', why: 'seen' });
    expect(harness.tables.partitions.lastOffset(harness.partition())).toBe(2);
  });

  it('are not asked for by the leader’s own commands', () => {
    const harness = new MachineHarness();
    const bytes = () => submitted(harness.pushBytes([null]), { session: 0, sequence: 3 });
    expect(
      [harness.entry(bytes()), harness.entry(bytes())].map((a) => a.outcomes[0]!.session),
    ).toEqual([0, 0]);
    expect(harness.tables.partitions.lastOffset(harness.partition())).toBe(1);
  });
});

describe('cluster version', () => {
  it('rises and never falls', () => {
    const harness = new MachineHarness();
    expect(harness.machine.clusterVersion()).toBe(6);
    harness.run(encodeRaiseVersion({ version: 8 }));
    expect(harness.run(encodeRaiseVersion({ version: 7 }))).toMatchObject({ version: 8 });
    expect(harness.machine.clusterVersion()).toBe(8);
  });
});
