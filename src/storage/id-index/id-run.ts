/**
 * A sealed run: its tags in memory, its records on disk. A probe of the tags gives the exact slots that
 * may hold a fragment; a missing id costs one cache line and, once in some thousand lookups, a page
 * read. Pinned while somebody reads, so that expiry never closes a file under a reader.
 */
import { readSync } from 'node:fs';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { homeOf, tagOf } from './fragment.js';
import { checkPage, decodeTrailer, IdRunDamage, PAGE_BYTES } from './run-format.js';
import { PAGE_HEADER_BYTES, PAGE_SLOTS, RECORD_BYTES } from './run-format.js';
import { tagsBytes, tagsPosition, type RunHead } from './run-format.js';

export interface IdPlace {
  readonly offset: number;
  readonly base: number;
}

export class IdRun {
  private pins = 0;
  private dropped = false;
  private closed = false;

  private constructor(
    readonly file: string,
    readonly head: RunHead,
    readonly tags: Uint16Array,
    private readonly handle: FileHandle,
  ) {}

  /** Opens a run written by this process, whose tags are known. */
  static async adopt(run: {
    readonly file: string;
    readonly head: RunHead;
    readonly tags: Uint16Array;
  }): Promise<IdRun> {
    return new IdRun(run.file, run.head, run.tags, await open(run.file, 'r'));
  }

  /** Opens a run found at start: trailer and tags are checked, pages when they are read. */
  static async open(file: string): Promise<IdRun> {
    const handle = await open(file, 'r');
    try {
      const { size } = await handle.stat();
      const position = size - PAGE_BYTES;
      const trailer = await readExactly(handle, position, PAGE_BYTES);
      const { head, tagsCrc } = decodeTrailer(file, trailer, position);
      const tagsAt = tagsPosition(head.slots);
      if (tagsAt + tagsBytes(head.slots) !== position) {
        throw new IdRunDamage(file, position, 'the file has another length than its trailer says');
      }
      const bytes = await readExactly(handle, tagsAt, tagsBytes(head.slots));
      if (crc32(bytes) !== tagsCrc) {
        throw new IdRunDamage(file, tagsAt, 'the tags do not match their checksum');
      }
      const tags = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
      return new IdRun(file, head, tags, handle);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** First slot from `from` on (−1: from home) whose tag matches, −1 when the probe ends. */
  nextMatch(hi: number, lo: number, after: number): number {
    const { tags } = this;
    const tag = tagOf(lo);
    let slot = after < 0 ? homeOf(hi, this.head.bits) : after + 1;
    for (let seen = tags[slot] as number; seen !== 0; seen = tags[++slot] as number) {
      if (seen === tag) return slot;
    }
    return -1;
  }

  async readPage(page: number): Promise<DataView> {
    const bytes = await readExactly(this.handle, page * PAGE_BYTES, PAGE_BYTES);
    return checkPage(this.file, bytes, page);
  }

  readPageSync(page: number): DataView {
    const bytes = new Uint8Array(PAGE_BYTES);
    readSync(this.handle.fd, bytes, 0, PAGE_BYTES, page * PAGE_BYTES);
    return checkPage(this.file, bytes, page);
  }

  /** Reads consecutive pages for a merge; shorter at the end of the records. */
  readPages(first: number, count: number): Promise<Uint8Array> {
    return readExactly(this.handle, first * PAGE_BYTES, count * PAGE_BYTES);
  }

  pin(): void {
    this.pins += 1;
  }

  unpin(): void {
    this.pins -= 1;
    if (this.pins === 0 && this.dropped) void this.closeHandle();
  }

  /** Unlinks the file; the handle closes with the last reader. */
  async drop(): Promise<void> {
    this.dropped = true;
    await unlink(this.file);
    if (this.pins === 0) await this.closeHandle();
  }

  async close(): Promise<void> {
    this.dropped = true;
    if (this.pins === 0) await this.closeHandle();
  }

  private async closeHandle(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await this.handle.close();
  }
}

export function pageOfSlot(slot: number): number {
  return Math.floor(slot / PAGE_SLOTS);
}

/** The place in a slot when it is this fragment's. */
export function placeIn(page: DataView, slot: number, hi: number, lo: number): IdPlace | undefined {
  const at = PAGE_HEADER_BYTES + (slot % PAGE_SLOTS) * RECORD_BYTES;
  if (page.getUint32(at, true) !== hi || page.getUint32(at + 4, true) !== lo) return undefined;
  const offset = page.getFloat64(at + 8, true);
  return { offset, base: offset - page.getUint32(at + 16, true) };
}

async function readExactly(
  handle: FileHandle,
  position: number,
  length: number,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await handle.read(bytes, done, length - done, position + done);
    if (bytesRead === 0) return bytes.subarray(0, done);
    done += bytesRead;
  }
  return bytes;
}
