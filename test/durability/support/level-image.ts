/**
 * LevelDB's directory at the instant of a crash. Native code writes there, so it cannot be simulated;
 * instead its syncs are watched, the directory is copied while the main thread stands still, and what
 * was not synced is lost in the copy: pages of `*.log` behind the last synced byte, a new log's name,
 * the renamed CURRENT, a cut.
 *
 * What is taken for granted: LevelDB syncs tables and MANIFEST itself before it relies on them.
 */
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import type { Prng } from '../../../src/common/prng.js';
import { readManifest } from '../../../src/storage/leveldb/manifest.js';
import type { FaultyFilePort } from '../../support/faulty-file-port.js';
import type { RealListener } from './node-files.js';

const PAGE_BYTES = 4096;
const COPY_ATTEMPTS = 200;

type Image = Map<string, Buffer>;

interface Prototypes {
  _write(this: unknown, options?: { readonly sync?: boolean }): Promise<void>;
  _open(this: { readonly location: string }, options: unknown): Promise<void>;
}

export class LevelImage implements RealListener {
  /** Bytes of each log that are on the disk for sure. */
  private synced = new Map<string, number>();
  private durableNames = new Set<string>();
  private cuts = new Map<string, Buffer>();
  /** CURRENT before LevelDB opened, until the directory is synced; null: there was none. */
  private currentBefore: Buffer | null | undefined;
  private image: Image | undefined;
  /**
   * The directory right after a batch went to a new log, while LevelDB still writes the old one to a
   * table: as it would be at the crash if that thread had been slower. Until the next batch.
   */
  private early: Image | undefined;
  /** LevelDB began a new log with this batch. */
  onNewLog: (() => void) | undefined;
  /** The process dies when the batch after that one begins: the first is confirmed by then. */
  crashAtNextBatch = false;
  /** An old log, to be found in pages that were never written. */
  private stale: Buffer = Buffer.alloc(0);

  constructor(private readonly directory: string) {}

  /** Watches batches and opens of this directory; the result ends that. */
  watch(port: FaultyFilePort): () => void {
    const load = createRequire(import.meta.url);
    const { ChainedBatch } = load('classic-level/chained-batch.js') as {
      ChainedBatch: { prototype: Prototypes };
    };
    const level = ClassicLevel.prototype as unknown as Prototypes;
    const { _write: write } = ChainedBatch.prototype;
    const { _open: open } = level;
    const self = this;
    ChainedBatch.prototype._write = async function watched(options): Promise<void> {
      const before = self.logLengths();
      if (self.early !== undefined && self.crashAtNextBatch) port.die();
      self.early = undefined;
      await port.perform('writev', () => undefined);
      await write.call(this, options);
      if (options?.sync === true && !port.crashed) self.batchSynced(before);
    };
    level._open = async function watched(options): Promise<void> {
      if (this.location !== self.directory) return open.call(this, options);
      const current = join(self.directory, 'CURRENT');
      const before = fs.existsSync(current) ? fs.readFileSync(current) : null;
      await open.call(this, options);
      self.currentBefore = before;
    };
    return () => {
      ChainedBatch.prototype._write = write;
      level._open = open;
    };
  }

  cutting(path: string, before: Buffer): void {
    if (!this.cuts.has(basename(path))) this.cuts.set(basename(path), before);
  }

  fileSynced(path: string): void {
    this.cuts.delete(basename(path));
  }

  directorySynced(path: string): void {
    if (path !== this.directory) return;
    this.currentBefore = undefined;
    this.durableNames = new Set(fs.readdirSync(this.directory));
  }

  /** What the crash leaves. */
  capture(): void {
    if (this.early !== undefined) {
      this.image = this.early;
      this.early = undefined;
      return;
    }
    this.image = this.standingStill();
  }

  /** Copies the directory; repeated until nothing changed meanwhile. */
  private standingStill(): Image {
    for (let attempt = 0; attempt < COPY_ATTEMPTS; attempt += 1) {
      const before = this.listing();
      const image = this.read();
      if (image !== undefined && before === this.listing()) return image;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
    }
    throw new Error(`${this.directory} never stands still`);
  }

  /** Puts the copy in place of the directory, as a kill or (with `prng`) a power loss leaves it. */
  restore(losses: { readonly prng: Prng; readonly served: boolean } | null): void {
    const image: Image = this.image ?? new Map();
    this.image = undefined;
    if (losses !== null) this.lose(image, losses);
    fs.rmSync(this.directory, { recursive: true, force: true });
    fs.mkdirSync(this.directory, { recursive: true });
    for (const [name, bytes] of image) fs.writeFileSync(join(this.directory, name), bytes);
    if (losses === null) return;
    this.durableNames = new Set(image.keys());
    this.synced = new Map([...image].map(([name, bytes]) => [name, bytes.length]));
    this.cuts.clear();
    this.currentBefore = undefined;
  }

