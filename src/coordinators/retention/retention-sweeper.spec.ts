/** The retention sweeper on a real machine (spec §2.9): a row per rule, bounds, cleanup, start and stop. */
import { encodeStateRow, streamStateKey } from '../../machine/tables/stream-rows.js';
import { FakeHost } from '../../../test/support/dispatcher-host.js';
import { SECOND, TENANT } from '../../../test/support/machine-harness.js';
import {
  decodeTrimPartitions,
  encodeDropPartitions,
  encodeTrimPartitions,
} from '../../machine/commands/retention.js';
import type { QueueOptions, TrimPartitionsCommand } from '../../machine/commands/index.js';
import { COMMAND_HEADER } from '../../machine/commands/index.js';
import { StartMode } from '../../machine/commands/catalogue.js';
import { BinaryReader } from '../../common/binary-reader.js';
import type { RetentionOptions } from './retention-sweeper.js';
import { RetentionSweeper } from './retention-sweeper.js';

const DAY = 86_400;

class Scene {
  readonly host = new FakeHost();
  readonly sleeps: number[] = [];
  readonly trims: TrimPartitionsCommand[] = [];
  readonly failures: unknown[] = [];
  readonly sweeper: RetentionSweeper;

  constructor(options: Partial<RetentionOptions> = {}) {
    this.sweeper = new RetentionSweeper(this.host, {
      intervalMs: 5000,
      batchSize: 1000,
      partitionsPerSecond: 50_000,
      cleanupAfterMicros: 30 * DAY * SECOND,
      cleanupEveryMs: 60_000,
      encodeTrim: (command) => {
        const bytes = encodeTrimPartitions(command);
        const body = new BinaryReader(bytes, COMMAND_HEADER.body, bytes.length);
        this.trims.push(decodeTrimPartitions(body));
        return bytes;
      },
      encodeDrop: encodeDropPartitions,
      sleep: (ms) => {
        this.sleeps.push(ms);
        return new Promise((resolve) => setImmediate(resolve));
      },
      monotonicMs: () => this.host.monotonicMs,
      failed: (error) => this.failures.push(error),
      ...options,
    });
  }

  /** Appends of two messages, 10 s apart; the newest is 10 s old. */
  filled(options: Partial<QueueOptions>, appends = 4): this {
    for (let n = 0; n < appends; n += 1) {
      this.host.push('p', 2);
      this.host.machine.advance(10);
    }
    this.host.configure(options);
    return this;
  }

  settled(group: string, messages: number): void {
    this.host.register(group);
    const { leaseId } = this.host.machine.claim({ group, count: 100 });
    const completed = Array.from({ length: messages }, (_, i) => i);
    this.host.machine.ack({ group, leaseId, completed });
  }

  get logStart(): number {
    return this.host.tables.partitions.logStart(this.host.machine.partition());
  }
}

