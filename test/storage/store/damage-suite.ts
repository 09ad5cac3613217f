/**
 * Damages every file of a real store, one fault at a time, and opens it: bit flip and truncation at
 * random places, deletion, the content of another file of its kind. Allowed: it opens with every
 * confirmed checkpoint whole, or it refuses naming a file and a cure. Never: less, other rows, a
 * crash, or a damage found only after it opened.
 */
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { readManifest, type Version } from '../../../src/storage/leveldb/manifest.js';
import { StoreHost, type Verdict } from './support/store-host.js';
import { Model } from './support/workload.js';

export interface DamageReport {
  tried: number;
  /** Counts by `kind of file / fault / outcome`. */
  outcomes: Record<string, number>;
  /** Levels that held live tables. */
  levels: number[];
  failures: string[];
}

export interface DamageOptions {
  seed: number;
  checkpoints: number;
  placesPerFile: number;
  /** Only files of these kinds, all when not given. */
  kinds?: string[];
}

interface Fault {
  fault: string;
  file: string;
  apply: (directory: string) => void;
}

export async function runDamageSuite(build: string, options: DamageOptions): Promise<DamageReport> {
  const root = mkdtempSync(join(tmpdir(), 'queen-damage-'));
  const host = new StoreHost(build);
  try {
    return await new DamageRun(host, root, options).run();
  } finally {
    host.stop();
    rmSync(root, { recursive: true, force: true });
  }
}

class DamageRun {
  private readonly report: DamageReport = { tried: 0, outcomes: {}, levels: [], failures: [] };
  private readonly model: Model;
  private readonly original: string;
  private state: number;
  private live = new Set<string>();

  constructor(
    private readonly host: StoreHost,
    private readonly root: string,
    private readonly options: DamageOptions,
  ) {
    this.model = new Model(options.seed);
    this.state = (options.seed * 40503) | 1;
    this.original = join(root, 'original');
  }

  async run(): Promise<DamageReport> {
    const { seed, checkpoints } = this.options;
    await this.host.writeUpTo(this.original, seed, checkpoints);
    const { tables } = liveVersion(this.original);
    for (const { number } of tables.values()) this.live.add(`store/${fileStem(number)}.ldb`);
    this.report.levels = [...new Set([...tables.values()].map(({ level }) => level))];
    this.judge('nothing', 'none', await this.host.check(this.copy()));
    for (const fault of this.faults()) {
      const directory = this.copy();
      fault.apply(directory);
      this.report.tried++;
      this.judge(fault.file, fault.fault, await this.host.check(directory));
    }
    return this.report;
  }

  private copy(): string {
    const directory = join(this.root, 'copy');
    rmSync(directory, { recursive: true, force: true });
    cpSync(this.original, directory, { recursive: true });
    return directory;
  }

  private *faults(): Generator<Fault> {
    const level = readdirSync(join(this.original, 'store')).map((name) => `store/${name}`);
    const files = ['checkpoint', ...level].filter(
      (file) => this.options.kinds?.includes(this.kindOf(file)) ?? true,
    );
    for (const file of files) {
      const bytes = readFileSync(join(this.original, file));
      for (let i = 0; i < this.options.placesPerFile && bytes.length > 0; i++) {
        const at = this.place(file, bytes.length, i);
        const flipped = Buffer.from(bytes);
        flipped[at]! ^= 1 << this.random(8);
        yield fault(`flip at ${at}`, file, flipped);
        const length = this.place(file, bytes.length, i);
        yield fault(`truncate to ${length}`, file, bytes.subarray(0, length));
      }
      yield { fault: 'delete', file, apply: (directory) => rmSync(join(directory, file)) };
      for (const other of files.filter(
        (name) => name !== file && this.kindOf(name) === this.kindOf(file),
      )) {
        const content = readFileSync(join(this.original, other));
        yield fault(`swap with ${other}`, file, content, [other, bytes]);
      }
    }
  }

  /** Random places, and the ends, where footers and last batches are. */
  private place(file: string, length: number, i: number): number {
    // The record is 84 bytes at the start of each half, the rest is padding.
    if (file === 'checkpoint' && i % 5 !== 0) return (i % 2) * 4096 + this.random(84);
    if (i % 5 === 4) return length - 1 - this.random(Math.min(length, 60));
    return this.random(length);
  }

  private judge(file: string, faultName: string, verdict: Verdict): void {
    const { opened, refused, openedDamaged, crashed } = verdict;
    const outcome = this.outcomeOf(verdict);
    const key = `${this.kindOf(file)} ${faultName.split(' ')[0]}: ${outcome}`;
    this.report.outcomes[key] = (this.report.outcomes[key] ?? 0) + 1;
    if (outcome === 'refused' || outcome === 'opened whole') return;
    const what = JSON.stringify(opened ?? refused ?? openedDamaged ?? crashed);
    this.report.failures.push(`${file}, ${faultName}: ${outcome} ${what}`);
  }

  private outcomeOf({ opened, refused, openedDamaged }: Verdict): string {
    if (opened !== undefined) {
      if (opened.checkpoint < this.options.checkpoints) return 'OPENED WITH LESS';
      if (opened.digest !== this.model.digestAt(opened.checkpoint)) return 'OPENED WITH OTHER ROWS';
      return 'opened whole';
    }
    if (refused !== undefined) {
      const names = refused.code === 'store_damage' && refused.file?.startsWith(this.root) === true;
      const cures = refused.cure?.includes('replace this node') === true;
      return names && cures ? 'refused' : 'REFUSED WITHOUT FILE AND CURE';
    }
    return openedDamaged === undefined ? 'CRASHED' : 'OPENED DAMAGED';
  }

  /** `table`, `leftover`, `log`, `MANIFEST`, `CURRENT`, `LOG`, `LOCK`, `checkpoint`. */
  private kindOf(file: string): string {
    const name = file.replace('store/', '');
    if (name.endsWith('.ldb')) return this.live.has(file) ? 'table' : 'leftover';
    if (name.startsWith('MANIFEST')) return 'MANIFEST';
    if (name.startsWith('LOG')) return 'LOG';
    return extname(name).slice(1) || name;
  }

  private random(bound: number): number {
    this.state ^= this.state << 13;
    this.state ^= this.state >>> 17;
    this.state ^= this.state << 5;
    return (this.state >>> 0) % bound;
  }
}

function fault(
  name: string,
  file: string,
  content: Buffer,
  swapped?: [file: string, content: Buffer],
): Fault {
  const apply = (directory: string): void => {
    writeFileSync(join(directory, file), content);
    if (swapped !== undefined) writeFileSync(join(directory, swapped[0]), swapped[1]);
  };
  return { fault: name, file, apply };
}

function fileStem(number: number): string {
  return String(number).padStart(6, '0');
}

function liveVersion(directory: string): Version {
  const level = join(directory, 'store');
  const manifest = join(level, readFileSync(join(level, 'CURRENT'), 'utf8').trim());
  return readManifest(manifest, readFileSync(manifest));
}