  /** The directory's name itself was lost. */
  vanish(): void {
    this.image = new Map();
  }

  /** The present content, for a second start from the same state. */
  snapshot(): Image {
    return this.standingStill();
  }

  put(image: Image): void {
    this.image = new Map(image);
    this.restore(null);
  }

  private lose(image: Image, losses: { readonly prng: Prng; readonly served: boolean }): void {
    const { prng, served } = losses;
    for (const [name, before] of this.cuts) {
      if (image.has(name) && prng.nextBelow(2) === 0) image.set(name, before);
    }
    const before = this.currentBefore;
    if (served && before !== undefined && prng.nextBelow(2) === 0) {
      if (before === null) image.delete('CURRENT');
      else image.set('CURRENT', before);
    }
    const logs = [...image.keys()].filter((name) => name.endsWith('.log')).sort();
    const newest = logs.at(-1);
    for (const name of logs) {
      const bytes = image.get(name) as Buffer;
      if (name === newest && this.nameIsLost(image, name, prng)) image.delete(name);
      else image.set(name, this.losePages(name, bytes, prng));
    }
    const oldest = logs[0];
    if (oldest !== undefined) this.stale = Buffer.from(image.get(oldest) ?? this.stale);
  }

  /** A log begun since the last sync of the directory, on which no MANIFEST relies. */
  private nameIsLost(image: Image, name: string, prng: Prng): boolean {
    if (this.durableNames.has(name) || prng.nextBelow(2) === 0) return false;
    return manifestIsOlder(image, name);
  }

  /** Logs are read before the MANIFEST, so an old MANIFEST means that every log it needs is there. */
  private beforeFlush(newLog: string): Image | undefined {
    const image = this.read();
    return image !== undefined && manifestIsOlder(image, newLog) ? image : undefined;
  }

  private losePages(name: string, found: Buffer, prng: Prng): Buffer {
    const safe = Math.min(this.synced.get(name) ?? 0, found.length);
    let bytes: Buffer = Buffer.from(found);
    if (found.length > safe && prng.nextBelow(6) === 0) {
      bytes = Buffer.concat([bytes, Buffer.alloc(prng.nextBelow(3) * PAGE_BYTES)]);
    }
    for (let page = safe - (safe % PAGE_BYTES); page < bytes.length; page += PAGE_BYTES) {
      const from = Math.max(page, safe);
      const to = Math.min(page + PAGE_BYTES, bytes.length);
      const fate = prng.nextBelow(6);
      if (fate === 0) bytes.fill(0, from, to);
      else if (fate === 1) prng.fill(bytes.subarray(from, to));
      else if (fate === 2) bytes.set(this.stale.subarray(from, to), from);
    }
    if (prng.nextBelow(4) > 0) return bytes;
    return bytes.subarray(0, safe + prng.nextBelow(bytes.length - safe + 1));
  }

  private batchSynced(before: ReadonlyMap<string, number>): void {
    for (const [name, length] of this.logLengths()) {
      if (before.get(name) === length) continue;
      this.synced.set(name, length);
      if (before.has(name)) continue;
      this.early = this.beforeFlush(name);
      this.onNewLog?.();
    }
  }

  private logLengths(): Map<string, number> {
    const lengths = new Map<string, number>();
    if (!fs.existsSync(this.directory)) return lengths;
    for (const name of fs.readdirSync(this.directory)) {
      if (!name.endsWith('.log')) continue;
      const found = fs.statSync(join(this.directory, name), { throwIfNoEntry: false });
      if (found !== undefined) lengths.set(name, found.size);
    }
    return lengths;
  }

  private listing(): string {
    if (!fs.existsSync(this.directory)) return '';
    const names = fs.readdirSync(this.directory).sort();
    const facts = names.map((name) => {
      const found = fs.statSync(join(this.directory, name), {
        throwIfNoEntry: false,
        bigint: true,
      });
      return `${name} ${found?.ino} ${found?.size} ${found?.mtimeNs}`;
    });
    return facts.join('\n');
  }

  /** Undefined when a file went away while it was read. */
  private read(): Image | undefined {
    const image: Image = new Map();
    if (!fs.existsSync(this.directory)) return image;
    for (const name of fs.readdirSync(this.directory).sort()) {
      try {
        image.set(name, fs.readFileSync(join(this.directory, name)));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
        throw error;
      }
    }
    return image;
  }
}

/** No version in the MANIFEST begins with this log yet. */
function manifestIsOlder(image: Image, log: string): boolean {
  const current = image.get('CURRENT')?.toString('latin1').trim() ?? '';
  const manifest = image.get(current);
  if (manifest === undefined) return false;
  return readManifest(current, manifest).logNumber < Number.parseInt(log, 10);
}
