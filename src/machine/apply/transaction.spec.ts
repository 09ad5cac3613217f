/** Transaction (spec §8) in the machine: all parts or none, in order, with the gates of each part. */
import { COMMAND_HEADER, PushItemStatus, StartMode } from '../commands/index.js';
import { encodeAcks, encodePositions, encodeTransaction } from '../commands/index.js';
import { pushSection, sectionOf, TransactionSection } from '../commands/index.js';
import { checkCommand, encodeConfigure, encodeDeleteCursors } from '../commands/index.js';
import type { TransactionOutcome, TransactionPosition } from '../commands/index.js';
import { cursorMetadataKey } from '../tables/keyspaces.js';
import { decodeMetadataRow } from '../tables/metadata-row.js';
import { MachineHarness, OTHER_TENANT, TENANT } from '../../../test/support/machine-harness.js';
import type { AckOptions, PushOptions } from '../../../test/support/machine-harness.js';

interface Parts {
  readonly acks?: readonly (AckOptions & { readonly group?: string })[];
  readonly push?: readonly (string | null)[];
  readonly pushTo?: PushOptions;
  readonly positions?: readonly Partial<TransactionPosition>[];
  readonly tenant?: Uint8Array;
}

function bytesOf(harness: MachineHarness, parts: Parts): Uint8Array {
  const sections = [];
  if (parts.acks !== undefined) {
    const acks = parts.acks.map((ack) => ({
      group: ack.group ?? 'g',
      target: harness.target(ack),
    }));
    sections.push(sectionOf(TransactionSection.Acks, encodeAcks(acks)));
  }
  if (parts.push !== undefined) {
    sections.push(pushSection(harness.pushBytes(parts.push, { queue: 'out', ...parts.pushTo })));
  }
  if (parts.positions !== undefined) {
    const positions = parts.positions.map((one) => ({ ...POSITION, ...one }));
    sections.push(sectionOf(TransactionSection.Positions, encodePositions(positions)));
  }
  const bytes = encodeTransaction(parts.tenant ?? TENANT, sections);
  checkCommand(bytes);
  return bytes;
}

const POSITION: TransactionPosition = {
  queue: 'orders',
  partition: 'p',
  group: 'g',
  offset: 0,
  metadata: null,
  mode: StartMode.All,
  instant: 0 as never,
};

function run(harness: MachineHarness, parts: Parts): TransactionOutcome {
  return harness.run<TransactionOutcome>(bytesOf(harness, parts));
}

function reasonOf(outcome: TransactionOutcome): string | undefined {
  return outcome.rollback?.reason;
}

/** Everything a client could see, so that "nothing happened" can be said. */
function digestOf(harness: MachineHarness): string {
  return Buffer.from(harness.machine.digest()).toString('hex');
}

let machine: MachineHarness;

beforeEach(() => {
  machine = new MachineHarness();
  machine.push(['a', 'b', 'c', 'd']);
  machine.register('g');
});

const committed = (group = 'g'): number => machine.tables.cursors.committed(machine.cursor(group));

