/**
 * Thousands of random lives of one lane (push, claim, ack, expiry, extend, unclaim) against a small
 * reference model that is written from the spec alone, offset by offset, and imports nothing of src.
 */
import fc from 'fast-check';
import { deadLetters } from '../../../test/support/ack-scene.js';
import { MachineHarness, SECOND, TENANT } from '../../../test/support/machine-harness.js';
import { Prng } from '../../common/prng.js';
import { encodeConfigure } from '../commands/index.js';
import type { GrantOutcome } from '../commands/index.js';
import { implicitOptions } from './queues.js';

// The model ---------------------------------------------------------------------------------------

type Status = 'completed' | 'retry' | 'failed' | 'dlq';
const STRENGTH: readonly Status[] = ['completed', 'retry', 'failed', 'dlq'];

interface ModelLease {
  readonly name: number;
  readonly first: number;
  readonly end: number;
  readonly conflated: boolean;
  expires: number;
}

class Lane {
  last = -1;
  /** The group has a cursor here: since its first claim. */
  met = false;
  committed = -1;
  lease: ModelLease | null = null;
  released: { name: number; first: number; end: number } | null = null;
  attemptAt = -1;
  attempts = 0;
  retries = 0;
  consumed = 0;
  dead: number[] = [];

  constructor(
    readonly retryLimit: number,
    readonly dlqOn: boolean,
  ) {}

  /** Offsets granted, or null when held or empty. */
  claim(
    now: number,
    ask: { name: number; count: number; micros: number; conflated: boolean; auto: boolean },
  ) {
    if (this.lease !== null && now < this.lease.expires) return null;
    const first = this.committed + 1;
    const end = ask.conflated ? this.last : Math.min(this.last, first + ask.count - 1);
    if (end < first) return null;
    this.met = true;
    this.lease = null;
    if (ask.auto) {
      this.committed = end;
      this.consumed += end - first + 1;
      return { first, end, attempt: 1 };
    }
    const shown = ask.conflated ? end : first;
    this.attempts = shown === this.attemptAt ? this.attempts + 1 : 1;
    this.attemptAt = shown;
    this.lease = {
      name: ask.name,
      first,
      end,
      conflated: ask.conflated,
      expires: now + ask.micros,
    };
    return { first, end, attempt: this.attempts };
  }

  unclaim(): void {
    this.lease = null;
    this.attempts -= 1;
    if (this.attempts === 0) this.attemptAt = -1;
  }

  extend(now: number, name: number, micros: number): boolean {
    if (this.lease?.name !== name || now >= this.lease.expires) return false;
    this.lease.expires = Math.max(this.lease.expires, now + micros);
    return true;
  }

  ack(now: number, name: number | null, items: readonly (readonly [number, Status])[]): string {
    if (!this.met) return 'no_cursor';
    const lease = this.lease !== null && now <= this.lease.expires ? this.lease : null;
    if (name !== null && lease?.name !== name) {
      return this.released?.name === name ? 'repeat' : 'fenced';
    }
    const end = lease === null ? this.last : lease.end;
    const named = new Map<number, Set<Status>>();
    for (const [offset, status] of items) {
      if (offset <= this.committed || offset > end) continue;
      if (lease?.conflated === true && status !== 'completed' && offset !== end) continue;
      named.set(offset, (named.get(offset) ?? new Set()).add(status));
    }
    this.settle(lease, end, named);
    return 'applied';
  }

  private settle(lease: ModelLease | null, end: number, named: Map<number, Set<Status>>): void {
    const at = (offset: number) => named.get(offset) ?? new Set<Status>();
    const strongest = (offset: number) => [...STRENGTH].reverse().find((s) => at(offset).has(s));
    const all = Array.from({ length: end - this.committed }, (_, i) => this.committed + 1 + i);
    const head = all.find((o) => strongest(o) !== undefined && strongest(o) !== 'completed');
    const completed = all.filter((o) => at(o).has('completed'));
    const below = completed.filter((o) => head === undefined || o < head);
    let prefix = below.at(-1) ?? this.committed;
    if (lease?.conflated === true) {
      prefix = head === undefined && completed.length > 0 ? end : this.committed;
    }
    if (lease === null) return this.moveTo(prefix, lease);
    if (head === undefined) {
      if (prefix === end) this.finish(lease, end);
      else this.follow(prefix, lease);
      return;
    }
    const spent = this.retries >= Math.max(0, this.retryLimit);
    const status = strongest(head);
    if (status === 'retry' || (status === 'failed' && !spent)) {
      if (status === 'failed') this.retries += 1;
      this.follow(prefix, lease);
      this.lease = null;
      return;
    }
    if (status === 'dlq' || this.dlqOn) this.dead.push(head);
    let reached = head;
    let keep = 0;
    for (let o = head + 1; o <= end; o++) {
      const s = strongest(o);
      if (s === 'retry') break;
      if (s === 'failed' && !spent) {
        keep = this.retries;
        break;
      }
      if (s === undefined && !completed.some((c) => c > o)) break;
      if (s === 'dlq' || (s === 'failed' && this.dlqOn)) this.dead.push(o);
      reached = o;
    }
    if (reached === end) this.finish(lease, end);
    else this.moveTo(reached, lease);
    this.lease = null;
    this.forgetAttempts();
    this.retries = keep;
  }

