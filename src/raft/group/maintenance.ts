/**
 * Node-local housekeeping in small steps: what deleted queues and purged tenants leave behind is freed a slice at a time
 * (columns first, then rows by key range), so that deleting a queue with a million partitions stops
 * nobody. Resumable: the machine remembers a deleted queue until its last row is gone.
 */
import type { GroupView } from './group.js';
import type { GarbagePile, GroupLog, MachineParts, RowsPort } from './ports.js';

const STEP_MS = 50;
const SLOTS_PER_STEP = 2000;
/** Rows deleted between two breaths. */
const ROWS_PER_SLICE = 1000;

export interface MaintenanceParts {
  readonly machine: MachineParts;
  readonly rows: RowsPort;
  readonly log: GroupLog;
  view(): Promise<GroupView>;
}

export class Maintenance {
  private timer: NodeJS.Timeout | null = null;
  private purging: Promise<void> | null = null;
  private stopped = false;

  constructor(private readonly parts: MaintenanceParts) {}

  start(): void {
    this.timer = setInterval(() => this.step(), STEP_MS);
    this.timer.unref();
  }

  /** Resolves when no step is under way. */
  async stop(): Promise<void> {
    this.stopped = true;
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    if (this.purging !== null) await this.purging;
  }

  step(): void {
    const { machine, log } = this.parts;
    machine.machine.purgeStep(SLOTS_PER_STEP);
    if (this.purging !== null) return;
    const [pile] = machine.garbage.purgeable();
    if (pile === undefined) return;
    this.purging = this.purgeRows(pile).then(
      () => {
        this.purging = null;
      },
      (error: unknown) => {
        this.purging = null;
        log.warn('purge of deleted rows failed, tried again later', { error: String(error) });
      },
    );
  }

  private async purgeRows(pile: GarbagePile): Promise<void> {
    const { rows } = this.parts;
    const view = await this.parts.view();
    try {
      for (const range of pile.ranges) {
        let deleted = 0;
        for await (const [key, value] of view.iterate(range)) {
          if (this.stopped) return;
          for (const other of pile.companions?.(key, value) ?? []) rows.delete(other);
          rows.delete(key);
          deleted += 1;
          if (deleted % ROWS_PER_SLICE === 0) await breathe();
        }
      }
    } finally {
      await view.close();
    }
    pile.finish();
  }
}

/** Long enough for the checkpoint to keep the overlay small. */
function breathe(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 5);
  });
}
