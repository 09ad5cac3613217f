/**
 * Node-local housekeeping in small steps: what deleted queues and purged tenants leave behind is freed
 * a slice at a time (columns first, then rows by key range), rows and log segments of what retention
 * cut off go too; so that deleting a queue with a million partitions stops nobody. Resumable: the machine remembers a deleted queue until its last row is gone.
 */
import type { GroupView } from './group.js';
import { Collector, type CollectorOptions } from './collector/collector.js';
import type { ReadPins } from './collector/read-pins.js';
import { RowSweeper } from './collector/row-sweeper.js';
import type { GarbagePile, GroupLog, MachineParts, RetiredLog, RowsPort } from './ports.js';

const STEP_MS = 50;
const SLOTS_PER_STEP = 2000;
/** Rows deleted between two breaths. */
const ROWS_PER_SLICE = 1000;

/** Between two walks over rows that retention cut off. */
const ROW_SWEEP_MS = 5_000;

export interface MaintenanceParts {
  readonly machine: MachineParts;
  readonly rows: RowsPort;
  readonly log: GroupLog;
  view(): Promise<GroupView>;
  /** What frees log segments; absent: nothing does. */
  readonly collecting?: {
    readonly retired: RetiredLog;
    readonly store: { readonly durableIndex: number };
    readonly pins: ReadPins;
    readonly nowMs: () => number;
    readonly options: CollectorOptions;
    /** The collector met a damaged segment. */
    readonly damaged: (error: Error) => void;
  };
}

export class Maintenance {
  private timer: NodeJS.Timeout | null = null;
  private purging: Promise<void> | null = null;
  private stopped = false;
  private sweeping: Promise<void> | null = null;
  private sweepTimer: NodeJS.Timeout | null = null;
  private readonly rowSweeper: RowSweeper;
  readonly collector: Collector | null;

  constructor(private readonly parts: MaintenanceParts) {
    const { machine, rows, log, collecting } = parts;
    const view = (): Promise<GroupView> => parts.view();
    this.rowSweeper = new RowSweeper({ machine, rows, view, isStopped: () => this.stopped });
    this.collector =
      collecting === undefined
        ? null
        : new Collector({ machine, log, view, ...collecting }, collecting.options);
  }

  start(): void {
    this.timer = setInterval(() => this.step(), STEP_MS);
    this.timer.unref();
    this.sweepTimer = setInterval(() => void this.sweepRows(), ROW_SWEEP_MS);
    this.sweepTimer.unref();
    this.collector?.start();
  }

  /** Removes rows that retention cut off long enough ago; resolves when the walk is through. */
  sweepRows(): Promise<void> {
    this.sweeping ??= this.rowSweeper.sweep().then(
      () => {
        this.sweeping = null;
      },
      (error: unknown) => {
        this.sweeping = null;
        if (this.stopped) return;
        this.parts.log.warn('old rows not removed, tried again later', { error: String(error) });
      },
    );
    return this.sweeping;
  }

  /** Resolves when no step is under way. */
  async stop(): Promise<void> {
    this.stopped = true;
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    if (this.sweepTimer !== null) clearInterval(this.sweepTimer);
    this.sweepTimer = null;
    if (this.purging !== null) await this.purging;
    await this.sweeping;
    await this.collector?.stop();
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
