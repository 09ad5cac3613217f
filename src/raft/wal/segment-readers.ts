/**
 * Open files and entry tables of segments, for reading. Sealed ones are opened on demand and kept in
 * a cache bounded in files and bytes, least recently used out first; one in use is never closed.
 * The active segment is lent by its writer and pinned.
 */
import type { EntryTable } from './entry-table.js';
import { WalDamageError, REPLACE_NODE_CURE } from './errors.js';
import { isMissing, type FilePort, type OpenFile } from './file-port.js';
import { readFooter } from './footer.js';

const DEFAULT_MAX_FILES = 128;
const DEFAULT_MAX_TABLE_BYTES = 32 * 1024 * 1024;

/** Identifies a sealed file well enough to open and verify it. */
export interface ReadableSegment {
  readonly path: string;
  readonly salt: number;
  readonly sizeBytes: number;
}

export interface Reader {
  readonly path: string;
  readonly salt: number;
  readonly file: OpenFile;
  readonly table: EntryTable;
}

interface Slot {
  readonly loading: Promise<Reader>;
  reader: Reader | undefined;
  uses: number;
  /** Its file goes away: closed with its last use. */
  doomed?: boolean;
}

export class SegmentReaders {
  /** Keyed by path, least recently used first. */
  private readonly slots = new Map<string, Slot>();
  /** Held by the tables of sealed segments. */
  private tableBytes = 0;
  lastCloseFailure: { path: string; error: unknown } | undefined;

  constructor(
    private readonly files: FilePort,
    private readonly limits = {
      maxFiles: DEFAULT_MAX_FILES,
      maxTableBytes: DEFAULT_MAX_TABLE_BYTES,
    },
  ) {}

  /** Takes over the file of the active segment and keeps it open until `unpin`. */
  pin(reader: Reader): void {
    this.slots.set(reader.path, { loading: Promise.resolve(reader), reader, uses: 1 });
  }

  unpin(path: string): void {
    const slot = this.slots.get(path);
    if (!slot) return;
    slot.uses -= 1;
    this.tableBytes += slot.reader?.table.heldBytes ?? 0;
    this.evict();
  }

  /** Runs `read` with the segment open. */
  async use<T>(segment: ReadableSegment, read: (reader: Reader) => Promise<T>): Promise<T> {
    let slot = this.slots.get(segment.path);
    if (slot) {
      this.slots.delete(segment.path);
    } else {
      slot = { loading: this.load(segment), reader: undefined, uses: 0 };
    }
    this.slots.set(segment.path, slot);
    slot.uses += 1;
    try {
      const reader = slot.reader ?? (await slot.loading);
      if (!slot.reader) {
        slot.reader = reader;
        this.tableBytes += reader.table.heldBytes;
      }
      return await read(reader);
    } catch (error) {
      if (!slot.reader && this.slots.get(segment.path) === slot) this.slots.delete(segment.path);
      throw error;
    } finally {
      slot.uses -= 1;
      if (slot.doomed === true && slot.uses === 0) await this.drop(segment.path);
      this.evict();
    }
  }

  /** Forgets a segment whose file goes away; a read in progress keeps its file open until it ends. */
  async drop(path: string): Promise<void> {
    const slot = this.slots.get(path);
    if (!slot) return;
    slot.doomed = true;
    if (slot.uses > 0) return;
    this.slots.delete(path);
    this.tableBytes -= slot.reader?.table.heldBytes ?? 0;
    await slot.reader?.file.close();
  }

  async close(): Promise<void> {
    const open = [...this.slots.values()];
    this.slots.clear();
    for (const slot of open) await slot.reader?.file.close();
  }

  private async load(segment: ReadableSegment): Promise<Reader> {
    const { path, salt } = segment;
    let file: OpenFile;
    try {
      file = await this.files.open(path, 'read');
    } catch (error) {
      if (!isMissing(error)) throw error;
      const reason = 'the segment file disappeared';
      throw new WalDamageError({ file: path, byteOffset: 0, reason, cure: REPLACE_NODE_CURE });
    }
    try {
      const { table } = await readFooter(file, path, segment);
      return { path, salt, file, table };
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  private evict(): void {
    const { maxFiles, maxTableBytes } = this.limits;
    if (this.slots.size <= maxFiles && this.tableBytes <= maxTableBytes) return;
    for (const [path, slot] of this.slots) {
      if (slot.uses > 0 || !slot.reader) continue;
      this.slots.delete(path);
      this.tableBytes -= slot.reader.table.heldBytes;
      // A read-only descriptor that fails to close loses nothing; the error is kept for diagnosis.
      slot.reader.file.close().catch((error: unknown) => {
        this.lastCloseFailure = { path, error };
      });
      if (this.slots.size <= maxFiles && this.tableBytes <= maxTableBytes) return;
    }
  }
}
