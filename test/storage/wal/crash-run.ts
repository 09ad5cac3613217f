/**
 * One seeded life of a log: appends, truncations, rolls, releases, rewrites and resets on a faulty file
 * system, killed or losing power at a random operation (also during creation and recovery), opened
 * again and compared with the model. Throws on the first broken promise.
 */
import { isDeepStrictEqual } from 'node:util';
import { Prng } from '../../../src/common/prng.js';
import { logIndex, nodeId, term } from '../../../src/common/ids.js';
import {
  markDirectoryReady,
  openIdentity,
  Wal,
  type FilePort,
  type WalEntry,
} from '../../../src/raft/wal/index.js';
import { FaultyFilePort } from '../../support/faulty-file-port.js';
import {
  applied,
  EMPTY_STATE,
  lastIndexOf,
  lastTermOf,
  possibleStates,
  type ModelEntry,
  type ModelState,
  type ModelStep,
} from './log-model.js';

const ROUNDS = 4;
const MAX_STEPS = 40;
const SEGMENT_BYTES = 24 * 1024;
const DATA = '/data';

/** Puts a planted bug between the log and its files. */
export type Decorate = (port: FaultyFilePort) => FilePort;

export async function runSeed(seed: number, decorate: Decorate = (port) => port): Promise<void> {
  const life = new Life(seed, decorate);
  await life.run();
}

class Life {
  private readonly random: Prng;
  private readonly port: FaultyFilePort;
  private readonly files: FilePort;
  private acked: ModelState = EMPTY_STATE;
  /** The state once everything under way is done. */
  private wanted: ModelState = EMPTY_STATE;
  private underWay: ModelStep[] = [];
  private released = 0;
  private ackedBase = 0;
  private collected = 0;
  /** Up to here a rewrite may have left the dead out. */
  private rewritten = 0;
  private payloadTag = 0;

  constructor(
    private readonly seed: number,
    decorate: Decorate,
  ) {
    this.random = new Prng(seed);
    this.port = new FaultyFilePort(() => this.random.nextFloat());
    this.files = decorate(this.port);
    if (this.chance(0.5)) this.port.shortWriteRate = 0.3;
  }

  async run(): Promise<void> {
    await this.port.mkdir(DATA);
    await this.port.fsyncDir('/');
    for (let round = 0; round < ROUNDS; round += 1) {
      if (this.chance(0.9)) this.port.crashAfter(1 + this.below(round === 0 ? 120 : 60));
      const wal = await this.openUntilCrash();
      if (wal) {
        await this.check(wal);
        await this.live(wal);
      }
      if (!this.port.crashed && wal && this.chance(0.5)) await wal.close().catch(ignoreCrash);
      if (this.chance(0.3)) this.port.kill();
      else this.port.powerLoss();
    }
    const wal = await this.openUntilCrash();
    if (!wal) throw new Error(`seed ${this.seed}: no crash, yet the log did not open`);
    await this.check(wal);
    await this.scrub(wal);
    await wal.close();
  }

  private async openUntilCrash(): Promise<Wal | undefined> {
    const { files } = this;
    try {
      const { identity, ready } = await openIdentity({
        files,
        directory: DATA,
        expected: { clusterId: 'c', nodeId: nodeId(1) },
        mintDirectoryId: () => Buffer.alloc(16, this.seed & 0xff),
      });
      const wal = await Wal.open({
        files,
        directory: `${DATA}/wal`,
        identity,
        segmentBytes: SEGMENT_BYTES,
        ...(ready ? {} : { create: {} }),
      });
      if (!ready) await markDirectoryReady(files, DATA, identity);
      return wal;
    } catch (error) {
      if (this.port.crashed) return undefined;
      throw error;
    }
  }

  private async live(wal: Wal): Promise<void> {
    const steps = 1 + this.below(MAX_STEPS);
    for (let i = 0; i < steps && !this.port.crashed; i += 1) {
      const waiting: Promise<void>[] = [];
      for (let n = 1 + this.below(4); n > 0; n -= 1) waiting.push(this.step(wal));
      await Promise.all(waiting);
    }
  }

