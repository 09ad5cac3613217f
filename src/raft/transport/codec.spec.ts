/**
 * Every kind of frame body reads back as it was written, and bytes that were not written by us do
 * nothing but throw DecodeError.
 */
import fc from 'fast-check';
import { DecodeError } from '../../common/binary-reader.js';
import { logIndex, nodeId, term } from '../../common/ids.js';
import type { Entry, Message } from '../core/index.js';
import type { ForwardedPop, LeaderView, PopReply } from '../group/cluster/peer-port.js';
import { FrameKind, FrameWriter } from './frame.js';
import { FrameReader } from './frame-reader.js';
import { readMessage, writeMessage } from './message-codec.js';
import {
  readPop,
  readPopReply,
  readTicket,
  writePop,
  writePopReply,
  writeTicket,
} from './pop-codec.js';
import { readDigest, readView, writeDigest, writeView } from './report-codec.js';
import {
  decodeStateAnswer,
  decodeStateQuery,
  encodeStateAnswer,
  encodeStateQuery,
} from './state-codec.js';

const MAX_FRAME = 1 << 20;
const whole = fc.maxSafeNat();
const node = fc.nat({ max: 0xffff_ffff }).map(nodeId);
const index = fc.maxSafeNat().map(logIndex);
const anyTerm = fc.maxSafeNat().map(term);
const bytes = fc.uint8Array({ maxLength: 3000 });
const hint = { commitIndex: index, commitTerm: anyTerm };
const real = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const envelope = { from: node, to: node, term: anyTerm };
const members = fc
  .uniqueArray(fc.integer({ min: 1, max: 0xffff_ffff }), { maxLength: 6 })
  .map((ids) => ids.sort((a, b) => a - b).map(nodeId));

const appendRequest: fc.Arbitrary<Message> = fc
  .record({
    ...envelope,
    prevIndex: fc.nat().map(logIndex),
    prevTerm: fc.nat({ max: 100 }).map(term),
    commit: index,
    steps: fc.array(fc.record({ step: fc.nat({ max: 3 }), data: bytes, isNormal: fc.boolean() }), {
      maxLength: 8,
    }),
  })
  .map(({ steps, ...head }) => {
    let newest: number = head.prevTerm;
    const entries = steps.map(({ step, data, isNormal }, at): Entry => {
      newest += step;
      const kind = isNormal ? 'normal' : 'membership';
      return { term: term(newest), index: logIndex(head.prevIndex + 1 + at), kind, data };
    });
    return { kind: 'append-request', ...head, term: term(Math.max(head.term, newest)), entries };
  });

const kindOf = <K extends string>(kind: K): fc.Arbitrary<K> => fc.constant(kind);
const message: fc.Arbitrary<Message> = fc.oneof(
  appendRequest,
  fc.record({
    kind: kindOf('vote-request'),
    ...envelope,
    ...hint,
    preVote: fc.boolean(),
    transfer: fc.boolean(),
    lastIndex: index,
    lastTerm: anyTerm,
  }),
  fc.record({
    kind: kindOf('vote-response'),
    ...envelope,
    ...hint,
    preVote: fc.boolean(),
    granted: fc.boolean(),
  }),
  fc.record({
    kind: kindOf('append-response'),
    ...envelope,
    index,
    rejected: fc.boolean(),
    hintIndex: index,
    hintTerm: anyTerm,
  }),
  fc.record({ kind: kindOf('heartbeat'), ...envelope, commit: index, readRound: whole }),
  fc.record({ kind: kindOf('heartbeat-response'), ...envelope, readRound: whole }),
  fc.record({
    kind: kindOf('snapshot'),
    ...envelope,
    snapshot: fc.record({
      index,
      term: anyTerm,
      config: fc.record({
        voters: members,
        outgoing: members,
        learners: members,
        learnersNext: members,
        autoLeave: fc.boolean(),
      }),
    }),
  }),
  fc.record({ kind: kindOf('timeout-now'), ...envelope }),
  fc.record({
    kind: kindOf('propose'),
    ...envelope,
    entries: fc.array(
      bytes.map((data): Entry => ({ term: term(0), index: logIndex(0), kind: 'normal', data })),
      { maxLength: 4 },
    ),
  }),
  fc.record({ kind: kindOf('read-request'), ...envelope, context: whole }),
  fc.record({ kind: kindOf('read-response'), ...envelope, context: whole, index }),
  fc.record({ kind: kindOf('transfer-request'), ...envelope, target: node }),
);

