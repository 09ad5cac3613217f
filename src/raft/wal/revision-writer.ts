/**
 * Writes a sealed segment anew, entry by entry: header, records, footer. Used for the next revision of a
 * segment, when dead entries go, when a damaged file is rebuilt, when an operator replaces an entry. It
 * knows no manifest: the file counts only once a row names it, so a crash leaves at most a leftover.
 */
import { BatchEncoder } from './batch-encoder.js';
import { EntryTable } from './entry-table.js';
import { writeFully, writeSparse, type FilePort, type OpenFile } from './file-port.js';
import { encodeFooter, type SegmentSummary, type TermRun } from './footer.js';
import { RECORD_HEADER_BYTES, RecordKind } from './record.js';
import { encodeSegmentHeader, type SegmentHeader } from './segment-header.js';
import type { EntryKind, StoredEntry } from './types.js';

/** Entries written at once. */
const CHUNK_BYTES = 1024 * 1024;

const KIND_CODE: Record<EntryKind, number> = {
  normal: RecordKind.normal,
  membership: RecordKind.membership,
  empty: RecordKind.empty,
};

/** What the footer repeats besides the entries. */
export type RevisionSummary = Omit<
  SegmentSummary,
  'footerPosition' | 'count' | 'runCount' | 'chain'
>;

export interface Revision {
  readonly header: SegmentHeader;
  /** `sparse`: some indexes of the range may be missing. */
  readonly summary: RevisionSummary;
  /** Of the whole range; absent: told by the entries. */
  readonly runs?: readonly TermRun[];
}

export interface WrittenRevision {
  readonly sizeBytes: number;
  readonly checksum: number;
}

/** Durable with its name when it resolves. Entries come ascending. */
export async function writeRevisionFile(
  place: { readonly files: FilePort; readonly directory: string; readonly path: string },
  revision: Revision,
  entries: AsyncIterable<StoredEntry>,
): Promise<WrittenRevision> {
  const { files, directory, path } = place;
  const file = await files.open(path, 'replace');
  try {
    const writer = new RevisionWriter(file, revision);
    await writer.begin();
    let chunk: StoredEntry[] = [];
    let chunkBytes = 0;
    for await (const entry of entries) {
      chunk.push(entry);
      chunkBytes += entry.payload.length;
      if (chunkBytes < CHUNK_BYTES) continue;
      await writer.add(chunk);
      chunk = [];
      chunkBytes = 0;
    }
    await writer.add(chunk);
    const written = await writer.finish();
    await file.fdatasync();
    await files.fsyncDir(directory);
    return written;
  } finally {
    await file.close();
  }
}

class RevisionWriter {
  private readonly encoder = new BatchEncoder();
  private readonly positions: number[] = [];
  private readonly sizes: number[] = [];
  private readonly distances: number[] = [];
  private readonly seenRuns: TermRun[] = [];
  private lastTerm = 0;
  private chain = 0;
  private position = 0;

  constructor(
    private readonly file: OpenFile,
    private readonly revision: Revision,
  ) {}

  async begin(): Promise<void> {
    const bytes = encodeSegmentHeader(this.revision.header);
    await writeFully(this.file, [bytes], 0);
    this.position = bytes.length;
  }

  async add(entries: readonly StoredEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const { encoder } = this;
    this.start(entries.length);
    let at = this.position;
    for (const { index, term, kind, payload } of entries) {
      encoder.add(KIND_CODE[kind], term, index, [payload]);
      this.positions.push(at);
      this.sizes.push(payload.length);
      this.distances.push(index - this.revision.summary.first);
      if (this.seenRuns.at(-1)?.term !== term) this.seenRuns.push({ start: index, term });
      this.lastTerm = term;
      at += RECORD_HEADER_BYTES + payload.length;
    }
    await this.write();
  }

  async finish(): Promise<WrittenRevision> {
    const { encoder, chain, revision } = this;
    const runs = revision.runs ?? this.seenRuns;
    const count = this.positions.length;
    const columns = {
      positions: Uint32Array.from(this.positions),
      sizes: Uint32Array.from(this.sizes),
    };
    const { sparse, first, last, lastTerm } = revision.summary;
    const distances = Uint32Array.from(this.distances);
    const table = new EntryTable(first, sparse ? { ...columns, distances } : columns);
    const summary: SegmentSummary = {
      ...revision.summary,
      ...{ footerPosition: this.position, count, runCount: runs.length, chain },
      lastTerm: Math.max(lastTerm, this.lastTerm),
    };
    const { payload, checksum } = encodeFooter(summary, table, runs);
    this.start(1);
    encoder.add(RecordKind.footer, summary.lastTerm, Math.max(last, 0), [payload]);
    await this.write();
    return { sizeBytes: this.position, checksum };
  }

  /** Records carry the number of the segment's last batch: nobody replays a sealed segment. */
  private start(records: number): void {
    const { position, chain } = this;
    const { header, summary } = this.revision;
    this.encoder.start({ salt: header.salt, position, batch: summary.batch, records, chain });
  }

  private async write(): Promise<void> {
    await writeSparse(this.file, this.encoder.finish(), this.position);
    this.position = this.encoder.end;
    this.chain = this.encoder.chain;
  }
}
