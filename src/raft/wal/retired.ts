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
import { blankedOutside } from '../../common/blank-bytes.js';
import { decodeEntry } from './entry-reader.js';
import { readUpTo, unlinkIfPresent, type FilePort } from './file-port.js';
import { readFooter } from './footer.js';
import type { LogState } from './log-state.js';
import { segmentFileName, type SegmentRow } from './manifest.js';
import { RECORD_HEADER_BYTES } from './record.js';
import { writeRevisionFile } from './revision-writer.js';
import { readSegmentHeader } from './segment-header.js';
import type { Reader } from './segment-readers.js';
import type { Segment } from './segment-set.js';
import type { StoredEntry } from './types.js';

/** Entries read at once. */
const CHUNK_BYTES = 1024 * 1024;

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

/** All of an entry, nothing, or ranges of its payload; the rest becomes zeros that take no space. */
export type KeptPayload = boolean | readonly { readonly start: number; readonly length: number }[];

/** The entry with what is kept of it. Where bytes lie does not change: rows address them by that. */
export function keptEntry(entry: StoredEntry, kept: KeptPayload): StoredEntry | null {
  if (kept === true) return entry;
  if (kept === false) return null;
  const payload = Buffer.from(blankedOutside(entry.payload, kept).buffer);
  return { ...entry, payload, parts: [payload] };
}

export interface Rewrite {
  readonly files: FilePort;
  readonly directory: string;
  readonly state: LogState;
  readonly segment: Segment;
  /** The entry as it is to stand in the next revision; null leaves it out. */
  readonly revise: (entry: StoredEntry) => StoredEntry | null;
  readonly breathe: Breathe;
}

/** Writes the next revision, durable with its name; answers the row that would make it count. */
export async function writeRevision(rewrite: Rewrite): Promise<SegmentRow> {
  const { files, directory, state, segment } = rewrite;
  const { row } = segment;
  const path = `${directory}/${segmentFileName(row.sequence, row.revision + 1)}`;
  const source = state.readable(segment);
  try {
    return await state.readers.use(source, async (reader) => {
      const { header } = await readSegmentHeader(reader.file, reader.path);
      const { summary, runs } = await readFooter(reader.file, reader.path, source);
      const sparse = summary.sparse || row.state === 'retired';
      // What a truncation made void stays behind.
      const range = { first: row.first, last: row.last };
      const revision = sparse
        ? { header, summary: { ...summary, sparse }, runs }
        : { header, summary: { ...summary, ...range, sparse } };
      const entries = revised(reader, rewrite);
      const written = await writeRevisionFile({ files, directory, path }, revision, entries);
      return { ...row, revision: row.revision + 1, ...written };
    });
  } catch (error) {
    await unlinkIfPresent(files, path);
    throw error;
  }
}

async function* revised(reader: Reader, rewrite: Rewrite): AsyncGenerator<StoredEntry> {
  for (let slot = 0; slot < reader.table.count;) {
    const chunk = await readChunk(reader, rewrite.segment, slot);
    for (const entry of chunk.entries) {
      const wanted = rewrite.revise(entry);
      if (wanted !== null) yield wanted;
    }
    slot = chunk.next;
    await rewrite.breathe();
  }
}
