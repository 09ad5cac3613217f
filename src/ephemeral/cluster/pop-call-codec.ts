/**
 * A pop on its way to the owner; time travels as what is left of it.
 *
 *   u8 version=1 | str queue | u8 named | str partition | str group | u32 batch | u8 commit | u8 waits
 *   | u32 remainingMs
 */
import { BinaryReader } from '../../common/binary-reader.js';
import { BinaryWriter } from '../../common/binary-writer.js';
import type { PopCall } from '../pops/waiting-pop.js';

const VERSION = 1;

export function encodePopCall(call: PopCall, nowMs: number): Uint8Array {
  const writer = new BinaryWriter(256);
  writer.u8(VERSION);
  writer.string(call.queue);
  writer.boolean(call.partition !== null);
  writer.string(call.partition ?? '');
  writer.string(call.group);
  writer.u32(call.batch);
  writer.boolean(call.commitOnDelivery);
  writer.boolean(call.deadlineMs !== null);
  writer.u32(Math.max(0, Math.ceil((call.deadlineMs ?? nowMs) - nowMs)));
  return writer.toBytes();
}

/** Throws DecodeError. */
export function decodePopCall(bytes: Uint8Array, nowMs: number): PopCall {
  const reader = new BinaryReader(bytes);
  reader.version(VERSION, 'relayed pop');
  const queue = reader.string();
  const named = reader.boolean();
  const partition = reader.string();
  const group = reader.string();
  const batch = reader.u32();
  const commitOnDelivery = reader.boolean();
  const waits = reader.boolean();
  const remainingMs = reader.u32();
  reader.expectEnd();
  return {
    queue,
    partition: named ? partition : null,
    group,
    batch,
    commitOnDelivery,
    deadlineMs: waits ? nowMs + remainingMs : null,
  };
}

/** The answer of a relayed pop on its way back: str group | the answer's JSON to the end. */
export function encodeUndelivered(group: string, answer: Uint8Array): Uint8Array {
  const writer = new BinaryWriter(answer.length + group.length * 3 + 8);
  writer.string(group);
  writer.raw(answer);
  return writer.toBytes();
}

/** Throws DecodeError. */
export function decodeUndelivered(bytes: Uint8Array): { group: string; answer: Uint8Array } {
  const reader = new BinaryReader(bytes);
  const group = reader.string();
  return { group, answer: reader.raw(reader.remaining) };
}
