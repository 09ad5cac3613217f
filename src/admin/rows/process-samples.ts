/** Gauges of this process and its log, sampled a few times per frame; lateness of the event loop. */
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Groups } from '../../raft/index.js';
import { foldGauges, GAUGES, noGauges, type Gauge, type GaugeSamples } from './row-fields.js';

const RESOLUTION_MS = 20;
const NANOSECONDS = 1e6;
const PAGE_BYTES = 4096;

export interface LoopLag {
  readonly sumMs: number;
  readonly maxMs: number;
  readonly count: number;
}

export class ProcessSamples {
  private readonly delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  private gauges = noGauges();
  private cpu = process.cpuUsage();
  private cpuAtMs = performance.now();

  constructor(private readonly groups: Groups) {
    this.delay.enable();
  }

  /** `responses`: requests that wait for an answer. */
  sample(responses: number): void {
    const values = { ...this.cpuShares(), ...memory(), ...this.raft(), responses };
    const numbers = GAUGES.flatMap((name: Gauge) => Array<number>(4).fill(values[name]));
    foldGauges(this.gauges, { count: 1, values: numbers });
  }

  turn(): { readonly gauges: GaugeSamples; readonly loop: LoopLag } {
    const { gauges, delay } = this;
    this.gauges = noGauges();
    const { count } = delay;
    const lateMs = (nanoseconds: number): number =>
      count === 0 ? 0 : Math.max(nanoseconds / NANOSECONDS - RESOLUTION_MS, 0);
    const loop = { sumMs: lateMs(delay.mean) * count, maxMs: lateMs(delay.max), count };
    delay.reset();
    return { gauges, loop };
  }

  stop(): void {
    this.delay.disable();
  }

  /** Hundredths of a percent of one core since the last sample. */
  private cpuShares(): { cpuUser: number; cpuSystem: number } {
    const now = performance.now();
    const elapsedMicros = Math.max((now - this.cpuAtMs) * 1000, 1);
    const { user, system } = process.cpuUsage(this.cpu);
    this.cpu = process.cpuUsage();
    this.cpuAtMs = now;
    const share = (micros: number): number => Math.round((micros / elapsedMicros) * 10_000);
    return { cpuUser: share(user), cpuSystem: share(system) };
  }

  private raft(): Record<'inflight' | 'appliedLag' | 'logBytes' | 'logFiles', number> {
    const sums = { inflight: 0, appliedLag: 0, logBytes: 0, logFiles: 0 };
    for (const group of this.groups.all()) {
      const { inflight, commit, applied } = group.status();
      sums.inflight += inflight;
      sums.appliedLag += Math.max(commit - applied, 0);
    }
    for (const { logUsage } of this.groups.figures()) {
      sums.logBytes += logUsage.bytes;
      sums.logFiles += logUsage.files;
    }
    return sums;
  }
}

function memory(): { rssBytes: number; virtualBytes: number } {
  return { rssBytes: process.memoryUsage.rss(), virtualBytes: virtualBytes() };
}

/** 0 where the system does not tell. */
function virtualBytes(): number {
  try {
    const [pages = '0'] = readFileSync('/proc/self/statm', 'latin1').split(' ', 1);
    return Number(pages) * PAGE_BYTES;
  } catch {
    // No such file outside Linux.
    return 0;
  }
}
