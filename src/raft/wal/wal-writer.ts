/**
 * The only writer. Jobs run strictly one after another: a group of waiting batches becomes one write
 * and one sync; rolls and manifest changes take their turn between groups. The first failure of any
 * kind poisons the writer for good, because nobody can know what the disk kept.
 */
import { ActiveSegment } from './active-segment.js';
import { Admission } from './admission.js';
import { BatchEncoder } from './batch-encoder.js';
import { putU64 } from './bytes.js';
import { WalPoisonedError, WalUnavailableError } from './errors.js';
import type { FilePort } from './file-port.js';
import { walkGroup } from './group-records.js';
import type { LogState } from './log-state.js';
import { HARD_STATE_PAYLOAD_BYTES, RECORD_HEADER_BYTES, RecordKind } from './record.js';
import { segmentSalt } from './segment-header.js';
import { cutRanges, type Segment } from './segment-set.js';
import type { SyncedMarkFile } from './synced-mark.js';
import { TermRuns } from './term-runs.js';
import type { EntryKind, HardState, LogPosition, WalBatch, WalLog } from './types.js';
import { activeRow } from './wal-creation.js';

/** Waiting batches; one more is refused with `queue-full`. */
const MAX_WAITING = 8192;
/** Batches merged into one write end at this size. */
const MAX_GROUP_BYTES = 16 * 1024 * 1024;

const KIND_CODE: Record<EntryKind, number> = {
  normal: RecordKind.normal,
  membership: RecordKind.membership,
  empty: RecordKind.empty,
};

interface Job {
  /** A batch to write, or another change of the log. */
  readonly work: WalBatch | (() => Promise<void>);
  readonly sizeBytes: number;
  /** The commit index known when the job was queued; it is never above the job's own entries. */
  readonly commit: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export interface WriterParts {
  readonly files: FilePort;
  readonly directory: string;
  readonly state: LogState;
  readonly active: ActiveSegment;
  readonly mark: SyncedMarkFile;
  readonly segmentBytes: number;
  readonly log: WalLog;
}

export class WalWriter {
  readonly admission: Admission;
  private readonly encoder = new BatchEncoder();
  private readonly hardStateBytes = Buffer.alloc(HARD_STATE_PAYLOAD_BYTES);
  private active: ActiveSegment;
  private queue: Job[] = [];
  private draining: Promise<void> | undefined;
  private failure: WalPoisonedError | undefined;
  private closed = false;

  constructor(private readonly parts: WriterParts) {
    this.active = parts.active;
    this.admission = new Admission(parts.state);
  }

  get poisoned(): WalPoisonedError | undefined {
    return this.failure;
  }

  append(batch: WalBatch): Promise<void> {
    return this.enqueue(batch, () => this.admission.admit(batch));
  }

  /** Runs a change of the segment list between two writes. */
  change(work: () => Promise<void>, admit: () => void = () => undefined): Promise<void> {
    return this.enqueue(work, () => {
      admit();
      return 0;
    });
  }

  /** Size of the active segment. */
  get activeBytes(): number {
    return this.active.sizeBytes;
  }

  /** Seals the active segment and begins the next one after `base`; call only inside `change`. */
  async roll(base: LogPosition): Promise<void> {
    const { state } = this.parts;
    const rows = await this.sealAndBegin(base);
    const last = rows.pop() as Segment;
    await this.install([...cutRanges(rows, base.index), last]);
    state.terms.truncateTo(base.index);
  }

  /**
   * Throws the raft log away and begins after `base`. What was committed stays readable in retired
   * segments; anything above may contradict the snapshot and is never found again.
   */
  async reset(base: LogPosition, hardState: HardState | undefined): Promise<void> {
    const { state } = this.parts;
    const commit = state.hardState.commit;
    state.hardState = { ...(hardState ?? state.hardState), commit: base.index };
    const rows = await this.sealAndBegin(base);
    const last = rows.pop() as Segment;
    // One whose file is being unlinked must never be listed as present again.
    const retired = cutRanges(rows, commit).map((segment) =>
      segment.row.state === 'removing' ? segment : withState(segment, 'retired'),
    );
    await this.install([...retired, last]);
    state.terms = new TermRuns(base.index, base.term);
  }

  /** Takes no more jobs; resolves when the ones taken are done. */
  async close(): Promise<void> {
    this.closed = true;
    while (this.draining) await this.draining;
  }

  private enqueue(work: Job['work'], admit: () => number): Promise<void> {
    if (this.failure) return Promise.reject(this.failure);
    if (this.closed) return Promise.reject(new WalUnavailableError('closed'));
    if (this.queue.length >= MAX_WAITING) {
      return Promise.reject(new WalUnavailableError('queue-full'));
    }
    return new Promise((resolve, reject) => {
      const sizeBytes = admit();
      const { commit } = this.admission;
      this.queue.push({ work, sizeBytes, commit, resolve, reject });
      this.draining ??= this.drain();
    });
  }

  private async drain(): Promise<void> {
    // Appends of the same turn join the first write.
    await Promise.resolve();
    let running: readonly Job[] = [];
    try {
      while (this.queue.length > 0) {
        const head = this.queue[0] as Job;
        if (typeof head.work === 'function') {
          running = this.queue.splice(0, 1);
          await head.work();
        } else {
          await this.makeRoom(head, head.work);
          running = this.takeGroup();
          await this.writeGroup(running);
        }
        for (const job of running) job.resolve();
        running = [];
      }
    } catch (error) {
      this.poison(error, running);
    } finally {
      this.draining = undefined;
    }
  }

