/** Ack around the algorithm: fencing, repeats, dead letters, last-value (spec §2.6, §2.7, §6.2, §6.4). */
import { OTHER_TENANT, TENANT } from '../../../test/support/machine-harness.js';
import { logIndex, term } from '../../common/ids.js';
import { encodeAck, encodeEntryHeader } from '../commands/index.js';
import { appendKey } from '../tables/keyspaces.js';
import { cursorOf, deadLetters, leased } from '../../../test/support/ack-scene.js';
import type { QueueOptions } from '../commands/index.js';

describe('dead letters (§2.6)', () => {
  it('refer to the record and carry counter, error, time and minted id', () => {
    const { harness, leaseId } = leased({}, 3);
    harness.ack({ leaseId, signals: [[0, 'failed']] });
    const [letter] = deadLetters(harness);
    const entry = Buffer.concat(harness.log.find((e) => e.index === letter!.entryIndex)!.parts);
    const start = letter!.blockOffset + letter!.start;
    expect(entry.subarray(start, start + letter!.length).toString('latin1')).toContain('m0');
    expect(letter).toMatchObject({
      queueId: harness.tables.partitions.queueId(harness.partition()),
      partitionId: harness.tables.partitions.id(harness.partition()),
      offset: 0,
      retryCount: 3,
      error: 'failed 0',
      failedAt: harness.machine.lastStamp(),
    });
  });

  it.each([
    ['the failing item’s', 'own', 'other', 'own'],
    ['else any of the call', null, 'other', 'other'],
    ['else a fixed one', null, null, 'Retries exhausted'],
  ])('error: %s', (_, error, fallbackError, expected) => {
    const { harness, leaseId } = leased();
    harness.ack({ leaseId, signals: [[0, 'dlq']], error, fallbackError });
    expect(deadLetters(harness)[0]!.error).toBe(expected);
  });

  it.each([
    ['the row is missing', { baseOffset: 3, signals: [[5, 'dlq']] as const }],
    ['the row does not hold the offset', { baseOffset: 8, signals: [[7, 'dlq']] as const }],
  ])('refuse the target as stale when %s, nothing changed', (_, bad) => {
    const { harness, leaseId } = leased();
    const before = {
      ...cursorOf(harness),
      digestless: harness.tables.cursors.version(harness.cursor()),
    };
    const outcome = harness.ack({ leaseId, completed: [0, 1], ...bad });
    expect(outcome).toMatchObject({ verdict: 'stale', leaseReleased: false, filed: 0 });
    expect({
      ...cursorOf(harness),
      digestless: harness.tables.cursors.version(harness.cursor()),
    }).toEqual(before);
    expect(deadLetters(harness)).toEqual([]);
  });
});

describe('prefetch', () => {
  it('names the append rows of the signals', () => {
    const { harness, leaseId } = leased();
    const command = encodeAck(TENANT, {
      group: 'g',
      skewMicros: 0,
      targets: [
        harness.target({ leaseId, completed: [0], signals: [[3, 'dlq']] }),
        harness.target({ completed: [1] }),
        harness.target({ partitionId: 4711, signals: [[3, 'dlq']] }),
      ],
    });
    const keys: Uint8Array[] = [];
    const parts = [encodeEntryHeader(harness.now, 1), command];
    const sink = { row: (key: Uint8Array) => keys.push(key), id: () => undefined };
    harness.machine.prefetch({ index: logIndex(99), term: term(3), parts }, sink);
    const { partitions } = harness.tables;
    const slot = harness.partition();
    expect(keys).toEqual([appendKey(partitions.queueId(slot), partitions.id(slot), 0)]);
  });
});

