/**
 * Random runs against the machine: whatever happens (appends, acks, expiries, foreign claims, clients
 * that leave, delays switched on and off), a slot is in at most one claim on its way, a pop gets at
 * most one grant, and in the end no partition that is claimable stays unserved while a pop waits.
 */
import fc from 'fast-check';
import type { Popped } from '../../../test/support/dispatcher-host.js';
import { FakeHost } from '../../../test/support/dispatcher-host.js';

const PARTITIONS = ['a', 'b', 'c', 'd', 'e'];
const GROUPS = ['g', 'h', 'last'];

type Step = readonly [kind: string, place: number, amount: number];

const STEPS = fc.array(
  fc.tuple(
    fc.constantFrom(
      ...['push', 'push', 'pop', 'pop', 'pinned', 'impatient', 'ack', 'pass', 'pass'],
      ...['steal', 'abort', 'settle', 'apply', 'configure', 'apply'],
    ),
    fc.nat(14),
    fc.integer({ min: 1, max: 6 }),
  ),
  { minLength: 5, maxLength: 60 },
);

class Run {
  readonly host = new FakeHost({ maxPopBytes: 400 });
  readonly pops: {
    readonly group: string;
    readonly popped: Popped;
    readonly gone: AbortController;
  }[] = [];
  private readonly acked = new Set<Popped>();

  constructor() {
    this.host.hold = true;
    this.host.register('g');
    this.host.register('h');
    this.host.register('last', { conflation: true });
  }

  async step([kind, place, amount]: Step): Promise<void> {
    const { host } = this;
    const partition = PARTITIONS[place % PARTITIONS.length]!;
    const group = GROUPS[place % GROUPS.length]!;
    if (kind === 'push') host.push(partition, amount);
    else if (kind === 'pop') this.pop(group, { maxMessages: amount * 3, maxPartitions: amount });
    else if (kind === 'pinned') this.pop(group, { scope: 'partition', partition });
    else if (kind === 'impatient')
      this.pop(group, { wait: false, commitOnDelivery: group !== 'last' });
    else if (kind === 'ack') this.ack(place);
    else if (kind === 'pass') await host.pass(amount * 700);
    else if (kind === 'steal') this.steal(partition, group);
    else if (kind === 'abort') this.pops[place % Math.max(this.pops.length, 1)]?.gone.abort();
    else if (kind === 'settle') await host.settle(2);
    else if (kind === 'configure') host.configure({ delayedProcessing: amount % 3 });
    else host.applyClaims();
    this.checkInFlight();
  }

  /** Everything on its way arrives, every hold ends (leases stay): then nothing may be left. */
  async finish(): Promise<void> {
    const { host } = this;
    host.hold = false;
    host.applyClaims();
    await host.settle();
    await host.pass(3_000);
    await host.settle(20);
  }

  /** Partitions a waiting pop could have. */
  unserved(): string[] {
    const { host } = this;
    const found: string[] = [];
    for (const { group, popped } of this.pops) {
      if (popped.answer !== null || popped.error !== null) continue;
      const request = this.requests.get(popped)!;
      const names = request === '' ? PARTITIONS : [request];
      for (const name of names) {
        if (this.isClaimable(name, group)) found.push(`${group} on ${name} for ${popped.sequence}`);
      }
    }
    host.dispatcher.stop();
    return found;
  }

  private readonly requests = new Map<Popped, string>();

  private pop(group: string, request: Parameters<FakeHost['pop']>[0] & object): void {
    const gone = new AbortController();
    const options = { timeoutMs: 3_600_000, signal: gone.signal };
    const popped = this.host.pop({ ...request, group, leaseSeconds: 5 }, options);
    this.requests.set(popped, request.partition ?? '');
    this.pops.push({ group, popped, gone });
  }

  private ack(place: number): void {
    const open = this.pops.filter(
      ({ popped }) =>
        popped.grant !== null && !popped.grant.commitOnDelivery && !this.acked.has(popped),
    );
    const chosen = open[place % Math.max(open.length, 1)];
    if (chosen === undefined) return;
    this.acked.add(chosen.popped);
    this.host.ackAll(chosen.popped, chosen.group);
  }

  private steal(partition: string, group: string): void {
    if (!this.isClaimable(partition, group)) return;
    this.host.apply(this.host.machine.claimBytes({ partition, group, leaseSeconds: 2 }));
  }

  private isClaimable(partition: string, group: string): boolean {
    const { machine, tables } = this.host;
    const slot = machine.partition('orders', partition);
    if (slot < 0) return false;
    const cursor = machine.cursor(group, 'orders', partition);
    if (cursor < 0) return tables.partitions.lastOffset(slot) >= 0;
    const lease = tables.cursors.lease(cursor);
    if (lease >= 0 && tables.leases.expiresAt(lease) > machine.now) return false;
    return tables.cursors.committed(cursor) < tables.partitions.lastOffset(slot);
  }

  /** Claims of which no outcome came yet name each (group, partition) once. */
  private checkInFlight(): void {
    const newest = new Map(
      this.host.claims
        .flatMap(({ grants }) => grants)
        .map((grant) => [grant.ticket.sequence, grant.ranges]),
    );
    const open = [...newest]
      .filter(([sequence]) => this.host.isUnderWay(sequence))
      .flatMap(([, ranges]) => ranges.map((range) => `${range.groupId}/${range.partitionId}`));
    expect(new Set(open).size).toBe(open.length);
  }
}

describe('dispatcher, random runs', () => {
  it('serves what is claimable while somebody waits, each slot in one claim at a time', async () => {
    await fc.assert(
      fc.asyncProperty(STEPS, async (steps) => {
        const run = new Run();
        for (const step of steps) await run.step(step);
        await run.finish();
        expect(run.unserved()).toEqual([]);
      }),
      { numRuns: 150 },
    );
  }, 180_000);
});
