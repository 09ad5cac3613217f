/** Every row codec: round trips, refused versions, values that contradict their key. */
import fc from 'fast-check';
import { consumerGroupId, micros, queueId, tenantId } from '../../common/ids.js';
import type { QueueOptions } from '../commands/catalogue.js';
import { StartMode } from '../commands/catalogue.js';
import { AppendRowView, encodeAppendRow, MESSAGE_META_BYTES } from './append-row.js';
import { decodeCursorRow, emptyCursorRow, encodeCursorRow } from './cursor-row.js';
import { createTables } from './create-tables.js';
import {
  decodeDeadLetterRow,
  decodeLetterCount,
  decodeLetterPointer,
  encodeDeadLetterRow,
  encodeLetterCount,
  encodeLetterPointer,
} from './dead-letter-row.js';
import { decodeHeader, encodeHeader, initialCounters } from './header-row.js';
import * as keyspaces from './keyspaces.js';
import { decodePartitionRow, emptyPartitionRow, encodePartitionRow } from './partition-row.js';
import * as small from './small-rows.js';

const MAX_SAFE = Number.MAX_SAFE_INTEGER;
const u32 = fc.nat(0xffff_ffff);
const u48 = fc.nat(2 ** 48 - 2);
const u64 = fc.nat(MAX_SAFE);
const id = fc.uint8Array({ minLength: 16, maxLength: 16 });
const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe('row codecs', () => {
  it('round-trips partitions', () => {
    const name = fc.uint8Array({ maxLength: 500 });
    const counts = { retainedBytes: u48, maxRecordBytes: u32, deadLetters: u32 };
    const row = { createdAt: u64, logStart: u48, lastOffset: u48, lastAppendAt: u64, ...counts };
    fc.assert(
      fc.property(fc.record({ ...row, name }), (partition) => {
        const read = emptyPartitionRow();
        decodePartitionRow(encodePartitionRow(partition), read);
        expect(plain(read)).toEqual(plain(partition));
      }),
    );
    const read = emptyPartitionRow();
    decodePartitionRow(encodePartitionRow(emptyPartitionRow()), read);
    expect(read.lastOffset).toBe(-1);
  });

  it('round-trips cursors with and without lease and released range', () => {
    const fields = {
      ...{ createdAt: u64, committed: u48, version: u32, attemptOffset: u48, attemptCount: u32 },
      ...{ batchRetryCount: u32, totalConsumed: u48, hasReleased: fc.boolean(), releasedId: id },
      ...{ releasedFirst: u48, releasedLast: u48, hasLease: fc.boolean(), leaseId: id },
      ...{ firstOffset: u48, batchEnd: u48, expiresAt: u64, acquiredAt: u64, term: u64 },
      conflated: fc.boolean(),
      hasMetadata: fc.boolean(),
      isStart: fc.boolean(),
    };
    const {
      hasReleased: _r,
      releasedId,
      releasedFirst,
      releasedLast,
      ...others
    } = emptyCursorRow();
    expect(others.committed).toBe(-1);
    fc.assert(
      fc.property(fc.record(fields), (cursor) => {
        const read = emptyCursorRow();
        decodeCursorRow(encodeCursorRow(cursor), read);
        const wanted = { ...cursor };
        if (!cursor.hasReleased) Object.assign(wanted, { releasedId, releasedFirst, releasedLast });
        if (!cursor.hasLease) {
          const { leaseId, firstOffset, batchEnd, expiresAt, acquiredAt, term } = emptyCursorRow();
          Object.assign(wanted, { leaseId, firstOffset, batchEnd, expiresAt, acquiredAt, term });
          wanted.conflated = false;
        }
        expect(plain(read)).toEqual(plain(wanted));
      }),
    );
  });

  it('round-trips dead letters and the header', () => {
    const reference = { entryIndex: u64, blockOffset: u32, start: u32, length: u32, crc: u32 };
    const where = { queueId: u32, partitionId: u48, groupId: u32, offset: u48, ...reference };
    const what = { messageFlags: fc.nat(255), messageId: id, transactionHash: id };
    const why = { deadLetterId: id, error: text, retryCount: u32, failedAt: u64 };
    const row = fc.record({ ...where, ...what, ...why });
    fc.assert(
      fc.property(row, (letter) => {
        expect(plain(decodeDeadLetterRow(encodeDeadLetterRow(letter)))).toEqual(plain(letter));
      }),
    );
    expect(decodeLetterPointer(encodeLetterPointer(1.7e15))).toBe(1.7e15);
    expect(decodeLetterCount(encodeLetterCount(2 ** 40))).toBe(2 ** 40);
    const counters = { ...initialCounters(), nextPartitionId: 2 ** 40, messagesAppended: 2 ** 50 };
    const digest = new Uint8Array(8).fill(9);
    const stamps = { appliedIndex: 2 ** 45, appliedTerm: 7, clusterVersion: 6, lastStamp: 1.7e15 };
    const header = { ...stamps, digest, counters };
    expect(decodeHeader(encodeHeader(header))).toEqual(header);
  });

  it('round-trips tenants, groups, registrations and queues', () => {
    expect(small.decodeTenantRow(small.encodeTenantRow(new Uint8Array(16).fill(4)))[15]).toBe(4);
    const group = { tenant: 3, name: 'größe' };
    expect(small.decodeGroupRow(small.encodeGroupRow(group))).toEqual(group);
    const registration = {
      queueId: queueId(1),
      groupId: consumerGroupId(2),
      mode: StartMode.Timestamp,
      instant: micros(5),
      conflation: true,
      registeredAt: micros(6),
      namespace: 'n',
      task: '',
    };
    const value = small.encodeRegistrationRow(registration);
    expect(small.decodeRegistrationRow(value, { queue: 1, group: 2 })).toEqual(registration);
    const options: QueueOptions = {
      ...{ leaseTime: 1, retryLimit: -2, deadLetterQueue: true, dlqAfterMaxRetries: false },
      ...{ dedupWindowSeconds: 5, delayedProcessing: 6, windowBuffer: 7, retentionEnabled: true },
      ...{ retentionSeconds: 9, completedRetentionSeconds: 10, maxWaitTimeSeconds: 11 },
      ...{ encryptionEnabled: true, retentionSinkHold: 'sink', retentionSinkHoldMaxSeconds: 13 },
      ...{ namespace: 'ns', task: 'tk', priority: -16, retryDelay: 17, ttl: 18, maxSize: 19 },
      minPopWaitTime: 20,
    };
    const place = { tenant: tenantId(3), name: 'q', createdAt: micros(8) };
    const queue = { ...place, optionsVersion: 4, recognisedSince: 21, configured: true, options };
    expect(small.decodeQueueRow(small.encodeQueueRow(queue))).toEqual(queue);
    // Version 1 had no recognisedSince: 8 bytes behind version, flag, tenant, time and version.
    const row = small.encodeQueueRow(queue);
    const older = Uint8Array.from([1, ...row.subarray(1, 18), ...row.subarray(26)]);
    expect(small.decodeQueueRow(older)).toEqual({ ...queue, recognisedSince: 0 });
  });

  it('refuses a newer version and trailing or missing bytes of every row', () => {
    const tables = createTables();
    tables.restoreCounters({ ...initialCounters(), nextQueueId: 9, nextPartitionId: 9 });
    const values: [Uint8Array, Uint8Array][] = [
      [keyspaces.tenantKey(1), small.encodeTenantRow(new Uint8Array(16))],
      [keyspaces.groupKey(1), small.encodeGroupRow({ tenant: 1, name: 'g' })],
      [keyspaces.garbageQueueKey(4), small.encodeGarbageRow()],
      [keyspaces.partitionKey(4, 1), encodePartitionRow(emptyPartitionRow())],
      [keyspaces.cursorKey(4, 1, 1), encodeCursorRow(emptyCursorRow())],
    ];
    for (const [key, value] of values) {
      const newer = value.slice();
      newer[0] = 2;
      expect(() => tables.loadRow(key, newer)).toThrow('version 2, this build reads 1');
      expect(() => tables.loadRow(key, value.subarray(0, value.length - 1))).toThrow();
      if (key[0] !== keyspaces.KEYSPACE.partitions) {
        expect(() => tables.loadRow(key, new Uint8Array([...value, 0]))).toThrow();
      }
      tables.loadRow(key, value);
    }
    expect(() => tables.loadRow(keyspaces.appendKey(1, 1, 0), new Uint8Array(1))).toThrow();
    expect(() => tables.loadRow(new Uint8Array(0), new Uint8Array(1))).toThrow('empty key');
    for (const decode of [decodeHeader, decodeDeadLetterRow]) {
      expect(() => decode(Uint8Array.of(2))).toThrow('version 2');
    }
    expect(() => new AppendRowView().open(Uint8Array.of(2))).toThrow('version 2');
  });

  it('refuses rows that contradict each other', () => {
    const partition = encodePartitionRow(emptyPartitionRow());
    const orphan = createTables();
    orphan.restoreCounters({ ...initialCounters(), nextPartitionId: 2 });
    orphan.loadRow(keyspaces.partitionKey(4, 1), partition);
    expect(() => orphan.finishLoad()).toThrow('unknown queue');
    const cursor = encodeCursorRow(emptyCursorRow());
    expect(() => orphan.loadRow(keyspaces.cursorKey(4, 2, 1), cursor)).toThrow('unknown partition');
    expect(() => orphan.loadRow(keyspaces.cursorKey(5, 1, 1), cursor)).toThrow('unknown partition');
    const counted = createTables();
    counted.restoreCounters({ ...initialCounters(), nextQueueId: 5 });
    counted.loadRow(keyspaces.partitionKey(4, 1), partition);
    counted.loadRow(keyspaces.garbageQueueKey(4), small.encodeGarbageRow());
    expect(() => counted.finishLoad()).toThrow('partition id above the counter');
  });
});

