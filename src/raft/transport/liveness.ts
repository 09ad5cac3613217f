/**
 * Both ends of a stream say "alive" when they have nothing else to say; who hears nothing for two
 * seconds gives the stream up. A stall of this process itself is no silence of the peer: it moves
 * the deadline by as much.
 */
import type { TransportLimits } from './options.js';

export interface LivenessHooks {
  /** Called at the alive interval; sends unless something was sent lately. */
  sayAlive(nowMs: number): void;
  silent(): void;
}

export class Liveness {
  private heardMs = performance.now();
  private expectedMs: number;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly limits: Pick<TransportLimits, 'aliveEveryMs' | 'silentMs'>,
    private readonly hooks: LivenessHooks,
  ) {
    const everyMs = limits.aliveEveryMs / 2;
    this.expectedMs = this.heardMs + everyMs;
    this.timer = setInterval(() => this.look(everyMs), everyMs);
  }

  heard(): void {
    this.heardMs = performance.now();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private look(everyMs: number): void {
    const nowMs = performance.now();
    const lateMs = nowMs - this.expectedMs;
    if (lateMs > everyMs) this.heardMs += lateMs;
    this.expectedMs = nowMs + everyMs;
    if (nowMs - this.heardMs > this.limits.silentMs) this.hooks.silent();
    else this.hooks.sayAlive(nowMs);
  }
}
