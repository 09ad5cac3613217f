/**
 * MurmurHash3 against SMHasher verification values and published hashes.
 */
import { murmur3x128Into, murmur3x32 } from './murmur3-128.js';

const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The four words of the hash as the usual tools print them. */
function words(text: string, seed = 0): string {
  const out = new Uint8Array(16);
  const bytes = ascii(text);
  murmur3x128Into(bytes, 0, bytes.length, out, 0, seed);
  const view = new DataView(out.buffer);
  return [0, 4, 8, 12].map((at) => view.getUint32(at, true).toString(16).padStart(8, '0')).join('');
}

/** SMHasher's VerificationTest: keys {}, {0}, {0,1} …, seeds 256 − n, then a hash of the hashes. */
function verification(
  sizeBytes: number,
  hash: (key: Uint8Array, seed: number, out: Uint8Array, at: number) => void,
): number {
  const key = new Uint8Array(256);
  const hashes = new Uint8Array(sizeBytes * 256);
  for (let n = 0; n < 256; n++) {
    key[n] = n;
    hash(key.subarray(0, n), 256 - n, hashes, n * sizeBytes);
  }
  const final = new Uint8Array(sizeBytes);
  hash(hashes, 0, final, 0);
  return new DataView(final.buffer).getUint32(0, true);
}

describe('murmur3', () => {
  it('passes the verification values of SMHasher', () => {
    expect(
      verification(16, (key, seed, out, at) => murmur3x128Into(key, 0, key.length, out, at, seed)),
    ).toBe(0xb3ece62a);
    expect(
      verification(4, (key, seed, out, at) =>
        new DataView(out.buffer).setUint32(at, murmur3x32(key, 0, key.length, seed), true),
      ),
    ).toBe(0xb0f57ee3);
  });

  it.each([
    ['', '00000000000000000000000000000000'],
    ["I will not buy this tobacconist's, it is scratched.", '9b5b7ba2ef3f7866889adeaf00f3f98e'],
    ['The quick brown fox jumps over the lazy dog', '2f1583c3ecee2c675d7bf66ce5e91d2c'],
  ])('hashes %p to the published value', (text, expected) => {
    expect(words(text)).toBe(expected);
  });

  it('hashes a range in place', () => {
    const inside = ascii('xxorder-1yyy');
    const alone = ascii('order-1');
    const out = new Uint8Array(40);
    murmur3x128Into(inside, 2, 9, out, 20);
    murmur3x128Into(alone, 0, 7, out, 0);
    expect(out.subarray(20, 36)).toEqual(out.subarray(0, 16));
    expect(out.subarray(36)).toEqual(new Uint8Array(4));
    expect(murmur3x32(inside, 2, 9)).toBe(murmur3x32(alone, 0, 7));
  });
});
