/** Claim, Unclaim and Extend: spec §2.4, §2.5, §2.12, §5.5, §7. */
import {
  MachineHarness,
  OTHER_TENANT,
  SECOND,
  TENANT,
} from '../../../test/support/machine-harness.js';
import type { ClaimOptions } from '../../../test/support/machine-harness.js';
import { encodeClaim, encodeDeleteQueue } from '../commands/index.js';
import type { ClaimOutcome, GrantOutcome } from '../commands/index.js';

function pushed(count = 5): MachineHarness {
  const harness = new MachineHarness();
  harness.push(Array.from({ length: count }, (_, i) => `m${i}`));
  return harness;
}

const spans = (grant: GrantOutcome) => grant.ranges.map((r) => [r.firstOffset, r.lastOffset]);

describe('claim', () => {
  it('creates the cursor at the seed, leases the range and counts the first attempt', () => {
    const harness = pushed();
    const applied = harness.entry(harness.claimBytes({ count: 3, leaseSeconds: 30 }));
    const grant = (applied.outcomes[0]!.outcome as ClaimOutcome).grants[0]!;
    expect(spans(grant)).toEqual([[0, 2]]);
    expect(grant.ranges[0]).toMatchObject({ deliveryAttempt: 1, conflated: false });
    const { cursors, leases } = harness.tables;
    const cursor = harness.cursor();
    expect(cursors.committed(cursor)).toBe(-1);
    expect(cursors.version(cursor)).toBe(grant.ranges[0]!.cursorVersion);
    const lease = cursors.lease(cursor);
    expect(leases.copyId(lease)).toEqual(grant.leaseId);
    expect(grant.expiresAt).toBe(leases.acquiredAt(lease) + 30 * SECOND);
    expect([leases.firstOffset(lease), leases.batchEnd(lease), leases.term(lease)]).toEqual([
      0, 2, 3,
    ]);
    expect(applied.events).toEqual([
      ['cursorChanged', cursor],
      ['granted', grant],
    ]);
  });

  const expired = (harness: MachineHarness) => {
    harness.claim({ leaseSeconds: 0 });
    harness.advance(1);
  };
  const at = (firstOffset: number, lastOffset = 4) => ({
    firstOffset: firstOffset as never,
    lastOffset: lastOffset as never,
  });
  const nothing = () => undefined;

  /** What changed under the dispatcher, and what it proposes all the same. */
  const failing: readonly (readonly [
    string,
    (harness: MachineHarness) => unknown,
    ClaimOptions['range'],
  ])[] = [
    ['the cursor version differs', expired, { cursorVersion: 7 }],
    ['a cursor exists although none was seen', expired, { cursorVersion: 0 }],
    ['no cursor exists although one was seen', nothing, { cursorVersion: 1 }],
    ['the lease is held', (harness) => harness.claim(), {}],
    ['the range does not start behind the cursor', nothing, at(1)],
    [
      'the range starts below the log',
      (harness) => harness.tables.partitions.setLogStart(harness.partition(), 2),
      { ...at(1), seedCommitted: 0 },
    ],
    ['the range ends behind the log', nothing, at(0, 5)],
    ['the range is empty', nothing, { ...at(5, 4), seedCommitted: 4 }],
    ['the seed is nonsense', nothing, { ...at(0), seedCommitted: -2 }],
    ['the partition is of another queue', nothing, { queueId: 99 as never }],
    ['the partition does not exist', nothing, { partitionId: 99 as never }],
  ];
  it.each(failing)('leaves the range out when %s, and still reports it', (_, arrange, range) => {
    const harness = pushed();
    arrange(harness);
    const cursors = harness.tables.cursors.count;
    const applied = harness.entry(harness.claimBytes({ range: { ...range } }));
    const outcome = applied.outcomes[0]!.outcome as ClaimOutcome;
    expect(outcome.grants[0]!.ranges).toEqual([]);
    expect(applied.events.map(([name]) => name)).toEqual(['granted']);
    expect(harness.tables.cursors.count).toBe(cursors);
  });

  it('leaves the range out when the queue is gone', () => {
    const harness = pushed();
    const command = harness.claimBytes();
    harness.run(encodeDeleteQueue(TENANT, { queue: 'orders' }));
    const applied = harness.entry(command);
    expect((applied.outcomes[0]!.outcome as ClaimOutcome).grants[0]!.ranges).toEqual([]);
    expect(applied.events.map(([name]) => name)).toEqual(['granted']);
  });

  it('grants a partition once when two grants of one command name it', () => {
    const harness = pushed();
    const range = harness.range();
    const grantOf = (sequence: number) => ({
      ticket: { session: 9, sequence },
      leaseId: harness.mint(),
      leaseMicros: SECOND,
      commitOnDelivery: false,
      ranges: [range],
    });
    const command = encodeClaim({ skewMicros: 0, grants: [grantOf(1), grantOf(2)] });
    const outcome = harness.run<ClaimOutcome>(command);
    expect(outcome.grants.map((grant) => [grant.ticket.sequence, grant.ranges.length])).toEqual([
      [1, 1],
      [2, 0],
    ]);
  });

  it.each([
    ['same term, just before expiry', 3, 9.999999, false],
    ['same term, at expiry', 3, 10, true],
    ['other term, at expiry', 4, 10, false],
    ['other term, just before expiry + skew', 4, 10.499999, false],
    ['other term, at expiry + skew', 4, 10.5, true],
  ])('%s: free = %s', (_, term, seconds, free) => {
    const harness = pushed();
    harness.claim({ leaseSeconds: 10 });
    harness.term = term;
    harness.now = harness.machine.lastStamp();
    harness.advance(seconds);
    expect(harness.claim().ranges).toHaveLength(free ? 1 : 0);
  });

  it('jumps a gap that retention left', () => {
    const harness = pushed();
    harness.tables.partitions.setLogStart(harness.partition(), 3);
    expect(spans(harness.claim())).toEqual([[3, 4]]);
  });

  it('leases the whole span of a conflated range', () => {
    const harness = pushed();
    const grant = harness.claim({ conflated: true });
    expect(spans(grant)).toEqual([[0, 4]]);
    expect(grant.ranges[0]!.conflated).toBe(true);
    expect(harness.tables.leases.conflated(harness.tables.cursors.lease(harness.cursor()))).toBe(
      true,
    );
  });
});