describe('append index row', () => {
  const meta = fc.uint8Array({ minLength: MESSAGE_META_BYTES, maxLength: MESSAGE_META_BYTES });
  const fields = { createdAt: 1.7e15, entryIndex: 2 ** 40, blockOffset: 77, blockLength: 4096 };

  it('keeps the chosen messages byte for byte', () => {
    fc.assert(
      fc.property(fc.array(meta, { minLength: 1, maxLength: 200 }), fc.nat(7), (metas, every) => {
        const bytes = new Uint8Array([1, 2, 3, ...metas.flatMap((m) => [...m])]);
        const region = { bytes, at: 3, count: metas.length };
        const all = metas.map((_, i) => i);
        const kept = every === 0 ? null : all.filter((i) => i % every === 0);
        const view = new AppendRowView().open(encodeAppendRow(fields, region, kept));
        expect(view.count).toBe((kept ?? all).length);
        expect({ ...fields, ...view }).toMatchObject(fields);
        (kept ?? all).forEach((from, i) => {
          const one = metas[from]!;
          const words = new DataView(one.buffer, one.byteOffset);
          expect(view.copyId(i)).toEqual(one.slice(0, 16));
          const at = view.hashAt(i);
          expect(view.bytes.slice(at, at + 16)).toEqual(one.slice(16, 32));
          expect(view.start(i)).toBe(words.getUint32(32, true));
          expect(view.length(i)).toBe(words.getUint32(36, true));
          expect(view.crc(i)).toBe(words.getUint32(40, true));
          expect(view.flags(i)).toBe(one[44]);
          expect(view.bytes.slice(view.idAt(i), view.idAt(i) + 16)).toEqual(one.slice(0, 16));
        });
        const last = view.count - 1;
        const found = view.findHash(view.bytes, view.hashAt(last));
        const hash = (i: number): string => metas[(kept ?? all)[i]!]!.subarray(16, 32).join();
        expect(hash(found)).toBe(hash(last));
        expect(view.findId(new Uint8Array(17).fill(1), 1)).toBe(
          (kept ?? all).findIndex((i) => metas[i]!.subarray(0, 16).every((b) => b === 1)),
        );
      }),
      { numRuns: 50 },
    );
  });

  it('refuses a row of another length and a message outside its group', () => {
    const region = { bytes: new Uint8Array(90), at: 0, count: 2 };
    const row = encodeAppendRow(fields, region);
    expect(row.length).toBe(27 + 90);
    expect(() => new AppendRowView().open(row.subarray(0, 100))).toThrow('another length');
    expect(() => encodeAppendRow(fields, region, [2])).toThrow('outside the append group');
  });
});

