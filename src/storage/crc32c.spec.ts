/** CRC-32C against published vectors. */
import { crc32c, maskCrc, unmaskCrc } from './crc32c.js';

describe('crc32c', () => {
  // RFC 3720, appendix B.4, and the usual check value.
  test.each([
    ['123456789', 0xe3069283],
    ['\0'.repeat(32), 0x8a9136aa],
    ['\xff'.repeat(32), 0x62a8ab43],
    [Array.from({ length: 32 }, (_, i) => String.fromCharCode(i)).join(''), 0x46dd794e],
  ])('vector %#', (text, expected) => {
    expect(crc32c(Buffer.from(text, 'latin1'))).toBe(expected);
  });

  test('parts continue each other, at every cut and offset', () => {
    const bytes = Buffer.from(Array.from({ length: 40 }, (_, i) => (i * 37) & 255));
    const whole = crc32c(bytes);
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(crc32c(bytes, cut, bytes.length, crc32c(bytes, 0, cut))).toBe(whole);
    }
  });

  test('masking turns back', () => {
    for (const crc of [0, 1, 0xe3069283, 0xffffffff]) expect(unmaskCrc(maskCrc(crc))).toBe(crc);
  });
});