  private poison(error: unknown, running: readonly Job[]): void {
    const failure = new WalPoisonedError(error);
    this.failure = failure;
    this.parts.log('wal_poisoned', { error: failure.message });
    const waiting = this.queue;
    this.queue = [];
    for (const job of running) job.reject(failure);
    for (const job of waiting) job.reject(failure);
  }

  /** Rolls when the batch does not fit, or truncates into an older segment. */
  private async makeRoom(job: Job, batch: WalBatch): Promise<void> {
    const { state, segmentBytes } = this.parts;
    const { active } = this;
    const first = batch.entries[0]?.index;
    const kept = first === undefined ? state.lastIndex : Math.min(state.lastIndex, first - 1);
    const crosses = kept < active.header.base.index;
    const full = !active.isEmpty && active.sizeBytes + job.sizeBytes > segmentBytes;
    if (!crosses && !full) return;
    const index = kept as LogPosition['index'];
    await this.roll({ index, term: state.terms.termOf(index) as LogPosition['term'] });
  }

  private takeGroup(): Job[] {
    const room = Math.min(MAX_GROUP_BYTES, this.parts.segmentBytes - this.active.sizeBytes);
    let taken = 0;
    let sizeBytes = 0;
    for (const job of this.queue) {
      if (typeof job.work === 'function') break;
      sizeBytes += job.sizeBytes;
      const first = job.work.entries[0]?.index;
      const crosses = first !== undefined && first <= this.active.header.base.index;
      if (taken > 0 && (sizeBytes > room || crosses)) break;
      taken += 1;
    }
    return this.queue.splice(0, taken);
  }

  private async writeGroup(jobs: readonly Job[]): Promise<void> {
    const { state, mark } = this.parts;
    const batches = jobs.map((job) => job.work as WalBatch);
    const commit = jobs[jobs.length - 1]?.commit ?? 0;
    const { encoder, active } = this;
    const { lastIndex, hardState } = state;
    const start = { lastIndex, hardState, commit };
    let records = 0;
    const count = (): void => {
      records += 1;
    };
    walkGroup(batches, start, { hardState: count, truncation: count, entry: count });
    if (records === 0) return;
    let position = active.sizeBytes;
    active.startBatch(encoder, records);
    walkGroup(batches, start, {
      hardState: (next) => this.encodeHardState(next),
      truncation: (last) => encoder.add(RecordKind.truncation, 0, last, []),
      entry: (entry) => encoder.add(KIND_CODE[entry.kind], entry.term, entry.index, entry.parts),
    });
    await active.write(encoder, mark);
    let record = 0;
    const passed = (): void => {
      position += RECORD_HEADER_BYTES + encoder.payloadBytesOf(record);
      record += 1;
    };
    walkGroup(batches, start, {
      hardState: (next) => {
        state.hardState = next;
        passed();
      },
      truncation: (last) => {
        state.terms.truncateTo(last);
        active.table.truncateTo(last);
        passed();
      },
      entry: (entry) => {
        state.terms.push(entry.index, entry.term);
        active.table.push(position, encoder.payloadBytesOf(record));
        passed();
      },
    });
  }

  private encodeHardState(next: HardState): void {
    putU64(this.hardStateBytes, 0, next.vote);
    putU64(this.hardStateBytes, 8, next.commit);
    this.encoder.add(RecordKind.hardState, next.term, 0, [this.hardStateBytes]);
  }

  /** Writes footer and next header; the result ends with the new active segment. */
  private async sealAndBegin(base: LogPosition): Promise<Segment[]> {
    const { files, directory, state, log } = this.parts;
    const old = this.active;
    const { table } = old;
    const runs = state.terms.slice(table.first, table.first + table.count - 1);
    const { hardState, lastTerm } = state;
    const sealed = await old.seal(this.encoder, { hardState, lastTerm, runs });
    const sequence = old.header.sequence + 1;
    const firstBatch = old.lastBatch + 1;
    const { identity, generation, configuration } = state;
    const salt = segmentSalt(identity.directoryId, sequence, firstBatch);
    this.active = await ActiveSegment.create(files, directory, {
      sequence,
      salt,
      identity,
      generation,
      hardState,
      base,
      firstBatch,
      configuration,
    });
    log('wal_segment_sealed', { sequence: sequence - 1, sizeBytes: sealed.sizeBytes });
    const { sizeBytes, checksum, summary } = sealed;
    const rows: Segment[] = state.segments.all.slice(0, -1);
    const { active } = state.segments;
    const { first, last } = summary;
    const row = { ...active.row, state: 'sealed' as const, first, last, sizeBytes, checksum };
    rows.push({ ...active, row }, { row: activeRow(sequence, base.index), salt, base });
    return rows;
  }

  private async install(rows: readonly Segment[]): Promise<void> {
    const { segments, readers } = this.parts.state;
    const oldPath = segments.path(segments.active);
    await segments.replace(rows);
    const { file, table } = this.active;
    const { salt } = segments.active;
    readers.pin({ path: segments.path(segments.active), salt, file, table });
    readers.unpin(oldPath);
  }
}

/** The same segment in another state. */
export function withState(segment: Segment, state: Segment['row']['state']): Segment {
  return { ...segment, row: { ...segment.row, state } };
}
