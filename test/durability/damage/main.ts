/**
 * Damages every file of a real data directory, one fault at a time, and judges each start. Prints one
 * JSON line: counts by variant, kind of file and damage, and what was not acceptable.
 *
 *   main.js <seconds of load> <places> [--quick] [--bail] [--room <wal|store|ids|…>] [--jobs 1]
 *
 * `--quick`: one file of each kind, a part of the ids sent again. `--room`: files of one room. `--jobs`:
 * processes that share the cases; each is this program again with `--part <i>/<n> --root <directory>`.
 */
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { Prng } from '../../../src/common/prng.js';
import { readManifest, segmentFileName } from '../../../src/raft/wal/manifest.js';
import { NodeFilePort } from '../../../src/raft/wal/node-file-port.js';
import { revivedLedger, type Ledger } from '../support/ledger.js';
import { faultsOf, kindOf, type Fault } from './faults.js';
import { judge, judgeWhole, type Outcome } from './judge.js';
import { filesOf, makeSample, type Sample } from './sample.js';

const PROGRESS_CASES = 20;
const SAMPLE_FILE = 'sample';
const MEMORY = '/dev/shm';
const QUICK_FILES = 1;
const QUICK = { partitions: 16, answers: 3_000 };
const REWRITTEN = /-r\d+\.seg$/;
const FULL = { partitions: 100, answers: 12_000 };

export interface DamageRow {
  readonly variant: string;
  readonly kind: string;
  readonly damage: string;
  cases: number;
  refused: number;
  repaired: number;
  found: number;
}

export interface DamageReport {
  readonly answers: number;
  readonly trimmed: number;
  readonly unlinked: number;
  readonly rewritten: number;
  readonly loadSeconds: number;
  readonly caseSeconds: number;
  /** Kind of each file of the stopped directory. */
  readonly files: readonly string[];
  readonly rows: readonly DamageRow[];
  readonly failures: readonly {
    readonly file: string;
    readonly damage: string;
    readonly why: string;
  }[];
}

const has = (flag: string): boolean => process.argv.includes(`--${flag}`);
const option = (flag: string): string | undefined =>
  has(flag) ? process.argv[process.argv.indexOf(`--${flag}`) + 1] : undefined;
const room = option('room');
const SEED = Number(process.env['QUEEN_TEST_DAMAGE_SEED'] ?? 1);
const VARIANTS = ['killed', 'stopped'] as const;
type Variant = (typeof VARIANTS)[number];

type Outcomes = Pick<DamageReport, 'rows' | 'failures'>;

/** Whoever asks for one room asks for all of it. */
function needsAllIds({ file }: Fault): boolean {
  return file.startsWith('ids') && (room !== undefined || !has('quick'));
}

class DamageRun {
  readonly rows = new Map<string, DamageRow>();
  readonly failures: { file: string; damage: string; why: string }[] = [];
  private cases = 0;
  private readonly prng: Prng;
  private leaving: ReadonlySet<string> = new Set();

  constructor(
    private readonly root: string,
    private readonly sample: Sample,
    /** Takes every so many-th case. */
    private readonly part: { readonly number: number; readonly of: number },
  ) {
    this.prng = new Prng(SEED + part.number);
  }

  /** Nothing damaged: all of it must be served, or the suite says nothing. */
  async baseline(variant: Variant): Promise<void> {
    await judgeWhole(this.copy(variant), this.sample.ledger);
  }

  async all(variant: Variant, places: number): Promise<void> {
    let number = 0;
    this.leaving = await leavingSegments(this.sample[variant]);
    // Every part lists the same cases.
    const prng = new Prng(SEED);
    const plan = {
      ...{ directory: this.sample[variant], old: this.sample.old, places, prng },
      filesPerKind: has('quick') && room === undefined ? QUICK_FILES : Number.POSITIVE_INFINITY,
    };
    for (const fault of faultsOf(plan)) {
      if (room !== undefined && !fault.file.startsWith(room)) continue;
      number += 1;
      if (number % this.part.of !== this.part.number) continue;
      await this.one(variant, fault);
      if (has('bail') && this.failures.length > 0) return;
    }
  }

  private async one(variant: Variant, fault: Fault): Promise<void> {
    const directory = this.copy(variant);
    fault.apply(directory);
    this.cases += 1;
    if (this.cases % PROGRESS_CASES === 0) {
      process.stderr.write(`${this.cases} cases, ${this.failures.length} failed: ${fault.file}\n`);
    }
    try {
      const isLeaving = fault.damaged.every((file) => this.leaving.has(file));
      const how = {
        isSegment: fault.kind.endsWith('.seg') && !isLeaving,
        // Ids live in the runs and the journal; elsewhere a part of them tells enough.
        ...(needsAllIds(fault) ? {} : { prng: this.prng }),
      };
      const outcome = await judge(directory, this.sample.ledger, how);
      if (isLeaving) mustBeGone(directory, fault, outcome);
      this.count(variant, fault, outcome);
    } catch (error) {
      const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
      const damage = `${variant}, ${fault.damage} ${fault.what}`;
      this.failures.push({ file: fault.file, damage, why });
      process.stderr.write(`${fault.file}, ${damage}: ${why.slice(0, 400)}\n`);
    }
  }

