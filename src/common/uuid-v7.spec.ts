/**
 * Minting is strictly increasing whatever the clock does; text and bytes are each other's mirror.
 */
import fc from 'fast-check';
import { Prng } from './prng.js';
import {
  hexText,
  isUuid,
  parseUuid,
  parseUuidInto,
  UuidMint,
  uuidMs,
  uuidText,
} from './uuid-v7.js';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function mintAt(times: () => number): UuidMint {
  return new UuidMint({ nowMs: times }, new Prng(1));
}

describe('UuidMint', () => {
  it('strictly increases while the clock stands, jumps back and runs', () => {
    const steps = fc.array(fc.integer({ min: -5, max: 5 }), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(steps, fc.integer(), (moves, seed) => {
        let ms = 0x0199_c0de_1111;
        const mint = new UuidMint({ nowMs: () => ms }, new Prng(seed));
        let previous = '';
        for (const move of moves) {
          ms += move;
          const text = mint.mintText();
          expect(text).toMatch(UUID_V7);
          expect(text > previous).toBe(true);
          previous = text;
        }
      }),
    );
  });

  it('carries the millisecond', () => {
    const ms = 0xfedc_ba98_7654;
    expect(uuidMs(mintAt(() => ms).mint())).toBe(ms);
    expect(
      mintAt(() => 0x0199_c0de_1111)
        .mintText()
        .startsWith('0199c0de-1111-7'),
    ).toBe(true);
  });

  it('moves to the next millisecond when the counter is used up', () => {
    const mint = mintAt(() => 1000);
    const before = mint.mintText();
    Reflect.set(mint, 'counter', 0xffff_fffe);
    const last = mint.mint();
    const next = mint.mint();
    expect(uuidMs(last)).toBe(1000);
    expect(uuidMs(next)).toBe(1001);
    expect(uuidText(last) > before).toBe(true);
    expect(uuidText(next) > uuidText(last)).toBe(true);
    expect(uuidText(last)).toMatch(/^00000000-03e8-7fff-bfff-f[c-f]/);
  });

  it('never repeats across mints with the same clock', () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < 20; seed++) {
      const mint = new UuidMint({ nowMs: () => 5 }, new Prng(seed));
      for (let i = 0; i < 500; i++) seen.add(mint.mintText());
    }
    expect(seen.size).toBe(10_000);
  });

  it('writes only its 16 bytes', () => {
    const target = new Uint8Array(20).fill(0xee);
    mintAt(() => 1).mintInto(target, 2);
    expect([target[0], target[1], target[18], target[19]]).toEqual([0xee, 0xee, 0xee, 0xee]);
  });
});

describe('uuid text', () => {
  it('parses what it prints', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const text = uuidText(bytes);
        expect(parseUuid(text)).toEqual(bytes);
        expect(parseUuid(text.toUpperCase())).toEqual(bytes);
        expect(text.replaceAll('-', '')).toBe(hexText(bytes));
      }),
    );
  });

  it.each([
    '',
    '0199c0de11117222833344445555666',
    '0199c0de-1111-7222-8333-44445555666',
    '0199c0de-1111-7222-8333-4444555566667',
    '0199c0de-1111-7222-8333-44445555666g',
    '0199c0de_1111-7222-8333-444455556666',
    '0199c0de-1111-7222-83334-44455556666',
    '{199c0de-1111-7222-8333-444455556666',
    '0199c0de-1111-7222-8333-44445555666\u0130',
    '0199c0de-1111-7222-8333-4444555566\u3230',
  ])('refuses %p', (text) => {
    expect(isUuid(text)).toBe(false);
  });

  it('parses a range of bytes in place', () => {
    const bytes = new TextEncoder().encode('"0199c0de-1111-7222-8333-444455556666"');
    const target = new Uint8Array(18);
    expect(parseUuidInto(bytes, 1, target, 1)).toBe(true);
    expect(uuidText(target, 1)).toBe('0199c0de-1111-7222-8333-444455556666');
    expect(parseUuidInto(bytes, 0, target, 1)).toBe(false);
    expect(parseUuidInto(bytes, 3, target, 1)).toBe(false);
  });
});
