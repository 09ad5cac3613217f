/**
 * The machine under this node, for the raft view: CPU of the process over its last frame, memory, disk.
 * What the system does not tell is null, never 0.
 */
import { readFileSync, statfsSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import type { Frame } from './rows/frame.js';
import { GAUGES } from './rows/row-fields.js';

const PAGE_BYTES = 4096;

export interface DiskGateSettings {
  readonly directory: string;
  readonly highPct: number;
  readonly lowPct: number;
  readonly writesRefused: boolean;
}

export interface HostBlock {
  readonly cpuPct: number | null;
  readonly cpuWindowSeconds: number | null;
  readonly cpus: number;
  readonly rssBytes: number;
  readonly anonBytes: number | null;
  readonly memLimitBytes: number;
  readonly disk: DiskBlock;
}

export interface DiskBlock {
  readonly usedPct: number | null;
  readonly usedBytes: number | null;
  readonly totalBytes: number | null;
  readonly gate: boolean;
  readonly highPct: number;
  readonly lowPct: number;
  readonly writesRefused: boolean;
}

/** `frame`: the newest of this node, undefined before the first. */
export function hostBlock(frame: Frame | undefined, gate: DiskGateSettings): HostBlock {
  return {
    cpuPct: frame === undefined ? null : cpuOf(frame),
    cpuWindowSeconds: frame === undefined ? null : Math.round(frame.widthMs / 1000),
    cpus: cpus().length,
    rssBytes: process.memoryUsage.rss(),
    anonBytes: anonBytes(),
    memLimitBytes: memoryLimit(),
    disk: diskBlock(gate),
  };
}

/** Percent of one core. */
function cpuOf({ gauges }: Frame): number | null {
  if (gauges.count === 0) return null;
  const sum = (name: 'cpuUser' | 'cpuSystem'): number =>
    gauges.values[GAUGES.indexOf(name) * 4] ?? 0;
  return Math.round((sum('cpuUser') + sum('cpuSystem')) / gauges.count / 10) / 10;
}

function anonBytes(): number | null {
  try {
    const [, resident = 0, shared = 0] = readFileSync('/proc/self/statm', 'latin1')
      .split(' ')
      .map(Number);
    return (resident - shared) * PAGE_BYTES;
  } catch {
    // No such file outside Linux.
    return null;
  }
}

function memoryLimit(): number {
  const constrained = process.constrainedMemory();
  const total = totalmem();
  return constrained > 0 && constrained < total ? constrained : total;
}

function diskBlock({ directory, highPct, lowPct, writesRefused }: DiskGateSettings): DiskBlock {
  const settings = { gate: highPct < 100, highPct, lowPct, writesRefused };
  try {
    const { bsize, blocks, bavail } = statfsSync(directory);
    const usedBytes = (blocks - bavail) * bsize;
    const totalBytes = blocks * bsize;
    const usedPct = totalBytes === 0 ? null : Math.round((usedBytes / totalBytes) * 1000) / 10;
    return { usedPct, usedBytes, totalBytes, ...settings };
  } catch {
    // The file system does not tell; the gate has its own way to notice a full disk.
    return { usedPct: null, usedBytes: null, totalBytes: null, ...settings };
  }
}
