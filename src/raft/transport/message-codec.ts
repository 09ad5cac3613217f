/**
 * Messages of the consensus core on the wire. Entries of an append carry no index: they follow
 * `prevIndex` without a gap, so a gap cannot even be said. Payloads stand behind the table of all
 * entries, as parts that are not copied.
 *
 *   u8 version = 1 | u8 code of the kind | u32 from | u32 to | u64 term | fields of the kind
 *   entries: u32 count | count x (u64 term, u8 kind, u32 size) | payloads back to back
 *   snapshot: u64 index | u64 term | 4 x node list (u16 count, u32 each) | u8 autoLeave
 */
import { BinaryReader, DecodeError } from '../../common/binary-reader.js';
import type { BinaryWriter } from '../../common/binary-writer.js';
import { logIndex, nodeId, term } from '../../common/ids.js';
import type { LogIndex, NodeId, Term } from '../../common/ids.js';
import { invariant } from '../../common/invariant.js';
import type { Entry, EntryKind, Message, MessageKind, SnapshotMeta } from '../core/index.js';
import type { FrameWriter } from './frame.js';

const VERSION = 1;
const ENTRY_HEAD_BYTES = 13;
const MAX_LIST = 0xffff;

/** Position = code on the wire; only ever append. */
const KINDS: readonly MessageKind[] = [
  'vote-request',
  'vote-response',
  'append-request',
  'append-response',
  'heartbeat',
  'heartbeat-response',
  'snapshot',
  'timeout-now',
  'propose',
  'read-request',
  'read-response',
  'transfer-request',
];
const ENTRY_KINDS: readonly EntryKind[] = ['normal', 'membership'];

export function writeMessage(frame: FrameWriter, message: Message): void {
  const { out } = frame;
  out.u8(VERSION);
  out.u8(KINDS.indexOf(message.kind));
  out.u32(message.from);
  out.u32(message.to);
  out.u64(message.term);
  switch (message.kind) {
    case 'vote-request':
      out.u8((message.preVote ? 1 : 0) | (message.transfer ? 2 : 0));
      writeAll(out, [message.lastIndex, message.lastTerm]);
      return writeAll(out, [message.commitIndex, message.commitTerm]);
    case 'vote-response':
      out.u8((message.preVote ? 1 : 0) | (message.granted ? 2 : 0));
      return writeAll(out, [message.commitIndex, message.commitTerm]);
    case 'append-request':
      writeAll(out, [message.prevIndex, message.prevTerm, message.commit]);
      checkSequence(message.entries, message.prevIndex);
      return writeEntries(frame, message.entries);
    case 'append-response':
      out.u8(message.rejected ? 1 : 0);
      return writeAll(out, [message.index, message.hintIndex, message.hintTerm]);
    case 'heartbeat':
      return writeAll(out, [message.commit, message.readRound]);
    case 'heartbeat-response':
      return out.u64(message.readRound);
    case 'snapshot':
      return writeSnapshot(out, message.snapshot);
    case 'timeout-now':
      return;
    case 'propose':
      return writeEntries(frame, message.entries);
    case 'read-request':
      return out.u64(message.context);
    case 'read-response':
      return writeAll(out, [message.context, message.index]);
    case 'transfer-request':
      return out.u32(message.target);
  }
}

function writeAll(out: BinaryWriter, values: readonly number[]): void {
  for (const value of values) out.u64(value);
}

function checkSequence(entries: readonly Entry[], prevIndex: LogIndex): void {
  entries.forEach(({ index }, at) => invariant(index === prevIndex + 1 + at, 'append with a gap'));
}

function writeEntries(frame: FrameWriter, entries: readonly Entry[]): void {
  const { out } = frame;
  out.u32(entries.length);
  for (const entry of entries) {
    out.u64(entry.term);
    out.u8(ENTRY_KINDS.indexOf(entry.kind));
    out.u32(entry.data.length);
  }
  for (const entry of entries) frame.payload(entry.data);
}

function writeSnapshot(out: BinaryWriter, { index, term: at, config }: SnapshotMeta): void {
  writeAll(out, [index, at]);
  for (const list of [config.voters, config.outgoing, config.learners, config.learnersNext]) {
    invariant(list.length <= MAX_LIST, 'too many members for a message');
    out.u16(list.length);
    for (const id of list) out.u32(id);
  }
  out.boolean(config.autoLeave);
}

/** Payloads are slices of `body`. Throws DecodeError. */
export function readMessage(body: Uint8Array): Message {
  const reader = new BinaryReader(body);
  reader.version(VERSION, 'a message');
  const kind = KINDS[reader.u8()];
  if (kind === undefined) throw new DecodeError('unknown kind of message', 1);
  const envelope = {
    from: readNode(reader),
    to: readNode(reader),
    term: readTerm(reader),
  };
  const message = readFields(reader, kind, envelope);
  reader.expectEnd();
  return message;
}

interface Envelope {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly term: Term;
}

