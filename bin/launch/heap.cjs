/**
 * How large the JavaScript heap may grow, from the memory that this process may use at all (the
 * container's limit, else the machine). Bulk data lives outside the heap (typed arrays, buffers, the
 * store's cache), so the share is a half and 4 GiB are always enough.
 */
'use strict';

const os = require('node:os');
const v8 = require('node:v8');

const MIB = 1024 * 1024;
const DEFAULT_PCT = 50;
const MAX_PCT = 90;
const MIN_HEAP_MIB = 256;
const MAX_HEAP_MIB = 4096;
/** A limit of Node's own choice this close is left alone: changing it would cost a second process. */
const TOLERANCE = 0.1;

/** Bytes. Node asks the cgroup (v2 and v1); "no limit" is 0 or larger than the machine. */
function memoryLimitBytes(constrained = process.constrainedMemory?.(), total = os.totalmem()) {
  return constrained > 0 && constrained < total ? constrained : total;
}

/** MiB for --max-old-space-size, or null when the heap is left to Node. */
function wantedHeapMib(env = process.env, limitBytes = memoryLimitBytes()) {
  const flags = [env.NODE_OPTIONS ?? '', ...process.execArgv].join(' ');
  if (/max[-_]old[-_]space[-_]size/.test(flags)) return null;
  const text = (env.QUEEN_HEAP_PCT ?? '').trim();
  const pct = /^\d+$/.test(text) ? Math.min(Number(text), MAX_PCT) : DEFAULT_PCT;
  if (pct === 0) return null;
  const share = Math.floor(((limitBytes / MIB) * pct) / 100);
  return Math.max(MIN_HEAP_MIB, Math.min(MAX_HEAP_MIB, share));
}

/** The limit can only be given when a process starts; true when this one has about the right one. */
function heapIsAbout(mib, currentBytes = v8.getHeapStatistics().heap_size_limit) {
  return Math.abs(currentBytes / MIB - mib) <= mib * TOLERANCE;
}

/**
 * Keeps the young generation at its first size while the modules are loaded; what a boot throws away
 * would otherwise leave it at its largest, 32 MB of an idle broker. The broker lets it grow again
 * when it serves (src/lifecycle/heap-growth.ts).
 */
function holdYoungGeneration() {
  v8.setFlagsFromString('--semi-space-growth-factor=1');
}

module.exports = { DEFAULT_PCT, heapIsAbout, holdYoungGeneration, memoryLimitBytes, wantedHeapMib };
