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
    const { inflight, commit, applied } = this.groups.first.status();
    const log = this.groups.figures()[0]?.logUsage ?? { bytes: 0, files: 0 };
    const appliedLag = Math.max(commit - applied, 0);
    return { inflight, appliedLag, logBytes: log.bytes, logFiles: log.files };
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
