/** Seek, delete and subscription update at apply (spec §10): a case per rule. */
import {
  encodeDeleteCursors,
  encodeDeleteQueue,
  encodeSeekCursors,
  encodeUpdateSubscription,
  StartMode,
} from '../commands/index.js';
import type {
  DeleteCursorsOutcome,
  SeekCursorsOutcome,
  UpdateSubscriptionOutcome,
} from '../commands/index.js';
import { micros, partitionId } from '../../common/ids.js';
import { QUEUE_MODE_GROUP } from '../tables/tables.js';
import { MachineHarness, OTHER_TENANT, TENANT } from '../../../test/support/machine-harness.js';
import { cursorOf } from '../../../test/support/ack-scene.js';

function scene(): MachineHarness {
  const harness = new MachineHarness();
  harness.push(['a', 'b', 'c', 'd']);
  harness.register('g');
  return harness;
}

function idOf(harness: MachineHarness, partition = 'p') {
  return harness.tables.partitions.id(harness.partition('orders', partition));
}

function seekBytes(harness: MachineHarness, committed: number, group = 'g', tenant = TENANT) {
  const moves = [{ partitionId: idOf(harness), committed }];
  return encodeSeekCursors(tenant, { group, moves });
}

const seek = (...args: Parameters<typeof seekBytes>): number =>
  args[0].run<SeekCursorsOutcome>(seekBytes(...args)).moved;

interface Deletion {
  readonly group?: string;
  readonly dropRegistration?: boolean;
  readonly tenant?: Uint8Array;
  readonly partition?: string;
}

function deleteBytes(harness: MachineHarness, options: Deletion = {}): Uint8Array {
  const tenant = harness.tables.names.tenant(TENANT)!;
  return encodeDeleteCursors(options.tenant ?? TENANT, {
    group: options.group ?? 'g',
    queueId: harness.tables.queues.find(tenant, 'orders')!.id,
    dropRegistration: options.dropRegistration ?? true,
    partitions: [idOf(harness, options.partition)],
  });
}

const remove = (harness: MachineHarness, options: Deletion = {}): DeleteCursorsOutcome =>
  harness.run<DeleteCursorsOutcome>(deleteBytes(harness, options));

function registrationOf(harness: MachineHarness, group = 'g') {
  const { names, queues, registrations } = harness.tables;
  const tenant = names.tenant(TENANT)!;
  return registrations.find(queues.find(tenant, 'orders')!.id, names.group(tenant, group)!);
}

describe('seek', () => {
  it('moves the cursor, ends the lease and starts retries and attempts over', () => {
    const harness = scene();
    const first = harness.claim({ count: 2 });
    harness.ack({ leaseId: first.leaseId, signals: [[0, 'failed']] });
    const { leaseId } = harness.claim({ count: 2 });
    expect(seek(harness, 2)).toBe(1);
    expect(cursorOf(harness)).toMatchObject({
      ...{ committed: 2, leased: false, retries: 0, attempts: [-1, 0] },
    });
    expect(harness.ack({ leaseId, completed: [0] }).verdict).toBe('fenced');
    expect(harness.claim().ranges[0]).toMatchObject({ firstOffset: 3, deliveryAttempt: 1 });
  });

  it.each([
    ['back to the start', -1, -1],
    ['never before the start', -1, 1, 2],
    ['never beyond the end', 99, 3],
  ])('%s', (_, committed, expected, logStart = 0) => {
    const harness = scene();
    harness.tables.partitions.setLogStart(harness.partition(), logStart);
    seek(harness, committed);
    expect(cursorOf(harness).committed).toBe(expected);
  });

  it('creates the cursor of a group nobody knows, without registering it', () => {
    const harness = scene();
    expect(seek(harness, 1, 'new')).toBe(1);
    expect(harness.tables.cursors.committed(harness.cursor('new'))).toBe(1);
    expect(registrationOf(harness, 'new')).toBeUndefined();
  });

  it('raises cursorChanged, so that parked pops are looked at again', () => {
    const harness = scene();
    const { events } = harness.entry(seekBytes(harness, 1));
    expect(events).toEqual([['cursorChanged', harness.cursor()]]);
  });

  it('voids claims that saw the cursor before', () => {
    const harness = scene();
    seek(harness, -1);
    const claim = harness.claimBytes();
    seek(harness, 1);
    const outcome = harness.run<{ kind: number; grants: { ranges: unknown[] }[] } & never>(claim);
    expect(outcome).toMatchObject({ grants: [{ ranges: [] }] });
  });

  it("does not touch what is gone or another tenant's", () => {
    const harness = scene();
    expect(seek(harness, 1, 'g', OTHER_TENANT)).toBe(0);
    const nowhere = [{ partitionId: partitionId(99), committed: 1 }];
    const command = encodeSeekCursors(TENANT, { group: 'x', moves: nowhere });
    expect(harness.run<SeekCursorsOutcome>(command).moved).toBe(0);
    expect(harness.tables.names.group(harness.tables.names.tenant(TENANT)!, 'x')).toBeUndefined();
    const bytes = seekBytes(harness, 1);
    harness.run(encodeDeleteQueue(TENANT, { queue: 'orders' }));
    expect(harness.run<SeekCursorsOutcome>(bytes).moved).toBe(0);
  });
});