  private async step(wal: Wal): Promise<void> {
    const dice = this.random.nextFloat();
    if (dice < 0.02) return this.removeOldest(wal);
    if (dice < 0.035) return this.rewriteSome(wal);
    if (dice < 0.05) return this.settled(wal.roll(), undefined);
    if (dice < 0.1) {
      const index = this.wanted.hardState.commit;
      this.released = Math.max(this.released, index);
      return this.settled(wal.releaseTo(logIndex(index)), undefined).then(() => {
        if (!this.port.crashed) this.ackedBase = Math.max(this.ackedBase, wal.base.index);
      });
    }
    if (dice < 0.12) {
      const index = lastIndexOf(this.wanted) + this.below(10);
      const baseTerm = lastTermOf(this.wanted) + 1;
      const step: ModelStep = { kind: 'reset', index, term: baseTerm };
      this.released = Math.max(this.released, index);
      return this.settled(wal.reset({ index: logIndex(index), term: term(baseTerm) }), step);
    }
    if (dice < 0.2) {
      const { commit: before } = this.wanted.hardState;
      const commit = before + this.below(lastIndexOf(this.wanted) - before + 1);
      wal.setCommit(logIndex(commit));
      this.wanted = { ...this.wanted, hardState: { ...this.wanted.hardState, commit } };
      return;
    }
    const step = this.makeAppend();
    const entries = step.entries.map((entry) => this.toWal(entry));
    const { hardState } = step;
    const batch = hardState
      ? {
          entries,
          hardState: {
            term: term(hardState.term),
            vote: nodeId(hardState.vote),
            commit: logIndex(hardState.commit),
          },
        }
      : { entries };
    return this.settled(wal.append(batch), step);
  }

  /** Collects the oldest retired segment; its entries may be gone from now on. */
  private removeOldest(wal: Wal): Promise<void> {
    const oldest = wal.segments().find((segment) => segment.state === 'retired');
    if (!oldest) return Promise.resolve();
    this.collected = Math.max(this.collected, oldest.last);
    return this.settled(wal.removeRetired([oldest.sequence]), undefined);
  }

  /** Rewrites a retired segment without its dead; every third entry is. */
  private rewriteSome(wal: Wal): Promise<void> {
    const retired = wal.segments().filter((segment) => segment.state === 'retired');
    const chosen = retired[this.below(retired.length)];
    if (!chosen) return Promise.resolve();
    this.rewritten = Math.max(this.rewritten, chosen.last);
    const work = {
      keep: ({ index }: { readonly index: number }) => !isDead(index),
      settled: () => Promise.resolve(true),
      breathe: () => Promise.resolve(),
    };
    return this.settled(
      wal.rewriteRetired(chosen.sequence, work).then(() => undefined),
      undefined,
    );
  }

  /** Steps are acknowledged in order, so the model moves with each of them. */
  private settled(promise: Promise<void>, step: ModelStep | undefined): Promise<void> {
    if (step) {
      this.underWay.push(step);
      this.wanted = applied(this.wanted, step);
    }
    return promise.then(
      () => {
        if (!step) return;
        if (this.underWay.shift() !== step) throw new Error('acknowledged out of order');
        this.acked = applied(this.acked, step);
      },
      (error: unknown) => {
        if (!this.port.crashed) throw error;
      },
    );
  }

  private makeAppend(): Extract<ModelStep, { kind: 'append' }> {
    const { wanted } = this;
    const last = lastIndexOf(wanted);
    const floor = wanted.hardState.commit;
    let from = last + 1;
    let newest = lastTermOf(wanted);
    if (this.chance(0.12) && last > floor) {
      from = floor + 1 + this.below(last - floor);
      newest += 1;
    }
    if (this.chance(0.1)) newest += 1;
    newest = Math.max(newest, wanted.entries[from - wanted.baseIndex - 2]?.term ?? 0);
    const entries: ModelEntry[] = [];
    const count = this.chance(0.1) ? 0 : 1 + this.below(5);
    for (let i = 0; i < count; i += 1) {
      entries.push({ index: from + i, term: newest, payload: this.makePayload() });
    }
    const hardState = this.chance(0.3) || count === 0 ? this.makeHardState(from, count) : undefined;
    return { kind: 'append', entries, hardState };
  }

