/**
 * The one segment that is written. Strictly one batch after another: the next is written only after
 * the previous one was synced, and the synced mark follows before anybody is told. Any error here
 * leaves the file in an unknown state; the caller must poison the log and never come back.
 */
import type { BatchEncoder } from './batch-encoder.js';
import { EntryTable } from './entry-table.js';
import { writeFully, type FilePort, type OpenFile } from './file-port.js';
import { encodeFooter, type SegmentSummary, type TermRun } from './footer.js';
import { segmentFileName } from './manifest.js';
import { RecordKind } from './record.js';
import { encodeSegmentHeader, type SegmentHeader } from './segment-header.js';
import type { SyncedMarkFile } from './synced-mark.js';
import type { HardState } from './types.js';

/** What a segment holds at some moment; a fresh one: size of the header, nothing else. */
export interface ActiveProgress {
  readonly sizeBytes: number;
  readonly lastBatch: number;
  readonly chain: number;
  readonly table: EntryTable;
}

export class ActiveSegment {
  readonly table: EntryTable;
  private size: number;
  private batch: number;
  private chain: number;

  constructor(
    readonly file: OpenFile,
    readonly header: SegmentHeader,
    private readonly headerBytes: number,
    progress: ActiveProgress,
  ) {
    this.table = progress.table;
    this.size = progress.sizeBytes;
    this.batch = progress.lastBatch;
    this.chain = progress.chain;
  }

  /** Creates the file with its header, durable together with its name when it resolves. */
  static async create(
    files: FilePort,
    directory: string,
    header: SegmentHeader,
  ): Promise<ActiveSegment> {
    const path = `${directory}/${segmentFileName(header.sequence, 0)}`;
    const bytes = encodeSegmentHeader(header);
    const file = await files.open(path, 'create');
    await writeFully(file, [bytes], 0);
    await file.fdatasync();
    await files.fsyncDir(directory);
    return new ActiveSegment(file, header, bytes.length, {
      sizeBytes: bytes.length,
      lastBatch: header.firstBatch - 1,
      chain: 0,
      table: new EntryTable(header.base.index + 1),
    });
  }

  get sizeBytes(): number {
    return this.size;
  }

  get lastBatch(): number {
    return this.batch;
  }

  get isEmpty(): boolean {
    return this.size === this.headerBytes;
  }

  startBatch(encoder: BatchEncoder, records: number): void {
    const { size: position, chain } = this;
    encoder.start({ salt: this.header.salt, position, batch: this.batch + 1, records, chain });
  }

  /** Writes and syncs what `startBatch` began; the table is the caller's to update afterwards. */
  async write(encoder: BatchEncoder, mark: SyncedMarkFile): Promise<void> {
    await writeFully(this.file, encoder.finish(), this.size);
    await this.file.fdatasync();
    mark.write(this.header.sequence, encoder.end, encoder.batch, this.header.salt);
    this.size = encoder.end;
    this.batch = encoder.batch;
    this.chain = encoder.chain;
  }

  /**
   * Writes and syncs the footer. The mark stays before it: until the manifest calls this segment
   * sealed the footer is a tail that a restart may cut.
   */
  async seal(
    encoder: BatchEncoder,
    sealed: { hardState: HardState; lastTerm: number; runs: readonly TermRun[] },
  ): Promise<{ summary: SegmentSummary; sizeBytes: number; checksum: number }> {
    const { header, table } = this;
    this.startBatch(encoder, 1);
    const summary: SegmentSummary = {
      sequence: header.sequence,
      footerPosition: this.size,
      count: table.count,
      runCount: sealed.runs.length,
      sparse: false,
      first: table.first,
      last: table.first + table.count - 1,
      base: header.base,
      lastTerm: sealed.lastTerm,
      batch: encoder.batch,
      hardState: sealed.hardState,
      chain: this.chain,
    };
    const { payload, checksum } = encodeFooter(summary, table, sealed.runs);
    encoder.add(RecordKind.footer, sealed.lastTerm, summary.last, [payload]);
    await writeFully(this.file, encoder.finish(), this.size);
    await this.file.fdatasync();
    this.size = encoder.end;
    this.batch = encoder.batch;
    return { summary, sizeBytes: this.size, checksum };
  }
}
