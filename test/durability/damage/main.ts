/**
 * Damages every file of a real data directory, one fault at a time, and judges each start. Prints one
 * JSON line: counts by variant, kind of file and damage, and what was not acceptable.
 *
 *   main.js <seconds of load> <places> [--quick] [--bail] [--room <wal|store|ids|…>]
 *
 * `--quick`: one file of each kind, a part of the ids sent again. `--room`: files of one room.
 */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Prng } from '../../../src/common/prng.js';
import { faultsOf, kindOf, type Fault } from './faults.js';
import { judge, judgeWhole, type Outcome } from './judge.js';
import { filesOf, makeSample, type Sample } from './sample.js';

const PROGRESS_CASES = 20;
const MEMORY = '/dev/shm';
const QUICK_FILES = 1;
const QUICK = { partitions: 16, answers: 3_000 };
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
const room = has('room') ? process.argv[process.argv.indexOf('--room') + 1] : undefined;

/** Whoever asks for one room asks for all of it. */
function needsAllIds({ file }: Fault): boolean {
  return file.startsWith('ids') && (room !== undefined || !has('quick'));
}

class DamageRun {
  readonly rows = new Map<string, DamageRow>();
  readonly failures: { file: string; damage: string; why: string }[] = [];
  private cases = 0;
  private readonly prng = new Prng(Number(process.env['QUEEN_TEST_DAMAGE_SEED'] ?? 1));

  constructor(
    private readonly root: string,
    private readonly sample: Sample,
  ) {}

  /** Nothing damaged: all of it must be served, or the suite says nothing. */
  async baseline(variant: 'killed' | 'stopped'): Promise<void> {
    await judgeWhole(this.copy(variant), this.sample.ledger);
  }

  async all(variant: 'killed' | 'stopped', places: number): Promise<void> {
    const plan = {
      ...{ directory: this.sample[variant], old: this.sample.old, places, prng: this.prng },
      filesPerKind: has('quick') && room === undefined ? QUICK_FILES : Number.POSITIVE_INFINITY,
    };
    for (const fault of faultsOf(plan)) {
      if (room !== undefined && !fault.file.startsWith(room)) continue;
      await this.one(variant, fault);
      if (has('bail') && this.failures.length > 0) return;
    }
  }

  private async one(variant: 'killed' | 'stopped', fault: Fault): Promise<void> {
    const directory = this.copy(variant);
    fault.apply(directory);
    this.cases += 1;
    if (this.cases % PROGRESS_CASES === 0) {
      process.stderr.write(`${this.cases} cases, ${this.failures.length} failed: ${fault.file}\n`);
    }
    try {
      const how = {
        isSegment: fault.kind.endsWith('.seg'),
        // Ids live in the runs and the journal; elsewhere a part of them tells enough.
        ...(needsAllIds(fault) ? {} : { prng: this.prng }),
      };
      this.count(variant, fault, await judge(directory, this.sample.ledger, how));
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

  private copy(variant: 'killed' | 'stopped'): string {
    const directory = join(this.root, 'case');
    fs.rmSync(directory, { recursive: true, force: true });
    fs.cpSync(this.sample[variant], directory, { recursive: true });
    return directory;
  }
}

async function main(): Promise<void> {
  const [seconds, places] = process.argv.slice(2, 4).map(Number);
  const base = fs.existsSync(MEMORY) ? MEMORY : tmpdir();
  const root = fs.mkdtempSync(join(base, 'queen-damage-'));
  try {
    const size = has('quick') ? QUICK : FULL;
    const sample = await makeSample({ root, seconds: seconds ?? 5, ...size });
    const run = new DamageRun(root, sample);
    for (const variant of ['killed', 'stopped'] as const) {
      await run.baseline(variant);
      await run.all(variant, places ?? 1);
    }
    const { answers } = sample.ledger;
    const report: DamageReport = {
      ...{ answers, files: filesOf(sample.stopped).map(kindOf) },
      rows: [...run.rows.values()],
      failures: run.failures,
    };
    process.stdout.write(`${JSON.stringify(report)}\n`);
    process.exitCode = run.failures.length === 0 ? 0 : 1;
  } finally {
    fs.rmSync(root, { recursive: true, force: true });
  }
}

void main().then(() => process.exit());
