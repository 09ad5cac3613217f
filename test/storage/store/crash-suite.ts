/**
 * Kill and power loss against the real LevelDB: a child writes checkpoints and is killed at a
 * random moment, then pages of its logs behind the last synced byte become zeros or garbage, and it
 * starts again on what is left. Every start must open, hold every confirmed checkpoint, whole, and
 * no mix.
 */
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChildProcess } from 'node:child_process';
import { StoreHost, type Progress, type Seen } from './support/store-host.js';
import { Model } from './support/workload.js';

export interface CrashReport {
  rounds: number;
  confirmed: number;
  damagedPages: number;
  cutBytes: number;
  tornRecords: number;
  failures: string[];
}

const PAGE_BYTES = 4096;
const SLOT_BYTES = 4096;

/** A directory that did not stand the test is kept, unless it is meant not to. */
export async function runCrashSuite(
  build: string,
  options: { seed: number; rounds: number; keepsFailed?: boolean },
): Promise<CrashReport> {
  const root = mkdtempSync(join(tmpdir(), 'queen-crash-'));
  const directory = join(root, 'group');
  const run = new CrashRun(build, directory, options.seed);
  for (let round = 0; round < options.rounds && run.report.failures.length === 0; round++) {
    await run.round();
  }
  const isKept = run.report.failures.length > 0 && options.keepsFailed !== false;
  if (!isKept) rmSync(root, { recursive: true, force: true });
  return run.report;
}

class CrashRun {
  readonly report: CrashReport = {
    rounds: 0,
    confirmed: 0,
    damagedPages: 0,
    cutBytes: 0,
    tornRecords: 0,
    failures: [],
  };
  private readonly host: StoreHost;
  private readonly model: Model;
  private state: number;
  private synced: Record<string, number> = {};

  constructor(
    build: string,
    private readonly directory: string,
    private readonly seed: number,
  ) {
    this.host = new StoreHost(build);
    this.model = new Model(seed);
    this.state = seed * 2654435761 || 1;
  }

  async round(): Promise<void> {
    this.report.rounds++;
    await this.writeAndKill();
    this.losePages();
    if (this.random(2) === 0) this.tearRecord();
  }

  /** Starts, checks what was found, writes for a while, dies. */
  private writeAndKill(): Promise<void> {
    return new Promise((resolve) => {
      const early = this.random(5) === 0;
      let sawOpen = false;
      const stop = (child: ChildProcess): boolean => child.kill('SIGKILL');
      const child = this.host.start(
        (message: Progress) => {
          if (message.ready === true) {
            child.send({ do: 'run', directory: this.directory, seed: this.seed });
            if (early) setTimeout(stop, this.random(40), child);
          }
          if (message.refused !== undefined) {
            this.report.failures.push(`refused: ${message.refused.message}`);
            stop(child);
          }
          if (message.opened !== undefined) {
            sawOpen = true;
            this.judge(message);
            if (!early) setTimeout(stop, 10 + this.random(250), child);
          }
        },
        (why) => {
          const killed = why.includes('SIGKILL');
          if (!killed) this.report.failures.push(`the process ended by itself: ${why}`);
          if (!sawOpen && !early) this.report.failures.push('never opened');
          this.readSeen();
          resolve();
        },
      );
    });
  }

  private judge({ opened }: Progress): void {
    if (opened === undefined) return;
    const { checkpoint, digest } = opened;
    this.report.cutBytes += opened.cutBytes;
    if (checkpoint < this.report.confirmed) {
      this.report.failures.push(`opened at ${checkpoint}, confirmed was ${this.report.confirmed}`);
    } else if (digest !== this.model.digestAt(checkpoint)) {
      this.report.failures.push(`opened at ${checkpoint} with other rows`);
    }
  }

  /**
   * The child's notes outlive it. Killed while opening it left none: what was synced then stays so,
   * and the logs LevelDB starts have other names.
   */
  private readSeen(): void {
    const file = join(this.directory, '../seen');
    if (!existsSync(file)) return;
    const seen = JSON.parse(readFileSync(file, 'utf8')) as Seen;
    this.report.confirmed = Math.max(this.report.confirmed, seen.confirmed);
    this.synced = { ...this.synced, ...seen.synced };
  }

  /** Power loss: pages behind the last synced byte of a log may hold anything, or be gone. */
  private losePages(): void {
    const level = join(this.directory, 'store');
    if (!existsSync(level)) return;
    const logs = readdirSync(level).filter((name) => name.endsWith('.log'));
    for (const name of logs.sort()) {
      const path = join(level, name);
      let bytes = readFileSync(path);
      const safe = Math.min(this.synced[name] ?? 0, bytes.length);
      // Only the newest log is appended to, so only there the file may have grown.
      if (name === logs.at(-1) && this.random(3) === 0) {
        bytes = Buffer.concat([bytes, Buffer.alloc(this.random(3) * PAGE_BYTES, this.random(256))]);
      }
      for (let page = safe - (safe % PAGE_BYTES); page < bytes.length; page += PAGE_BYTES) {
        if (this.random(2) === 0) continue;
        const from = Math.max(page, safe);
        const to = Math.min(page + PAGE_BYTES, bytes.length);
        if (from < to) this.report.damagedPages++;
        const zeros = this.random(2) === 0;
        for (let i = from; i < to; i++) bytes[i] = zeros ? 0 : this.random(256);
      }
      if (this.random(4) === 0)
        bytes = bytes.subarray(0, safe + this.random(bytes.length - safe + 1));
      writeFileSync(path, bytes);
    }
  }

  /** A record written but not reported may be torn: its slot then holds anything. */
  private tearRecord(): void {
    const path = join(this.directory, 'checkpoint');
    if (!existsSync(path)) return;
    const bytes = readFileSync(path);
    for (const slot of [0, 1]) {
      const at = slot * SLOT_BYTES;
      if (Number(bytes.readBigUInt64BE(at + 24)) <= this.report.confirmed) continue;
      this.report.tornRecords++;
      for (let i = at; i < at + SLOT_BYTES; i++) bytes[i] = this.random(256);
    }
    writeFileSync(path, bytes);
  }

  private random(bound: number): number {
    this.state ^= this.state << 13;
    this.state ^= this.state >>> 17;
    this.state ^= this.state << 5;
    return (this.state >>> 0) % bound;
  }
}
