/**
 * One seed: several lives of one node. Clients work, the node dies at a random file operation (also
 * while it starts), the machine loses power or not, the node starts on what is left and is compared
 * with what was answered. Throws on the first promise broken.
 */
import { Prng } from '../../../src/common/prng.js';
import { openLocalGroup } from '../../../src/raft/open-local-group.js';
import type { LocalGroupOptions, OpenedLocalGroup } from '../../../src/raft/open-local-group.js';
import { checkGroup } from '../support/check.js';
import { Ledger } from '../support/ledger.js';
import { machineDigest, rowHashes } from '../support/rows-digest.js';
import type { FaultOperation } from '../../support/faulty-file-port.js';
import { WholeDisk } from '../support/whole-disk.js';
import { Client, type WorkloadShape } from '../support/workload.js';

const LIVES = 3;
const START_ATTEMPTS = 6;
const CLIENTS = 6;
const HANG_MS = 120_000;
const HEAVY_SHARE = 0.12;
const HEAVY_STEPS = 120;
const HEAVY_PUSH = 40;
const REBUILD = 'id index was incomplete and is rebuilt';
/** What retention may take, and how many answers a phase of the clients has. */
const RETENTION = { briefQueue: 'w', phaseAnswers: 20 };
const CRITICAL: readonly FaultOperation[] = ['rename', 'fsyncDir', 'fdatasync', 'unlink'];

export interface LifeReport {
  readonly seed: number;
  readonly answers: number;
  readonly crashes: number;
  readonly powerLosses: number;
  readonly crashesInStart: number;
  readonly replayed: number;
  readonly cutTails: number;
  readonly newLogs: number;
  /** Messages that retention cut off; log segments unlinked and rewritten for it. */
  readonly trimmed: number;
  readonly unlinked: number;
  readonly rewritten: number;
}

export async function runSeed(seed: number): Promise<LifeReport> {
  const life = new Life(seed, await WholeDisk.create(seed));
  try {
    await life.run();
    return life.report;
  } catch (error) {
    if (error instanceof Error) error.message = `seed ${seed}: ${error.message}`;
    throw error;
  } finally {
    await life.end();
  }
}

class Life {
  private readonly prng: Prng;
  private readonly ledger = new Ledger();
  private opened: OpenedLocalGroup | null = null;
  /** The store of this start is open, so LevelDB's names must be safe. */
  private started = false;
  private rebuilds = 0;
  private readonly counts = {
    ...{ crashes: 0, powerLosses: 0, crashesInStart: 0, replayed: 0, cutTails: 0 },
    ...{ unlinked: 0, rewritten: 0 },
  };
  private readonly shape: WorkloadShape;
  /** This life ends between two operations whose order matters: a kill, then a power loss, tells. */
  private isAimed = false;
  /** Fills LevelDB's memtable within a life. */
  private readonly isHeavy: boolean;
  private readonly tuning: Partial<LocalGroupOptions>;

  constructor(
    private readonly seed: number,
    private readonly disk: WholeDisk,
  ) {
    this.prng = new Prng(seed ^ 0x5eed);
    this.isHeavy = this.chance(HEAVY_SHARE);
    const partitions = 1 + this.below(6);
    const queues = ['q', 'r'].slice(0, 1 + this.below(2));
    const pushCount = this.isHeavy ? HEAVY_PUSH : 5;
    this.shape = { queues, partitions, pushCount, volatileQueue: 'v', ...RETENTION };
    this.tuning = {
      segmentBytes: (16 + this.below(120)) * 1024,
      checkpointMs: this.below(12),
      checkpointBytes: 1 << (14 + this.below(6)),
      tailCacheBytes: this.chance(0.7) ? 16 * 1024 : 1024 * 1024,
      idTableBits: 4 + this.below(3),
      storeBufferBytes: 64 * 1024,
      logKeepEntries: 8 + this.below(60),
      collector: {
        intervalMs: 1 + this.below(10),
        minDeadPercent: this.oneOf([10, 30, 50]),
        lookAgainMs: 20,
      },
    };
  }

  get report(): LifeReport {
    const { newLogs } = this.disk;
    const { answers, trimmedMessages: trimmed } = this.ledger;
    return { seed: this.seed, answers, newLogs, trimmed, ...this.counts };
  }

  async run(): Promise<void> {
    await this.start();
    for (let life = 0; life < LIVES; life += 1) {
      await this.live();
      const power = this.chance(this.isAimed ? 0.4 : 0.75);
      await this.die(power);
      await this.start();
      await this.check();
      // What the kill left un-synced may be lost before anything syncs it by chance.
      if (this.isAimed && !power) {
        await this.die(true);
        await this.start();
        await this.check();
      }
    }
    await this.compareStarts();
  }

  async end(): Promise<void> {
    this.disk.port.die();
    await this.close();
    this.disk.remove();
  }

  private async live(): Promise<void> {
    const { disk, prng } = this;
    const group = this.group();
    this.planCrash();
    const steps = this.isHeavy ? HEAVY_STEPS : 5 + this.below(50);
    const clients = Array.from({ length: CLIENTS }, async (_, i) => {
      const client = new Client(group, this.ledger, prng, this.shape);
      for (let step = 0; step < steps && !disk.port.crashed; step += 1) {
        if (i === 0) await client.volatileStep();
        else await client.step();
      }
    });
    for (const { status, reason } of (await inTime(Promise.allSettled(clients))) as Settled[]) {
      if (status === 'rejected' && !disk.port.crashed && !this.chanceOfStop(reason)) throw reason;
    }
    if (!disk.port.crashed && this.chance(0.15)) {
      await inTime((this.opened as OpenedLocalGroup).close());
      this.opened = null;
    }
  }

