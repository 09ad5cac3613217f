/**
 * What is remembered of apply failures in the data directory, and the operator's way past one:
 * QUEEN_RAFT_APPLY_SKIP replaces named entries in this node's log by skip markers, before consensus
 * starts. Every doubt refuses the start. A replacement is the atomic rewrite of one segment, and named
 * entries are replaced one by one, so a start that was killed is simply repeated.
 *
 *   apply_failure.json  the entry that stopped this node; gone once it is applied or replaced
 *   apply_skipped.json  entries that were replaced, here (with digest) or by another member
 */
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { logIndex } from '../common/ids.js';
import type { ApplySkip } from '../config/repairs.js';
import { syncDirectoryNow } from '../storage/index.js';
import { contentOf, isMarker, markerOf, NODE_LOCAL, payloadDigest } from './group/apply-failure.js';
import type { ApplyFailure, SkippedEntry, StopNotes } from './group/apply-failure.js';
import type { GroupLog, LogEntry } from './group/ports.js';
import { noteDamage } from './log-repair.js';
import {
  decodeDocument,
  encodeDocument,
  isMissing,
  type DocumentKind,
  type Wal,
} from './wal/index.js';

export const FAILURE_FILE = 'apply_failure.json';
export const SKIPPED_FILE = 'apply_skipped.json';
const FAILURE_KIND: DocumentKind = { name: 'queen-apply-failure', version: 1 };
const SKIPPED_KIND: DocumentKind = { name: 'queen-apply-skipped', version: 1 };
/** Entries remembered; the oldest are forgotten beyond it. */
const MAX_SKIPPED = 100;
const SETTING = 'QUEEN_RAFT_APPLY_SKIP';

export class ApplyRecords implements StopNotes {
  private failure: ApplyFailure | null;
  private list: readonly SkippedEntry[];

  constructor(
    private readonly directory: string,
    private readonly log: GroupLog,
  ) {
    const failure = this.read(FAILURE_FILE, FAILURE_KIND) as ApplyFailure | undefined;
    this.failure = failure ?? null;
    const skipped = this.read(SKIPPED_FILE, SKIPPED_KIND) as
      { entries?: SkippedEntry[] } | undefined;
    this.list = skipped?.entries ?? [];
  }

  get skipped(): readonly SkippedEntry[] {
    return this.list;
  }

  /** As recorded by an earlier start, or by this one. */
  get lastFailure(): ApplyFailure | null {
    return this.failure;
  }

  damaged(error: unknown): void {
    this.quietly(() => noteDamage(this.directory, error));
  }

  applyFailed(failure: ApplyFailure): void {
    this.failure = failure;
    this.quietly(() => this.write(FAILURE_FILE, FAILURE_KIND, failure));
  }

  applied(entry: LogEntry, marker: boolean): void {
    if (this.failure !== null && entry.index >= this.failure.index) this.forgetFailure();
    if (!marker || this.list.some(({ index }) => index === entry.index)) return;
    const { index, term } = entry;
    this.quietly(() => this.remember({ index, term, digest: null }));
  }

  remember(entry: SkippedEntry): void {
    const others = this.list.filter(({ index }) => index !== entry.index);
    this.list = [...others, entry].slice(-MAX_SKIPPED);
    this.write(SKIPPED_FILE, SKIPPED_KIND, { entries: this.list });
  }

  forgetFailure(): void {
    this.failure = null;
    this.quietly(() => {
      rmSync(join(this.directory, FAILURE_FILE), { force: true });
      syncDirectoryNow(this.directory);
    });
  }

  /** A node that stops must not fail for its notes: the log line and /health tell the same. */
  private quietly(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.log.warn('the reason of a stop could not be noted', { why: String(error) });
    }
  }

  private read(name: string, kind: DocumentKind): unknown {
    const path = join(this.directory, name);
    try {
      return decodeDocument(kind, path, readFileSync(path));
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  private write(name: string, kind: DocumentKind, body: unknown): void {
    const path = join(this.directory, name);
    const file = openSync(`${path}.tmp`, 'w');
    try {
      writeSync(file, encodeDocument(kind, body));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(`${path}.tmp`, path);
    syncDirectoryNow(this.directory);
  }
}

export interface SkipOptions {
  readonly wal: Wal;
  readonly records: ApplyRecords;
  readonly skips: readonly ApplySkip[];
  /** Applied index of the checkpoint. */
  readonly durableIndex: number;
  readonly log: GroupLog;
}

/** Throws when a named entry must not be replaced; then none after it is. */
export async function skipEntries(options: SkipOptions): Promise<void> {
  for (const skip of [...options.skips].sort((a, b) => a.index - b.index)) {
    await skipEntry(options, skip);
  }
}

async function skipEntry(options: SkipOptions, { index, digest }: ApplySkip): Promise<void> {
  const { wal, records, durableIndex, log } = options;
  if (records.skipped.some((done) => done.index === index)) return;
  if (index > wal.lastIndex) {
    // The marker comes from the leader, which was started with the same setting.
    return log.info(`${SETTING}: entry ${index} is not in this log yet`, { last: wal.lastIndex });
  }
  const { lastFailure } = records;
  if (lastFailure?.class === NODE_LOCAL) {
    throw refusal(index, `the last failure of this node (${lastFailure.error}) was node-local`);
  }
  if (index <= durableIndex) throw refusal(index, 'this node already applied it');
  const entry = await wal.readEntry(logIndex(index));
  const { kind, payload, term } = entry;
  if (kind !== 'normal' || payload.length === 0) {
    throw refusal(index, 'it is a blank or membership entry and holds no command');
  }
  const found = payloadDigest(payload);
  const parts = [payload];
  const isDone = isMarker({ index: entry.index, term, parts, ...sizesOf(payload) });
  if (isDone) return records.remember({ index, term, digest });
  if (digest !== null && digest !== found) {
    throw refusal(index, `its digest is ${found}, not ${digest}: compare the nodes again`);
  }
  await wal.replacePayload(logIndex(index), markerOf(payload));
  records.remember({ index, term, digest: found });
  if (lastFailure !== null && lastFailure.index <= index) records.forgetFailure();
  const { command, effect } = contentOf(payload);
  const held = `${command ?? ''} (${effect ?? ''})`;
  log.warn(`${SETTING}: entry ${index} is REPLACED by a skip marker`, { digest: found, held });
}

function sizesOf(payload: Buffer): { readonly sizeBytes: number; readonly commandCount: number } {
  return { sizeBytes: payload.length, commandCount: payload.readUInt32LE(10) };
}

function refusal(index: number, why: string): Error {
  return new Error(
    `${SETTING} names entry ${index}, but ${why}. Nothing was replaced; unset it or correct it.`,
  );
}
