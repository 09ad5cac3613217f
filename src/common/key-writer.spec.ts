/**
 * Store keys: byte order must be field order, also for texts with zero bytes inside.
 */
import fc from 'fast-check';
import { DecodeError } from './binary-reader.js';
import { KeyWriter, keyText, keyU16, keyU32, keyU48, keyU64 } from './key-writer.js';
import { QueenError } from './errors.js';
import { InvariantViolation } from './invariant.js';

const compare = (a: Uint8Array, b: Uint8Array): number => Math.sign(Buffer.compare(a, b));

describe('KeyWriter', () => {
  it('orders numbers as numbers', () => {
    const key = new KeyWriter();
    const max = Number.MAX_SAFE_INTEGER;
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, max)), (a, b) => {
        const left = key.clear().u64(a).toBytes();
        const right = key.clear().u64(b).toBytes();
        expect(compare(left, right)).toBe(Math.sign(a - b));
        expect(keyU64(left, 0)).toBe(a);
      }),
    );
  });

  it('reads its fields back', () => {
    const bytes = new KeyWriter()
      .u8(7)
      .u16(0x1234)
      .u32(0xfedcba98)
      .u48(2 ** 47 + 5)
      .tail('ä')
      .view();
    expect(bytes[0]).toBe(7);
    expect(keyU16(bytes, 1)).toBe(0x1234);
    expect(keyU32(bytes, 3)).toBe(0xfedcba98);
    expect(keyU48(bytes, 7)).toBe(2 ** 47 + 5);
    expect(Buffer.from(bytes.subarray(13)).toString()).toBe('ä');
    expect(() => keyU32(bytes, bytes.length - 3)).toThrow(DecodeError);
  });

  it('keeps the order of texts, however the next field looks', () => {
    const text = fc.uint8Array({ maxLength: 6 }).map((bytes) => bytes.map((byte) => byte % 3));
    const key = new KeyWriter();
    fc.assert(
      fc.property(text, text, fc.nat(255), fc.nat(255), (a, b, nextA, nextB) => {
        const left = key.clear().text(a).u8(nextA).toBytes();
        const right = key.clear().text(b).u8(nextB).toBytes();
        const expected = compare(a, b) || Math.sign(nextA - nextB);
        expect(compare(left, right)).toBe(expected);
        const back = keyText(left, 0);
        expect([...back.bytes]).toEqual([...a]);
        expect(left[back.next]).toBe(nextA);
      }),
      { numRuns: 2000 },
    );
  });

  it('writes strings and common starts', () => {
    const key = new KeyWriter().u8(1).string('q\u00e4');
    const start = key.length;
    const first = key.u8(1).toBytes();
    const second = key.truncate(start).u8(2).toBytes();
    expect(first.subarray(0, start)).toEqual(second.subarray(0, start));
    expect(compare(first, second)).toBe(-1);
    expect(
      key
        .clear()
        .fixed(Uint8Array.of(1, 2, 3), 1, 3)
        .toBytes(),
    ).toEqual(Uint8Array.of(2, 3));
  });

  it('refuses bad escapes, values and lengths', () => {
    expect(() => keyText(Uint8Array.of(65, 0, 2), 0)).toThrow(DecodeError);
    expect(() => keyText(Uint8Array.of(65), 0)).toThrow(DecodeError);
    expect(() => keyU64(new Uint8Array(8).fill(255), 0)).toThrow(DecodeError);
    expect(() => new KeyWriter().u32(-1)).toThrow(InvariantViolation);
    expect(() => new KeyWriter().u48(2 ** 48)).toThrow(InvariantViolation);
    expect(() => new KeyWriter().fixed(new Uint8Array(5000))).toThrow(QueenError);
  });
});