  /** Anywhere, or at the n-th rename, unlink or sync, where the order of two syncs matters. */
  private planCrash(): void {
    const { disk } = this;
    if (this.isHeavy) {
      return disk.crashAtNewLog(this.chance(0.5) ? 1 + this.below(6) : undefined);
    }
    const dice = this.below(10);
    this.isAimed = dice >= 4;
    if (!this.isAimed) return disk.port.crashAfter(1 + this.below(this.chance(0.5) ? 60 : 500));
    // Without a rewrite the life ends when its work is done.
    if (dice >= 7) disk.crashAtRewrite(1 + this.below(16));
    else disk.port.crashOn(this.oneOf(CRITICAL), 1 + this.below(8));
  }

  /** A client may hear of the end before the disk says so; nothing else may fail. */
  private chanceOfStop(reason: unknown): boolean {
    const { failure } = this.group().status();
    if (failure !== null) throw new Error(`the node stopped by itself: ${failure.error}`);
    return reason === undefined;
  }

  private async die(power: boolean): Promise<void> {
    const { disk, counts } = this;
    counts.crashes += 1;
    disk.port.die();
    await this.close();
    if (power) {
      counts.powerLosses += 1;
      disk.losePower(this.started);
    } else disk.kill();
    this.started = false;
  }

  /** Starts, perhaps dying on the way a few times. Anything but a crash that stops it is a refusal. */
  private async start(): Promise<void> {
    const { disk, counts } = this;
    for (let attempt = 0; ; attempt += 1) {
      const dies = attempt < START_ATTEMPTS && this.chance(0.35);
      if (dies && this.chance(0.5)) disk.port.crashOn(this.oneOf(CRITICAL), 1 + this.below(6));
      else if (dies) disk.port.crashAfter(1 + this.below(40));
      try {
        await this.open();
        disk.port.crashAfter(Number.POSITIVE_INFINITY);
        disk.port.crashOn('open', Number.POSITIVE_INFINITY);
        if (!disk.port.crashed) return;
      } catch (error) {
        if (!disk.port.crashed) throw error;
      }
      counts.crashesInStart += 1;
      await this.die(this.chance(0.75));
    }
  }

  private async open(clockMs?: number): Promise<void> {
    const { counts } = this;
    const note = (event: string, fields?: Readonly<Record<string, unknown>>): void => {
      if (event === 'log segments removed') counts.unlinked += fields?.['segments'] as number;
      if (event === 'log segment rewritten') counts.rewritten += 1;
      if (event === 'raft log replayed') counts.replayed += 1;
      if (event === 'wal_tail_cut') counts.cutTails += 1;
      if (event === REBUILD) this.rebuilds += 1;
    };
    const clock = { nowMs: () => clockMs ?? 0, monotonicMicros: () => (clockMs ?? 0) * 1000 };
    const opening = openLocalGroup({
      ...{ directory: this.disk.root, nodeId: 1, ...this.tuning },
      log: { info: note, warn: note, error: note },
      ...(clockMs === undefined ? {} : { clock }),
    });
    this.opened = await inTime(opening);
    this.started = true;
  }

  private async check(): Promise<void> {
    const { ledger, prng } = this;
    // Its syncs are there so that a power loss never costs a rebuild.
    if (this.rebuilds > 0) throw new Error('a power loss cost a rebuild of the id index');
    await inTime(checkGroup(this.group(), ledger, prng));
  }

  /** Two starts from one state at one time agree in every bit; so do a replay and a checkpoint. */
  private async compareStarts(): Promise<void> {
    const { disk } = this;
    disk.port.die();
    await this.close();
    disk.kill();
    const again = disk.snapshot();
    const now = Date.now() + 1000;
    await this.open(now);
    const first = await this.facts();
    const rows = await rowHashes(this.group());
    disk.port.die();
    await this.close();
    again();
    await this.open(now);
    same('two starts from the same files', first, await this.facts());
    await (this.opened as OpenedLocalGroup).close();
    this.opened = null;
    await this.open();
    same('a start from the checkpoint', rows, await rowHashes(this.group()));
  }

  private async facts(): Promise<Record<string, unknown>> {
    const { applied, term } = this.group().status();
    const rows = await rowHashes(this.group());
    return { applied, term, digest: machineDigest(this.group()), ...rows };
  }

  private group(): OpenedLocalGroup['group'] {
    if (this.opened === null) throw new Error('the node is not up');
    return this.opened.group;
  }

  private async close(): Promise<void> {
    const { opened } = this;
    this.opened = null;
    await inTime(opened?.group.abandon() ?? Promise.resolve());
    await inTime(opened?.close() ?? Promise.resolve());
  }

  private chance(probability: number): boolean {
    return this.prng.nextFloat() < probability;
  }

  private oneOf<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  private below(bound: number): number {
    return this.prng.nextBelow(bound);
  }
}

type Settled = { readonly status: 'fulfilled' | 'rejected'; readonly reason?: unknown };

function same(what: string, left: unknown, right: unknown): void {
  const [a, b] = [JSON.stringify(left), JSON.stringify(right)];
  if (a !== b) throw new Error(`${what} differ:\n${a}\n${b}`);
}

/** A promise that never settles is a failure too. */
function inTime<T>(promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('nothing happens any more')), HANG_MS);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