describe('fencing (§6.2)', () => {
  it('refuses a foreign, an expired and a released lease', () => {
    const { harness, leaseId } = leased();
    expect(harness.ack({ leaseId: harness.mint(), completed: [7] }).verdict).toBe('fenced');
    harness.ack({ leaseId, signals: [[0, 'failed']] });
    expect(harness.ack({ leaseId, completed: [7] }).verdict).toBe('fenced');
    const next = harness.claim({ leaseSeconds: 1 });
    harness.advance(2);
    expect(harness.ack({ leaseId: next.leaseId, completed: [7] }).verdict).toBe('fenced');
    expect(cursorOf(harness).committed).toBe(-1);
  });

  it('accepts up to and including the expiry', () => {
    const { harness, leaseId } = leased();
    const { cursors, leases } = harness.tables;
    harness.now = leases.expiresAt(cursors.lease(harness.cursor()));
    expect(harness.ack({ leaseId, completed: [0] }).verdict).toBe('applied');
    harness.now += 1;
    expect(harness.ack({ leaseId, completed: [1] }).verdict).toBe('fenced');
  });

  it.each([
    ['an unknown partition', { partitionId: 4711 }, 'no_partition'],
    ['a partition of another tenant', { tenant: OTHER_TENANT }, 'no_partition'],
    ['a group that never read', { group: 'nobody' }, 'no_cursor'],
  ] as const)('%s', (_, options, verdict) => {
    const { harness, leaseId } = leased();
    harness.push(['x'], { queue: 'theirs', tenant: OTHER_TENANT });
    expect(harness.ack({ leaseId, completed: [0], ...options }).verdict).toBe(verdict);
  });

  it('without a lease id acts on another worker’s batch and releases it', () => {
    const { harness, leaseId } = leased({}, 0, 4);
    expect(harness.ack({ completed: [9] }).committedAfter).toBe(-1);
    expect(harness.ack({ completed: [3] })).toMatchObject({ spanEnd: 3, leaseReleased: true });
    expect(harness.ack({ leaseId, completed: [3] }).verdict).toBe('repeat');
  });

  it('without any lease moves the cursor by its completed prefix only; signals change nothing', () => {
    const { harness, leaseId } = leased();
    harness.ack({ leaseId, signals: [[0, 'failed']] });
    const outcome = harness.ack({
      completed: [1, 2, 6],
      signals: [
        [4, 'dlq'],
        [5, 'failed'],
      ],
    });
    expect(outcome).toMatchObject({
      verdict: 'applied',
      spanEnd: 7,
      committedAfter: 2,
      leaseReleased: false,
      filed: 0,
    });
    expect(cursorOf(harness)).toMatchObject({ committed: 2, retries: 1, leased: false });
    expect(harness.ack({ completed: [7] }).committedAfter).toBe(7);
  });

  it('an expired lease limits nobody', () => {
    const { harness } = leased({}, 0, 2);
    harness.advance(61);
    expect(harness.ack({ completed: [5] })).toMatchObject({
      spanEnd: 7,
      committedAfter: 5,
      leaseReleased: false,
    });
  });
});

describe('repeats (§6.4)', () => {
  it('of the call that settled the batch succeed and change nothing, also after the next claim', () => {
    const { harness, leaseId } = leased({}, 0, 4);
    harness.ack({ leaseId, completed: [0, 1, 2, 3] });
    harness.claim();
    const before = cursorOf(harness);
    expect(harness.ack({ leaseId, completed: [0, 1, 2, 3] })).toMatchObject({
      verdict: 'repeat',
      releasedFirst: 0,
      releasedLast: 3,
      leaseReleased: true,
      committedAfter: 3,
    });
    expect(cursorOf(harness)).toEqual(before);
  });

  it('cover the whole batch when it was settled in parts', () => {
    const { harness, leaseId } = leased();
    harness.ack({ leaseId, completed: [0, 1, 2] });
    harness.ack({ leaseId, completed: [7] });
    expect(harness.ack({ leaseId, completed: [7] })).toMatchObject({
      releasedFirst: 0,
      releasedLast: 7,
    });
  });

  it('succeed after dead letters settled the batch', () => {
    const { harness, leaseId } = leased();
    harness.ack({ leaseId, completed: [6], signals: [[7, 'dlq']] });
    expect(harness.ack({ leaseId, completed: [6], signals: [[7, 'dlq']] }).verdict).toBe('repeat');
    expect(deadLetters(harness)).toHaveLength(1);
  });

  it.each([
    ['failed', 0],
    ['retry', 0],
    ['dlq', 1],
  ] as const)('of a %s that released for redelivery fail', (status, filed) => {
    const { harness, leaseId } = leased();
    harness.ack({ leaseId, signals: [[0, status]] });
    expect(harness.ack({ leaseId, signals: [[0, status]] }).verdict).toBe('fenced');
    expect(deadLetters(harness)).toHaveLength(filed);
  });

  it('of a completed below the cursor are no-ops the origin can tell', () => {
    const { harness, leaseId } = leased();
    harness.ack({ leaseId, completed: [0, 1] });
    const version = harness.tables.cursors.version(harness.cursor());
    expect(harness.ack({ leaseId, completed: [0, 1] })).toMatchObject({
      verdict: 'applied',
      committedBefore: 1,
      committedAfter: 1,
    });
    expect(harness.tables.cursors.version(harness.cursor())).toBe(version);
  });
});

