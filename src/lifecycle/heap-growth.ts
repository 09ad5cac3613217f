/**
 * How far the JavaScript heap may grow between two major collections. V8 keeps a heap of this size
 * (about 50 MB live) within a fifth of what survived, which at half of the maximum push rate is one
 * mark-compact a second; its helper threads then take the second core from the log writer, and the
 * 99th percentile of a push was 40-50 ms. With the percentage below it was 7-8 ms in the same runs, once
 * the heap had grown (docs/evidence/heap.md, with later runs in which something else held pushes up).
 */
import { setFlagsFromString } from 'node:v8';

/** The heap may reach this much more than what survived the last major collection, in percent. */
export const HEAP_GROWTH_PCT = 150;

/**
 * Called once the node serves: what a boot leaves behind is still collected eagerly. V8 reads the
 * flags when a collection ends; the limit of the heap (QUEEN_HEAP_PCT) stays above them.
 */
export function letHeapGrow(): void {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PCT}`);
}

/** Takes back what the launcher has set while the modules were loaded: 2 is V8's own factor. */
export function letYoungGenerationGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
}
