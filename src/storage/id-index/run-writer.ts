/**
 * Writes a run file slot after slot, in pieces of about 1 MiB with a breath in between, so that sealing
 * a million ids never holds the loop. The file appears under its name only when all of it is synced.
 */
import { open, rename, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { IdTable } from './id-table.js';
import { SPARE_SLOTS } from './id-table.js';
import { encodeTrailer, PAGE_BYTES, PAGE_HEADER_BYTES, PAGE_SLOTS } from './run-format.js';
import { RECORD_BYTES, runFileName, sealPage, tagsBytes, type RunHead } from './run-format.js';

const CHUNK_PAGES = 256;
const TAG_CHUNK_BYTES = 1 << 20;

/** Columns a writer takes slots from: a table, or a window of a merge. */
export interface SlotColumns {
  readonly tags: Uint16Array;
  readonly hi: Uint32Array;
  readonly lo: Uint32Array;
  readonly offset: Float64Array;
  readonly delta: Uint32Array;
}

export interface FinishedRun {
  readonly file: string;
  readonly head: RunHead;
  readonly tags: Uint16Array<ArrayBuffer>;
}

export class RunWriter {
  private chunk = new Uint8Array(CHUNK_PAGES * PAGE_BYTES);
  private view = new DataView(this.chunk.buffer);
  private pageInChunk = 0;
  private slotInPage = 0;
  private page = 0;
  private position = 0;
  private slot = 0;
  private count = 0;
  private readonly tags: Uint16Array<ArrayBuffer>;

  private constructor(
    private readonly directory: string,
    private readonly head: Omit<RunHead, 'count' | 'slots'>,
    private readonly handle: FileHandle,
  ) {
    // Whole pages, so that the tags can be written and checked as they are.
    this.tags = new Uint16Array(tagsBytes((1 << head.bits) + SPARE_SLOTS) / 2);
  }

  static async create(
    directory: string,
    head: Omit<RunHead, 'count' | 'slots'>,
  ): Promise<RunWriter> {
    const name = runFileName(head.firstSequence, head.lastSequence);
    return new RunWriter(directory, head, await open(join(directory, `${name}.tmp`), 'w'));
  }

  /** Appends slots [from, to) of the columns. */
  async write(columns: SlotColumns, from: number, to: number): Promise<void> {
    for (let at = from; at < to;) {
      const until = Math.min(to, at + PAGE_SLOTS - this.slotInPage);
      this.fillPage(columns, at, until);
      at = until;
      if (this.slotInPage === PAGE_SLOTS) await this.closePage();
    }
  }

  /** Pads the last page, writes tags and trailer, syncs, renames. */
  async finish(): Promise<FinishedRun> {
    const slots = (1 << this.head.bits) + SPARE_SLOTS;
    if (this.slot !== slots) throw new Error(`run has ${this.slot} slots, expected ${slots}`);
    if (this.slotInPage > 0) await this.closePage();
    await this.flushChunk();
    const head = { ...this.head, slots, count: this.count };
    const tagBytes = new Uint8Array(this.tags.buffer);
    let tagsCrc = 0;
    for (let at = 0; at < tagBytes.length; at += TAG_CHUNK_BYTES) {
      const piece = tagBytes.subarray(at, at + TAG_CHUNK_BYTES);
      tagsCrc = crc32(piece, tagsCrc);
      await this.append(piece);
    }
    await this.append(encodeTrailer(head, tagsCrc));
    await this.handle.datasync();
    await this.handle.close();
    const file = join(this.directory, runFileName(head.firstSequence, head.lastSequence));
    await rename(`${file}.tmp`, file);
    await syncDirectory(this.directory);
    return { file, head, tags: this.tags };
  }

  private fillPage(columns: SlotColumns, from: number, to: number): void {
    const { view, tags } = this;
    let at = this.pageInChunk * PAGE_BYTES + PAGE_HEADER_BYTES + this.slotInPage * RECORD_BYTES;
    for (let slot = from; slot < to; slot += 1, at += RECORD_BYTES) {
      const tag = columns.tags[slot] as number;
      tags[this.slot++] = tag;
      if (tag === 0) continue;
      this.count += 1;
      view.setUint32(at, columns.hi[slot] as number, true);
      view.setUint32(at + 4, columns.lo[slot] as number, true);
      view.setFloat64(at + 8, columns.offset[slot] as number, true);
      view.setUint32(at + 16, columns.delta[slot] as number, true);
    }
    this.slotInPage += to - from;
  }

  private async closePage(): Promise<void> {
    const at = this.pageInChunk * PAGE_BYTES;
    sealPage(this.chunk.subarray(at, at + PAGE_BYTES), this.view, this.page);
    this.page += 1;
    this.pageInChunk += 1;
    this.slotInPage = 0;
    if (this.pageInChunk === CHUNK_PAGES) await this.flushChunk();
  }

  private async flushChunk(): Promise<void> {
    if (this.pageInChunk === 0) return;
    await this.append(this.chunk.subarray(0, this.pageInChunk * PAGE_BYTES));
    this.chunk.fill(0);
    this.pageInChunk = 0;
  }

  private async append(bytes: Uint8Array): Promise<void> {
    let done = 0;
    while (done < bytes.length) {
      const part = bytes.subarray(done);
      const { bytesWritten } = await this.handle.write(part, 0, part.length, this.position);
      done += bytesWritten;
      this.position += bytesWritten;
    }
  }
}

/** Seals a table into `<directory>/<sequence>-<sequence>.run`. */
export async function sealTable(
  directory: string,
  table: IdTable,
  sequence: number,
): Promise<FinishedRun> {
  const { bits, oldest, newest } = table;
  const writer = await RunWriter.create(directory, {
    ...{ bits, oldest, newest },
    firstSequence: sequence,
    lastSequence: sequence,
  });
  await writer.write(table, 0, table.slotCount);
  return writer.finish();
}

export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
