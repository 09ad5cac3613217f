/**
 * The two timers of a member: ticks of the core, and the sweep that sends again what found no way. A
 * late tick is one tick: after a stall the core must not believe that time passed which its peers'
 * messages had no chance to fill.
 */
import type { GroupLog } from '../ports.js';

const SWEEP_MS = 50;
/** A stall this long is logged. */
const STALL_MS = 100;

export interface HousekeepingPort {
  readonly tickMs: number;
  readonly log: GroupLog;
  /** One tick; returns by how many ms it came late. */
  tick(): number;
  sweep(): void;
}

export class Housekeeping {
  private timers: NodeJS.Timeout[] = [];

  constructor(private readonly port: HousekeepingPort) {}

  start(): void {
    this.timers = [
      setInterval(() => this.tick(), this.port.tickMs),
      setInterval(() => this.port.sweep(), SWEEP_MS),
    ];
  }

  stop(): void {
    for (const timer of this.timers) clearInterval(timer);
    this.timers = [];
  }

  private tick(): void {
    const lateMs = this.port.tick();
    if (lateMs > STALL_MS) this.port.log.warn('event loop stalled', { ms: Math.round(lateMs) });
  }
}
