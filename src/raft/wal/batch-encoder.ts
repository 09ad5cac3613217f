/**
 * Turns a batch into the pieces of one `writev`. Record headers and small payload parts are copied
 * into reused chunks; large parts are written from where they are. One batch is in use at a time:
 * the pieces are valid until the next `start`. It knows nothing about files.
 */
import { crc32 } from 'node:zlib';
import { putU64 } from './bytes.js';
import { chainRecord } from './footer.js';
import {
  MAX_PAYLOAD_BYTES,
  RECORD_BODY_START,
  RECORD_FIXED_BODY_BYTES,
  RECORD_HEADER_BYTES,
  recordFlag,
  recordSeed,
} from './record.js';

/** Parts up to this size are cheaper to copy than to hand to the kernel one by one. */
const COPY_LIMIT_BYTES = 4096;
const CHUNK_BYTES = 256 * 1024;
/** Chunks kept between batches; more are given back to the collector. */
const KEPT_CHUNKS = 16;
const INITIAL_RECORDS = 64;

export interface EncodeStart {
  readonly salt: number;
  /** File position of the first record. */
  readonly position: number;
  readonly batch: number;
  /** Exactly how many records will be added; the last one ends the batch. */
  readonly records: number;
  readonly chain: number;
}

export class BatchEncoder {
  private readonly chunks: Buffer[] = [Buffer.allocUnsafeSlow(CHUNK_BYTES)];
  private chunkNumber = 0;
  private chunk = this.chunks[0] as Buffer;
  private used = 0;
  /** First staged byte not yet in `pieces`. */
  private unsent = 0;
  private pieces: Uint8Array[] = [];
  private sizes = new Uint32Array(INITIAL_RECORDS);
  private added = 0;
  private plan: EncodeStart = { salt: 0, position: 0, batch: 0, records: 0, chain: 0 };
  private at = 0;
  private chainNow = 0;

  start(plan: EncodeStart): void {
    this.plan = plan;
    this.at = plan.position;
    this.chainNow = plan.chain;
    this.added = 0;
    this.pieces = [];
    if (this.chunks.length > KEPT_CHUNKS) this.chunks.length = KEPT_CHUNKS;
    this.chunkNumber = 0;
    this.chunk = this.chunks[0] as Buffer;
    this.used = 0;
    this.unsent = 0;
  }

  add(kind: number, term: number, index: number, parts: readonly Uint8Array[]): void {
    if (this.chunk.length - this.used < RECORD_HEADER_BYTES) this.nextChunk();
    const head = this.chunk;
    const headAt = this.used;
    const last = this.added + 1 === this.plan.records;
    head[headAt + RECORD_BODY_START] = recordFlag(kind, last);
    putU64(head, headAt + 9, this.plan.batch);
    putU64(head, headAt + 17, term);
    putU64(head, headAt + 25, index);
    this.used += RECORD_HEADER_BYTES;
    let crc = recordSeed(this.plan.salt, this.at);
    let unsummed = headAt + RECORD_BODY_START;
    let payloadBytes = 0;
    for (const part of parts) {
      payloadBytes += part.length;
      if (part.length > COPY_LIMIT_BYTES) {
        if (unsummed < this.used) crc = crc32(this.chunk.subarray(unsummed, this.used), crc);
        this.flush();
        this.pieces.push(part);
        crc = crc32(part, crc);
        unsummed = this.used;
        continue;
      }
      if (this.chunk.length - this.used < part.length) {
        if (unsummed < this.used) crc = crc32(this.chunk.subarray(unsummed, this.used), crc);
        this.nextChunk();
        unsummed = 0;
      }
      this.chunk.set(part, this.used);
      this.used += part.length;
    }
    if (unsummed < this.used) crc = crc32(this.chunk.subarray(unsummed, this.used), crc);
    if (payloadBytes > MAX_PAYLOAD_BYTES) throw new RangeError(`payload of ${payloadBytes} bytes`);
    head.writeUInt32LE(payloadBytes + RECORD_FIXED_BODY_BYTES, headAt);
    head.writeUInt32LE(crc, headAt + 4);
    this.finishRecord(crc, payloadBytes);
  }

  /** The pieces to write, in order; every planned record must have been added. */
  finish(): readonly Uint8Array[] {
    if (this.added !== this.plan.records) throw new Error('batch is not complete');
    this.flush();
    return this.pieces;
  }

  get batch(): number {
    return this.plan.batch;
  }

  /** File position after the last record added. */
  get end(): number {
    return this.at;
  }

  get chain(): number {
    return this.chainNow;
  }

  get records(): number {
    return this.added;
  }

  /** Payload size of the n-th record added. */
  payloadBytesOf(record: number): number {
    return this.sizes[record] as number;
  }

  private finishRecord(crc: number, payloadBytes: number): void {
    if (this.added === this.sizes.length) {
      const grown = new Uint32Array(this.sizes.length * 2);
      grown.set(this.sizes);
      this.sizes = grown;
    }
    this.sizes[this.added] = payloadBytes;
    this.added += 1;
    this.at += RECORD_HEADER_BYTES + payloadBytes;
    this.chainNow = chainRecord(this.chainNow, crc, payloadBytes);
  }

  private flush(): void {
    if (this.unsent < this.used) this.pieces.push(this.chunk.subarray(this.unsent, this.used));
    this.unsent = this.used;
  }

  private nextChunk(): void {
    this.flush();
    this.chunkNumber += 1;
    let next = this.chunks[this.chunkNumber];
    if (!next) {
      next = Buffer.allocUnsafeSlow(CHUNK_BYTES);
      this.chunks.push(next);
    }
    this.chunk = next;
    this.used = 0;
    this.unsent = 0;
  }
}
