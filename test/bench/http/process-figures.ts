/** What the kernel says about a process and the disk (Linux; elsewhere the figures are absent). */
import { existsSync, readFileSync, readdirSync } from 'node:fs';

/** Kernel ticks per second of /proc/<pid>/stat: 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;
const SECTOR_BYTES = 512;

export interface ProcessFigures {
  /** User and system time of all threads. */
  readonly cpuSeconds: number;
  /** The same of the thread that runs JavaScript. */
  readonly mainCpuSeconds: number;
  readonly rssBytes: number;
}

export function processFigures(pid: number): ProcessFigures | null {
  try {
    const cpuSeconds = cpuOf(`/proc/${pid}/stat`);
    const mainCpuSeconds = cpuOf(`/proc/${pid}/task/${pid}/stat`);
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const rss = /VmRSS:\s+(\d+) kB/.exec(status)?.[1];
    return { cpuSeconds, mainCpuSeconds, rssBytes: Number(rss ?? 0) * 1024 };
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null;
    throw error;
  }
}

function cpuOf(statFile: string): number {
  const stat = readFileSync(statFile, 'latin1');
  // The name in parentheses may contain spaces; fields are counted after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

export interface DiskFigures {
  /** Flush requests of all disks of the machine: an upper bound of the broker's fsyncs. */
  readonly flushes: number;
  readonly writtenBytes: number;
}

export function diskFigures(): DiskFigures | null {
  if (!existsSync('/sys/block')) return null;
  let flushes = 0;
  let sectors = 0;
  for (const disk of readdirSync('/sys/block')) {
    if (/^(loop|ram|dm-|zram)/.test(disk)) continue;
    const fields = readFileSync(`/sys/block/${disk}/stat`, 'latin1').trim().split(/\s+/);
    sectors += Number(fields[6] ?? 0);
    flushes += Number(fields[15] ?? 0);
  }
  return { flushes, writtenBytes: sectors * SECTOR_BYTES };
}
