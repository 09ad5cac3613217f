/** Codecs of the small commands and of the entry: round trips, versions, random bytes. */
import fc from 'fast-check';
import { DecodeError } from '../../common/binary-reader.js';
import { BinaryReader } from '../../common/binary-reader.js';
import { consumerGroupId, micros, offset, partitionId, queueId } from '../../common/ids.js';
import { decodeAck, decodeExtend, encodeAck, encodeExtend } from './ack.js';
import { AckStatus, COMMAND_HEADER, CommandKind, StartMode } from './catalogue.js';
import type { AckSignal, AckTarget, ClaimGrant, QueueOptions } from './catalogue.js';
import { checkCommand } from './check.js';
import { decodeClaim, decodeUnclaim, encodeClaim, encodeUnclaim } from './claim.js';
import {
  decodeDeleteCursors,
  decodeSeekCursors,
  decodeUpdateSubscription,
  encodeDeleteCursors,
  encodeSeekCursors,
  encodeUpdateSubscription,
} from './consumer-groups.js';
import { decodeRemoveDeadLetters, encodeRemoveDeadLetters } from './dead-letters.js';
import { encodeEntryHeader, EntryReader } from './entry.js';
import { patchCommandHeader, readCommandHeader } from './header.js';
import {
  decodeDeclareEphemeral,
  decodeDropEphemeral,
  encodeDeclareEphemeral,
  encodeDropEphemeral,
} from './ephemeral.js';
import { decodeConfigure, decodeDeleteQueue, encodeConfigure, encodeDeleteQueue } from './queue.js';
import { decodeRegister, encodeRegister } from './register.js';
import {
  decodeOpenSession,
  decodeRaiseVersion,
  encodeOpenSession,
  encodeRaiseVersion,
} from './session.js';

const TENANT = Uint8Array.from({ length: 16 }, (_, i) => i + 1);
const id16 = fc.uint8Array({ minLength: 16, maxLength: 16 });
const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const uint32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const uint48 = fc.maxSafeNat().map((n) => n % 2 ** 48);
const position = fc.integer({ min: 0, max: 2 ** 50 });
const committed = fc.integer({ min: -1, max: 2 ** 50 });

function bodyOf(command: Uint8Array): BinaryReader {
  return new BinaryReader(command, COMMAND_HEADER.body, command.length);
}

const defaults = fc.record({ leaseTime: int32, retryLimit: int32, dedupWindowSeconds: int32 });

const queueOptions: fc.Arbitrary<QueueOptions> = fc.record({
  leaseTime: int32,
  retryLimit: int32,
  deadLetterQueue: fc.boolean(),
  dlqAfterMaxRetries: fc.boolean(),
  dedupWindowSeconds: int32,
  delayedProcessing: int32,
  windowBuffer: int32,
  retentionEnabled: fc.boolean(),
  retentionSeconds: int32,
  completedRetentionSeconds: int32,
  maxWaitTimeSeconds: int32,
  encryptionEnabled: fc.boolean(),
  retentionSinkHold: text,
  retentionSinkHoldMaxSeconds: int32,
  namespace: text,
  task: text,
  priority: int32,
  retryDelay: int32,
  ttl: int32,
  maxSize: int32,
  minPopWaitTime: int32,
});

const someOptions = queueOptions.chain((all) =>
  fc
    .subarray(Object.keys(all) as (keyof QueueOptions)[])
    .map((names) => Object.fromEntries(names.map((n) => [n, all[n]])) as Partial<QueueOptions>),
);

const register = fc.record({
  queue: text,
  group: text,
  createQueue: fc.boolean(),
  defaults,
  mode: fc.constantFrom(StartMode.All, StartMode.New, StartMode.Timestamp),
  instant: fc.maxSafeNat().map(micros),
  conflation: fc.boolean(),
  namespace: text,
  task: text,
  contact: fc.option(text),
});

const range = fc.record({
  queueId: uint32.map(queueId),
  partitionId: uint48.map(partitionId),
  groupId: uint32.map(consumerGroupId),
  cursorVersion: uint32,
  seedCommitted: committed,
  firstOffset: position.map(offset),
  lastOffset: position.map(offset),
  conflated: fc.boolean(),
});

