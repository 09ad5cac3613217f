/** Order of texts by their UTF-8 bytes, as the store keeps them; JavaScript compares UTF-16 units. */

/** Below 0, 0 or above 0 like a − b. Lone surrogates are no text and sort as their unit. */
export function compareBytes(a: string, b: string): number {
  const size = Math.min(a.length, b.length);
  for (let i = 0; i < size; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left !== right) return lifted(left) - lifted(right);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above every other unit. */
function lifted(unit: number): number {
  return (unit & 0xf800) === 0xd800 ? unit + 0x10000 : unit;
}
