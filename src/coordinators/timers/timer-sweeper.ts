/**
 * Fires due timers (state.md §2.3), on the leader only. It knows one number: a bound below which no
 * timer is due (`nextDue`), kept by the events of the machine. When the log clock reaches it, one step
 * reads what is due from a view and proposes commands that name exact timers as it saw them; the
 * machine judges them. One step runs at a time, so a timer under way is never proposed twice. Losing
 * this object loses nothing: a new leader starts with `nextDue` 0 and looks.
 */
import { tenantId } from '../../common/ids.js';
import { CommandKind } from '../../machine/commands/catalogue.js';
import type { Outcome } from '../../machine/commands/catalogue.js';
import { isInline, timerDue } from '../../machine/tables/timer-row.js';
import type { CoordinatorHost, CoordinatorPort } from '../../raft/index.js';
import type { PendingTimer } from '../../reads/timers.js';
import { dueTimers } from '../../reads/timers.js';
import type { SweepFigures } from '../sweep-figures.js';
import { failCommand, fireCommand } from './fire-plan.js';
import type { FireRules, ReadyTimer } from './fire-plan.js';

export type SweeperHost = Pick<
  CoordinatorHost,
  'tables' | 'listen' | 'propose' | 'view' | 'nowMicros' | 'readRecord' | 'status'
>;

export interface TimerSweeperOptions extends FireRules {
  /** 0: timers never fire. */
  readonly tickMs: number;
  readonly batch: number;
  readonly maxBytes: number;
  /** A command larger than this fits no entry. */
  readonly entryMaxBytes: number;
  readonly monotonicMs: () => number;
  readonly figures: SweepFigures;
  /** False while the operator holds fires back. */
  readonly isOn: () => boolean;
  readonly log: (event: string, fields: Readonly<Record<string, unknown>>) => void;
}

const NEVER = Number.MAX_SAFE_INTEGER;
/** Steps are at least this share of a tick apart: a timer fires well within a tick of its due time. */
const STEP_SHARE = 5;
/** Longest sleep: far below what setTimeout takes, and short enough for a clock that is set. */
const MAX_SLEEP_MS = 60_000;
/** Room for names and tables around the payload of one message. */
const ENTRY_SLACK_BYTES = 64 * 1024;

/** Steps in a row that may settle nothing before the sweeper rests. */
const MAX_FRUITLESS = 3;
const COUNTED = ['fired', 'duplicates', 'skipped', 'failed', 'deadLettered'] as const;

interface Step {
  readonly nextDue: number;
  /** A bound was met. */
  readonly more: boolean;
  readonly progress: boolean;
}

interface Loaded {
  readonly ready: readonly ReadyTimer[];
  readonly tooLarge: readonly {
    readonly timer: PendingTimer;
    readonly code: string;
    readonly text: string;
  }[];
}

/** Timers of one tenant, and the place of their command among those of the step. */
interface Firing {
  readonly at: number;
  readonly tenant: Uint8Array;
  readonly ready: readonly ReadyTimer[];
}

type Counts = Record<(typeof COUNTED)[number], number>;

export class TimerSweeper implements CoordinatorPort {
  private running = false;
  private stepping = false;
  /** No pending timer is due before this instant, µs. */
  private nextDue = NEVER;
  private lastStepMs = -Infinity;
  /** After a step that got nowhere. */
  private pausedUntilMs = -Infinity;
  private timer: NodeJS.Timeout | null = null;
  private unlisten: (() => void) | null = null;
  /** Counts starts: a step that outlives its leadership changes nothing. */
  private epoch = 0;
  private fruitless = 0;
  /** Of 0, the bound a leader starts with, nobody knows. */
  private readonly late = (): number =>
    this.nextDue === 0 ? 0 : Math.max(0, this.host.nowMicros() - this.nextDue);

  constructor(
    private readonly host: SweeperHost,
    private readonly options: TimerSweeperOptions,
  ) {}