describe('acks and pushes together', () => {
  it('does both, in one command', () => {
    const { leaseId } = machine.claim();
    const outcome = run(machine, {
      acks: [{ leaseId, completed: [0, 1, 2, 3] }],
      push: ['r1', 'r2'],
    });
    expect(outcome.rollback).toBeNull();
    expect(outcome.outcomes.acks).toEqual([{ filed: [], leaseReleased: true }]);
    expect([...outcome.outcomes.pushes![0]!.offsets]).toEqual([0, 1]);
    expect(committed()).toBe(3);
    expect(machine.tables.partitions.lastOffset(machine.partition('out'))).toBe(1);
  });

  it('leaves everything as it was when the ack is fenced off', () => {
    machine.claim();
    const before = machine.tables.cursors.version(machine.cursor());
    const outcome = run(machine, {
      acks: [{ leaseId: machine.mint(), completed: [0] }],
      push: ['r1'],
    });
    expect(reasonOf(outcome)).toBe('rejected_ack');
    expect(outcome.rollback?.text).toMatch(/^QTXN .*invalid or expired lease/);
    expect(outcome.outcomes).toEqual({});
    expect(machine.tables.cursors.version(machine.cursor())).toBe(before);
    expect(machine.tables.queues.find(machine.tables.names.tenant(TENANT)!, 'out')).toBeUndefined();
  });

  it('leaves everything as it was when a message is stored already', () => {
    const { leaseId } = machine.claim();
    machine.push(['r1'], { queue: 'out' });
    const outcome = run(machine, { acks: [{ leaseId, completed: [0] }], push: ['r0', 'r1'] });
    expect(reasonOf(outcome)).toBe('duplicate');
    expect(outcome.rollback?.text).toBe('QDUP out/p: the message is stored already at offset 0');
    expect(committed()).toBe(-1);
    expect(machine.tables.partitions.lastOffset(machine.partition('out'))).toBe(0);
  });

  it('judges acks before pushes before positions', () => {
    machine.push(['r1'], { queue: 'out' });
    machine.claim();
    const bad = { acks: [{ leaseId: machine.mint(), completed: [0] }], push: ['r1'] };
    const positions = [{ queue: 'nowhere' }];
    expect(reasonOf(run(machine, { ...bad, positions }))).toBe('rejected_ack');
    expect(reasonOf(run(machine, { push: ['r1'], positions }))).toBe('duplicate');
    expect(reasonOf(run(machine, { push: ['r2'], positions }))).toBe('queue_not_found');
  });

  it('asks for another preparation when encryption was switched', () => {
    const options = { encryptionEnabled: true };
    const queue = { queue: 'out', replace: false, options, defaults: machineDefaults() };
    machine.run(encodeConfigure(TENANT, queue));
    expect(reasonOf(run(machine, { push: ['r'], pushTo: { optionsVersion: 0 } }))).toBe(
      'reprepare',
    );
    const again = run(machine, { push: ['r'], pushTo: { optionsVersion: 0, encrypted: true } });
    expect(again.rollback).toBeNull();
  });

  it('collapses a repeat inside the command instead of rolling back', () => {
    const { outcomes } = run(machine, { push: ['r', 'r'] });
    expect([...outcomes.pushes![0]!.statuses]).toEqual([
      PushItemStatus.Queued,
      PushItemStatus.Duplicate,
    ]);
  });
});

function machineDefaults() {
  const tenant = machine.tables.names.tenant(TENANT)!;
  return machine.tables.queues.find(tenant, 'orders')!.options;
}

describe('acks', () => {
  it.each([
    ['another tenant', { tenant: OTHER_TENANT }, /no partition/],
    [
      'a partition that never was',
      { acks: [{ partitionId: 99, completed: [0] }] },
      /no partition 99/,
    ],
    ['a group that never read', { acks: [{ group: 'stranger', completed: [0] }] }, /never read/],
  ])('rolls back for %s', (_name, parts: Partial<Parts>, text) => {
    machine.claim();
    const outcome = run(machine, { acks: [{ completed: [0] }], ...parts });
    expect(reasonOf(outcome)).toBe('rejected_ack');
    expect(outcome.rollback?.text).toMatch(text);
  });

  it('takes no repeat of a settled batch', () => {
    const { leaseId } = machine.claim();
    const acks = [{ leaseId, completed: [0, 1, 2, 3] }];
    expect(reasonOf(run(machine, { acks }))).toBeUndefined();
    expect(reasonOf(run(machine, { acks }))).toBe('rejected_ack');
  });

  it('takes no message under a lease that is committed already', () => {
    const { leaseId } = machine.claim();
    expect(reasonOf(run(machine, { acks: [{ leaseId, completed: [0] }] }))).toBeUndefined();
    expect(reasonOf(run(machine, { acks: [{ leaseId, completed: [0] }] }))).toBe('rejected_ack');
    expect(reasonOf(run(machine, { acks: [{ leaseId, completed: [1] }] }))).toBeUndefined();
  });

  it('takes no message beyond the leased batch', () => {
    const { leaseId } = machine.claim({ count: 2 });
    expect(reasonOf(run(machine, { acks: [{ leaseId, completed: [0, 1, 2] }] }))).toBe(
      'rejected_ack',
    );
  });

  it('lets an unfenced completed repeat pass and rolls an unfenced signal back', () => {
    machine.claim();
    machine.ack({ completed: [0, 1, 2, 3] });
    expect(reasonOf(run(machine, { acks: [{ completed: [1] }], push: ['r'] }))).toBeUndefined();
    expect(reasonOf(run(machine, { acks: [{ signals: [[1, 'failed']] }] }))).toBe('rejected_ack');
  });

  it('fails with an expired lease', () => {
    const { leaseId } = machine.claim({ leaseSeconds: 5 });
    machine.advance(6);
    expect(reasonOf(run(machine, { acks: [{ leaseId, completed: [0] }] }))).toBe('rejected_ack');
  });

  it('files dead letters and says which', () => {
    const { leaseId } = machine.claim();
    const { outcomes } = run(machine, {
      acks: [{ leaseId, completed: [0, 2, 3], signals: [[1, 'dlq']] }],
      push: ['r'],
    });
    expect(outcomes.acks).toEqual([{ filed: [1], leaseReleased: true }]);
    expect(machine.tables.partitions.deadLetters(machine.partition())).toBe(1);
  });

  it('files nothing when a later part objects', () => {
    const { leaseId } = machine.claim();
    machine.push(['r'], { queue: 'out' });
    run(machine, { acks: [{ leaseId, signals: [[0, 'dlq']] }], push: ['r'] });
    expect(machine.tables.partitions.deadLetters(machine.partition())).toBe(0);
    expect(machine.tables.cursors.lease(machine.cursor())).toBeGreaterThanOrEqual(0);
  });

  it('judges several targets of one cursor one after the other', () => {
    const { leaseId } = machine.claim();
    const both = run(machine, { acks: [{ leaseId, completed: [0, 1] }, { completed: [2, 3] }] });
    expect(both.outcomes.acks).toEqual([
      { filed: [], leaseReleased: false },
      { filed: [], leaseReleased: true },
    ]);
    expect(committed()).toBe(3);
  });

  it('gives the second target of a cursor what the first one left', () => {
    const { leaseId } = machine.claim();
    const parts = {
      acks: [
        { leaseId, completed: [0, 1, 2, 3] },
        { leaseId, completed: [3] },
      ],
    };
    expect(reasonOf(run(machine, parts))).toBe('rejected_ack');
    expect(committed()).toBe(-1);
  });

  it('acks several groups at once', () => {
    machine.register('h');
    machine.claim();
    machine.claim({ group: 'h' });
    run(machine, { acks: [{ completed: [0, 1] }, { group: 'h', completed: [0, 1, 2, 3] }] });
    expect([committed(), committed('h')]).toEqual([1, 3]);
  });
});

