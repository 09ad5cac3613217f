/**
 * The write-ahead log of one raft group: the facade over writer, reader and recovery. `append`
 * resolves only when everything of the batch is on disk. What it shows (last index, hard state) is
 * durable; what it cannot vouch for it refuses at open or throws when read, never serves.
 */
import { logIndex, term, type LogIndex, type Term } from '../../common/ids.js';
import { EntryReader } from './entry-reader.js';
import type { WalPoisonedError } from './errors.js';
import { unlinkIfPresent, type FilePort } from './file-port.js';
import { LogState } from './log-state.js';
import { readManifest, type SegmentRow } from './manifest.js';
import { recoverWal } from './recovery.js';
import { scrubSegments, type ScrubOptions, type ScrubReport } from './scrub.js';
import { keptEntry, readRetired, writeRevision } from './retired.js';
import type { Breathe, KeptPayload, Rewrite } from './retired.js';
import { SegmentReaders } from './segment-readers.js';
import { SegmentSet, type Segment } from './segment-set.js';
import type { SyncedMarkFile } from './synced-mark.js';
import { createWal, missingManifest, type WalSeed } from './wal-creation.js';
import { WalWriter, withState } from './wal-writer.js';
import type {
  DirectoryIdentity,
  EntryLocation,
  HardState,
  LogPosition,
  StoredEntry,
  WalBatch,
  WalLog,
} from './types.js';

export const DEFAULT_SEGMENT_BYTES = 64 * 1024 * 1024;
const MAX_SEGMENT_BYTES = 1024 * 1024 * 1024;

export interface WalOptions {
  readonly files: FilePort;
  /** The directory of the log itself (`<data>/wal`). */
  readonly directory: string;
  readonly identity: DirectoryIdentity;
  /** Given: create the log if there is none. Absent: a missing log is damage. */
  readonly create?: WalSeed;
  /** A segment is sealed before it would grow beyond this; one larger batch is one segment. */
  readonly segmentBytes?: number;
  readonly log?: WalLog;
}

/** A segment file as seen by collectors and snapshots. */
export interface SegmentFile extends SegmentRow {
  readonly path: string;
}

