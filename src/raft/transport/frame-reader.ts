/**
 * Cuts the bytes of a stream into frames. Every frame gets memory of its own, so that a slice of it
 * (an entry's payload) keeps nothing else alive. A length beyond the bound is refused before memory
 * is taken, a wrong checksum before anything is read; both throw DecodeError and end the stream.
 */
import { crc32 } from 'node:zlib';
import { DecodeError } from '../../common/binary-reader.js';
import { PREFIX_BYTES } from './frame.js';

/** `body` belongs to the receiver. */
export type FrameSink = (kind: number, body: Uint8Array) => void;

/** Not zeroed, and not from Node's shared pool. */
function ownMemory(size: number): Uint8Array {
  const { buffer, byteOffset } = Buffer.allocUnsafeSlow(size);
  return new Uint8Array(buffer, byteOffset, size);
}

export class FrameReader {
  private readonly prefix = new Uint8Array(PREFIX_BYTES);
  private readonly prefixView = new DataView(this.prefix.buffer);
  private prefixFilled = 0;
  private frame: Uint8Array | undefined;
  private filled = 0;
  private closed = false;

  constructor(
    private readonly maxFrameBytes: number,
    private readonly sink: FrameSink,
  ) {}

  /** Nothing is delivered any more. */
  close(): void {
    this.closed = true;
    this.frame = undefined;
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length && !this.closed) {
      at += this.frame === undefined ? this.takePrefix(chunk, at) : this.takeBody(chunk, at);
    }
  }

  private takePrefix(chunk: Uint8Array, at: number): number {
    const taken = Math.min(PREFIX_BYTES - this.prefixFilled, chunk.length - at);
    for (let i = 0; i < taken; i++) this.prefix[this.prefixFilled + i] = chunk[at + i] ?? 0;
    this.prefixFilled += taken;
    if (this.prefixFilled < PREFIX_BYTES) return taken;
    const length = this.prefixView.getUint32(0, true);
    if (length === 0 || length > this.maxFrameBytes) {
      throw new DecodeError(`frame of ${length} bytes, at most ${this.maxFrameBytes}`, 0);
    }
    this.frame = ownMemory(length);
    this.filled = 0;
    return taken;
  }

  private takeBody(chunk: Uint8Array, at: number): number {
    const frame = this.frame;
    if (frame === undefined) return 0;
    const taken = Math.min(frame.length - this.filled, chunk.length - at);
    frame.set(chunk.subarray(at, at + taken), this.filled);
    this.filled += taken;
    if (this.filled === frame.length) this.deliver(frame);
    return taken;
  }

  private deliver(frame: Uint8Array): void {
    this.frame = undefined;
    this.prefixFilled = 0;
    if (crc32(frame) !== this.prefixView.getUint32(4, true)) {
      throw new DecodeError('frame with a wrong checksum', 4);
    }
    this.sink(frame[0] ?? 0, frame.subarray(1));
  }
}
