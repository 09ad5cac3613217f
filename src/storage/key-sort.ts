/**
 * Puts a layer's entries in key order for a scan. Nothing is sorted until a view iterates, only
 * what the range asks for is, and the work runs in slices so that the event loop stays free.
 */
import type { KeyRange } from './byte-order.js';
import type { LayerCut } from './overlay.js';

const FILTER_SLICE = 50_000;
const RUN_LENGTH = 2_048;
const MERGE_SLICE = 30_000;

/** Lets other work of the event loop run. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The entries of a cut inside a range, in ascending key order. */
export async function sortCut(cut: LayerCut, range: KeyRange): Promise<Int32Array> {
  const { layer } = cut;
  const isWhole = range.from === undefined && range.to === undefined;
  if (isWhole && layer.isFrozen && cut.entryCount === layer.entryCount) {
    layer.sortedEntries ??= await sortEntries(cut, await collect(cut, range));
    return layer.sortedEntries;
  }
  return sortEntries(cut, await collect(cut, range));
}

async function collect(cut: LayerCut, range: KeyRange): Promise<Int32Array> {
  const { layer, entryCount } = cut;
  const { from, to } = range;
  let found = new Int32Array(Math.min(entryCount, 256));
  let count = 0;
  for (let entry = 0; entry < entryCount; entry++) {
    if (entry % FILTER_SLICE === FILTER_SLICE - 1) await breathe();
    if (from !== undefined && layer.compareKey(entry, from) < 0) continue;
    if (to !== undefined && layer.compareKey(entry, to) >= 0) continue;
    if (count === found.length) {
      const larger = new Int32Array(Math.min(entryCount, count * 4));
      larger.set(found);
      found = larger;
    }
    found[count++] = entry;
  }
  return found.subarray(0, count);
}

/** Bottom-up merge sort: sorted runs first, then merges of doubling width. */
async function sortEntries(cut: LayerCut, entries: Int32Array): Promise<Int32Array> {
  const { layer } = cut;
  const compare = (a: number, b: number): number => layer.compareEntries(a, b);
  for (let start = 0; start < entries.length; start += RUN_LENGTH) {
    if (start > 0) await breathe();
    entries.subarray(start, start + RUN_LENGTH).sort(compare);
  }
  let source = entries;
  let target = new Int32Array(entries.length);
  let work = 0;
  for (let width = RUN_LENGTH; width < entries.length; width *= 2) {
    for (let start = 0; start < entries.length; start += width * 2) {
      work += await mergeRuns({ source, target, start, width, work }, compare);
    }
    [source, target] = [target, source as Int32Array<ArrayBuffer>];
  }
  return source;
}

interface Merge {
  source: Int32Array;
  target: Int32Array;
  start: number;
  width: number;
  /** Entries merged so far, to know when to breathe. */
  work: number;
}

async function mergeRuns(merge: Merge, compare: (a: number, b: number) => number): Promise<number> {
  const { source, target, start } = merge;
  const middle = Math.min(start + merge.width, source.length);
  const end = Math.min(start + merge.width * 2, source.length);
  let left = start;
  let right = middle;
  for (let out = start; out < end; out++) {
    if ((merge.work + out) % MERGE_SLICE === 0) await breathe();
    const takeLeft = right >= end || (left < middle && compare(source[left]!, source[right]!) <= 0);
    target[out] = takeLeft ? source[left++]! : source[right++]!;
  }
  return end - start;
}
