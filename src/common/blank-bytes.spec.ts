/** Blank stretches: whole pages of zeros only, and copies that keep ranges where they were. */
import { blankBytesOf, blankedOutside, stretchesOf } from './blank-bytes.js';

const PAGE = 4096;

describe('blank bytes', () => {
  it.each<[string, (bytes: Uint8Array) => void, number, string[]]>([
    ['nothing but zeros', () => undefined, 2 * PAGE, ['0-8192 blank', '8192-9192 full']],
    ['a byte in the first page', (b) => b.fill(1, 7, 8), PAGE, ['0-4096 full', '4096-8192 blank']],
    ['a byte at the end of a page', (b) => b.fill(1, 4095, 4096), PAGE, ['0-4096 full']],
    ['a byte in the middle of each', (b) => b.fill(1, 4000, 4200), 0, ['0-9192 full']],
  ])('%s', (_what, write, blank, stretches) => {
    const bytes = new Uint8Array(2 * PAGE + 1000);
    write(bytes);
    const shown = stretchesOf(bytes).map(
      ({ start, end, isBlank }) => `${start}-${end} ${isBlank ? 'blank' : 'full'}`,
    );
    expect(shown.slice(0, stretches.length)).toEqual(stretches);
    expect(blankBytesOf(bytes)).toBe(blank);
    const all = stretchesOf(bytes);
    expect(all[0]?.start).toBe(0);
    expect(all.at(-1)?.end).toBe(bytes.length);
    all.slice(1).forEach(({ start }, i) => expect(start).toBe(all[i]?.end));
  });

  it('has no stretch where there are no bytes', () => {
    expect(stretchesOf(new Uint8Array(0))).toEqual([]);
  });

  it('keeps ranges in place', () => {
    const bytes = Uint8Array.from([1, 2, 3, 4, 5]);
    expect([...blankedOutside(bytes, [{ start: 1, length: 2 }])]).toEqual([0, 2, 3, 0, 0]);
  });
});
