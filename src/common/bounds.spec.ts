/**
 * Token bucket, byte-bounded cache, name budget and the partition UUID: what limits or names things.
 * Models are plain lists; the UUID layout is pinned by two texts that must never change.
 */
import fc from 'fast-check';
import { LruBytes } from './lru-bytes.js';
import { isWithinNameBudget, nameBudgetRefusal, nameRefusal } from './name-budget.js';
import { partitionNumberFromUuid, partitionUuid } from './partition-uuid.js';
import { TokenBucket } from './token-bucket.js';
import { isUuid, uuidMs, uuidText } from './uuid-v7.js';

describe('TokenBucket', () => {
  it('never gives more than burst plus what flowed in', () => {
    const call = fc.tuple(fc.nat(2000), fc.integer({ min: 1, max: 8 }));
    fc.assert(
      fc.property(
        fc.array(call),
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 20 }),
        (calls, ratePerSecond, burst) => {
          const bucket = new TokenBucket({ ratePerSecond, burst }, 0);
          let nowMs = 0;
          let taken = 0;
          for (const [waitMs, count] of calls) {
            nowMs += waitMs;
            if (bucket.take(nowMs, count)) taken += count;
            else if (count <= burst) {
              const retryMs = bucket.retryAfterSeconds(nowMs, count) * 1000;
              expect(retryMs).toBeGreaterThanOrEqual(1000);
              const later = new TokenBucket({ ratePerSecond, burst }, 0);
              Object.assign(later, bucket);
              expect(later.take(nowMs + retryMs, count)).toBe(true);
            }
          }
          expect(taken).toBeLessThanOrEqual(burst + (nowMs * ratePerSecond) / 1000 + 1e-6);
        },
      ),
    );
  });

  it('refunds, changes limits and ignores a clock that goes back', () => {
    const bucket = new TokenBucket({ ratePerSecond: 1, burst: 3 }, 10_000);
    expect(bucket.take(10_000, 3)).toBe(true);
    expect(bucket.take(5_000)).toBe(false);
    expect(bucket.take(10_500)).toBe(false);
    expect(bucket.take(11_000)).toBe(true);
    bucket.refund(100);
    expect([bucket.take(11_000, 3), bucket.take(11_000)]).toEqual([true, false]);
    bucket.setLimits({ ratePerSecond: 1000, burst: 1 }, 11_000);
    expect([bucket.take(12_000), bucket.take(12_000)]).toEqual([true, false]);

    const full = new TokenBucket({ ratePerSecond: 1, burst: 3 }, 10_000);
    expect([full.take(5_000, 3), full.take(9_000)]).toEqual([true, false]);
  });
});

describe('LruBytes', () => {
  it('agrees with a list model', () => {
    const move = fc.tuple(
      fc.constantFrom('set', 'get', 'delete'),
      fc.nat(8),
      fc.integer({ min: 0, max: 12 }),
    );
    fc.assert(
      fc.property(fc.array(move, { maxLength: 120 }), (moves) => {
        const evicted: number[] = [];
        const lru = new LruBytes<number, number>(20, (key) => evicted.push(key));
        let model: Array<{ key: number; size: number }> = [];
        const expectedEvictions: number[] = [];
        for (const [what, key, size] of moves) {
          const held = model.find((entry) => entry.key === key);
          if (what === 'get') {
            expect(lru.get(key)).toBe(held?.size);
            if (held) model = [...model.filter((entry) => entry !== held), held];
          } else {
            model = model.filter((entry) => entry !== held);
            if (what === 'delete') expect(lru.delete(key)).toBe(held !== undefined);
            else {
              expect(lru.set(key, size, size)).toBe(true);
              model.push({ key, size });
              while (model.reduce((sum, entry) => sum + entry.size, 0) > 20) {
                expectedEvictions.push(model.shift()!.key);
              }
            }
          }
          expect(lru.sizeBytes).toBe(model.reduce((sum, entry) => sum + entry.size, 0));
          expect(lru.count).toBe(model.length);
        }
        expect(evicted).toEqual(expectedEvictions);
      }),
    );
  });

  it('does not keep what is larger than the whole cache', () => {
    const lru = new LruBytes<string, number>(10);
    lru.set('a', 1, 5);
    expect(lru.set('a', 2, 11)).toBe(false);
    expect(lru.peek('a')).toBeUndefined();
    lru.set('b', 1, 1);
    lru.clear();
    expect([lru.count, lru.sizeBytes]).toEqual([0, 0]);
  });
});

describe('the name budget', () => {
  it.each([
    [{ queueBytes: 411 }, undefined],
    [{ queueBytes: 412 }, 'queue name is too long: 412 bytes'],
    [{ queueBytes: 11, partitionBytes: 400 }, undefined],
    [{ queueBytes: 11, partitionBytes: 401 }, 'partition name is too long: 401 bytes'],
    [{ queueBytes: 11, partitionBytes: 400, groupBytes: 401 }, 'group name is too long: 401 bytes'],
    [{ queueBytes: 11, partitionBytes: 400, groupBytes: 400 }, undefined],
  ])('judges %p', (sizes, expected) => {
    const refusal = nameBudgetRefusal(sizes);
    if (expected === undefined) expect(refusal).toBeUndefined();
    else {
      expect(refusal).toContain(expected);
      expect(refusal).toContain('447');
    }
  });

  it('counts bytes, not characters', () => {
    expect(nameRefusal({ queue: 'ä'.repeat(205) })).toBeUndefined();
    expect(nameRefusal({ queue: 'ä'.repeat(206) })).toContain('412 bytes');
    expect(nameRefusal({ queue: 'q', partition: 'p', group: '漢'.repeat(137) })).toContain('group');
    expect(isWithinNameBudget(11, 400)).toBe(true);
    expect(isWithinNameBudget(12, 400)).toBe(false);
  });
});

describe('the partition UUID', () => {
  const number = fc.oneof(fc.nat(1000), fc.integer({ min: 0, max: 2 ** 48 - 1 }));

  it('is a UUIDv7 of the creation time that gives the number back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 9_007_199_254_740_000 }), number, (createdAt, id) => {
        const uuid = partitionUuid(createdAt, id);
        expect(partitionNumberFromUuid(uuid)).toBe(id);
        expect(uuidMs(uuid)).toBe(Math.floor(createdAt / 1000));
        expect(uuidText(uuid)).toMatch(/^.{14}7.{4}[89ab]/);
        expect(isUuid(uuidText(uuid))).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('differs between partitions and is recognised', () => {
    const texts = new Set(
      Array.from({ length: 2000 }, (_, id) => uuidText(partitionUuid(1000, id))),
    );
    expect(texts.size).toBe(2000);
    const uuid = partitionUuid(1_772_600_767_123_456, 42);
    for (let bit = 0; bit < 128; bit++) {
      const changed = uuid.slice();
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(partitionNumberFromUuid(changed)).toBeUndefined();
    }
    expect(partitionNumberFromUuid(uuid.subarray(1))).toBeUndefined();
  });

  it('never changes', () => {
    expect(uuidText(partitionUuid(1_772_600_767_123_456, 42))).toMatchInlineSnapshot(
      `"019cb73d-3293-7976-93e0-d6e358d85395"`,
    );
    expect(uuidText(partitionUuid(0, 2 ** 48 - 1))).toMatchInlineSnapshot(
      `"00000000-0000-7d53-b87f-c21c6bf0f922"`,
    );
  });
});