function readFields(reader: BinaryReader, kind: MessageKind, envelope: Envelope): Message {
  switch (kind) {
    case 'vote-request':
    case 'vote-response':
      return readVote(reader, kind, envelope);
    case 'append-request':
      return readAppend(reader, envelope);
    case 'append-response':
      return {
        kind,
        ...envelope,
        rejected: reader.boolean(),
        index: readIndex(reader),
        hintIndex: readIndex(reader),
        hintTerm: readTerm(reader),
      };
    case 'heartbeat':
      return { kind, ...envelope, commit: readIndex(reader), readRound: reader.u64() };
    case 'heartbeat-response':
      return { kind, ...envelope, readRound: reader.u64() };
    case 'snapshot':
      return { kind, ...envelope, snapshot: readSnapshot(reader) };
    case 'timeout-now':
      return { kind, ...envelope };
    case 'propose':
      return { kind, ...envelope, entries: readEntries(reader, () => logIndex(0)) };
    case 'read-request':
      return { kind, ...envelope, context: reader.u64() };
    case 'read-response':
      return { kind, ...envelope, context: reader.u64(), index: readIndex(reader) };
    case 'transfer-request':
      return { kind, ...envelope, target: readNode(reader) };
  }
}

function readVote(
  reader: BinaryReader,
  kind: 'vote-request' | 'vote-response',
  envelope: Envelope,
): Message {
  const flags = reader.u8();
  if (flags > 3) throw new DecodeError('unknown flags', reader.position - 1);
  const preVote = (flags & 1) !== 0;
  const second = (flags & 2) !== 0;
  if (kind === 'vote-request') {
    const last = { lastIndex: readIndex(reader), lastTerm: readTerm(reader) };
    return { kind, ...envelope, preVote, transfer: second, ...last, ...readHint(reader) };
  }
  return { kind, ...envelope, preVote, granted: second, ...readHint(reader) };
}

function readHint(reader: BinaryReader): { commitIndex: LogIndex; commitTerm: Term } {
  return { commitIndex: readIndex(reader), commitTerm: readTerm(reader) };
}

function readAppend(reader: BinaryReader, envelope: Envelope): Message {
  const prevIndex = readIndex(reader);
  const prevTerm = readTerm(reader);
  const commit = readIndex(reader);
  const entries = readEntries(reader, (at) => logIndex(prevIndex + 1 + at));
  let newest: number = prevTerm;
  for (const entry of entries) {
    if (entry.term < newest || entry.term > envelope.term) {
      throw new DecodeError('entry of an impossible term', reader.position);
    }
    newest = entry.term;
  }
  if (!Number.isSafeInteger(prevIndex + entries.length)) {
    throw new DecodeError('index out of range', reader.position);
  }
  return { kind: 'append-request', ...envelope, prevIndex, prevTerm, commit, entries };
}

/** One pass over the table; `payloadAt` runs ahead of it through the payloads. */
function readEntries(reader: BinaryReader, indexOf: (at: number) => LogIndex): readonly Entry[] {
  const count = reader.u32();
  if (count * ENTRY_HEAD_BYTES > reader.remaining) {
    throw new DecodeError('more entries than bytes', reader.position);
  }
  const body = reader.source;
  const payloadsAt = reader.position + count * ENTRY_HEAD_BYTES;
  let payloadAt = payloadsAt;
  const entries: Entry[] = [];
  for (let i = 0; i < count; i++) {
    const at = readTerm(reader);
    const kind = ENTRY_KINDS[reader.u8()];
    if (kind === undefined) throw new DecodeError('unknown kind of entry', reader.position - 1);
    const end = payloadAt + reader.u32();
    if (end > body.length) throw new DecodeError('payload beyond the frame', reader.position - 4);
    entries.push({ term: at, index: indexOf(i), kind, data: body.subarray(payloadAt, end) });
    payloadAt = end;
  }
  reader.skip(payloadAt - payloadsAt);
  return entries;
}

function readSnapshot(reader: BinaryReader): SnapshotMeta {
  const index = readIndex(reader);
  const at = readTerm(reader);
  const config = {
    voters: readMembers(reader),
    outgoing: readMembers(reader),
    learners: readMembers(reader),
    learnersNext: readMembers(reader),
    autoLeave: reader.boolean(),
  };
  return { index, term: at, config };
}

function readMembers(reader: BinaryReader): readonly NodeId[] {
  const members: NodeId[] = [];
  let previous = 0;
  for (let left = reader.u16(); left > 0; left--) {
    const id = reader.u32();
    if (id <= previous) throw new DecodeError('members not ascending', reader.position - 4);
    members.push(nodeId(id));
    previous = id;
  }
  return members;
}

const readNode = (reader: BinaryReader): NodeId => nodeId(reader.u32());
const readTerm = (reader: BinaryReader): Term => term(reader.u64());
const readIndex = (reader: BinaryReader): LogIndex => logIndex(reader.u64());