const grant: fc.Arbitrary<ClaimGrant> = fc.record({
  ticket: fc.record({ session: uint48, sequence: uint48 }),
  leaseId: id16,
  leaseMicros: position,
  commitOnDelivery: fc.boolean(),
  ranges: fc.array(range, { maxLength: 5 }),
});

const claim = fc.record({ skewMicros: position, grants: fc.array(grant, { maxLength: 4 }) });

const unclaim = fc.record({
  leaseId: id16,
  ranges: fc.array(
    fc.record({
      partitionId: uint48.map(partitionId),
      groupId: uint32.map(consumerGroupId),
      cursorVersion: uint32,
      restoreCommitted: fc.integer({ min: -2, max: 2 ** 50 }),
    }),
    { maxLength: 5 },
  ),
});

const signal: fc.Arbitrary<AckSignal> = fc.record({
  offset: position.map(offset),
  baseOffset: position.map(offset),
  status: fc.constantFrom(AckStatus.Failed, AckStatus.Dlq, AckStatus.Retry),
  error: fc.option(text),
  deadLetterId: id16,
});

const completed = fc.array(fc.tuple(fc.nat(1000), fc.nat(1000)), { maxLength: 6 }).map((steps) => {
  const ranges: number[] = [];
  let next = 0;
  for (const [gap, length] of steps) {
    ranges.push(next + gap, next + gap + length);
    next += gap + length + 1;
  }
  return ranges;
});

const target: fc.Arbitrary<AckTarget> = fc.record({
  partitionId: uint48.map(partitionId),
  leaseId: fc.oneof(id16, fc.constant(new Uint8Array(0))),
  completed,
  signals: fc.array(signal, { maxLength: 4 }),
  fallbackError: fc.option(text),
});

const ack = fc.record({
  group: text,
  skewMicros: position,
  targets: fc.array(target, { maxLength: 4 }),
});
const configure = fc.record({
  queue: text,
  replace: fc.boolean(),
  defaults: queueOptions,
  options: someOptions,
});
const openSession = fc.record({ nodeId: uint32, directoryId: id16, bootCount: uint32 });
const letter = fc.record({
  queueId: uint32.map(queueId),
  failedAt: fc.maxSafeNat().map(micros),
  deadLetterId: id16,
});
const extend = fc.record({ leaseId: id16, seconds: uint32 });

/** Every kind but push and replay: kind, arbitrary, encode, decode. */
function family<T>(
  kind: CommandKind,
  values: fc.Arbitrary<T>,
  encode: (value: T) => Uint8Array,
  decode: (reader: BinaryReader) => T,
) {
  return { kind, encoded: values.map((value) => ({ bytes: encode(value), value, decode })) };
}

