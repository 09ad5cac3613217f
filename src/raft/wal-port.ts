/** The write-ahead log as a group sees it: entries in, entries and byte ranges out. */
import { logIndex, type LogIndex, type NodeId, type Term } from '../common/ids.js';
import type { LogEntry, PayloadRange, WalPort } from './group/ports.js';
import type { Wal, WalEntry } from './wal/index.js';

export class WalLog implements WalPort {
  constructor(private readonly wal: Wal) {}

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

  append(entries: readonly LogEntry[]): Promise<void> {
    return this.wal.append({ entries: entries.map(walEntry) });
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

  async describe(range: PayloadRange): Promise<string> {
    const place = await this.wal.locate(range.index);
    const file = this.wal.segments().find((segment) => segment.sequence === place.segment);
    const path = file?.path ?? `segment ${place.segment}`;
    return `damaged record at byte ${place.payloadPosition + range.start} of ${path}`;
  }

  purge(index: LogIndex): Promise<void> {
    return this.wal.releaseTo(logIndex(index));
  }

  close(): Promise<void> {
    return this.wal.close();
  }
}

function walEntry(entry: LogEntry): WalEntry {
  const { index, term, parts } = entry;
  return { index, term, kind: entry.commandCount === 0 ? 'empty' : 'normal', parts };
}