function metadataKey(group: string, partition: string): Uint8Array {
  const { names, partitions } = machine.tables;
  const slot = machine.partition('orders', partition);
  const id = names.group(names.tenant(TENANT)!, group)!;
  return cursorMetadataKey(partitions.queueId(slot), partitions.id(slot), id);
}

function metadataOf(group: string, partition: string): string | undefined {
  const row = machine.rows.get(metadataKey(group, partition));
  return row === undefined ? undefined : decodeMetadataRow(row);
}

describe('positions', () => {
  it('moves a cursor, ends its lease and forgets attempts', () => {
    machine.claim();
    machine.ack({ signals: [[0, 'failed']] });
    machine.claim();
    const outcome = run(machine, { positions: [{ offset: 3 }] });
    expect(outcome.outcomes.positions).toEqual([true]);
    const { cursors } = machine.tables;
    const cursor = machine.cursor();
    expect(cursors.committed(cursor)).toBe(2);
    expect(cursors.lease(cursor)).toBe(-1);
    expect([cursors.attemptCount(cursor), cursors.batchRetryCount(cursor)]).toEqual([0, 0]);
  });

  it('registers a new group, creates the partition and keeps metadata', () => {
    const position = { partition: 'new', group: 'fresh', offset: 7, metadata: 'm' };
    const { outcomes } = run(machine, { positions: [position] });
    expect(outcomes.positions).toEqual([true]);
    const { names, registrations, cursors, partitions } = machine.tables;
    const group = names.group(names.tenant(TENANT)!, 'fresh')!;
    const slot = machine.partition('orders', 'new');
    const cursor = cursors.find(slot, group);
    expect(cursors.committed(cursor)).toBe(6);
    expect(partitions.lastOffset(slot)).toBe(-1);
    expect(registrations.find(partitions.queueId(slot), group)?.mode).toBe(StartMode.All);
    expect(metadataOf('fresh', 'new')).toBe('m');
  });

  it('writes nothing for the position a cursor has', () => {
    run(machine, { positions: [{ offset: 2, metadata: 'm' }] });
    machine.claim();
    const version = machine.tables.cursors.version(machine.cursor());
    const { outcomes } = run(machine, { positions: [{ offset: 2, metadata: 'm' }] });
    expect(outcomes.positions).toEqual([false]);
    expect(machine.tables.cursors.version(machine.cursor())).toBe(version);
    expect(machine.tables.cursors.lease(machine.cursor())).toBeGreaterThanOrEqual(0);
    expect(run(machine, { positions: [{ offset: 2 }] }).outcomes.positions).toEqual([true]);
    expect(metadataOf('g', 'p')).toBeUndefined();
  });

  it('forgets a cursor with its metadata, once', () => {
    run(machine, { positions: [{ offset: 2, metadata: 'm' }] });
    const key = metadataKey('g', 'p');
    expect(run(machine, { positions: [{ offset: null }] }).outcomes.positions).toEqual([true]);
    expect(machine.cursor()).toBe(-1);
    expect(machine.rows.get(key)).toBeUndefined();
    expect(run(machine, { positions: [{ offset: null }] }).outcomes.positions).toEqual([false]);
    const nowhere = [{ partition: 'nowhere', offset: null }];
    expect(run(machine, { positions: nowhere }).outcomes.positions).toEqual([false]);
    expect(machine.partition('orders', 'nowhere')).toBe(-1);
  });

  it('forgets and sets again in one command', () => {
    run(machine, { positions: [{ offset: 2, metadata: 'old' }] });
    run(machine, { positions: [{ offset: null }, { offset: 1, metadata: 'new' }] });
    expect(committed()).toBe(0);
    expect(metadataOf('g', 'p')).toBe('new');
  });

  it('finds the queue that a push of the same command creates', () => {
    const positions = [{ queue: 'out', offset: 1 }];
    expect(run(machine, { push: ['r'], positions }).rollback).toBeNull();
    expect(machine.tables.cursors.committed(machine.cursor('g', 'out'))).toBe(0);
  });

  it('takes the metadata away with a deleted group', () => {
    run(machine, { positions: [{ offset: 2, metadata: 'm' }] });
    const key = metadataKey('g', 'p');
    const { partitions } = machine.tables;
    const slot = machine.partition();
    machine.run(
      encodeDeleteCursors(TENANT, {
        group: 'g',
        queueId: partitions.queueId(slot),
        dropRegistration: false,
        partitions: [partitions.id(slot)],
      }),
    );
    expect(machine.rows.get(key)).toBeUndefined();
  });
});