const FAMILIES = [
  family(CommandKind.OpenSession, openSession, encodeOpenSession, decodeOpenSession),
  family(CommandKind.Register, register, (c) => encodeRegister(TENANT, c), decodeRegister),
  family(CommandKind.Claim, claim, encodeClaim, decodeClaim),
  family(CommandKind.Unclaim, unclaim, encodeUnclaim, decodeUnclaim),
  family(CommandKind.Ack, ack, (c) => encodeAck(TENANT, c), decodeAck),
  family(CommandKind.Extend, extend, (c) => encodeExtend(TENANT, c), decodeExtend),
  family(CommandKind.Configure, configure, (c) => encodeConfigure(TENANT, c), decodeConfigure),
  family(
    CommandKind.DeleteQueue,
    fc.record({ queue: text }),
    (c) => encodeDeleteQueue(TENANT, c),
    decodeDeleteQueue,
  ),
  family(
    CommandKind.DeclareEphemeral,
    fc.record({ queue: text, optionsText: text }),
    (c) => encodeDeclareEphemeral(TENANT, c),
    decodeDeclareEphemeral,
  ),
  family(
    CommandKind.DropEphemeral,
    fc.record({ queue: text }),
    (c) => encodeDropEphemeral(TENANT, c),
    decodeDropEphemeral,
  ),
  family(
    CommandKind.RaiseVersion,
    fc.record({ version: fc.nat(255) }),
    encodeRaiseVersion,
    decodeRaiseVersion,
  ),
  family(
    CommandKind.SeekCursors,
    fc.record({
      group: text,
      moves: fc.array(fc.record({ partitionId: uint48.map(partitionId), committed })),
    }),
    (c) => encodeSeekCursors(TENANT, c),
    decodeSeekCursors,
  ),
  family(
    CommandKind.DeleteCursors,
    fc.record({
      group: text,
      queueId: uint32.map(queueId),
      dropRegistration: fc.boolean(),
      partitions: fc.array(uint48.map(partitionId)),
    }),
    (c) => encodeDeleteCursors(TENANT, c),
    decodeDeleteCursors,
  ),
  family(
    CommandKind.UpdateSubscription,
    fc.record({
      group: text,
      instant: fc.maxSafeNat().map(micros),
      queues: fc.array(uint32.map(queueId)),
    }),
    (c) => encodeUpdateSubscription(TENANT, c),
    decodeUpdateSubscription,
  ),
  family(
    CommandKind.RemoveDeadLetters,
    fc.record({ letters: fc.array(letter) }),
    (c) => encodeRemoveDeadLetters(TENANT, c),
    decodeRemoveDeadLetters,
  ),
];

describe.each(FAMILIES.map((f) => [CommandKind[f.kind], f] as const))(
  '%s',
  (_, { kind, encoded }) => {
    it('comes back as it went in and passes the check before the log', () => {
      fc.assert(
        fc.property(
          encoded as fc.Arbitrary<{
            bytes: Uint8Array;
            value: unknown;
            decode: (r: BinaryReader) => unknown;
          }>,
          ({ bytes, value, decode }) => {
            expect(checkCommand(bytes).kind).toBe(kind);
            expect(decode(bodyOf(bytes))).toEqual(value);
          },
        ),
        { numRuns: 150 },
      );
    });

    it('refuses a longer or shorter body', () => {
      fc.assert(
        fc.property(encoded as fc.Arbitrary<{ bytes: Uint8Array }>, fc.nat(), ({ bytes }, cut) => {
          const longer = new Uint8Array(bytes.length + 1);
          longer.set(bytes);
          new DataView(longer.buffer).setUint32(0, longer.length - 4, true);
          expect(() => checkCommand(longer)).toThrow(DecodeError);
          const bodyBytes = bytes.length - COMMAND_HEADER.body;
          const shorter = bytes.slice(0, COMMAND_HEADER.body + (cut % bodyBytes));
          new DataView(shorter.buffer).setUint32(0, shorter.length - 4, true);
          expect(() => checkCommand(shorter)).toThrow(DecodeError);
        }),
        { numRuns: 100 },
      );
    });
  },
);

describe('damaged commands', () => {
  it('decode or throw DecodeError, nothing else', () => {
    const kinds = Object.values(CommandKind).filter((k) => typeof k === 'number');
    fc.assert(
      fc.property(fc.constantFrom(...kinds), fc.uint8Array({ maxLength: 200 }), (kind, body) => {
        const bytes = new Uint8Array(COMMAND_HEADER.body + body.length);
        bytes.set(body, COMMAND_HEADER.body);
        bytes[COMMAND_HEADER.kind] = kind;
        bytes[COMMAND_HEADER.bodyVersion] = 1;
        new DataView(bytes.buffer).setUint32(0, bytes.length - 4, true);
        onlyDecodeErrors(() => checkCommand(bytes));
      }),
      { numRuns: 3000 },
    );
  });

  it('survive a flipped byte', () => {
    const any = fc.oneof(...FAMILIES.map((f) => f.encoded as fc.Arbitrary<{ bytes: Uint8Array }>));
    fc.assert(
      fc.property(any, fc.nat(), fc.nat(255), ({ bytes }, at, value) => {
        bytes[at % bytes.length] = value;
        onlyDecodeErrors(() => checkCommand(bytes));
      }),
      { numRuns: 2000 },
    );
  });

  it('refuses an unknown kind and a newer body', () => {
    const bytes = encodeRaiseVersion({ version: 7 });
    bytes[COMMAND_HEADER.kind] = 99;
    expect(() => checkCommand(bytes)).toThrow(/unknown command kind 99/);
    const newer = encodeRaiseVersion({ version: 7 });
    newer[COMMAND_HEADER.bodyVersion] = 2;
    expect(() => checkCommand(newer)).toThrow(/version 2, this build reads 1/);
  });
});

