/** Mean lateness of the event loop since the start, from the runtime's own sampler. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';

const RESOLUTION_MS = 20;
const NANOSECONDS = 1e6;

@Injectable()
export class EventLoopLag implements OnApplicationShutdown {
  private readonly delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

  constructor() {
    this.delay.enable();
  }

  /** The sampler measures its whole interval; what is above it is lateness. */
  meanMs(): number {
    const meanMs = this.delay.mean / NANOSECONDS;
    return Number.isFinite(meanMs) ? Math.max(meanMs - RESOLUTION_MS, 0) : 0;
  }

  onApplicationShutdown(): void {
    this.delay.disable();
  }
}