describe('the state', () => {
  const step = (): Uint8Array =>
    bytesOf(machine, {
      acks: [{ completed: [0] }],
      push: ['r1', null],
      positions: [{ partition: 'x', offset: 5, metadata: 'm' }],
    });

  it('is the same on a machine that replays, and after a restart', () => {
    machine.claim();
    machine.entry(step());
    const replayed = new MachineHarness();
    for (const entry of machine.log) replayed.replay(entry);
    expect(digestOf(replayed)).toBe(digestOf(machine));
    const restarted = machine.reloaded();
    expect(digestOf(restarted)).toBe(digestOf(machine));
    expect(restarted.tables.cursors.hasMetadata(restarted.cursor('g', 'orders', 'x'))).toBe(true);
    const outcome = run(restarted, { push: ['r1'] });
    expect(outcome.rollback?.reason).toBe('duplicate');
  });

  it('does not change by a rollback', () => {
    machine.push(['r1'], { queue: 'out' });
    machine.claim();
    const before = digestOf(machine);
    const rows = machine.rows.rows.size;
    const entry = bytesOf(machine, { acks: [{ completed: [0] }], push: ['n', 'r1'] });
    const { events } = machine.entry(entry);
    expect(events).toEqual([]);
    expect(machine.rows.rows.size).toBe(rows);
    // Only the time of the entry is folded.
    const twin = new MachineHarness();
    for (const one of machine.log.slice(0, -1)) twin.replay(one);
    expect(digestOf(twin)).toBe(before);
    twin.entry(bytesOf(twin, { acks: [] }));
    expect(digestOf(twin)).toBe(digestOf(machine));
  });

  it('refuses broken frames before the log', () => {
    const good = step();
    const body = COMMAND_HEADER.body;
    const broken = (change: (bytes: Uint8Array) => void): (() => unknown) => {
      const bytes = good.slice();
      change(bytes);
      return () => checkCommand(bytes);
    };
    expect(broken((bytes) => (bytes[body] = 4))).toThrow(/no such section|ascend/);
    expect(broken((bytes) => (bytes[body] = 0))).toThrow(/ascend/);
    expect(broken((bytes) => (bytes[body + 1] = 255))).toThrow(/crosses/);
  });
});