describe('command header', () => {
  it('carries the tenant and the patched submit fields', () => {
    const bytes = encodeDeleteQueue(TENANT, { queue: 'q' });
    patchCommandHeader(bytes, 2 ** 48 - 1, 2 ** 40 + 7, 12);
    expect(readCommandHeader(bytes, 0, bytes.length)).toEqual({
      kind: CommandKind.DeleteQueue,
      session: 2 ** 48 - 1,
      sequence: 2 ** 40 + 7,
      floor: 12,
      tenant: TENANT,
    });
  });
});

describe('entry', () => {
  const commands = [
    encodeDeleteQueue(TENANT, { queue: 'orders' }),
    encodeRaiseVersion({ version: 6 }),
    encodeExtend(TENANT, { leaseId: TENANT, seconds: 9 }),
  ];
  const now = 1_772_600_707_123_456;
  const header = encodeEntryHeader(now, commands.length);

  function walk(parts: Uint8Array[]) {
    const reader = new EntryReader();
    const seen: { index: number; offset: number; bytes: Uint8Array }[] = [];
    expect(reader.open(parts)).toBe(true);
    while (reader.next()) {
      const bytes = reader.bytes.slice(reader.start, reader.end);
      seen.push({ index: reader.index, offset: reader.entryOffset, bytes });
    }
    return { reader, seen };
  }

  const whole = concat([header, ...commands]);
  it.each([
    ['parts', [header, ...commands]],
    ['one contiguous part', [whole]],
    ['header alone', [header, concat(commands)]],
    ['empty parts between', [new Uint8Array(0), header, new Uint8Array(0), ...commands]],
  ])('walks %s with offsets over the whole entry', (_, parts) => {
    const { reader, seen } = walk(parts);
    expect(reader.now).toBe(now);
    expect(reader.machineVersion).toBe(6);
    expect(seen.map((c) => c.bytes)).toEqual(commands);
    let at = header.length;
    for (const [index, command] of commands.entries()) {
      expect(seen[index]).toMatchObject({ index, offset: at });
      at += command.length;
    }
  });

  it('is empty for a raft no-op', () => {
    expect(new EntryReader().open([])).toBe(false);
    expect(new EntryReader().open([new Uint8Array(0)])).toBe(false);
  });

  it('refuses bytes after the last command, a missing command and a newer version', () => {
    expect(() => walk([concat([whole, Uint8Array.of(0)])])).toThrow(DecodeError);
    expect(() => walk([header, commands[0]!])).toThrow(DecodeError);
    expect(() => walk([whole.subarray(0, whole.length - 1)])).toThrow(DecodeError);
    const newer = header.slice();
    newer[0] = 2;
    expect(() => new EntryReader().open([newer])).toThrow(/version 2/);
  });

  it('never fails with anything but DecodeError on random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 120 }), fc.nat(3), (bytes, count) => {
        const entry = concat([encodeEntryHeader(now, count), bytes]);
        onlyDecodeErrors(() => walk([entry]));
        onlyDecodeErrors(() => walk([bytes]));
      }),
      { numRuns: 1000 },
    );
  });
});

function concat(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function onlyDecodeErrors(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof DecodeError) && !isAssertion(error)) throw error;
  }
}

/** `walk` asserts that the entry is not empty; an empty random one is fine. */
function isAssertion(error: unknown): boolean {
  return error instanceof Error && 'matcherResult' in error;
}
