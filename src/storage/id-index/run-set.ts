/**
 * The runs on disk, oldest first, and the work in the background that keeps them few: seal tables,
 * merge neighbours of one size, unlink what is older than the window. One job at a time. New runs show
 * only when the owner takes them in between two entries, so one entry sees one set.
 */
import { mkdir, readdir, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { IdRun } from './id-run.js';
import type { IdTable } from './id-table.js';
import type { JournalSpan } from './journal.js';
import { mergedBits, mergeRuns } from './run-merge.js';
import { sealTable, syncDirectory } from './run-writer.js';

const MERGE_FAN_IN = 4;
const MAX_RUN_BITS = 24;

export interface SealedTable {
  readonly table: IdTable;
  readonly sequence: number;
  readonly span: JournalSpan;
}

export interface RunSetHooks {
  /** The run of a table is durable. */
  sealed(sealed: SealedTable): void;
  failed(error: Error): void;
}

export class RunSet {
  /** What lookups use, oldest first; replaced, never changed. */
  runs: readonly IdRun[] = [];
  /** Tables whose run is not taken in yet, oldest first. */
  sealing: readonly SealedTable[] = [];
  private jobs: (() => Promise<void>)[] = [];
  private finished: (() => void)[] = [];
  private working: Promise<void> | null = null;
  private windowMicros = 0;
  private closed = false;
  /** Every run with an open file, shown or not. */
  private readonly open = new Set<IdRun>();

  private constructor(
    private readonly directory: string,
    private readonly hooks: RunSetHooks,
  ) {}

  /** Opens the runs of a directory; leftovers of a crash are removed. */
  static async open(directory: string, hooks: RunSetHooks): Promise<RunSet> {
    await mkdir(directory, { recursive: true });
    // Its name must be durable before the journal lets go of what runs in it cover.
    await syncDirectory(dirname(directory));
    const set = new RunSet(directory, hooks);
    try {
      await set.openRuns();
    } catch (error) {
      await set.close();
      throw error;
    }
    return set;
  }

  get lastSequence(): number {
    return this.runs[this.runs.length - 1]?.head.lastSequence ?? 0;
  }

  /** Every durable run that may be needed, also those not taken in yet: journal rows of theirs go. */
  get durable(): readonly IdRun[] {
    return [...this.open];
  }

  /** Tables wait because the disk does not keep up. */
  get backlog(): number {
    return this.sealing.length;
  }

  seal(sealed: SealedTable): void {
    this.sealing = [...this.sealing, sealed];
    this.jobs.push(() => this.sealOne(sealed));
    this.work();
  }

  /** Takes in what the background finished; called between two entries only. */
  takeIn(): void {
    if (this.finished.length === 0) return;
    const finished = this.finished;
    this.finished = [];
    for (const apply of finished) apply();
    this.work();
  }

  /** Unlinks runs all of whose ids are older than the window. */
  expire(nowMicros: number, windowMicros: number): void {
    this.windowMicros = windowMicros;
    // A merge under way may hold the very runs that are too old: next time.
    if (this.working !== null || this.finished.length > 0) return;
    const old = this.runs.filter((run) => run.head.newest < nowMicros - windowMicros);
    if (old.length === 0) return;
    this.runs = this.runs.filter((run) => !old.includes(run));
    this.jobs.push(() => this.dropAll(old));
    this.work();
  }

  /** Resolves when no background job runs. */
  async settled(): Promise<void> {
    while (this.working !== null) await this.working;
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.settled();
    for (const run of this.open) await run.close();
  }

  private async openRuns(): Promise<void> {
    const { directory } = this;
    const runs: IdRun[] = [];
    // Names seen after a kill may not have reached the disk yet, and the next manifest relies on them.
    await syncDirectory(directory);
    for (const name of (await readdir(directory)).sort()) {
      const path = join(directory, name);
      if (name.endsWith('.tmp')) await unlink(path);
      else if (name.endsWith('.run')) runs.push(this.opened(await IdRun.open(path)));
    }
    runs.sort((a, b) => a.head.firstSequence - b.head.firstSequence);
    for (const run of runs) {
      // A crash between the rename of a merged run and the unlinks leaves both: drop what is inside.
      if (runs.some((other) => other !== run && contains(other, run))) await this.dropAll([run]);
      else this.runs = [...this.runs, run];
    }
  }

  private work(): void {
    if (this.working !== null || this.closed) return;
    const job = this.jobs.shift();
    if (job !== undefined) {
      this.start(job);
      return;
    }
    const group = this.mergeable();
    if (group !== undefined) this.start(() => this.mergeGroup(group));
  }

  private start(job: () => Promise<void>): void {
    this.working = job().then(
      () => this.jobDone(),
      (error: unknown) => {
        this.closed = true;
        this.working = null;
        this.hooks.failed(error instanceof Error ? error : new Error(String(error)));
      },
    );
  }

  private jobDone(): void {
    this.working = null;
    this.work();
  }

  private async sealOne(sealed: SealedTable): Promise<void> {
    const file = await sealTable(this.directory, sealed.table, sealed.sequence);
    const run = this.opened(await IdRun.adopt(file));
    this.hooks.sealed(sealed);
    this.finished.push(() => {
      this.runs = [...this.runs, run];
      this.sealing = this.sealing.filter((other) => other !== sealed);
    });
  }

  private async mergeGroup(group: readonly IdRun[]): Promise<void> {
    const run = this.opened(await IdRun.adopt(await mergeRuns(this.directory, group)));
    this.finished.push(() => {
      const at = this.runs.indexOf(group[0] as IdRun);
      const runs = this.runs.filter((other) => !group.includes(other));
      runs.splice(at, 0, run);
      this.runs = runs;
      this.jobs.push(() => this.dropAll(group));
    });
  }

  private async dropAll(runs: readonly IdRun[]): Promise<void> {
    for (const run of runs) {
      await run.drop();
      this.open.delete(run);
    }
    await syncDirectory(this.directory);
  }

  private opened(run: IdRun): IdRun {
    this.open.add(run);
    return run;
  }

  /** The oldest neighbours of one size whose time together stays well inside the window. */
  private mergeable(): readonly IdRun[] | undefined {
    // Runs that were not taken in yet may be neighbours too.
    if (this.finished.length > 0) return undefined;
    for (let from = 0; from + MERGE_FAN_IN <= this.runs.length; from += 1) {
      const group = this.runs.slice(from, from + MERGE_FAN_IN);
      const [first, last] = [group[0], group[MERGE_FAN_IN - 1]];
      if (first === undefined || last === undefined) continue;
      if (group.some((run) => run.head.bits >> 1 !== first.head.bits >> 1)) continue;
      // A merged run vouches for every number in its range: never across a lost one.
      if (!isGapless(group)) continue;
      if (mergedBits(group) > MAX_RUN_BITS) continue;
      if (last.head.newest - first.head.oldest > this.windowMicros / 2) continue;
      return group;
    }
    return undefined;
  }
}

function isGapless(runs: readonly IdRun[]): boolean {
  return runs.every((run, i) => {
    const before = runs[i - 1];
    return before === undefined || run.head.firstSequence === before.head.lastSequence + 1;
  });
}

function contains(outer: IdRun, inner: IdRun): boolean {
  return (
    outer.head.firstSequence <= inner.head.firstSequence &&
    outer.head.lastSequence >= inner.head.lastSequence &&
    outer.head.lastSequence - outer.head.firstSequence >
      inner.head.lastSequence - inner.head.firstSequence
  );
}