  private finish(lease: ModelLease, end: number): void {
    this.moveTo(end, lease);
    this.released = { name: lease.name, first: lease.first, end };
    this.lease = null;
    this.forgetAttempts();
    this.retries = 0;
  }

  private follow(to: number, lease: ModelLease): void {
    if (to > this.committed) this.attemptAt = to + 1;
    this.moveTo(to, lease);
  }

  private moveTo(to: number, _lease: ModelLease | null): void {
    this.consumed += to - this.committed;
    this.committed = to;
  }

  private forgetAttempts(): void {
    this.attemptAt = -1;
    this.attempts = 0;
  }
}

// Driver ------------------------------------------------------------------------------------------

const LIMITS = [0, 1, 2, -1] as const;

/** `expect` costs more than a whole step of the machine, so it is asked only to report. */
function same(actual: readonly unknown[], expected: readonly unknown[]): void {
  if (actual.length === expected.length && actual.every((value, i) => value === expected[i]))
    return;
  expect(actual).toEqual(expected);
}

/** One machine for all lives; each life has its own partition in a queue of its settings. */
const harness = new MachineHarness();
for (const limit of LIMITS) {
  for (const dlqOn of [true, false]) {
    const options = { retryLimit: limit, deadLetterQueue: dlqOn, dlqAfterMaxRetries: false };
    const defaults = implicitOptions('', { leaseTime: 60, retryLimit: 3, dedupWindowSeconds: 0 });
    const queue = queueName(limit, dlqOn);
    harness.run(encodeConfigure(TENANT, { queue, replace: false, defaults, options }));
  }
}
let lives = 0;

function queueName(limit: number, dlqOn: boolean): string {
  return `limit${limit}${dlqOn ? '' : '-off'}`;
}

class Life {
  readonly lane: Lane;
  private readonly queue: string;
  private readonly partition = `lane-${lives++}`;
  private readonly bases: number[] = [];
  private readonly leaseIds = new Map<number, Uint8Array>();
  private grant: GrantOutcome | null = null;

  constructor(private readonly random: Prng) {
    const limit = LIMITS[random.nextBelow(LIMITS.length)]!;
    const dlqOn = random.nextBelow(2) === 0;
    this.lane = new Lane(limit, dlqOn);
    this.queue = queueName(limit, dlqOn);
    this.push();
    harness.register('g', { queue: this.queue });
  }

  step(): void {
    const dice = this.random.nextBelow(20);
    if (dice < 3) this.push();
    else if (dice < 8) this.claim();
    else if (dice < 16) this.ack();
    else if (dice < 17) this.unclaim();
    else if (dice < 18) this.extend();
    else harness.now += this.random.nextBelow(8) * SECOND;
    this.compare();
  }

  private push(): void {
    const count = 1 + this.random.nextBelow(5);
    const { queue, partition } = this;
    const outcome = harness.push(Array<null>(count).fill(null), { queue, partition });
    for (let i = 0; i < count; i++) this.bases.push(outcome.offsets[0]!);
    this.lane.last += count;
  }

  private claim(): void {
    const { queue, partition, random, lane } = this;
    const name = this.leaseIds.size;
    const leaseId = harness.mint();
    this.leaseIds.set(name, leaseId);
    const auto = random.nextBelow(8) === 0;
    const ask = { count: 1 + random.nextBelow(7), conflated: !auto && random.nextBelow(5) === 0 };
    const leaseSeconds = 1 + random.nextBelow(10);
    if (lane.committed === lane.last) return;
    const options = { queue, partition, leaseId, leaseSeconds, commitOnDelivery: auto, ...ask };
    const grant = harness.claim(options);
    const now = harness.machine.lastStamp();
    const expected = lane.claim(now, { name, micros: leaseSeconds * SECOND, auto, ...ask });
    const range = grant.ranges[0];
    same(
      range === undefined ? [] : [range.firstOffset, range.lastOffset, range.deliveryAttempt],
      expected === null ? [] : [expected.first, expected.end, expected.attempt],
    );
    this.grant = range === undefined || auto ? null : grant;
  }