const ticket = fc.record({ session: whole, sequence: whole });
const text = fc.string({ unit: 'grapheme', maxLength: 80 });
const pop: fc.Arbitrary<ForwardedPop> = fc.record({
  ticket,
  remainingMs: real,
  request: fc.record({
    tenant: bytes,
    scope: fc.constantFrom('queue', 'partition', 'discovery'),
    queue: text,
    partition: text,
    namespace: text,
    task: text,
    group: text,
    maxMessages: whole,
    maxPartitions: whole,
    leaseSeconds: real,
    commitOnDelivery: fc.boolean(),
    wait: fc.boolean(),
    intent: fc.record({
      mode: fc.constantFrom('all', 'new', 'timestamp'),
      instantMicros: fc.maxSafeInteger(),
    }),
    conflation: fc.constantFrom(null, false, true),
    autopilot: fc.option(fc.record({ partitions: fc.boolean(), batch: fc.boolean() })),
  }),
});
const popReply: fc.Arbitrary<PopReply> = fc.oneof(
  fc.record({ kind: kindOf('refused'), code: fc.constantFrom('retry', 'overloaded') }),
  fc.record({
    kind: kindOf('answer'),
    answer: fc.record({
      granted: fc.boolean(),
      conflation: fc.boolean(),
      conflationConflict: fc.boolean(),
      autopilot: fc.option(fc.record({ partitions: real, batch: real })),
    }),
  }),
);
const view: fc.Arbitrary<LeaderView> = fc.record({
  term: anyTerm,
  leader: node,
  commit: index,
  quorumAckMs: fc.oneof(real, fc.constant(Infinity)),
  members: fc.array(
    fc.record({
      id: node,
      voter: fc.boolean(),
      lastAckMs: fc.option(real),
      matched: fc.option(index),
    }),
    { maxLength: 5 },
  ),
});

/** Through a frame, cut into chunks at random places. */
function carried(write: (frame: FrameWriter) => void, cuts: readonly number[] = []): Uint8Array {
  const writer = new FrameWriter();
  writer.begin(FrameKind.Message);
  write(writer);
  const { parts, sizeBytes } = writer.finish();
  const whole = Buffer.concat([...parts]);
  expect(whole.length).toBe(sizeBytes);
  const bodies: Uint8Array[] = [];
  const reader = new FrameReader(MAX_FRAME, (_, body) => bodies.push(body));
  let from = 0;
  for (const cut of [...cuts.map((each) => each % whole.length), whole.length].sort(
    (a, b) => a - b,
  )) {
    reader.push(whole.subarray(from, cut));
    from = cut;
  }
  expect(bodies).toHaveLength(1);
  return bodies[0] ?? new Uint8Array(0);
}

const cuts = fc.array(fc.nat(), { maxLength: 4 });

it('reads back every message', () => {
  fc.assert(
    fc.property(message, cuts, (sent, places) => {
      expect(readMessage(carried((frame) => writeMessage(frame, sent), places))).toEqual(sent);
    }),
    { numRuns: 1000 },
  );
});

it('reads back pops, replies, views, digests', () => {
  fc.assert(
    fc.property(pop, popReply, view, bytes, (request, reply, report, raw) => {
      expect(readPop(carried(({ out }) => writePop(out, request)))).toEqual(request);
      const answer = carried(({ out }) => writePopReply(out, request.ticket, reply));
      expect(readPopReply(answer)).toEqual({ ticket: request.ticket, reply });
      const cancel = carried(({ out }) => writeTicket(out, request.ticket));
      expect(readTicket(cancel)).toEqual(request.ticket);
      expect(readView(carried(({ out }) => writeView(out, report)))).toEqual(report);
      const digest = { index: report.commit, digest: raw.slice(0, 255) };
      expect(readDigest(carried(({ out }) => writeDigest(out, digest)))).toEqual(digest);
    }),
    { numRuns: 300 },
  );
});

it('reads back state queries and answers, and refuses anything else', () => {
  const query = { nodeId: nodeId(3), directoryId: Uint8Array.of(0, 255), lastIndex: logIndex(8) };
  expect(decodeStateQuery(encodeStateQuery(query))).toEqual(query);
  for (const boundDirectoryId of [null, Uint8Array.of(1)]) {
    const answer = {
      ...{ nodeId: nodeId(2), kinds: 6, holdsState: true, boundDirectoryId },
      ...{ acknowledged: logIndex(1), term: term(2) },
    };
    expect(decodeStateAnswer(encodeStateAnswer(answer))).toEqual(answer);
  }
  const odd = [
    '',
    '[]',
    '{}',
    'null',
    '{"nodeId":0,"directoryId":"","lastIndex":1}',
    '{"nodeId":1,"directoryId":"xy","lastIndex":1}',
    '{"nodeId":1,"directoryId":"","lastIndex":1.5}',
    '{"holdsState":1,"boundDirectoryId":null,"acknowledged":1,"term":1}',
  ];
  for (const text of odd)
    expect([decodeStateQuery(text), decodeStateAnswer(text)]).toEqual([null, null]);
});