describe('delivery attempt (§2.5)', () => {
  const expired = (harness: MachineHarness, options: ClaimOptions = {}) => {
    harness.advance(61);
    return harness.claim(options).ranges[0]!.deliveryAttempt;
  };

  it('rises while the delivery starts at the same offset, whatever its length', () => {
    const harness = pushed();
    harness.claim({ count: 2 });
    expect(expired(harness, { count: 5 })).toBe(2);
    expect(expired(harness, { count: 1 })).toBe(3);
  });

  it('restarts when the delivery starts elsewhere', () => {
    const harness = pushed();
    const { leaseId } = harness.claim({ count: 2 });
    harness.ack({ leaseId, completed: [0, 1] });
    expect(harness.claim().ranges[0]!.deliveryAttempt).toBe(1);
  });

  it('moves with a partial ack without restarting', () => {
    const harness = pushed();
    const { leaseId } = harness.claim();
    harness.ack({ leaseId, completed: [0, 1] });
    expect(harness.tables.cursors.attemptOffset(harness.cursor())).toBe(2);
    expect(expired(harness)).toBe(2);
  });

  it('is that of the newest message under last-value delivery', () => {
    const harness = pushed();
    harness.claim({ conflated: true });
    expect(expired(harness, { conflated: true })).toBe(2);
    harness.push(['newer']);
    expect(expired(harness, { conflated: true })).toBe(1);
  });

  it('is always 1 with commit on delivery', () => {
    const harness = pushed();
    harness.claim({ count: 2 });
    expect(expired(harness, { count: 2, commitOnDelivery: true })).toBe(1);
  });
});

describe('commit on delivery', () => {
  it('moves the cursor, counts what was consumed and leaves no lease', () => {
    const harness = pushed();
    const grant = harness.claim({ count: 3, commitOnDelivery: true });
    expect([spans(grant), grant.expiresAt, grant.commitOnDelivery]).toEqual([[[0, 2]], 0, true]);
    const { cursors } = harness.tables;
    const cursor = harness.cursor();
    expect([
      cursors.committed(cursor),
      cursors.totalConsumed(cursor),
      cursors.lease(cursor),
    ]).toEqual([2, 3, -1]);
  });

  it('drops an expired lease', () => {
    const harness = pushed();
    harness.claim();
    harness.advance(61);
    harness.claim({ commitOnDelivery: true });
    expect(harness.tables.leases.count).toBe(0);
  });
});