  private makeHardState(from: number, count: number): ModelState['hardState'] {
    const { term: oldTerm, vote, commit } = this.wanted.hardState;
    const last = count === 0 ? lastIndexOf(this.wanted) : from + count - 1;
    const next = commit + this.below(last - commit + 1);
    if (this.chance(0.5)) return { term: oldTerm, vote: vote || this.below(4), commit: next };
    return { term: oldTerm + 1 + this.below(2), vote: this.below(4), commit: next };
  }

  private makePayload(): Buffer {
    const dice = this.random.nextFloat();
    const size = dice < 0.1 ? 0 : dice < 0.8 ? this.below(300) : this.below(9000);
    const payload = Buffer.alloc(size, this.payloadTag & 0xff);
    this.payloadTag += 1;
    if (size >= 4) payload.writeUInt32LE(this.payloadTag, size - 4);
    return payload;
  }

  private toWal(entry: ModelEntry): WalEntry {
    const cut = this.below(entry.payload.length + 1);
    const parts = [entry.payload.subarray(0, cut), entry.payload.subarray(cut)];
    return { index: logIndex(entry.index), term: term(entry.term), kind: 'normal', parts };
  }

  /** The opened log must be one of the states the crash may have left. */
  private async check(wal: Wal): Promise<void> {
    const found = await this.readAll(wal);
    const { commit } = wal.hardState;
    const states = possibleStates(this.acked, this.underWay);
    const state = states.reverse().find((candidate) => isSame(wal, found, candidate));
    if (!state)
      throw new Error(`seed ${this.seed}: ${describe(wal)} is none of the possible states`);
    if (commit < this.acked.hardState.commit)
      throw new Error(`seed ${this.seed}: commit went back`);
    if (wal.base.index < this.ackedBase) throw new Error(`seed ${this.seed}: base went back`);
    if (wal.base.index > Math.max(this.released, state.baseIndex)) {
      throw new Error(`seed ${this.seed}: purged more than released`);
    }
    this.acked = { ...state, hardState: { ...state.hardState, commit } };
    this.wanted = this.acked;
    this.underWay = [];
  }

  /** All entries after the model's base, the retired ones one by one. */
  private async readAll(wal: Wal): Promise<ModelEntry[]> {
    const found: ModelEntry[] = [];
    const live = wal.lastIndex >= wal.firstIndex ? await wal.readEntries(wal.firstIndex, 1e9) : [];
    for (const { index, term: entryTerm, payload } of live) {
      if (wal.termAt(index) !== entryTerm) throw new Error(`term of ${index} differs`);
      found.push({ index, term: entryTerm, payload });
    }
    return found;
  }

  private async scrub(wal: Wal): Promise<void> {
    for (const entry of this.acked.entries) {
      if (entry.index <= this.collected) continue;
      if (entry.index <= this.rewritten && isDead(entry.index)) continue;
      const stored = await wal.readEntry(logIndex(entry.index));
      if (!stored.payload.equals(entry.payload)) throw new Error(`entry ${entry.index} differs`);
    }
    const sleep = (): Promise<void> => Promise.resolve();
    await wal.scrub({
      bytesPerSecond: 1e9,
      sleep,
      onDamage: (damage) => {
        throw damage;
      },
    });
  }

  private chance(probability: number): boolean {
    return this.random.nextFloat() < probability;
  }

  private below(bound: number): number {
    return this.random.nextBelow(Math.max(1, bound));
  }
}

const isDead = (index: number): boolean => index % 3 === 0;

function isSame(wal: Wal, found: readonly ModelEntry[], state: ModelState): boolean {
  const { hardState } = wal;
  if (wal.lastIndex !== lastIndexOf(state) || wal.lastTerm !== lastTermOf(state)) return false;
  if (hardState.term !== state.hardState.term || hardState.vote !== state.hardState.vote) {
    return false;
  }
  if (wal.base.index < state.baseIndex) return false;
  const expected = state.entries.slice(wal.base.index - state.baseIndex);
  return isDeepStrictEqual(found, expected);
}

function describe(wal: Wal): string {
  const { base, lastIndex, lastTerm, hardState } = wal;
  return JSON.stringify({ base, lastIndex, lastTerm, hardState });
}

function ignoreCrash(error: unknown): void {
  if ((error as Error).name !== 'SimulatedCrash') throw error;
}