describe('rules', () => {
  // Appends are 40, 30, 20 and 10 s old; offsets 0-1, 2-3, 4-5, 6-7.
  it.each<[string, Partial<QueueOptions>, readonly number[], number]>([
    ['no option', {}, [], 0],
    ['retention without the switch', { retentionSeconds: 25 }, [], 0],
    ['retention', { retentionEnabled: true, retentionSeconds: 25 }, [], 4],
    ['retention of everything', { retentionEnabled: true, retentionSeconds: 5 }, [], 8],
    ['retention of nothing yet', { retentionEnabled: true, retentionSeconds: 50 }, [], 0],
    ['max wait needs no switch', { maxWaitTimeSeconds: 15 }, [], 6],
    ['completed without the switch', { completedRetentionSeconds: 5 }, [8], 0],
    ['completed, no cursor', { retentionEnabled: true, completedRetentionSeconds: 5 }, [], 0],
    ['completed by one', { retentionEnabled: true, completedRetentionSeconds: 5 }, [5], 4],
    [
      'completed by the slowest',
      { retentionEnabled: true, completedRetentionSeconds: 5 },
      [8, 2],
      2,
    ],
    ['completed and old', { retentionEnabled: true, completedRetentionSeconds: 25 }, [8], 4],
    [
      'the rule that reaches furthest',
      { retentionEnabled: true, completedRetentionSeconds: 5, retentionSeconds: 35 },
      [5],
      4,
    ],
    [
      'a sink that has no cursor holds',
      { retentionEnabled: true, retentionSeconds: 25, retentionSinkHold: 'sink' },
      [],
      0,
    ],
    [
      'a sink does not hold what waited too long',
      { maxWaitTimeSeconds: 25, retentionSinkHold: 'sink' },
      [],
      4,
    ],
  ])('%s', async (_, options, settled, logStart) => {
    const scene = new Scene().filled(options);
    settled.forEach((messages, i) => scene.settled(`g${i}`, messages));
    await scene.sweeper.round();
    expect(scene.logStart).toBe(logStart);
    // Nothing more without new appends, acks or time.
    const proposed = scene.trims.length;
    await scene.sweeper.round();
    expect(scene.trims).toHaveLength(proposed);
  });

  it.each<[string, StartMode, readonly number[], number]>([
    ['to get all messages holds them', StartMode.All, [8], 0],
    ['to get new messages settles no others', StartMode.New, [], 0],
    ['to get new messages holds nothing', StartMode.New, [6], 6],
  ])('the start of a group that is %s', async (_, mode, settled, logStart) => {
    const scene = new Scene().filled({ retentionEnabled: true, completedRetentionSeconds: 5 });
    scene.host.machine.register('pinned', { createQueue: false, contact: 'p', mode });
    settled.forEach((messages, i) => scene.settled(`g${i}`, messages));
    await scene.sweeper.round();
    expect(scene.logStart).toBe(logStart);
    if (mode === StartMode.New) return;
    // The registered policy decides now.
    scene.host.machine.register('pinned', { mode: StartMode.New });
    await scene.sweeper.round();
    expect(scene.logStart).toBe(8);
  });

  it('the start of a sink is nothing it committed', async () => {
    const scene = new Scene().filled({
      ...{ retentionEnabled: true, retentionSeconds: 25, retentionSinkHold: 'sink' },
    });
    const contact = { createQueue: false, contact: 'p', mode: StartMode.New };
    scene.host.machine.register('sink', contact);
    await scene.sweeper.round();
    expect(scene.logStart).toBe(0);
  });

  it.each([
    ['spares what it committed for a minute', 30, 0],
    ['lets go of it after that', 65, 4],
    ['holds what it did not commit', 600, 4],
    ['but not beyond its maximum', 3700, 8],
  ])('a sink %s', async (_, seconds, logStart) => {
    const scene = new Scene().filled({
      ...{ retentionEnabled: true, retentionSeconds: 5 },
      ...{ retentionSinkHold: 'sink', retentionSinkHoldMaxSeconds: 3600 },
    });
    scene.settled('sink', 4);
    scene.host.machine.advance(seconds - 30);
    await scene.sweeper.round();
    expect(scene.logStart).toBe(logStart);
  });

  it('tells the bytes that go, so that none are left of an emptied log', async () => {
    const scene = new Scene().filled({ retentionEnabled: true, retentionSeconds: 25 });
    const { partitions } = scene.host.tables;
    const before = partitions.retainedBytes(scene.host.machine.partition());
    await scene.sweeper.round();
    expect(partitions.retainedBytes(scene.host.machine.partition())).toBeCloseTo(before / 2, -1);
    scene.host.machine.advance(60);
    await scene.sweeper.round();
    expect(partitions.retainedBytes(scene.host.machine.partition())).toBe(0);
  });
});

describe('bounds', () => {
  it('cuts a batch of appends per command and looks again after 40 ms', async () => {
    const scene = new Scene({ batchSize: 3 }).filled({ maxWaitTimeSeconds: 1 }, 8);
    await scene.sweeper.round();
    expect(scene.trims.map(({ trims }) => trims[0]!.next)).toEqual([6, 12, 16]);
    expect(scene.sleeps.filter((ms) => ms === 40)).toHaveLength(2);
  });

  it('names at most 256 partitions per command and gives the loop back', async () => {
    const scene = new Scene();
    for (let n = 0; n < 600; n += 1) scene.host.push(`p${n}`);
    scene.host.machine.advance(10);
    scene.host.configure({ maxWaitTimeSeconds: 1 });
    await scene.sweeper.round();
    expect(scene.trims.map(({ trims }) => trims.length)).toEqual([256, 244, 100]);
    expect(scene.sleeps).toContain(10);
    expect(scene.host.tables.totals.messagesRetained).toBe(0);
  });

  it('reads no row of partitions with nothing due', async () => {
    const scene = new Scene().filled({ maxWaitTimeSeconds: 100 });
    await scene.sweeper.round();
    expect(scene.host.views).toBe(0);
    scene.host.machine.advance(65);
    await scene.sweeper.round();
    expect(scene.logStart).toBe(2);
    const { views } = scene.host;
    await scene.sweeper.round();
    expect(scene.host.views).toBe(views);
  });
});