  private count(variant: string, { kind, damage }: Fault, outcome: Outcome): void {
    const key = `${variant} ${kind} ${damage}`;
    let row = this.rows.get(key);
    if (row === undefined) {
      row = { variant, kind, damage, cases: 0, refused: 0, repaired: 0, found: 0 };
      this.rows.set(key, row);
    }
    row.cases += 1;
    row[outcome] += 1;
  }

  private copy(variant: Variant): string {
    const directory = join(this.root, `case-${this.part.number}`);
    fs.rmSync(directory, { recursive: true, force: true });
    fs.cpSync(this.sample[variant], directory, { recursive: true });
    return directory;
  }
}

/**
 * Files that the collector had given up when the copy was made, and those it had begun that the manifest
 * did not name yet; a start removes both unread.
 */
async function leavingSegments(directory: string): Promise<ReadonlySet<string>> {
  const manifest = await readManifest(new NodeFilePort(), join(directory, 'wal'));
  const rows = manifest?.segments ?? [];
  const nameOf = (row: (typeof rows)[number]): string =>
    `wal/${segmentFileName(row.sequence, row.revision)}`;
  const named = new Set(rows.map(nameOf));
  const begun = fs
    .readdirSync(join(directory, 'wal'))
    .filter((name) => REWRITTEN.test(name) && !named.has(`wal/${name}`));
  const givenUp = rows.filter(({ state }) => state === 'removing');
  return new Set([...givenUp.map(nameOf), ...begun.map((name) => `wal/${name}`)]);
}

function mustBeGone(directory: string, { damaged }: Fault, outcome: Outcome): void {
  const left = damaged.filter((file) => fs.existsSync(join(directory, file)));
  if (outcome === 'repaired' && left.length === 0) return;
  throw new Error(`what was given up is ${outcome}, ${left.length} files of it are left`);
}

interface Stored extends Omit<Sample, 'ledger'> {
  readonly ledger: Ledger;
}

async function judgePart(root: string, places: number, part: string): Promise<Outcomes> {
  const [number = 0, of = 1] = part.split('/').map(Number);
  const stored = deserialize(fs.readFileSync(join(root, SAMPLE_FILE))) as Stored;
  const sample = { ...stored, ledger: revivedLedger(stored.ledger) };
  const run = new DamageRun(root, sample, { number, of });
  for (const variant of VARIANTS) {
    if (number === 0) await run.baseline(variant);
    await run.all(variant, places);
  }
  return { rows: [...run.rows.values()], failures: run.failures };
}

/** This program again, for a part of the cases. */
function spawnPart(root: string, part: string): Promise<Outcomes> {
  const [script = '', ...args] = process.argv.slice(1);
  const command = [...process.execArgv, script, ...args, '--part', part, '--root', root];
  const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (bytes: Buffer) => (output += bytes.toString()));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => {
      try {
        resolve(JSON.parse(output.trim().split('\n').at(-1) ?? '') as Outcomes);
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
  });
}

function merged(parts: readonly Outcomes[]): Outcomes {
  const rows = new Map<string, DamageRow>();
  for (const row of parts.flatMap((part) => part.rows)) {
    const key = `${row.variant} ${row.kind} ${row.damage}`;
    const sum = rows.get(key);
    if (sum === undefined) {
      rows.set(key, { ...row });
      continue;
    }
    for (const field of ['cases', 'refused', 'repaired', 'found'] as const)
      sum[field] += row[field];
  }
  const sorted = [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  return { rows: sorted, failures: parts.flatMap((part) => part.failures) };
}

async function whole(seconds: number, places: number): Promise<DamageReport> {
  const base = fs.existsSync(MEMORY) ? MEMORY : tmpdir();
  const root = fs.mkdtempSync(join(base, 'queen-damage-'));
  try {
    const size = has('quick') ? QUICK : FULL;
    const startMs = performance.now();
    const sample = await makeSample({ root, seconds, ...size });
    const loadedMs = performance.now();
    fs.writeFileSync(join(root, SAMPLE_FILE), serialize(sample));
    const jobs = Number(option('jobs') ?? 1);
    const parts = Array.from({ length: jobs }, (_, i) => `${i}/${jobs}`);
    const outcomes =
      jobs === 1
        ? [await judgePart(root, places, '0/1')]
        : await Promise.all(parts.map((part) => spawnPart(root, part)));
    const { answers, trimmedMessages: trimmed } = sample.ledger;
    const { unlinked, rewritten } = sample;
    return {
      ...{ answers, trimmed, unlinked, rewritten },
      loadSeconds: Math.round((loadedMs - startMs) / 1000),
      caseSeconds: Math.round((performance.now() - loadedMs) / 1000),
      files: filesOf(sample.stopped).map(kindOf),
      ...merged(outcomes),
    };
  } finally {
    fs.rmSync(root, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  const [seconds = 5, places = 1] = process.argv.slice(2, 4).map(Number);
  const [root, part] = [option('root'), option('part')];
  const report =
    root === undefined || part === undefined
      ? await whole(seconds, places)
      : await judgePart(root, places, part);
  process.stdout.write(`${JSON.stringify(report)}\n`);
  process.exitCode = report.failures.length === 0 ? 0 : 1;
}

void main().then(() => process.exit());
