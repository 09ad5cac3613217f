/**
 * First frame of every dialled stream; it repeats what the headers said, so that a stream that was
 * spliced or misread is noticed before anything is delivered.
 *
 *   u8 protocol | u8 kind of the stream (0 control, 1 data) | u32 node id
 */
import { BinaryReader, DecodeError } from '../../common/binary-reader.js';
import type { NodeId } from '../../common/ids.js';
import { FrameKind, FrameWriter, type Frame } from './frame.js';
import { PROTOCOL, STREAM_KINDS, type StreamKind } from './handshake.js';

export function helloFrame(self: NodeId, kind: StreamKind): Frame {
  const frame = new FrameWriter();
  const out = frame.begin(FrameKind.Hello);
  out.u8(PROTOCOL);
  out.u8(STREAM_KINDS.indexOf(kind));
  out.u32(self);
  return frame.finish();
}

/** Throws DecodeError unless it is the hello of this peer on this kind of stream. */
export function checkHello(body: Uint8Array, peer: NodeId, kind: StreamKind): void {
  const reader = new BinaryReader(body);
  const isRight =
    reader.u8() === PROTOCOL && STREAM_KINDS[reader.u8()] === kind && reader.u32() === peer;
  reader.expectEnd();
  if (!isRight) throw new DecodeError('hello of another stream', 0);
}