describe('cleanup', () => {
  const emptied = async (): Promise<Scene> => {
    const scene = new Scene().filled({ maxWaitTimeSeconds: 1 });
    scene.host.push('kept');
    await scene.sweeper.round();
    expect(scene.logStart).toBe(8);
    return scene;
  };

  it('drops what was empty and idle for the time, not what retains or is younger', async () => {
    const scene = await emptied();
    scene.host.configure({ maxWaitTimeSeconds: 0 });
    scene.host.push('kept');
    scene.host.machine.advance(29 * DAY);
    await scene.sweeper.round();
    expect(scene.host.machine.partition()).toBeGreaterThanOrEqual(0);
    scene.host.machine.advance(DAY + 60);
    await scene.sweeper.round();
    expect(scene.host.machine.partition()).toBe(-1);
    expect(scene.host.machine.partition('orders', 'kept')).toBeGreaterThanOrEqual(0);
  });

  it('keeps a partition that a stream query has state for, until the state goes', async () => {
    const scene = await emptied();
    const { machine, tables } = scene.host;
    const tenant = tables.names.tenant(TENANT)!;
    const query = {
      ...{ tenant, queryId: new Uint8Array(16).fill(9), name: 'sums', generation: 0 },
      ...{ sourceQueue: 'orders', sinkQueue: null, configHash: 'h', createdAt: 1, updatedAt: 1 },
    };
    machine.tables.streams.put(query);
    const partitionId = tables.partitions.id(machine.partition());
    const elsewhere = streamStateKey({ ...query, partitionId: partitionId + 1 }, 'k');
    const state = streamStateKey({ ...query, partitionId }, 'k');
    machine.rows.put(elsewhere, encodeStateRow(1, Buffer.from('1')));
    machine.rows.put(state, encodeStateRow(1, Buffer.from('1')));
    machine.advance(31 * DAY);
    await scene.sweeper.round();
    expect(machine.partition()).toBeGreaterThanOrEqual(0);
    machine.rows.delete(state);
    machine.advance(DAY);
    await scene.sweeper.round();
    expect(machine.partition()).toBe(-1);
  });

  it('can be switched off', async () => {
    const scene = new Scene({ cleanupAfterMicros: null }).filled({ maxWaitTimeSeconds: 1 });
    scene.host.machine.advance(90 * DAY);
    await scene.sweeper.round();
    expect(scene.logStart).toBe(8);
    expect(scene.host.machine.partition()).toBeGreaterThanOrEqual(0);
  });

  it('gives a pop pinned to the partition back to those who wait for its name', async () => {
    const scene = await emptied();
    scene.host.register();
    const popped = scene.host.pop({ scope: 'partition', partition: 'p' }, { timeoutMs: 1e12 });
    await scene.host.settle();
    scene.host.machine.advance(31 * DAY);
    await scene.sweeper.round();
    expect(scene.host.machine.partition()).toBe(-1);
    scene.host.push('p');
    await scene.host.settle();
    expect(popped.grant?.ranges).toHaveLength(1);
  });
});

describe('running', () => {
  it('goes round after round until it is stopped, and survives a failed one', async () => {
    const scene = new Scene().filled({ maxWaitTimeSeconds: 15 });
    scene.host.proposeError = new Error('not the leader');
    scene.sweeper.start();
    await scene.host.settle(40);
    expect(scene.failures.length).toBeGreaterThan(0);
    scene.host.proposeError = null;
    await scene.host.settle(40);
    expect(scene.logStart).toBe(6);
    expect(scene.sleeps).toContain(5000);
    scene.sweeper.stop();
    await scene.host.settle(40);
    const rounds = scene.sleeps.length;
    scene.host.machine.advance(100);
    await scene.host.settle(40);
    expect(scene.sleeps).toHaveLength(rounds);
    expect(scene.logStart).toBe(6);
  });
});

describe('a cursor behind an emptied log', () => {
  it('is sealed to the tail by the next pop', async () => {
    const scene = new Scene().filled({ maxWaitTimeSeconds: 1 });
    scene.settled('g', 2);
    await scene.sweeper.round();
    const { cursors } = scene.host.tables;
    scene.host.machine.advance(100);
    expect(cursors.committed(scene.host.machine.cursor())).toBe(1);
    scene.host.pop();
    await scene.host.settle(20);
    expect(cursors.committed(scene.host.machine.cursor())).toBe(7);
  });
});