  private ack(): void {
    const { queue, partition, random, lane, leaseIds } = this;
    const leaseName = this.pickLease();
    const items: (readonly [number, Status])[] = [];
    const low = Math.max(0, lane.committed - 1);
    for (let i = random.nextBelow(6); i > 0; i--) {
      const dice = random.nextBelow(8);
      const status = dice < 4 ? 'completed' : STRENGTH[1 + random.nextBelow(3)]!;
      items.push([Math.min(lane.last, low + random.nextBelow(8)), status]);
    }
    if (random.nextBelow(3) === 0 && lane.lease !== null) items.push([lane.lease.end, 'completed']);
    const signals = items.flatMap(([offset, status]) =>
      status === 'completed' ? [] : [[offset, status] as const],
    );
    const target = harness.target({
      ...{ queue, partition },
      ...(leaseName === null ? {} : { leaseId: leaseIds.get(leaseName)! }),
      completed: items.filter(([, status]) => status === 'completed').map(([offset]) => offset),
      signals,
    });
    const placed = target.signals.map((s) => ({
      ...s,
      baseOffset: this.bases[s.offset]! as never,
    }));
    const [before, filed, held] = [lane.committed, lane.dead.length, lane.lease !== null];
    const outcome = harness.ackTarget({ ...target, signals: placed });
    const verdict = lane.ack(harness.machine.lastStamp(), leaseName, items);
    same([outcome.verdict], [verdict]);
    if (verdict === 'applied') {
      same(
        [outcome.committedBefore, outcome.committedAfter, outcome.filed, outcome.leaseReleased],
        [before, lane.committed, lane.dead.length - filed, held && lane.lease === null],
      );
    } else if (verdict === 'repeat') {
      const { first, end } = lane.released!;
      same([outcome.releasedFirst, outcome.releasedLast], [first, end]);
    }
    if (verdict === 'applied' && (lane.committed !== before || lane.lease === null))
      this.grant = null;
  }

  /** Mostly the newest lease, sometimes an older one or none. */
  private pickLease(): number | null {
    const { random, leaseIds } = this;
    if (leaseIds.size === 0 || random.nextBelow(5) === 0) return null;
    const back = random.nextBelow(4) === 0 ? random.nextBelow(leaseIds.size) : 0;
    return leaseIds.size - 1 - back;
  }

  private unclaim(): void {
    if (this.grant === null) return;
    same([harness.unclaim(this.grant)], [1]);
    this.lane.unclaim();
    this.grant = null;
  }

  private extend(): void {
    const name = this.pickLease();
    if (name === null) return;
    const seconds = 1 + this.random.nextBelow(12);
    const { renewed } = harness.extend(this.leaseIds.get(name)!, seconds);
    const expected = this.lane.extend(harness.machine.lastStamp(), name, seconds * SECOND);
    same([renewed], [expected ? 1 : 0]);
    // An extension changes the cursor's version, so the claim can no longer be handed back.
    if (expected) this.grant = null;
  }

  private compare(): void {
    const { cursors, leases, partitions } = harness.tables;
    const { lane } = this;
    const slot = harness.partition(this.queue, this.partition);
    same(
      [partitions.lastOffset(slot), partitions.deadLetters(slot)],
      [lane.last, lane.dead.length],
    );
    const c = harness.cursor('g', this.queue, this.partition);
    same([c >= 0], [lane.met]);
    if (c < 0) return;
    const { committed, retries, consumed, attemptAt, attempts, lease: held } = lane;
    same(
      [cursors.committed(c), cursors.batchRetryCount(c), cursors.totalConsumed(c)],
      [committed, retries, consumed],
    );
    same([cursors.attemptOffset(c), cursors.attemptCount(c)], [attemptAt, attempts]);
    const lease = cursors.lease(c);
    same(
      lease < 0 ? [] : [leases.firstOffset(lease), leases.batchEnd(lease), leases.expiresAt(lease)],
      held === null ? [] : [held.first, held.end, held.expires],
    );
  }

  /** Compares the dead letters as rows, then forgets all rows: no later life reads them. */
  end(): void {
    const offsets = deadLetters(harness).map((letter) => letter.offset);
    same(
      offsets,
      [...this.lane.dead].sort((a, b) => a - b),
    );
    harness.rows.rows.clear();
    harness.log.length = 0;
  }
}

describe('one lane', () => {
  it('lives as the spec says', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 31 }),
        fc.integer({ min: 1, max: 30 }),
        (seed, steps) => {
          const life = new Life(new Prng(seed));
          for (let i = 0; i < steps; i++) life.step();
          life.end();
        },
      ),
      { numRuns: 6000 },
    );
  }, 120_000);
});
