/**
 * Retired segments: kept only for the messages in them. They are read entry by entry to learn what
 * lives, and rewritten without the dead. A rewrite is a new file (next revision) beside the old one;
 * the manifest decides which of the two counts, so a crash at any point leaves one whole file and at
 * most one leftover that the next start removes.
 *
 *   old revision ──read, verify──► new revision: header | kept entries | sparse footer, synced
 *                                        │ manifest names it (the swap)
 *   old revision unlinked  ◄─────────────┘
 */
import { BatchEncoder } from './batch-encoder.js';
import { decodeEntry } from './entry-reader.js';
import { EntryTable } from './entry-table.js';
import {
  readUpTo,
  unlinkIfPresent,
  writeFully,
  type FilePort,
  type OpenFile,
} from './file-port.js';
import { encodeFooter, readFooter } from './footer.js';
import type { LogState } from './log-state.js';
import { segmentFileName, type SegmentRow } from './manifest.js';
import { RECORD_HEADER_BYTES, RecordKind } from './record.js';
import { encodeSegmentHeader, readSegmentHeader } from './segment-header.js';
import type { Reader } from './segment-readers.js';
import type { Segment } from './segment-set.js';
import type { EntryKind, StoredEntry } from './types.js';

/** Entries read, or written, at once. */
const CHUNK_BYTES = 1024 * 1024;

const KIND_CODE: Record<EntryKind, number> = {
  normal: RecordKind.normal,
  membership: RecordKind.membership,
  empty: RecordKind.empty,
};

/** Called between two chunks: gives the loop back, keeps a pace; throws to stop. */
export type Breathe = () => Promise<void>;

/** Reads the entries that count, in order, verified. */
export function readRetired(
  state: LogState,
  segment: Segment,
  work: { readonly visit: (entry: StoredEntry) => void; readonly breathe: Breathe },
): Promise<void> {
  return state.readers.use(state.readable(segment), async (reader) => {
    for (let slot = 0; slot < reader.table.count;) {
      const chunk = await readChunk(reader, segment, slot);
      for (const entry of chunk.entries) work.visit(entry);
      slot = chunk.next;
      await work.breathe();
    }
  });
}

async function readChunk(
  reader: Reader,
  segment: Segment,
  from: number,
): Promise<{ readonly entries: StoredEntry[]; readonly next: number }> {
  const { table } = reader;
  const start = table.positionAt(from);
  let next = from;
  let end = start;
  for (; next < table.count; next += 1) {
    const recordEnd = table.positionAt(next) + RECORD_HEADER_BYTES + table.payloadBytesAt(next);
    if (next > from && recordEnd - start > CHUNK_BYTES) break;
    end = recordEnd;
  }
  const bytes = await readUpTo(reader.file, start, end - start);
  const entries: StoredEntry[] = [];
  for (let slot = from; slot < next; slot += 1) {
    const index = table.indexAt(slot);
    if (index < segment.row.first || index > segment.row.last) continue;
    const position = table.positionAt(slot);
    entries.push(decodeEntry(reader, { bytes: bytes.subarray(position - start), position, index }));
  }
  return { entries, next };
}

export interface Rewrite {
  readonly files: FilePort;
  readonly directory: string;
  readonly state: LogState;
  readonly segment: Segment;
  readonly keep: (entry: StoredEntry) => boolean;
  readonly breathe: Breathe;
}

/** Writes the next revision, durable with its name; answers the row that would make it count. */
export async function writeRevision(rewrite: Rewrite): Promise<SegmentRow> {
  const { files, directory } = rewrite;
  const { sequence, revision } = rewrite.segment.row;
  const path = `${directory}/${segmentFileName(sequence, revision + 1)}`;
  try {
    return await writeFile(rewrite, path);
  } catch (error) {
    await unlinkIfPresent(files, path);
    throw error;
  }
}

async function writeFile(rewrite: Rewrite, path: string): Promise<SegmentRow> {
  const { files, directory, state, segment } = rewrite;
  const { row } = segment;
  const file = await files.open(path, 'replace');
  try {
    const writer = await RevisionWriter.begin(file, state, segment);
    let chunk: StoredEntry[] = [];
    let chunkBytes = 0;
    const flush = async (): Promise<void> => {
      await writer.add(chunk);
      chunk = [];
      chunkBytes = 0;
    };
    await readRetired(state, segment, {
      visit: (entry) => {
        if (!rewrite.keep(entry)) return;
        chunk.push(entry);
        chunkBytes += entry.payload.length;
      },
      breathe: async () => {
        if (chunkBytes >= CHUNK_BYTES) await flush();
        await rewrite.breathe();
      },
    });
    await flush();
    const { sizeBytes, checksum } = await writer.finish();
    await file.fdatasync();
    await files.fsyncDir(directory);
    return { ...row, revision: row.revision + 1, sizeBytes, checksum };
  } finally {
    await file.close();
  }
}

/** Header, entries and footer of a new revision, one after another. */
class RevisionWriter {
  private readonly encoder = new BatchEncoder();
  private readonly positions: number[] = [];
  private readonly sizes: number[] = [];
  private readonly distances: number[] = [];
  private chain = 0;

  private constructor(
    private readonly file: OpenFile,
    private readonly segment: Segment,
    private readonly old: Awaited<ReturnType<typeof readFooter>>,
    private position: number,
  ) {}

  static begin(file: OpenFile, state: LogState, segment: Segment): Promise<RevisionWriter> {
    const source = state.readable(segment);
    return state.readers.use(source, async (reader) => {
      const { header } = await readSegmentHeader(reader.file, reader.path);
      const old = await readFooter(reader.file, reader.path, source);
      const bytes = encodeSegmentHeader(header);
      await writeFully(file, [bytes], 0);
      return new RevisionWriter(file, segment, old, bytes.length);
    });
  }

  async add(entries: readonly StoredEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const { encoder, old } = this;
    this.start(entries.length);
    let at = this.position;
    for (const { index, term, kind, payload } of entries) {
      encoder.add(KIND_CODE[kind], term, index, [payload]);
      this.positions.push(at);
      this.sizes.push(payload.length);
      this.distances.push(index - old.summary.first);
      at += RECORD_HEADER_BYTES + payload.length;
    }
    await this.write();
  }

  async finish(): Promise<{ sizeBytes: number; checksum: number }> {
    const { encoder, old, chain } = this;
    const count = this.positions.length;
    const table = new EntryTable(old.summary.first, {
      positions: Uint32Array.from(this.positions),
      sizes: Uint32Array.from(this.sizes),
      distances: Uint32Array.from(this.distances),
    });
    const summary = { ...old.summary, footerPosition: this.position, count, sparse: true, chain };
    const { payload, checksum } = encodeFooter(summary, table, old.runs);
    this.start(1);
    encoder.add(RecordKind.footer, summary.lastTerm, summary.last, [payload]);
    await this.write();
    return { sizeBytes: this.position, checksum };
  }

  /** Records keep the number of the segment's last batch: nobody replays a retired segment. */
  private start(records: number): void {
    const { position, chain } = this;
    const { batch } = this.old.summary;
    this.encoder.start({ salt: this.segment.salt, position, batch, records, chain });
  }

  private async write(): Promise<void> {
    await writeFully(this.file, this.encoder.finish(), this.position);
    this.position = this.encoder.end;
    this.chain = this.encoder.chain;
  }
}