export class Wal {
  private readonly reader: EntryReader;
  private collecting: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly state: LogState,
    private readonly writer: WalWriter,
    private readonly mark: SyncedMarkFile,
    private readonly options: WalOptions,
  ) {
    this.reader = new EntryReader(state);
  }

  /** Throws WalDamageError on anything damaged, missing or foreign; system errors pass through. */
  static async open(options: WalOptions): Promise<Wal> {
    const { files, directory, identity, create } = options;
    const segmentBytes = options.segmentBytes ?? DEFAULT_SEGMENT_BYTES;
    if (!(segmentBytes > 0 && segmentBytes <= MAX_SEGMENT_BYTES)) {
      throw new RangeError(`segment size ${segmentBytes}`);
    }
    let manifest = await readManifest(files, directory);
    if (!manifest) {
      if (!create) throw missingManifest(directory);
      await createWal({ files, directory, identity }, create);
      manifest = await readManifest(files, directory);
      if (!manifest) throw missingManifest(directory);
    }
    const log = options.log ?? ((): void => undefined);
    const recovered = await recoverWal({ files, directory, identity, log }, manifest);
    const { active, terms, hardState, mark } = recovered;
    const { generation, configuration, salt } = active.header;
    const place = { files, directory, identity };
    const segments = new SegmentSet(place, recovered.segments, recovered.edit);
    const readers = new SegmentReaders(files);
    const { file, table } = active;
    readers.pin({ path: segments.path(segments.active), salt, file, table });
    const state = new LogState({
      identity,
      segments,
      readers,
      terms,
      hardState,
      generation,
      configuration,
    });
    const writer = new WalWriter({ files, directory, state, active, mark, segmentBytes, log });
    return new Wal(state, writer, mark, options);
  }

  /** Last durable entry; the base when there is none. */
  get lastIndex(): LogIndex {
    return this.state.lastIndex;
  }

  get lastTerm(): Term {
    return this.state.lastTerm;
  }

  /** First entry of the raft log; lastIndex + 1 when it is empty. */
  get firstIndex(): LogIndex {
    return logIndex(this.state.terms.baseIndex + 1);
  }

  /** The position before the first entry of the raft log. */
  get base(): LogPosition {
    return this.state.base;
  }

  get hardState(): HardState {
    return this.state.hardState;
  }

  get directoryId(): string {
    return this.state.identity.directoryId;
  }

  get generation(): number {
    return this.state.generation;
  }

  /** Configuration bytes of the active segment's header, or what `setConfiguration` put there. */
  get configuration(): Uint8Array {
    return this.state.configuration;
  }

  /** Set for good after the first failed write. */
  get poisoned(): WalPoisonedError | undefined {
    return this.writer.poisoned;
  }

  /**
   * Durable when it resolves. Rejects with RangeError when the batch contradicts the log (nothing
   * happened), WalUnavailableError when closed or overfull (nothing happened), WalPoisonedError.
   */
  append(batch: WalBatch): Promise<void> {
    return this.writer.append(batch);
  }

  /** Remembers a commit index; it becomes durable with the next append. Never goes back. */
  setCommit(commit: LogIndex): void {
    this.writer.admission.setCommit(commit);
  }

  /** Opaque bytes for the headers of future segments. */
  setConfiguration(configuration: Uint8Array): void {
    this.state.configuration = Uint8Array.from(configuration);
  }

  /** Term of an index in [base, lastIndex], else undefined. */
  termAt(index: LogIndex): Term | undefined {
    const found = this.state.terms.termOf(index);
    return found === undefined ? undefined : term(found);
  }

  /** Consecutive entries from `from`; at least one, then at most `maxBytes` of payload. Verified. */
  readEntries(from: LogIndex, maxBytes: number): Promise<StoredEntry[]> {
    return this.reader.readEntries(from, maxBytes);
  }

  /** One entry, verified; also from retired segments. */
  readEntry(index: LogIndex): Promise<StoredEntry> {
    return this.reader.readEntry(index);
  }

  /** Bytes inside an entry's payload, not verified; also from retired segments. */
  readRange(index: LogIndex, offset: number, lengthBytes: number): Promise<Buffer> {
    return this.reader.readRange(index, offset, lengthBytes);
  }

  locate(index: LogIndex): Promise<EntryLocation> {
    return this.reader.locate(index);
  }

  /** Seals the active segment now (age, snapshot, backup). An empty one is left as it is. */
  roll(): Promise<void> {
    const { state, writer } = this;
    return writer.change(async () => {
      if (state.terms.last === state.segments.active.base.index) return;
      await writer.roll({ index: state.lastIndex, term: state.lastTerm });
    });
  }

  /** Begins a new recovery generation (forced recovery, restore). */
  startGeneration(generation: number): Promise<void> {
    const { state, writer } = this;
    return writer.change(
      async () => {
        state.generation = generation;
        await writer.roll({ index: state.lastIndex, term: state.lastTerm });
      },
      () => {
        if (!(generation > state.generation)) throw new RangeError(`generation ${generation}`);
      },
    );
  }

  /** Forgets the raft log; it goes on after a snapshot at `base`. Durable when it resolves. */
  reset(base: LogPosition, hardState?: HardState): Promise<void> {
    const { writer } = this;
    return writer.change(
      () => writer.reset(base, hardState),
      () => writer.admission.reset(base, hardState),
    );
  }

  /**
   * Purges the raft log up to `index` (committed), in whole sealed segments: they become retired
   * and stay for the messages in them.
   */
  releaseTo(index: LogIndex): Promise<void> {
    const { state, writer } = this;
    const work = async (): Promise<void> => {
      const { all } = state.segments;
      const done = (row: SegmentRow): boolean => row.state === 'sealed' && row.last <= index;
      if (!all.some(({ row }) => done(row))) return;
      await state.segments.replace(all.map((s) => (done(s.row) ? withState(s, 'retired') : s)));
      const baseIndex = state.segments.oldestLive.base.index;
      state.terms.dropBelow(baseIndex);
      writer.admission.release(baseIndex);
    };
    return writer.change(work, () => {
      const { commit } = writer.admission;
      if (index > commit) throw new RangeError(`release to ${index} above the commit ${commit}`);
    });
  }

  /**
   * Deletes retired segments by sequence; others named are ignored. Appends wait for two changes of the
   * manifest, not for the files to go. After a failure a restart, or the same call, finishes it.
   */
  removeRetired(sequences: readonly number[]): Promise<void> {
    return this.alone(() => this.remove(sequences));
  }

  private async remove(sequences: readonly number[]): Promise<void> {
    const { files, directory } = this.options;
    const { segments, readers } = this.state;
    const chosen = new Set(sequences);
    const isMarked = ({ row }: Segment): boolean =>
      row.state === 'removing' && chosen.has(row.sequence);
    await this.writer.change(async () => {
      const marked = segments.all.map((s) =>
        s.row.state === 'retired' && chosen.has(s.row.sequence) ? withState(s, 'removing') : s,
      );
      if (marked.some(isMarked)) await segments.replace(marked);
    });
    const gone = segments.all.filter(isMarked);
    if (gone.length === 0) return;
    for (const segment of gone) {
      await readers.drop(segments.path(segment));
      await unlinkIfPresent(files, segments.path(segment));
    }
    await files.fsyncDir(directory);
    await this.writer.change(() => segments.replace(segments.all.filter((s) => !isMarked(s))));
  }

  /** Visits the entries of a retired segment; false when there is none of that sequence. */
  async readRetired(
    sequence: number,
    work: { readonly visit: (entry: StoredEntry) => void; readonly breathe: Breathe },
  ): Promise<boolean> {
    const segment = this.retired(sequence);
    if (segment === undefined) return false;
    await readRetired(this.state, segment, work);
    return true;
  }

  /**
   * Rewrites a retired segment with what `keep` wants of its entries. Only the swap is the writer's
   * business, and a rewrite that fails before it, or is not settled, changes nothing. Answers the bytes
   * won.
   */
  rewriteRetired(
    sequence: number,
    work: {
      readonly keep: (entry: StoredEntry) => KeptPayload;
      /** Asked between the last `keep` and the swap. */
      readonly settled: () => Promise<boolean>;
      readonly breathe: Breathe;
    },
  ): Promise<number> {
    const { keep, settled, breathe } = work;
    const revise = (entry: StoredEntry): StoredEntry | null => keptEntry(entry, keep(entry));
    return this.alone(async () => {
      const segment = this.retired(sequence);
      return segment === undefined ? 0 : this.rewrite(segment, { revise, settled, breathe });
    });
  }

  /**
   * Puts another payload in the place of a durable entry, index, term and kind unchanged: an operator's
   * repair, before anybody reads the log. Atomic: after a crash the segment is the old or the new one.
   */
  async replacePayload(index: LogIndex, payload: Buffer): Promise<void> {
    await this.roll();
    const segment = this.state.segments.find(index);
    if (segment?.row.state !== 'sealed') throw new RangeError(`entry ${index} is not in the log`);
    const revise = (entry: StoredEntry): StoredEntry =>
      entry.index === index ? { ...entry, payload, parts: [payload] } : entry;
    const settled = (): Promise<boolean> => Promise.resolve(true);
    const breathe = (): Promise<void> => Promise.resolve();
    await this.alone(() => this.rewrite(segment, { revise, settled, breathe }));
  }

  private async rewrite(
    segment: Segment,
    { settled, ...work }: Pick<Rewrite, 'revise' | 'breathe'> & { settled(): Promise<boolean> },
  ): Promise<number> {
    const { files, directory } = this.options;
    const { state, writer } = this;
    const { segments, readers } = state;
    const row = await writeRevision({ files, directory, state, segment, ...work });
    const revised = { ...segment, row };
    let swapped = false;
    const swap = async (): Promise<void> => {
      if (!segments.all.includes(segment)) return;
      await segments.replace(segments.all.map((s) => (s === segment ? revised : s)));
      swapped = true;
    };
    const isSettled = await settled().catch(async (error: unknown) => {
      await unlinkIfPresent(files, segments.path(revised));
      throw error;
    });
    if (isSettled) await writer.change(swap);
    const stale = segments.path(swapped ? segment : revised);
    await readers.drop(stale);
    await unlinkIfPresent(files, stale);
    await files.fsyncDir(directory);
    return swapped ? segment.row.sizeBytes - row.sizeBytes : 0;
  }

  /** Removals and rewrites one after another: none may find the file of another half gone. */
  private alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.collecting.then(work);
    this.collecting = result.catch(() => undefined);
    return result;
  }

  private retired(sequence: number): Segment | undefined {
    return this.state.segments.all.find(
      ({ row }) => row.sequence === sequence && row.state === 'retired',
    );
  }

  /** All segments, ascending; the ranges of the active one are as of now. */
  segments(): SegmentFile[] {
    const { segments, lastIndex } = this.state;
    return segments.all.map((segment) => {
      const { row } = segment;
      const last = row.state === 'active' ? lastIndex : row.last;
      return { ...row, last, path: segments.path(segment) };
    });
  }

  /** An entry of the raft log that is followed by `bytes` of it, in whole segments; 0: there is none. */
  indexBefore(bytes: number): number {
    const { all, active } = this.state.segments;
    let sizeBytes = 0;
    for (const segment of [...all].reverse()) {
      const { row } = segment;
      if (row.state === 'retired' || row.state === 'removing') return 0;
      sizeBytes += segment === active ? this.writer.activeBytes : row.sizeBytes;
      if (sizeBytes >= bytes) return segment.base.index;
    }
    return 0;
  }

  /** Whether the raft log has a sealed segment that ends at or below the index. */
  canRelease(index: LogIndex): boolean {
    return this.state.segments.all.some(({ row }) => row.state === 'sealed' && row.last <= index);
  }

  /** Files and bytes of all segments, the active one as far as it is written. */
  get usage(): { readonly files: number; readonly bytes: number } {
    const { all } = this.state.segments;
    let bytes = this.writer.activeBytes;
    for (const { row } of all) bytes += row.sizeBytes;
    return { files: all.length, bytes };
  }

  /** Reads all sealed and retired segments once, verifying every record. */
  scrub(options: ScrubOptions): Promise<ScrubReport> {
    return scrubSegments(this.options.files, this.state, options);
  }

  /** Finishes what was appended, then closes. A poisoned log closes without another sync. */
  async close(): Promise<void> {
    await this.writer.close();
    await this.mark.close(this.writer.poisoned === undefined);
    await this.state.readers.close();
  }
}
