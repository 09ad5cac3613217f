/**
 * A data directory with something of everything, made by load on the real disk: sealed, retired and
 * rewritten segments, tables on several LevelDB levels, runs of the id index, many partitions, leases, dead
 * letters. Kept in three states: an old one, as a kill leaves it, and after a graceful stop.
 */
import * as fs from 'node:fs';
import { join, relative } from 'node:path';
import { Prng } from '../../../src/common/prng.js';
import { openLocalGroup, type LocalGroupOptions } from '../../../src/raft/open-local-group.js';
import { checkGroup } from '../support/check.js';
import { Ledger } from '../support/ledger.js';
import { Client } from '../support/workload.js';

const CLIENTS = 8;
const SEGMENT_BYTES = (process.argv.includes('--quick') ? 256 : 1024) * 1024;
const COPY_ATTEMPTS = 500;
/** The old state is copied after this part of the load. */
const OLD_SHARE = 0.6;
/** While the load runs; a case is opened without, so that nothing but the damage changes files. */
const COLLECTOR = { intervalMs: 20, minDeadPercent: 40, lookAgainMs: 200 };
const COLLECTOR_PATIENCE_MS = 10_000;
/** The load goes on to here until the collector did its work. */
const MOST_SHARE = 3;
/** Answers of a phase of the clients, in parts of all answers. */
const PHASES = 12;
/** Longest load in terms of what was asked for, on a machine too busy to answer. */
const PATIENCE = 5;

export interface Sample {
  readonly ledger: Ledger;
  /** Directories by state. */
  readonly killed: string;
  readonly stopped: string;
  readonly old: string;
  /** Log segments that the collector unlinked and rewrote under the load. */
  readonly unlinked: number;
  readonly rewritten: number;
}

export interface SampleOptions {
  readonly root: string;
  /** The load is spread over this time … */
  readonly seconds: number;
  /** … and ends with so many answers, so that a case stays a matter of a second. */
  readonly answers: number;
  readonly partitions: number;
}

/** How the sample was written and every case is opened. */
export function groupOptions(directory: string): LocalGroupOptions {
  return {
    ...{ directory, nodeId: 1, checkpointMs: 200, segmentBytes: SEGMENT_BYTES },
    ...{ storeBufferBytes: 128 * 1024, idTableBits: 8, logKeepEntries: 400 },
    tailCacheBytes: 256 * 1024,
  };
}

export async function makeSample(options: SampleOptions): Promise<Sample> {
  const directory = join(options.root, 'live');
  const copies = { old: 'old', killed: 'killed', stopped: 'stopped' };
  const paths = Object.fromEntries(
    Object.entries(copies).map(([state, name]) => [state, join(options.root, name)]),
  ) as Record<keyof typeof copies, string>;
  const ledger = new Ledger();
  const collected = { unlinked: 0, rewritten: 0 };
  const count = (event: string, fields?: Readonly<Record<string, unknown>>): void => {
    if (event === 'log segments removed') collected.unlinked += fields?.['segments'] as number;
    if (event === 'log segment rewritten') collected.rewritten += 1;
  };
  const opened = await openLocalGroup({
    ...{ ...groupOptions(directory), collector: COLLECTOR },
    log: { info: count, warn: quiet, error: quiet },
  });
  const run = new Load(opened.group, ledger, options);
  await run.until(OLD_SHARE);
  copyStandingStill(directory, paths.old);
  const isCollected = (): boolean => collected.rewritten > 0 && holdsRevision(directory);
  // On a busy machine the load is short, and what was rewritten may be unlinked again.
  for (let share = 1; share <= MOST_SHARE; share += 0.5) {
    await run.until(share);
    await run.untilCollected(isCollected);
    if (isCollected()) break;
  }
  copyStandingStill(directory, paths.killed);
  await opened.close();
  fs.cpSync(directory, paths.stopped, { recursive: true });
  await settleLedger(options.root, paths.stopped, ledger);
  return { ledger, ...paths, ...collected };
}

const quiet = (): void => undefined;

function holdsRevision(directory: string): boolean {
  return fs.readdirSync(join(directory, 'wal')).some((name) => /-r\d+\.seg$/.test(name));
}

class Load {
  private readonly prng = new Prng(4711);
  private readonly startMs = performance.now();

  constructor(
    private readonly group: ConstructorParameters<typeof Client>[0],
    private readonly ledger: Ledger,
    private readonly options: SampleOptions,
  ) {}

  async until(share: number): Promise<void> {
    const { prng, ledger } = this;
    const { seconds, answers, partitions } = this.options;
    const shape = {
      ...{ queues: ['q', 'r', 's'], partitions, pushCount: 5, volatileQueue: 'v' },
      ...{ briefQueue: 'w', phaseAnswers: Math.ceil(answers / PHASES) },
    };
    const endMs = this.startMs + seconds * 1000 * share * PATIENCE;
    const eachMs = (seconds * 1000) / answers;
    const untilDue = async (): Promise<void> => {
      const dueMs = this.startMs + ledger.answers * eachMs;
      if (dueMs > performance.now()) await pause(dueMs - performance.now());
    };
    const clients = Array.from({ length: CLIENTS }, async (_, i) => {
      const client = new Client(this.group, ledger, prng, shape);
      while (performance.now() < endMs && ledger.answers < answers * share) {
        if (i === 0) await client.volatileStep();
        else await client.step();
        await untilDue();
      }
    });
    await Promise.all(clients);
  }

  /** The collector may lag behind a load that was fast; whoever needs its work says so when it is missing. */
  async untilCollected(isDone: () => boolean): Promise<void> {
    const endMs = performance.now() + COLLECTOR_PATIENCE_MS;
    while (!isDone() && performance.now() < endMs) await pause(20);
  }
}

/** Copies a directory in use; a copy during which nothing changed is what a kill leaves. */
function copyStandingStill(from: string, to: string): void {
  for (let attempt = 0; attempt < COPY_ATTEMPTS; attempt += 1) {
    const before = listing(from);
    fs.rmSync(to, { recursive: true, force: true });
    try {
      fs.cpSync(from, to, { recursive: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      continue;
    }
    if (before === listing(from)) return;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  }
  throw new Error(`${from} never stands still`);
}

function listing(directory: string): string {
  return filesOf(directory)
    .map((file) => {
      const found = fs.statSync(join(directory, file), { throwIfNoEntry: false, bigint: true });
      return `${file} ${found?.ino} ${found?.size} ${found?.mtimeNs}`;
    })
    .join('\n');
}

/** Every file below a directory, relative to it, sorted. */
export function filesOf(directory: string): string[] {
  const entries = fs.readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort();
}

/** What was asked and not decided (fenced acks and the like) is taken over once, from whole files. */
async function settleLedger(root: string, from: string, ledger: Ledger): Promise<void> {
  const directory = join(root, 'settle');
  fs.cpSync(from, directory, { recursive: true });
  const opened = await openLocalGroup(groupOptions(directory));
  await checkGroup(opened.group, ledger);
  await opened.close();
  fs.rmSync(directory, { recursive: true });
  for (const facts of ledger.partitions()) {
    for (const group of facts.groups.values()) group.committedAtMost = group.committed;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