describe('keys', () => {
  it('sort by their fields and read back', () => {
    const cursor = keyspaces.cursorKey(0xffff_ffff, 2 ** 48 - 1, 7);
    expect(cursor.length).toBe(15);
    expect(keyspaces.keyNumber(cursor)).toBe(0xffff_ffff);
    expect(keyspaces.keyPartition(cursor)).toBe(2 ** 48 - 1);
    expect(keyspaces.keyCursorGroup(cursor)).toBe(7);
    expect(keyspaces.keyBaseOffset(keyspaces.appendKey(1, 2, 3))).toBe(3);
    expect(keyspaces.keyRegistrationGroup(keyspaces.registrationKey(1, 9))).toBe(9);
    const letter = keyspaces.deadLetterKey(1, 1.7e15, new Uint8Array(16).fill(5));
    expect(keyspaces.keyFailedAt(letter)).toBe(1.7e15);
    expect([...keyspaces.keyDeadLetterId(letter)]).toEqual(new Array(16).fill(5));
    const inRange = (key: Uint8Array, range: keyspaces.KeyRange): boolean =>
      Buffer.compare(range.gte, key) <= 0 && Buffer.compare(key, range.lt) < 0;
    expect(inRange(cursor, keyspaces.queueRange(7, 0xffff_ffff))).toBe(true);
    expect(inRange(cursor, keyspaces.queueRange(7, 0xffff_fffe))).toBe(false);
    expect(inRange(cursor, keyspaces.keyspaceRange(7))).toBe(true);
    const hash = new Uint8Array(16).fill(7);
    const place = { queueId: 1, partitionId: 2, hash, offset: 2 ** 48 - 2 };
    const byMessage = keyspaces.messageLetterKey(place, new Uint8Array(16).fill(0xff));
    expect(keyspaces.keyLetterOffset(byMessage)).toBe(2 ** 48 - 2);
    const noMessage = keyspaces.messageLetterKey({ ...place, offset: -1 }, new Uint8Array(16));
    expect(keyspaces.keyLetterOffset(noMessage)).toBe(-1);
    expect([...keyspaces.keyMessageLetterId(byMessage)]).toEqual(new Array(16).fill(0xff));
    expect(inRange(byMessage, keyspaces.messageLetterRange(place))).toBe(true);
    const other = { ...place, hash: new Uint8Array(16).fill(8) };
    expect(inRange(byMessage, keyspaces.messageLetterRange(other))).toBe(false);
    const rows = keyspaces.appendRange(1, 2, { first: 3, limit: 9 });
    const at = (base: number): boolean => inRange(keyspaces.appendKey(1, 2, base), rows);
    expect([at(2), at(3), at(8), at(9)]).toEqual([false, true, true, false]);
  });
});
