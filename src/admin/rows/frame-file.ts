/**
 * The frames on disk, so that a restart keeps the past: one file per UTC day below the data directory,
 * one line per frame, appended without a sync (a lost minute is no loss). Bounded: days beyond the
 * week are unlinked, a day's file stops growing at MAX_DAY_BYTES.
 */
import { createReadStream } from 'node:fs';
import { appendFile, mkdir, readdir, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { frameText, readFrame, type Frame } from './frame.js';

const KEEP_DAYS = 8;
const MAX_DAY_BYTES = 64 * 1024 * 1024;
const FILE_NAME = /^\d{4}-\d\d-\d\d\.rows$/;
const DAY_MS = 86_400_000;

export class FrameFile {
  private day = '';
  private bytes = 0;

  constructor(private readonly directory: string) {}

  /** Gives every readable frame of the kept days, oldest first. */
  async load(add: (frame: Frame) => void, nowMs: number): Promise<void> {
    const oldest = dayOf(nowMs - KEEP_DAYS * DAY_MS);
    for (const name of (await this.files()).filter((file) => file >= `${oldest}.rows`)) {
      const input = createReadStream(join(this.directory, name), 'utf8');
      for await (const line of createInterface({ input, crlfDelay: Infinity })) {
        const frame = readFrame(line);
        if (frame !== null) add(frame);
      }
    }
  }

  async append(frame: Frame): Promise<void> {
    const day = dayOf(frame.startMs);
    const path = join(this.directory, `${day}.rows`);
    if (day !== this.day) await this.begin(day, path);
    const line = `${frameText(frame)}\n`;
    if (this.bytes + line.length > MAX_DAY_BYTES) return;
    this.bytes += line.length;
    await appendFile(path, line);
  }

  private async begin(day: string, path: string): Promise<void> {
    await mkdir(this.directory, { recursive: true });
    this.day = day;
    this.bytes = await stat(path).then(
      ({ size }) => size,
      () => 0,
    );
    const oldest = dayOf(Date.parse(day) - KEEP_DAYS * DAY_MS);
    for (const name of await this.files()) {
      if (name < `${oldest}.rows`) await unlink(join(this.directory, name));
    }
  }

  private async files(): Promise<string[]> {
    try {
      return (await readdir(this.directory)).filter((name) => FILE_NAME.test(name)).sort();
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
      throw error;
    }
  }
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
