/** How long the main thread worked without giving the event loop back; for the benches. */
import { readFileSync } from 'node:fs';

/**
 * Longest work of this thread between two turns of the loop, in processor time: on a busy machine the
 * wall clock tells about the neighbours.
 */
export class Holds {
  private cpuMs = 0;
  private wallMs = 0;
  private lastCpu = threadCpuMs();
  private lastWall = performance.now();
  private running = true;

  constructor() {
    this.turn();
  }

  take(): string {
    const text = `longest hold ${this.cpuMs.toFixed(0)} ms cpu (${this.wallMs.toFixed(0)} ms wall)`;
    this.cpuMs = 0;
    this.wallMs = 0;
    this.lastCpu = threadCpuMs();
    this.lastWall = performance.now();
    return text;
  }

  stop(): void {
    this.running = false;
  }

  private turn(): void {
    const cpu = threadCpuMs();
    const wall = performance.now();
    this.cpuMs = Math.max(this.cpuMs, cpu - this.lastCpu);
    this.wallMs = Math.max(this.wallMs, wall - this.lastWall);
    this.lastCpu = cpu;
    this.lastWall = wall;
    if (this.running) setImmediate(() => this.turn());
  }
}

/** Processor time of the main thread (Linux). */
export function threadCpuMs(): number {
  return (
    Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6
  );
}
