/** The push codec: builder against walker, sizes, damage. */
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { DecodeError } from '../../common/binary-reader.js';
import { encodeUtf8, readUtf8 } from '../../common/utf8.js';
import { COMMAND_HEADER } from './catalogue.js';
import { checkCommand } from './check.js';
import { PushCommandBuilder } from './push-builder.js';
import type { PushGroupHead, PushMessage } from './push-builder.js';
import { MESSAGE_FLAG, readRecord } from './push-record.js';
import { PushBodyView } from './push-view.js';

const TENANT = new Uint8Array(16).fill(9);
const LIMITS = {
  defaults: { leaseTime: 60, retryLimit: -3, dedupWindowSeconds: 3600 },
  windowMinSeconds: 900,
};
const crc = (bytes: Uint8Array, start: number, end: number) => crc32(bytes.subarray(start, end));

const bytesRange = (maxLength: number) =>
  fc.tuple(fc.uint8Array({ maxLength }), fc.nat(3), fc.nat(3)).map(([body, before, after]) => {
    const bytes = new Uint8Array(before + body.length + after).fill(7);
    bytes.set(body, before);
    return { bytes, start: before, end: before + body.length };
  });

const message: fc.Arbitrary<PushMessage> = fc
  .record({
    key: fc.uint8Array({ minLength: 40, maxLength: 40 }),
    clientId: fc.boolean(),
    encrypted: fc.boolean(),
    transactionId: fc.oneof(bytesRange(20), bytesRange(300)),
    producerSub: fc.option(bytesRange(20)),
    traceId: fc.option(fc.uint8Array({ minLength: 16, maxLength: 16 })),
    payload: fc.oneof(bytesRange(10), bytesRange(2000)),
  })
  .map(({ key, ...rest }) => ({ id: key, idAt: 3, hash: key, hashAt: 20, ...rest }));

const head: fc.Arbitrary<PushGroupHead> = fc.record({
  queue: fc.string({ unit: 'grapheme', maxLength: 60 }),
  partition: fc.string({ unit: 'grapheme', maxLength: 60 }),
  optionsVersion: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  encrypted: fc.boolean(),
});

const groups = fc.array(fc.tuple(head, fc.array(message, { maxLength: 5 })), { maxLength: 4 });

function build(input: readonly (readonly [PushGroupHead, readonly PushMessage[]])[]): Uint8Array {
  const builder = new PushCommandBuilder(LIMITS, crc);
  for (const [groupHead, messages] of input) {
    const number = builder.group(groupHead);
    for (const one of messages) builder.add(number, one);
  }
  const bytes = builder.build(TENANT);
  expect(bytes.length).toBe(builder.sizeBytes());
  expect(bytes.buffer.byteLength).toBe(bytes.length);
  return bytes;
}

const piece = (range: { bytes: Uint8Array; start: number; end: number }) =>
  range.bytes.slice(range.start, range.end);

describe('push command', () => {
  it('is walked back to exactly what went in', () => {
    fc.assert(
      fc.property(groups, (input) => {
        const bytes = build(input);
        checkCommand(bytes);
        const view = new PushBodyView();
        view.open(bytes, COMMAND_HEADER.body, bytes.length);
        expect(view.limits()).toEqual(LIMITS);
        for (const [groupHead, messages] of input) {
          expect(view.nextGroup()).toBe(true);
          expectGroup(view, groupHead, messages);
        }
        expect(view.nextGroup()).toBe(false);
      }),
      { numRuns: 200 },
    );
  });

  it('keeps groups apart when messages arrive interleaved', () => {
    const builder = new PushCommandBuilder(LIMITS, crc);
    const a = builder.group({ queue: 'q', partition: 'a', optionsVersion: 1, encrypted: false });
    const b = builder.group({ queue: 'q', partition: 'b', optionsVersion: 1, encrypted: false });
    for (const [group, text] of [
      [a, '1'],
      [b, '2'],
      [a, '3'],
    ] as const)
      builder.add(group, plain(text));
    const bytes = builder.build(TENANT);
    const view = new PushBodyView();
    view.open(bytes, COMMAND_HEADER.body, bytes.length);
    view.nextGroup();
    expect([view.partitionName(), payload(view, 0), payload(view, 1)]).toEqual(['a', '1', '3']);
    view.nextGroup();
    expect([view.partitionName(), payload(view, 0)]).toEqual(['b', '2']);
  });

  it('survives flipped bytes with DecodeError or a walk', () => {
    fc.assert(
      fc.property(groups, fc.nat(), fc.nat(255), (input, at, value) => {
        const bytes = build(input);
        bytes[at % bytes.length] = value;
        try {
          checkCommand(bytes);
        } catch (error) {
          if (!(error instanceof DecodeError)) throw error;
        }
      }),
      { numRuns: 1500 },
    );
  });
});

function expectGroup(
  view: PushBodyView,
  groupHead: PushGroupHead,
  messages: readonly PushMessage[],
): void {
  expect(view.queueName()).toBe(groupHead.queue);
  expect(view.partitionName()).toBe(groupHead.partition);
  expect(view.optionsVersion).toBe(groupHead.optionsVersion);
  expect(view.encrypted).toBe(groupHead.encrypted);
  expect(view.count).toBe(messages.length);
  for (const [i, one] of messages.entries()) {
    const { bytes } = view;
    expect(bytes.slice(view.idAt(i), view.idAt(i) + 16)).toEqual(one.id.slice(3, 19));
    expect(bytes.slice(view.hashAt(i), view.hashAt(i) + 16)).toEqual(one.hash.slice(20, 36));
    expect((view.messageFlags(i) & MESSAGE_FLAG.clientId) !== 0).toBe(one.clientId);
    const start = view.blockAt + view.recordStart(i);
    const end = start + view.recordLength(i);
    expect(view.recordCrc(i)).toBe(crc32(bytes.subarray(start, end)));
    const record = readRecord(bytes, start, end);
    expect(bytes.slice(record.transactionIdStart, record.transactionIdEnd)).toEqual(
      piece(one.transactionId),
    );
    expect(bytes.slice(record.payloadStart, record.payloadEnd)).toEqual(piece(one.payload));
    if (one.producerSub === null) expect(record.producerSubStart).toBe(-1);
    else
      expect(bytes.slice(record.producerSubStart, record.producerSubEnd)).toEqual(
        piece(one.producerSub),
      );
    if (one.traceId === null) expect(record.traceIdStart).toBe(-1);
    else expect(bytes.slice(record.traceIdStart, record.traceIdStart + 16)).toEqual(one.traceId);
  }
}

function plain(text: string): PushMessage {
  const bytes = encodeUtf8(text);
  const range = { bytes, start: 0, end: bytes.length };
  const key = new Uint8Array(16);
  return {
    id: key,
    idAt: 0,
    hash: key,
    hashAt: 0,
    clientId: false,
    encrypted: false,
    transactionId: range,
    producerSub: null,
    traceId: null,
    payload: range,
  };
}

function payload(view: PushBodyView, index: number): string {
  const start = view.blockAt + view.recordStart(index);
  const record = readRecord(view.bytes, start, start + view.recordLength(index));
  return readUtf8(view.bytes, record.payloadStart, record.payloadEnd);
}