const readers = [readMessage, readPop, readPopReply, readTicket, readView, readDigest];

function onlyDecodeError(read: (body: Uint8Array) => unknown, body: Uint8Array): void {
  try {
    read(body);
  } catch (error) {
    expect(error).toBeInstanceOf(DecodeError);
  }
}

it('throws nothing but DecodeError for foreign bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (body) => {
      const versioned = Uint8Array.of(1, ...body);
      for (const read of readers) {
        onlyDecodeError(read, body);
        onlyDecodeError(read, versioned);
      }
    }),
    { numRuns: 800 },
  );
});

it('throws nothing but DecodeError for a changed or cut message', () => {
  fc.assert(
    fc.property(message, fc.nat(), fc.nat({ max: 255 }), (sent, place, value) => {
      const body = carried((frame) => writeMessage(frame, sent));
      onlyDecodeError(readMessage, body.subarray(0, place % body.length));
      body[place % Math.min(body.length, 120)] = value;
      onlyDecodeError(readMessage, body);
    }),
    { numRuns: 1000 },
  );
});

it('refuses entries with an impossible term, members out of order, trailing bytes', () => {
  const entry = (at: number): Entry => ({
    term: term(at),
    index: logIndex(1),
    kind: 'normal',
    data: Buffer.alloc(0),
  });
  const request = (entries: readonly Entry[]): Message => ({
    kind: 'append-request',
    from: nodeId(1),
    to: nodeId(2),
    term: term(5),
    prevIndex: logIndex(0),
    prevTerm: term(2),
    commit: logIndex(0),
    entries,
  });
  for (const at of [1, 6]) {
    const body = carried((frame) => writeMessage(frame, request([entry(at)])));
    expect(() => readMessage(body)).toThrow(DecodeError);
  }
  const good = carried((frame) => writeMessage(frame, request([entry(3)])));
  expect(() => readMessage(Uint8Array.of(...good, 0))).toThrow(DecodeError);
  const config = {
    voters: [nodeId(2), nodeId(1)],
    outgoing: [],
    learners: [],
    learnersNext: [],
    autoLeave: false,
  };
  const snapshot: Message = {
    kind: 'snapshot',
    from: nodeId(1),
    to: nodeId(2),
    term: term(1),
    snapshot: { index: logIndex(1), term: term(1), config },
  };
  const unordered = carried((frame) => writeMessage(frame, snapshot));
  expect(() => readMessage(unordered)).toThrow(DecodeError);
});

describe('frames', () => {
  const frameOf = (payload: Uint8Array): Buffer => {
    const writer = new FrameWriter();
    writer.begin(FrameKind.Command);
    writer.payload(payload);
    return Buffer.concat([...writer.finish().parts]);
  };

  it('own their memory', () => {
    const chunk = Buffer.concat([frameOf(Buffer.from('one')), frameOf(Buffer.alloc(5000, 7))]);
    const bodies: Uint8Array[] = [];
    new FrameReader(MAX_FRAME, (_, body) => bodies.push(body)).push(chunk);
    chunk.fill(0);
    expect(bodies.map(({ length }) => length)).toEqual([3, 5000]);
    expect(bodies.map(({ buffer }) => buffer.byteLength)).toEqual([4, 5001]);
    expect(bodies[1]?.every((byte) => byte === 7)).toBe(true);
  });

  it('do not copy large payloads', () => {
    const writer = new FrameWriter();
    const payload = new Uint8Array(4096);
    writer.begin(FrameKind.Command);
    writer.payload(payload);
    expect(writer.finish().parts[1]).toBe(payload);
  });

  it('are refused when too long, empty or damaged, and nothing follows a close', () => {
    const sink = jest.fn();
    expect(() => new FrameReader(100, sink).push(frameOf(Buffer.alloc(100)))).toThrow(/100|101/);
    expect(() => new FrameReader(100, sink).push(Buffer.alloc(8))).toThrow(DecodeError);
    const damaged = frameOf(Buffer.from('payload'));
    damaged[10] = (damaged[10] ?? 0) ^ 1;
    expect(() => new FrameReader(100, sink).push(damaged)).toThrow(/checksum/);
    const reader: FrameReader = new FrameReader(100, () => {
      sink();
      reader.close();
    });
    reader.push(Buffer.concat([frameOf(Buffer.from('1')), frameOf(Buffer.from('2'))]));
    expect(sink).toHaveBeenCalledTimes(1);
  });
});
