/**
 * UTF-8 against TextEncoder and a fatal TextDecoder, at every alignment.
 */
import fc from 'fast-check';
import { encodeUtf8, isValidUtf8, readUtf8, utf8Length, writeUtf8 } from './utf8.js';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const fatal = new TextDecoder('utf-8', { fatal: true });

function acceptedByTextDecoder(bytes: Uint8Array): boolean {
  try {
    fatal.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

describe('utf8', () => {
  it('writes and reads like the built-in coder, lone surrogates included', () => {
    const units = fc.array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.nat(0x7f)), {
      maxLength: 90,
    });
    fc.assert(
      fc.property(units, fc.nat(5), (codes, at) => {
        const text = String.fromCharCode(...codes);
        const expected = new TextEncoder().encode(text);
        const target = new Uint8Array(at + expected.length);
        expect(writeUtf8(text, target, at)).toBe(at + expected.length);
        expect(target.subarray(at)).toEqual(expected);
        expect(utf8Length(text)).toBe(expected.length);
        expect(encodeUtf8(text)).toEqual(expected);
        expect(readUtf8(target, at, target.length)).toBe(decoder.decode(expected));
      }),
      { numRuns: 1000 },
    );
  });

  it('keeps a byte order mark', () => {
    expect(readUtf8(encodeUtf8('\ufeffa'), 0, 4)).toBe('\ufeffa');
  });

  it('validates exactly like a fatal TextDecoder', () => {
    const byte = fc.oneof(
      fc.nat(255),
      fc.constantFrom(0x80, 0xbf, 0xc2, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0x9f, 0x8f, 0xa0),
    );
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 8 }), (list) => {
        const bytes = Uint8Array.from(list);
        expect(isValidUtf8(bytes, 0, bytes.length)).toBe(acceptedByTextDecoder(bytes));
      }),
      { numRuns: 5000 },
    );
  });

  it('validates long ranges at any alignment and only inside the range', () => {
    const long = fc.string({ unit: 'binary', minLength: 200, maxLength: 600 });
    fc.assert(
      fc.property(long, fc.nat(9), fc.nat(9), (text, before, after) => {
        const body = new TextEncoder().encode(text);
        const bytes = new Uint8Array(before + body.length + after).fill(0xff);
        bytes.set(body, before);
        const end = before + body.length;
        expect(isValidUtf8(bytes, before, end)).toBe(true);
        if (after > 0) expect(isValidUtf8(bytes, before, end + 1)).toBe(false);
        if (before > 0) expect(isValidUtf8(bytes, before - 1, end)).toBe(false);
      }),
    );
    const ascii = new Uint8Array(5000).fill(0x61);
    for (const at of [0, 1, 2, 3, 1023, 4096, 4997, 4999]) {
      ascii[at] = 0x80;
      expect(isValidUtf8(ascii, 0, ascii.length)).toBe(false);
      ascii[at] = 0x61;
    }
    expect(isValidUtf8(ascii, 3, 4999)).toBe(true);
  });
});