describe('unclaim (§2.4)', () => {
  const state = (harness: MachineHarness) => {
    const { cursors } = harness.tables;
    const c = harness.cursor();
    return {
      committed: cursors.committed(c),
      attempts: cursors.attemptCount(c),
      retries: cursors.batchRetryCount(c),
      consumed: cursors.totalConsumed(c),
      leased: cursors.lease(c) >= 0,
    };
  };

  it('leaves no lease and no attempt behind', () => {
    const harness = pushed();
    expect(harness.unclaim(harness.claim())).toBe(1);
    expect(state(harness)).toEqual({
      committed: -1,
      attempts: 0,
      retries: 0,
      consumed: 0,
      leased: false,
    });
    expect(harness.claim().ranges[0]!.deliveryAttempt).toBe(1);
  });

  it('restores the count of earlier deliveries', () => {
    const harness = pushed();
    harness.claim();
    harness.advance(61);
    harness.claim();
    harness.advance(61);
    const before = state(harness);
    harness.unclaim(harness.claim());
    expect(state(harness)).toEqual({ ...before, leased: false });
    expect(harness.claim().ranges[0]!.deliveryAttempt).toBe(3);
  });

  it('takes a commit on delivery back', () => {
    const harness = pushed();
    harness.claim({ count: 2, commitOnDelivery: true });
    const before = state(harness);
    expect(harness.unclaim(harness.claim({ count: 2, commitOnDelivery: true }))).toBe(1);
    expect(state(harness)).toEqual(before);
  });

  it.each([
    [
      'the lease was acked',
      (h: MachineHarness, g: GrantOutcome) => h.ack({ leaseId: g.leaseId, completed: [0] }),
    ],
    ['the lease was extended', (h: MachineHarness, g: GrantOutcome) => h.extend(g.leaseId, 600)],
    ['it was handed back before', (h: MachineHarness, g: GrantOutcome) => h.unclaim(g)],
    ['another claim took over', (h: MachineHarness) => (h.advance(61), h.claim())],
    [
      'the queue is gone',
      (h: MachineHarness) => h.run(encodeDeleteQueue(TENANT, { queue: 'orders' })),
    ],
  ])('does nothing when %s', (_, change) => {
    const harness = pushed();
    const grant = harness.claim();
    change(harness, grant);
    expect(harness.unclaim(grant)).toBe(0);
  });

  it('does nothing for a commit on delivery whose cursor moved on', () => {
    const harness = pushed();
    const grant = harness.claim({ count: 2, commitOnDelivery: true });
    harness.claim({ count: 2, commitOnDelivery: true });
    expect(harness.unclaim(grant)).toBe(0);
    expect(state(harness).committed).toBe(3);
  });

  it('does nothing for another lease id', () => {
    const harness = pushed();
    const grant = harness.claim();
    expect(harness.unclaim({ ...grant, leaseId: harness.mint() })).toBe(0);
    expect(state(harness).leased).toBe(true);
  });
});

describe('extend (§7)', () => {
  function twoPartitions() {
    const harness = new MachineHarness();
    harness.push(['a']);
    harness.push(['b'], { partition: 'q' });
    const leaseId = harness.mint();
    harness.claim({ leaseId, leaseSeconds: 30 });
    harness.claim({ leaseId, leaseSeconds: 40, partition: 'q' });
    return { harness, leaseId };
  }
  const expiry = (harness: MachineHarness, partition: string) => {
    const { cursors, leases } = harness.tables;
    return leases.expiresAt(cursors.lease(harness.cursor('g', 'orders', partition)));
  };

  it('moves every live lease of the id and answers the earliest expiry', () => {
    const { harness, leaseId } = twoPartitions();
    const outcome = harness.extend(leaseId, 60);
    const wanted = harness.machine.lastStamp() + 60 * SECOND;
    expect(outcome).toMatchObject({ renewed: 2, earliestExpiry: wanted });
    expect([expiry(harness, 'p'), expiry(harness, 'q')]).toEqual([wanted, wanted]);
  });

  it('never shortens', () => {
    const { harness, leaseId } = twoPartitions();
    const before = expiry(harness, 'p');
    expect(harness.extend(leaseId, 1)).toMatchObject({ renewed: 2, earliestExpiry: before });
    expect(expiry(harness, 'p')).toBe(before);
  });

  it('needs now < expiresAt for each of them', () => {
    const { harness, leaseId } = twoPartitions();
    harness.now = expiry(harness, 'p');
    expect(harness.extend(leaseId, 60).renewed).toBe(1);
    harness.now = expiry(harness, 'q') - 1;
    expect(harness.extend(leaseId, 60).renewed).toBe(1);
  });

  it.each([
    ['unknown', (h: MachineHarness) => h.extend(h.mint(), 60)],
    ['foreign', (h: MachineHarness, id: Uint8Array) => h.extend(id, 60, OTHER_TENANT)],
    ['expired', (h: MachineHarness, id: Uint8Array) => (h.advance(100), h.extend(id, 60))],
    [
      'of a deleted queue',
      (h: MachineHarness, id: Uint8Array) => {
        h.run(encodeDeleteQueue(TENANT, { queue: 'orders' }));
        return h.extend(id, 60);
      },
    ],
  ])('renews nothing when the lease is %s', (_, extend) => {
    const { harness, leaseId } = twoPartitions();
    expect(extend(harness, leaseId)).toMatchObject({ renewed: 0, earliestExpiry: 0 });
  });
});
