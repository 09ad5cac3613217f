/**
 * Times the way of commands from their arrival to the answer, once per packing cycle: the command that
 * waited longest stands for its cycle, the last entry of the cycle for its entries. A cycle costs one
 * small object; a command costs a comparison.
 */
import type { StageFigures } from '../../common/stage-figures.js';

/** Cycles under way; beyond it further ones are not timed. */
const MAX_CYCLES = 4_096;

interface Cycle {
  readonly index: number;
  readonly proposedMs: number;
}

export class CommandFlow {
  private firstMs = -1;
  private drainMs = 0;
  private pickedTo = 0;
  private readonly unwritten: Cycle[] = [];
  private readonly uncommitted: Cycle[] = [];
  private readonly unapplied: Cycle[] = [];

  constructor(
    readonly figures: StageFigures,
    private readonly nowMs: () => number,
  ) {}

  /** A command came; the first one since the last cycle is the one that waits longest. */
  arrived(): void {
    if (this.firstMs < 0) this.firstMs = this.nowMs();
  }

  draining(): void {
    this.drainMs = this.nowMs();
  }

  /** The cycle handed its entries, up to `index`, to the log; `left` commands found no room in it. */
  proposed(index: number, taken: number, left: number): void {
    const { figures, drainMs } = this;
    const now = this.nowMs();
    const first = this.firstMs < 0 ? drainMs : this.firstMs;
    this.firstMs = left > 0 ? drainMs : -1;
    figures.took('queueWait', drainMs - first, now);
    figures.took('drainToPropose', now - drainMs, now);
    figures.took('arrivalToProposed', now - first, now);
    figures.size('drainCommands', taken, now);
    figures.size('planDeferred', left, now);
    if (this.unapplied.length >= MAX_CYCLES) return;
    const cycle = { index, proposedMs: now };
    // The write may have begun already, inside of the proposal.
    if (index <= this.pickedTo) figures.took('writerPickup', 0, now);
    else this.unwritten.push(cycle);
    this.uncommitted.push(cycle);
    this.unapplied.push(cycle);
  }

  /** A write of entries up to `index` began. */
  pickedUp(index: number): void {
    this.pickedTo = index;
    if (this.unwritten.length > 0) this.pass(this.unwritten, index, 'writerPickup');
  }

  committed(index: number): void {
    if (this.uncommitted.length > 0) this.pass(this.uncommitted, index, 'proposedToCommitted');
  }

  applied(index: number): void {
    if (this.unapplied.length > 0) this.pass(this.unapplied, index, 'proposeRoundtrip');
  }

  /** Leadership is lost: what is under way may never come. */
  clear(): void {
    this.firstMs = -1;
    for (const cycles of [this.unwritten, this.uncommitted, this.unapplied]) cycles.length = 0;
  }

  private pass(
    cycles: Cycle[],
    index: number,
    stage: 'writerPickup' | 'proposedToCommitted' | 'proposeRoundtrip',
  ): void {
    const now = this.nowMs();
    let passed = 0;
    for (; passed < cycles.length; passed += 1) {
      const cycle = cycles[passed];
      if (cycle === undefined || cycle.index > index) break;
      this.figures.took(stage, now - cycle.proposedMs, now);
    }
    if (passed > 0) cycles.splice(0, passed);
  }
}