  start(): void {
    if (this.running || this.options.tickMs === 0) return;
    this.running = true;
    this.epoch += 1;
    this.stepping = false;
    this.nextDue = 0;
    this.options.figures.lateness.add(this.late);
    this.unlisten = this.host.listen({
      timerDue: (due) => this.onDue(due),
      switched: (name) => {
        if (name === 'timersFire') this.arm();
      },
    });
    this.arm();
  }

  stop(): void {
    if (!this.running) return;
    this.running = false;
    this.epoch += 1;
    this.options.figures.lateness.delete(this.late);
    this.unlisten?.();
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  private onDue(due: number): void {
    if (due >= this.nextDue) return;
    this.nextDue = due;
    this.arm();
  }

  /** Sleeps until the next step may be needed. */
  private arm(): void {
    if (!this.running || this.stepping) return;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    if (this.nextDue === NEVER) return;
    const { tickMs, monotonicMs, isOn } = this.options;
    const now = monotonicMs();
    const untilDue = (this.nextDue - this.host.nowMicros()) / 1000;
    const earliest = Math.max(this.lastStepMs + tickMs / STEP_SHARE, this.pausedUntilMs) - now;
    const held = isOn() ? 0 : tickMs;
    const sleepMs = Math.min(Math.max(Math.ceil(untilDue), earliest, held, 0), MAX_SLEEP_MS);
    this.options.figures.timerSleepMs = sleepMs;
    this.timer = setTimeout(() => this.wake(), sleepMs);
    this.timer.unref();
  }

  private wake(): void {
    this.timer = null;
    if (!this.running || this.stepping) return;
    // A leader whose disk is too full keeps its timers until there is room again.
    if (this.host.status().storageFull) this.pause();
    const waits = this.options.monotonicMs() < this.pausedUntilMs || !this.options.isOn();
    if (waits || this.nextDue > this.host.nowMicros()) {
      if (waits) this.options.figures.skips.timers += 1;
      this.arm();
      return;
    }
    void this.run(this.epoch);
  }

  private async run(epoch: number): Promise<void> {
    const from = this.nextDue;
    this.stepping = true;
    this.lastStepMs = this.options.monotonicMs();
    // Whatever changes from here on lowers it again, by its event.
    this.nextDue = NEVER;
    try {
      const step = await this.step(from);
      if (this.epoch !== epoch) return;
      this.nextDue = Math.min(this.nextDue, step.nextDue);
      this.fruitless = step.progress ? 0 : this.fruitless + 1;
      if (this.fruitless >= MAX_FRUITLESS) this.pause();
      if (step.more) this.lastStepMs = -Infinity;
    } catch (error) {
      if (this.epoch !== epoch) return;
      this.options.figures.failures.transient += 1;
      this.options.log('timer step failed, tried again', { error: String(error) });
      this.nextDue = Math.min(this.nextDue, from);
      this.pause();
    }
    this.stepping = false;
    this.arm();
  }

  private async step(from: number): Promise<Step> {
    const now = this.host.nowMicros();
    const view = await this.host.view();
    const due = await dueTimers(view, { from, now, limit: this.options.batch }).finally(() =>
      view.close(),
    );
    const taken = withinBytes(due.timers, this.options.maxBytes);
    const left = due.timers[taken.length];
    const counts = await this.propose(taken);
    this.note(taken, counts);
    const settled = counts.fired + counts.duplicates + counts.failed + counts.deadLettered;
    // One that was not what it seemed has changed meanwhile: look again.
    const again = counts.skipped > 0 ? from : NEVER;
    return {
      nextDue: Math.min(left === undefined ? due.nextDue : timerDue(left.row), again),
      more: due.more || left !== undefined,
      progress: settled > 0 || counts.skipped === 0,
    };
  }

  private async propose(taken: readonly PendingTimer[]): Promise<Counts> {
    const commands: Uint8Array[] = [];
    const firing: Firing[] = [];
    for (const [tenant, timers] of byTenant(taken)) {
      const { names } = this.host.tables;
      // A purged tenant's timers go with its rows.
      if (!names.hasTenant(tenantId(tenant))) continue;
      const uuid = names.tenantUuid(tenantId(tenant));
      const { ready, tooLarge } = await this.load(timers);
      if (ready.length > 0) {
        firing.push({ at: commands.length, tenant: uuid, ready });
        commands.push(fireCommand(uuid, ready, this.options));
      }
      if (tooLarge.length > 0) commands.push(failCommand(uuid, tooLarge, this.options));
      this.options.figures.tooLarge += tooLarge.length;
    }
    const outcomes = await Promise.all(commands.map((bytes) => this.host.propose({ bytes })));
    const counts = newCounts();
    for (const outcome of outcomes) add(counts, outcome);
    this.noteLag(firing.filter(({ at }) => hasFired(outcomes[at])));
    return counts;
  }

  private note(taken: readonly PendingTimer[], counts: Counts): void {
    if (taken.length === 0) return;
    const { figures, monotonicMs } = this.options;
    const nowMs = monotonicMs();
    figures.appended += counts.fired;
    figures.duplicates += counts.duplicates;
    figures.failures.permanent += counts.failed + counts.deadLettered;
    figures.deadLettered += counts.deadLettered;
    figures.changed += counts.skipped;
    figures.rows.timers += taken.length - counts.skipped;
    figures.cycleMs.timers = nowMs - this.lastStepMs;
  }

  private noteLag(fired: readonly Firing[]): void {
    const { figures, monotonicMs } = this.options;
    const [nowMs, now] = [monotonicMs(), this.host.nowMicros()];
    for (const { tenant, ready } of fired) {
      const lags = ready.map(({ row }) => now - timerDue(row));
      figures.fireLag.observe(tenant, lags, nowMs);
    }
  }

  private async load(timers: readonly PendingTimer[]): Promise<Loaded> {
    const { entryMaxBytes } = this.options;
    const limit = entryMaxBytes - ENTRY_SLACK_BYTES;
    const text = `the message does not fit an entry of ${entryMaxBytes} bytes`;
    const fitting = timers.filter(({ row }) => row.place.length <= limit);
    const tooLarge = timers.filter(({ row }) => row.place.length > limit);
    const records = await Promise.all(
      fitting.map(async ({ row }) =>
        isInline(row) ? row.record : this.host.readRecord(row.place),
      ),
    );
    return {
      ready: fitting.map((timer, i) => ({ ...timer, record: records[i] ?? timer.row.record })),
      tooLarge: tooLarge.map((timer) => ({ timer, code: 'too_large', text })),
    };
  }

  private pause(): void {
    const pauseMs = this.options.failure.transientMicros / 1000;
    this.pausedUntilMs = this.options.monotonicMs() + pauseMs;
  }
}

/** At least one timer goes, whatever its size. */
function withinBytes(timers: readonly PendingTimer[], maxBytes: number): readonly PendingTimer[] {
  let bytes = 0;
  const end = timers.findIndex(({ row }, i) => {
    bytes += row.place.length;
    return i > 0 && bytes > maxBytes;
  });
  return end < 0 ? timers : timers.slice(0, end);
}

/** Tenants in the order of their first due timer. */
function byTenant(timers: readonly PendingTimer[]): Map<number, PendingTimer[]> {
  const tenants = new Map<number, PendingTimer[]>();
  for (const timer of timers) {
    const own = tenants.get(timer.name.tenant);
    if (own === undefined) tenants.set(timer.name.tenant, [timer]);
    else own.push(timer);
  }
  return tenants;
}

function add(counts: Counts, outcome: Outcome): void {
  if (outcome.kind === CommandKind.FireTimers) {
    for (const name of COUNTED) counts[name] += outcome[name];
  } else if (outcome.kind === CommandKind.FailTimers) {
    counts.skipped += outcome.skipped;
    counts.failed += outcome.failed;
    counts.deadLettered += outcome.deadLettered;
  }
}

function hasFired(outcome: Outcome | undefined): boolean {
  return outcome?.kind === CommandKind.FireTimers && outcome.fired > 0;
}

function newCounts(): Counts {
  return { fired: 0, duplicates: 0, skipped: 0, failed: 0, deadLettered: 0 };
}
