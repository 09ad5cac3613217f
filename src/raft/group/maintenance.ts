/**
 * Node-local housekeeping in small steps: columns of deleted queues are freed a slice at a time, so
 * that deleting a queue with a million partitions stops nobody.
 */
import type { MachineParts } from './ports.js';

const STEP_MS = 50;
const SLOTS_PER_STEP = 2000;

export class Maintenance {
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly parts: { readonly machine: MachineParts }) {}

  start(): void {
    this.timer = setInterval(() => this.step(), STEP_MS);
    this.timer.unref();
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  step(): void {
    this.parts.machine.machine.purgeStep(SLOTS_PER_STEP);
  }
}
