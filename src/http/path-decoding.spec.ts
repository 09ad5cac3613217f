/** Request paths that a strict router would refuse are repaired; all others stay as they are. */
import fc from 'fast-check';
import { repairPathEscapes } from './path-decoding.js';

describe('repairPathEscapes', () => {
  it.each([
    ['/a/b', '/a/b'],
    ['/a%20b', '/a%20b'],
    ['/100%', '/100%25'],
    ['/50%zz', '/50%25zz'],
    ['/%', '/%25'],
    ['/%f', '/%25f'],
    ['/%%20', '/%25%20'],
    ['/%ff', '/%25ff'],
    ['/%c3%28', '/%25c3%2528'],
    ['/%c3%a9/%ff', '/%c3%a9/%25ff'],
    ['/a%2Fb', '/a%2Fb'],
    ['/a?x=%', '/a?x=%'],
    ['/%?x=%ff', '/%25?x=%ff'],
    ['*', '*'],
    ['', ''],
  ])('%s → %s', (url, expected) => {
    expect(repairPathEscapes(url)).toBe(expected);
  });

  it('always gives segments that decode, and keeps those that did', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('%', '2', 'f', 'z', '/', 'é', 'c') }),
        (path) => {
          const repaired = repairPathEscapes(path).split('/');
          path.split('/').forEach((segment, i) => {
            const decoded = decodeURIComponent(repaired[i] ?? '');
            expect(decoded).toBe(decodeOrKeep(segment));
          });
        },
      ),
    );
  });
});

/** What the spec says a segment means: escapes decoded, a `%` without two hex digits literal. */
function decodeOrKeep(segment: string): string {
  const escaped = segment.replace(/%(?![0-9a-fA-F]{2})/g, '%25');
  try {
    return decodeURIComponent(escaped);
  } catch {
    // Escapes that are no UTF-8 stay literal, all of them in the segment.
    return escaped.replaceAll('%25', '%');
  }
}