describe('last-value leases (§2.7)', () => {
  it('tells the origin that a signal may name the delivered message alone', () => {
    const { harness, leaseId } = conflated();
    const outcome = harness.ack({ leaseId, signals: [[3, 'failed']] });
    expect(outcome).toMatchObject({ spanEnd: 7, lowestSignal: 7, leaseReleased: false });
    const ordinary = leased();
    expect(ordinary.harness.ack({ leaseId: ordinary.leaseId })).toMatchObject({ lowestSignal: 0 });
  });

  function conflated(options: Partial<QueueOptions> = {}) {
    const { harness } = leased(options);
    harness.advance(61);
    return { harness, leaseId: harness.claim({ conflated: true }).leaseId };
  }

  it.each([[7], [3]])('any completed item (%i) commits the whole span', (offset) => {
    const { harness, leaseId } = conflated();
    harness.push(['later']);
    expect(harness.ack({ leaseId, completed: [offset] })).toMatchObject({
      committedAfter: 7,
      leaseReleased: true,
    });
    expect(cursorOf(harness).committed).toBe(7);
  });

  it('only the delivered message can fail; nothing below it settles with it', () => {
    const { harness, leaseId } = conflated();
    expect(harness.ack({ leaseId, completed: [2], signals: [[7, 'failed']] })).toMatchObject({
      committedAfter: -1,
      leaseReleased: true,
    });
    expect(cursorOf(harness).retries).toBe(1);
  });

  it('a signal for a message it did not deliver changes nothing', () => {
    const { harness, leaseId } = conflated();
    expect(harness.ack({ leaseId, signals: [[3, 'dlq']] })).toMatchObject({
      committedAfter: -1,
      leaseReleased: false,
      filed: 0,
    });
  });

  it('dlq files the delivered message and passes the span', () => {
    const { harness, leaseId } = conflated();
    expect(harness.ack({ leaseId, signals: [[7, 'dlq']] })).toMatchObject({
      committedAfter: 7,
      leaseReleased: true,
      filed: 1,
    });
    expect(deadLetters(harness)[0]!.offset).toBe(7);
  });

  it('the budget survives supersession', () => {
    const { harness, leaseId } = conflated({ retryLimit: 1 });
    harness.ack({ leaseId, signals: [[7, 'failed']] });
    harness.push(['newer']);
    const next = harness.claim({ conflated: true });
    expect(
      harness.ack({ leaseId: next.leaseId, baseOffset: 8, signals: [[8, 'failed']] }),
    ).toMatchObject({ committedAfter: 8, filed: 1 });
  });
});

describe('retry budget (§2.6)', () => {
  it('redelivers retryLimit times, then files', () => {
    const { harness } = leased({ retryLimit: 2 });
    harness.advance(61);
    const verdicts = [0, 1, 2].map(() => {
      const { leaseId } = harness.claim();
      return harness.ack({ leaseId, signals: [[0, 'failed']] }).filed;
    });
    expect(verdicts).toEqual([0, 0, 1]);
  });

  it('is not spent by expiry nor retry, and survives a partial ack', () => {
    const { harness, leaseId } = leased({}, 1);
    harness.ack({ leaseId, completed: [0] });
    harness.advance(61);
    const next = harness.claim();
    harness.ack({ leaseId: next.leaseId, signals: [[1, 'retry']] });
    expect(cursorOf(harness).retries).toBe(1);
  });
});
