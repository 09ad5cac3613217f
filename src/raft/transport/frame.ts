/**
 * One frame of a stream, as it lies on the wire, and the writer that builds it. Large payloads are
 * never copied: a frame is a list of parts whose concatenation is the bytes. A writer is reused; a
 * finished frame is not touched again. All numbers little-endian.
 *
 *   u32 length of kind + body | u32 CRC-32 of kind + body | u8 kind | body
 */
import { crc32 } from 'node:zlib';
import { BinaryWriter } from '../../common/binary-writer.js';

export const PREFIX_BYTES = 8;
/** Shorter payloads are cheaper to copy than to hand over as a part of their own. */
const COPY_BELOW_BYTES = 1024;
const LENGTH_AT = 0;
const CRC_AT = 4;

export enum FrameKind {
  Hello = 1,
  /** Nothing to say, still here. */
  Alive = 2,
  /** A message of the consensus core. */
  Message = 3,
  Command = 4,
  /** The receiver of commands does not lead. */
  CommandRefused = 5,
  Pop = 6,
  PopCancel = 7,
  PopReply = 8,
  View = 9,
  Digest = 10,
  /** Of a feature; the transport does not look inside. */
  Channel = 11,
}

export interface Frame {
  readonly parts: readonly Uint8Array[];
  readonly sizeBytes: number;
}

interface Cut {
  /** Length of the writer where the payload belongs. */
  readonly at: number;
  readonly payload: Uint8Array;
}

export class FrameWriter {
  readonly out = new BinaryWriter(1024);
  private cuts: Cut[] = [];

  begin(kind: FrameKind): BinaryWriter {
    this.out.clear();
    this.cuts = [];
    this.out.reserve(PREFIX_BYTES);
    this.out.u8(kind);
    return this.out;
  }

  /** Bytes without a length; the caller never writes to them again. */
  payload(bytes: Uint8Array): void {
    if (bytes.length < COPY_BELOW_BYTES) this.out.raw(bytes);
    else this.cuts.push({ at: this.out.length, payload: bytes });
  }

  finish(): Frame {
    const head = this.out.toBytes();
    const parts: Uint8Array[] = [];
    let crc = 0;
    let sizeBytes = 0;
    let from = 0;
    const add = (part: Uint8Array): void => {
      if (part.length === 0) return;
      crc = crc32(parts.length === 0 ? part.subarray(PREFIX_BYTES) : part, crc);
      sizeBytes += part.length;
      parts.push(part);
    };
    for (const { at, payload } of this.cuts) {
      add(head.subarray(from, at));
      add(payload);
      from = at;
    }
    add(head.subarray(from));
    const view = new DataView(head.buffer, head.byteOffset, PREFIX_BYTES);
    view.setUint32(LENGTH_AT, sizeBytes - PREFIX_BYTES, true);
    view.setUint32(CRC_AT, crc, true);
    this.cuts = [];
    return { parts, sizeBytes };
  }
}

/** A frame without a body. */
export function bareFrame(kind: FrameKind): Frame {
  const writer = new FrameWriter();
  writer.begin(kind);
  return writer.finish();
}
