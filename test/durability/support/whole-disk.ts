/**
 * The disk of one node: everything Node writes is simulated page by page, LevelDB's directory is real
 * and copied at the crash. One crash hits all of it at one instant.
 *
 *   running ── n-th operation, or `die` ──► dead ── close the old process ──► `kill` or `losePower`
 */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Prng } from '../../../src/common/prng.js';
import { FaultyFilePort } from '../../support/faulty-file-port.js';
import { LevelImage } from './level-image.js';
import { installNodeFiles } from './node-files.js';

/** Losses are simulated, so the files may lie in memory; it saves a second of waiting per seed. */
const MEMORY = '/dev/shm';
const SLOW_SYNCS = 0.1;
const SLOW_MS = 3;
/** A later revision of a log segment. */
const REVISION = /-r\d+\.seg$/;

export class WholeDisk {
  readonly root: string;
  readonly port: FaultyFilePort;
  private readonly level: LevelImage;
  private readonly prng: Prng;
  private readonly undo: (() => void)[] = [];
  newLogs = 0;

  private constructor(
    private readonly parent: string,
    seed: number,
  ) {
    this.root = join(parent, 'data');
    this.prng = new Prng(seed);
    this.port = new FaultyFilePort(() => this.prng.nextFloat());
    const store = join(this.root, 'store');
    this.level = new LevelImage(store);
    this.port.slowness = (): Promise<void> => this.slowSync();
    this.port.onCrash = (): void => this.level.capture();
    const real = [store, join(this.root, 'lock')];
    this.undo.push(
      this.level.watch(this.port),
      installNodeFiles({ root: this.parent, real, port: this.port, listener: this.level }),
    );
  }

  static async create(seed: number): Promise<WholeDisk> {
    const base = fs.existsSync(MEMORY) ? MEMORY : tmpdir();
    const disk = new WholeDisk(fs.mkdtempSync(join(base, 'queen-durability-')), seed);
    for (const [parent, child] of ancestors(disk.parent)) {
      await disk.port.mkdir(child);
      await disk.port.fsyncDir(parent);
    }
    return disk;
  }

  /**
   * A crash follows when LevelDB goes on in a new log, before it has settled the old one: after so many
   * operations, or (undefined) with the next batch.
   */
  crashAtNewLog(operations: number | undefined): void {
    this.level.crashAtNextBatch = operations === undefined;
    this.level.onNewLog = (): void => {
      this.newLogs += 1;
      if (operations !== undefined) this.port.crashAfter(operations);
    };
  }

  /** A crash follows so many operations after the collector begins to rewrite a segment. */
  crashAtRewrite(operations: number): void {
    this.port.onCreate = (path): void => {
      if (REVISION.test(path)) this.port.crashAfter(operations);
    };
  }

  /** The process died; nothing un-synced is lost yet. Call when the old process is closed. */
  kill(): void {
    this.needCrash();
    this.port.kill();
    this.level.restore(null);
  }

  /** `served`: the node had started, so it must not rely on LevelDB's renames any more. */
  losePower(served: boolean): void {
    this.needCrash();
    const store = join(this.root, 'store');
    const hadStore = this.port.hasDirectory(store);
    this.port.powerLoss();
    if (hadStore && !this.port.hasDirectory(store)) this.level.vanish();
    this.level.restore({ prng: this.prng, served });
  }

  /** Copies everything as it is; `put` brings it back. Only while no process runs. */
  snapshot(): () => void {
    const files = this.port.paths().map((path) => [path, this.port.peek(path)] as const);
    const image = this.level.snapshot();
    return () => {
      this.port.kill();
      for (const path of this.port.paths()) this.port.plant(path, undefined);
      for (const [path, bytes] of files) this.port.plant(path, bytes);
      this.level.put(image);
    };
  }

  remove(): void {
    for (const step of this.undo) step();
    fs.rmSync(this.parent, { recursive: true, force: true });
  }

  /** Most syncs are done at once, some take their time, so that others overtake them. */
  private slowSync(): Promise<void> {
    if (this.prng.nextFloat() >= SLOW_SYNCS) return Promise.resolve();
    return new Promise((resolve) => {
      setTimeout(resolve, this.prng.nextBelow(SLOW_MS));
    });
  }

  private needCrash(): void {
    this.level.onNewLog = undefined;
    this.level.crashAtNextBatch = false;
    this.port.onCreate = undefined;
    if (!this.port.crashed) throw new Error('the process is alive');
  }
}

/** Every directory of the path with its parent, from the root down. */
function ancestors(path: string): [string, string][] {
  const pairs: [string, string][] = [];
  for (let child = path; child !== '/'; child = dirname(child)) {
    pairs.unshift([dirname(child), child]);
  }
  return pairs;
}
