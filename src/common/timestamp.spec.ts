/**
 * Times out and in, against Date on every millisecond, and the texts that are no time.
 */
import fc from 'fast-check';
import { MAX_MICROS, parseTimestamp, timestampMillisText, timestampText } from './timestamp.js';

describe('timestampText', () => {
  it('prints six and three digits', () => {
    const micros = 1_772_600_767_123_456;
    expect(timestampText(micros)).toBe('2026-03-04T05:06:07.123456Z');
    expect(timestampMillisText(micros)).toBe('2026-03-04T05:06:07.123Z');
    expect(timestampText(0)).toBe('1970-01-01T00:00:00.000000Z');
    expect(timestampText(-1)).toBe('1969-12-31T23:59:59.999999Z');
    expect(timestampText(MAX_MICROS)).toBe('2255-06-05T23:47:34.740000Z');
  });

  it('agrees with Date on every millisecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: -MAX_MICROS / 1000, max: MAX_MICROS / 1000 }), (ms) => {
        const expected = new Date(ms).toISOString();
        expect(timestampMillisText(ms * 1000)).toBe(expected);
        expect(parseTimestamp(expected)).toBe(ms * 1000);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('parseTimestamp', () => {
  const noon = Date.UTC(2026, 2, 4, 12, 0, 0) * 1000;

  it.each([
    ['2026-03-04T12:00:00Z', noon],
    ['2026-03-04t12:00:00z', noon],
    ['2026-03-04 12:00:00', noon],
    ['2026-03-04T12:00', noon],
    [' 2026-03-04T12:00Z ', noon],
    ['2026-03-04T14:30:00+02:30', noon],
    ['2026-03-04T10:00:00-0200', noon],
    ['2026-03-04T13:00:00+01', noon],
    ['2026-03-04T12:00:00.123456Z', noon + 123_000],
    ['2026-03-04T12:00:00.9999Z', noon + 999_000],
    ['2026-03-04T12:00:00.5Z', noon + 500_000],
    ['2026-03-04T12:00:00,25Z', noon + 250_000],
    ['2026-03-04', noon - 12 * 3600 * 1_000_000],
    ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29) * 1000],
    ['2000-02-29T00:00:00Z', Date.UTC(2000, 1, 29) * 1000],
    ['2016-12-31T23:59:60Z', Date.UTC(2017, 0, 1) * 1000],
    ['9999-12-31T23:59:59Z', MAX_MICROS],
    ['0001-01-01T00:00:00Z', -MAX_MICROS],
  ])('reads %p', (text, micros) => {
    expect(parseTimestamp(text)).toBe(micros);
  });

  it.each([
    '',
    'now',
    '1772600767',
    '2026-3-4',
    '2026-13-01',
    '2026-00-01',
    '2026-02-29',
    '2100-02-29',
    '2026-04-31',
    '2026-03-00',
    '2026-03-04T24:00:00Z',
    '2026-03-04T12:60:00Z',
    '2026-03-04T12:00:61Z',
    '2026-03-04T12:00:00.Z',
    '2026-03-04T12:00:00+25:00',
    '2026-03-04T12Z',
    '2026-03-04Z',
    '2026-03-04T12:00:00 UTC',
    '+2026-03-04T12:00:00Z',
    '2026-03-04T12:00:00Z' + ' '.repeat(60),
  ])('refuses %p', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });
});
