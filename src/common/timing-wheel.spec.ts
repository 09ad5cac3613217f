/**
 * The timing wheel against a sorted list: same entries, same order, never early, also across the
 * rounds of its levels.
 */
import fc from 'fast-check';
import { TimingWheel, type WheelEntry } from './timing-wheel.js';

class Entry implements WheelEntry<Entry> {
  wheelBucket = -1;
  wheelTick = 0;
  wheelNext: Entry | undefined = undefined;
  wheelPrevious: Entry | undefined = undefined;

  constructor(readonly id: number) {}
}

interface Scheduled {
  readonly id: number;
  readonly tick: number;
  readonly order: number;
}

describe('TimingWheel', () => {
  it('fires exactly what a sorted list would, in the same order', () => {
    const delay = fc.oneof(
      fc.nat(50),
      fc.nat(3000),
      fc.nat(700_000),
      fc.nat(200_000_000),
      fc.constant(-5),
    );
    const move = fc.oneof(
      fc.record({ what: fc.constant('schedule' as const), id: fc.nat(30), ms: delay }),
      fc.record({ what: fc.constant('cancel' as const), id: fc.nat(30), ms: fc.constant(0) }),
      fc.record({ what: fc.constant('advance' as const), id: fc.constant(0), ms: delay }),
    );
    const start = fc.constantFrom(
      0,
      1,
      1_772_600_767_123,
      256 * 256 * 10 - 7,
      2 ** 32 * 10 - 30_000,
    );
    fc.assert(
      fc.property(fc.array(move, { maxLength: 80 }), start, (moves, startMs) => {
        const tickMs = 10;
        let nowMs = startMs;
        const entries = Array.from({ length: 31 }, (_, id) => new Entry(id));
        const wheel = new TimingWheel<Entry>(tickMs, nowMs);
        let model: Scheduled[] = [];
        moves.forEach(({ what, id, ms }, order) => {
          if (what === 'schedule') {
            wheel.schedule(entries[id]!, nowMs + ms);
            model = model.filter((held) => held.id !== id);
            const tick = Math.max(Math.floor(nowMs / tickMs) + 1, Math.ceil((nowMs + ms) / tickMs));
            model.push({ id, tick, order });
          } else if (what === 'cancel') {
            expect(wheel.cancel(entries[id]!)).toBe(model.some((held) => held.id === id));
            model = model.filter((held) => held.id !== id);
          } else {
            nowMs += Math.max(0, ms);
            const fired: number[] = [];
            wheel.advance(nowMs, (entry) => fired.push(entry.id));
            const due = model.filter((held) => held.tick <= Math.floor(nowMs / tickMs));
            due.sort((a, b) => a.tick - b.tick || a.order - b.order);
            expect(fired).toEqual(due.map((held) => held.id));
            model = model.filter((held) => !due.includes(held));
          }
          expect(wheel.size).toBe(model.length);
          const firstDueMs = Math.min(...model.map((held) => held.tick * tickMs));
          expect(wheel.nextWakeMs()).toBeLessThanOrEqual(firstDueMs);
          if (model.length > 0) expect(wheel.nextWakeMs()).toBeGreaterThan(nowMs - tickMs);
        });
      }),
      { numRuns: 300 },
    );
  });

  it('reaches a far entry in few wake-ups', () => {
    const wheel = new TimingWheel<Entry>(10, 5);
    const entry = new Entry(1);
    wheel.schedule(entry, 3_600_000);
    const fired: number[] = [];
    let wakes = 0;
    while (wheel.size > 0) {
      const wakeMs = wheel.nextWakeMs();
      wheel.advance(wakeMs, () => fired.push(wakeMs));
      wakes += 1;
    }
    expect(fired).toEqual([3_600_000]);
    expect(wakes).toBeLessThan(1500);
    expect(wheel.nextWakeMs()).toBe(Infinity);
  });

  it('lets the callback schedule and cancel', () => {
    const wheel = new TimingWheel<Entry>(1, 0);
    const [a, b, c] = [new Entry(1), new Entry(2), new Entry(3)];
    const fired: number[] = [];
    wheel.schedule(a, 5);
    wheel.schedule(b, 5);
    wheel.schedule(c, 1000);
    wheel.advance(8, (entry) => {
      fired.push(entry.id);
      if (fired.length > 1) return;
      wheel.cancel(b);
      wheel.schedule(a, 0);
      wheel.schedule(c, 7);
    });
    expect(fired).toEqual([1, 1, 3]);
  });

  it('does not mind a clock that goes back, nor times without end', () => {
    const wheel = new TimingWheel<Entry>(10, 1000);
    const entry = new Entry(1);
    wheel.schedule(entry, Infinity);
    const fired: number[] = [];
    wheel.advance(500, (due) => fired.push(due.id));
    wheel.advance(10_000_000, (due) => fired.push(due.id));
    expect(fired).toEqual([]);
    expect(wheel.isScheduled(entry)).toBe(true);
    expect(wheel.cancel(entry)).toBe(true);
  });
});