describe('delete', () => {
  it('takes cursor, lease and registration; the group starts anew', () => {
    const harness = scene();
    const { leaseId } = harness.claim();
    const { outcomes, events } = harness.entry(deleteBytes(harness));
    expect(outcomes[0]!.outcome).toMatchObject({ deleted: 1, registrationDropped: true });
    expect(events).toEqual([['registered', 1, 1]]);
    expect([harness.cursor(), registrationOf(harness)]).toEqual([-1, undefined]);
    expect(harness.ack({ leaseId, completed: [0] }).verdict).toBe('no_cursor');
    harness.register('g', { mode: StartMode.New });
    expect(registrationOf(harness)).toMatchObject({ mode: StartMode.New });
  });

  it('keeps the registration when asked to', () => {
    const harness = scene();
    harness.claim();
    const outcome = remove(harness, { dropRegistration: false });
    expect(outcome).toMatchObject({ deleted: 1, registrationDropped: false });
    expect(registrationOf(harness)).toMatchObject({ mode: StartMode.All });
  });

  it('does nothing twice, to other groups, to other tenants', () => {
    const harness = scene();
    harness.claim();
    harness.register('h');
    harness.claim({ group: 'h' });
    const nothing = { deleted: 0, registrationDropped: false };
    expect(remove(harness, { tenant: OTHER_TENANT })).toMatchObject(nothing);
    expect(remove(harness, { group: 'unknown' })).toMatchObject(nothing);
    expect(remove(harness)).toMatchObject({ deleted: 1 });
    expect(harness.entry(deleteBytes(harness)).events).toEqual([]);
    expect(harness.cursor('h')).toBeGreaterThanOrEqual(0);
  });

  it('leaves partitions of other queues alone', () => {
    const harness = scene();
    harness.push(['x'], { queue: 'other' });
    harness.register('g', { queue: 'other' });
    harness.claim({ queue: 'other' });
    const tenant = harness.tables.names.tenant(TENANT)!;
    const command = encodeDeleteCursors(TENANT, {
      group: 'g',
      queueId: harness.tables.queues.find(tenant, 'orders')!.id,
      dropRegistration: false,
      partitions: [harness.tables.partitions.id(harness.partition('other'))],
    });
    expect(harness.run<DeleteCursorsOutcome>(command).deleted).toBe(0);
    expect(harness.cursor('g', 'other')).toBeGreaterThanOrEqual(0);
  });
});

describe('subscription update', () => {
  const update = (harness: MachineHarness, group = 'g', tenant = TENANT): number => {
    const own = harness.tables.names.tenant(TENANT)!;
    const queues = harness.tables.queues.list(own).map(({ id }) => id);
    const command = encodeUpdateSubscription(tenant, { group, instant: micros(77), queues });
    return harness.run<UpdateSubscriptionOutcome>(command).updated;
  };

  it('changes the start of every named registration and nothing else', () => {
    const harness = scene();
    harness.register('g', { queue: 'other' });
    harness.claim();
    const before = cursorOf(harness);
    expect(update(harness)).toBe(2);
    expect(registrationOf(harness)).toMatchObject({ mode: StartMode.Timestamp, instant: 77 });
    expect(cursorOf(harness)).toEqual(before);
    const reloaded = harness.reloaded();
    expect(registrationOf(reloaded)).toMatchObject({ mode: StartMode.Timestamp, instant: 77 });
  });

  it('does not touch queue mode, unknown groups and other tenants', () => {
    const harness = scene();
    harness.register(QUEUE_MODE_GROUP);
    expect(update(harness, QUEUE_MODE_GROUP)).toBe(0);
    expect(update(harness, 'unknown')).toBe(0);
    expect(update(harness, 'g', OTHER_TENANT)).toBe(0);
    expect(registrationOf(harness, QUEUE_MODE_GROUP)).toMatchObject({ mode: StartMode.All });
  });
});
