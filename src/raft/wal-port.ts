/** The write-ahead log as a group sees it: entries in, entries and byte ranges out. Counts writes. */
import { isBlanked } from '../common/blank-bytes.js';
import { QuantileSummary } from '../common/quantile-summary.js';
import { type LogIndex, type NodeId, type Term } from '../common/ids.js';
import type { LogEntry, PayloadRange, RetiredLog, WalPort } from './group/ports.js';
import type { Wal, WalEntry } from './wal/index.js';

export class WalLog implements WalPort {
  /** One write with its sync, µs; entries and bytes of one write. */
  readonly writeMicros = new QuantileSummary();
  readonly writeEntries = new QuantileSummary();
  readonly writeBytes = new QuantileSummary();
  /** Commands in the entries written since the open. */
  commandsWritten = 0;
  readonly retired: RetiredLog;

  constructor(private readonly wal: Wal) {
    this.retired = retiredLog(wal);
  }

  /** Segment files and their bytes. */
  get usage(): { readonly files: number; readonly bytes: number } {
    return this.wal.usage;
  }

  get firstIndex(): LogIndex {
    return this.wal.firstIndex;
  }

  get lastIndex(): LogIndex {
    return this.wal.lastIndex;
  }

  get lastTerm(): Term {
    return this.wal.lastTerm;
  }

  get term(): Term {
    return this.wal.hardState.term;
  }

  async append(entries: readonly LogEntry[]): Promise<void> {
    const startMs = performance.now();
    await this.wal.append({ entries: entries.map(walEntry) });
    this.wrote(entries, performance.now() - startMs);
  }

  wrote(entries: readonly LogEntry[], tookMs: number): void {
    const nowMs = performance.now();
    let bytes = 0;
    for (const entry of entries) {
      bytes += entry.sizeBytes;
      this.commandsWritten += entry.commandCount;
    }
    this.writeMicros.observe(tookMs * 1000, nowMs);
    this.writeEntries.observe(entries.length, nowMs);
    this.writeBytes.observe(bytes, nowMs);
  }

  startTerm(term: Term, self: NodeId): Promise<void> {
    return this.wal.append({
      entries: [],
      hardState: { term, vote: self, commit: this.wal.lastIndex },
    });
  }

  async read(from: LogIndex, maxBytes: number): Promise<readonly LogEntry[]> {
    const entries = await this.wal.readEntries(from, maxBytes);
    return entries.map(({ index, term, payload }) => ({
      ...{ index, term, parts: [payload] },
      sizeBytes: payload.length,
      commandCount: -1,
    }));
  }

  readRange(range: PayloadRange): Promise<Uint8Array> {
    return this.wal.readRange(range.index, range.start, range.length);
  }

  async letGoIn(index: LogIndex): Promise<boolean> {
    return isBlanked((await this.wal.readEntry(index)).payload);
  }

  async describe(range: PayloadRange): Promise<string> {
    const place = await this.wal.locate(range.index);
    const file = this.wal.segments().find((segment) => segment.sequence === place.segment);
    const path = file?.path ?? `segment ${place.segment}`;
    return `damaged record at byte ${place.payloadPosition + range.start} of ${path}`;
  }

  /** Only what is applied is purged, so it is committed; a single voter tells the log only here. */
  async purge(index: LogIndex): Promise<void> {
    this.wal.setCommit(index);
    if (this.wal.canRelease(index)) await this.wal.releaseTo(index);
  }

  indexBefore(bytes: number): number {
    return this.wal.indexBefore(bytes);
  }

  close(): Promise<void> {
    return this.wal.close();
  }
}

/** Only commands hold messages: a term's opening and a membership change are dead once purged. */
function retiredLog(wal: Wal): RetiredLog {
  return {
    segments: () => wal.segments().filter(({ state }) => state === 'retired'),
    read: (sequence, { visit, breathe }) =>
      wal.readRetired(sequence, {
        visit: ({ index, kind, payload }) => {
          if (kind === 'normal') visit(index, payload);
        },
        breathe,
      }),
    rewrite: (sequence, { keep, ...work }) =>
      wal.rewriteRetired(sequence, {
        keep: ({ index, kind, payload }) => kind === 'normal' && keep(index, payload),
        ...work,
      }),
    remove: (sequences) => wal.removeRetired(sequences),
  };
}

function walEntry(entry: LogEntry): WalEntry {
  const { index, term, parts } = entry;
  return { index, term, kind: entry.commandCount === 0 ? 'empty' : 'normal', parts };
}
