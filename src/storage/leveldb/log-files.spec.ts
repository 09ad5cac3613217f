/** Logs written by an encoder of our own against the checkpoint record, byte by byte. */
import type { CheckpointState } from '../checkpoint-record.js';
import { crc32c, maskCrc } from '../crc32c.js';
import { StoreDamageError } from '../errors.js';
import { seal } from '../sealed-row.js';
import { META_KEY, encodeMeta } from '../store-meta.js';
import { checkLogs, type LogFacts, type LogFile } from './log-files.js';

const STORE = new Uint8Array(16).fill(9);
const BLOCK = 32 * 1024;

/** LevelDB's writer, from its documentation: appends one record to a log. */
function append(log: Buffer, payload: Buffer): Buffer {
  const parts = [log];
  let at = log.length;
  let left = payload;
  let begins = true;
  do {
    const room = BLOCK - (at % BLOCK);
    if (room < 7) {
      parts.push(Buffer.alloc(room));
      at += room;
      continue;
    }
    const data = left.subarray(0, room - 7);
    left = left.subarray(data.length);
    const type = begins ? (left.length === 0 ? 1 : 2) : left.length === 0 ? 4 : 3;
    const fragment = Buffer.concat([Buffer.alloc(7), data]);
    fragment.writeUInt16LE(data.length, 4);
    fragment[6] = type;
    fragment.writeUInt32LE(maskCrc(crc32c(fragment, 6)), 0);
    parts.push(fragment);
    at += fragment.length;
    begins = false;
  } while (begins || left.length > 0);
  return Buffer.concat(parts);
}

function put(key: Uint8Array, value: Uint8Array): Buffer {
  const lengthOf = (n: number): Buffer => {
    const bytes: number[] = [];
    for (; n > 127; n >>>= 7) bytes.push((n & 127) | 128);
    return Buffer.from([...bytes, n]);
  };
  return Buffer.concat([Buffer.of(1), lengthOf(key.length), key, lengthOf(value.length), value]);
}

/** The batch of checkpoint n: one row of the size given and the meta row, sequences 2n and 2n+1. */
function batch(checkpoint: number, rowBytes = 10, storeId = STORE): Buffer {
  const header = Buffer.alloc(12);
  header.writeBigUInt64LE(BigInt(checkpoint * 2), 0);
  header.writeUInt32LE(2, 8);
  const numbers = { checkpoint, appliedIndex: checkpoint, appliedTerm: 1 };
  const meta = { ...numbers, storeId, digest: new Uint8Array(8), extra: new Uint8Array() };
  const row = put(Buffer.from('\x02k'), Buffer.alloc(rowBytes, checkpoint));
  return Buffer.concat([header, row, put(META_KEY, seal(META_KEY, encodeMeta(meta)))]);
}

function logOf(number: number, checkpoints: number[], rowBytes = 10): LogFile {
  const bytes = checkpoints.reduce<Buffer>(
    (log, n) => append(log, batch(n, rowBytes)),
    Buffer.alloc(0),
  );
  return { number, path: `/s/${number}.log`, bytes };
}

function knownOf(checkpoint: number, log: { number: number; length: number }): CheckpointState {
  const record = {
    storeId: STORE,
    checkpoint,
    appliedIndex: checkpoint,
    appliedTerm: 1,
    digest: new Uint8Array(8),
    logNumber: log.number,
    logLength: log.length,
    levelSequence: checkpoint * 2 + 1,
  };
  return { record, required: checkpoint };
}

const check = (logs: LogFile[], known: CheckpointState): LogFacts | StoreDamageError => {
  try {
    return checkLogs(logs, known);
  } catch (error) {
    if (error instanceof StoreDamageError) return error;
    throw error;
  }
};

const withBytes = (log: LogFile, bytes: Buffer): LogFile => ({ ...log, bytes });

describe('LevelDB logs against the checkpoint record', () => {
  test.each([10, 20_000, 70_000])('whole logs of batches with %i bytes', (rowBytes) => {
    const logs = [logOf(3, [4, 5], rowBytes), logOf(5, [6, 7], rowBytes)];
    const known = knownOf(7, { number: 5, length: logs[1]!.bytes.length });
    expect(check(logs, known)).toEqual({ cuts: [], lastSequence: 15 });
  });

  test('every length and every flipped byte: cut behind the confirmed part, refused within', () => {
    const confirmed = logOf(5, [6, 7]);
    const whole = logOf(5, [6, 7, 8]);
    const length = confirmed.bytes.length;
    const known = knownOf(7, { number: 5, length });
    for (let at = 0; at < whole.bytes.length; at++) {
      const cut = check([withBytes(whole, whole.bytes.subarray(0, at))], known);
      const flippedBytes = Buffer.from(whole.bytes);
      flippedBytes[at]! ^= 1 << (at % 8);
      const flipped = check([withBytes(whole, flippedBytes)], known);
      if (at < length) {
        expect(cut).toBeInstanceOf(StoreDamageError);
        expect(flipped).toBeInstanceOf(StoreDamageError);
        expect(flipped).toMatchObject({ file: '/s/5.log', byteOffset: expect.any(Number) });
      } else {
        const cuts = (kept: number): unknown =>
          kept === 0 ? [] : [{ path: '/s/5.log', length, cutBytes: kept }];
        expect(cut).toEqual({ cuts: cuts(at - length), lastSequence: 15 });
        const cutBytes = whole.bytes.length - length;
        expect(flipped).toEqual({ cuts: cuts(cutBytes), lastSequence: 15 });
      }
    }
  });

  test('a whole batch behind the confirmed length stays, in this log or the next', () => {
    const whole = logOf(5, [6, 7, 8]);
    const { length } = logOf(5, [6, 7]).bytes;
    const known = knownOf(7, { number: 5, length });
    expect(check([whole], known)).toEqual({ cuts: [], lastSequence: 17 });
    const logs = [withBytes(whole, whole.bytes.subarray(0, length)), logOf(9, [8])];
    expect(check(logs, known)).toEqual({ cuts: [], lastSequence: 17 });
  });

  test('a new log with nothing whole is cut to nothing', () => {
    const log = logOf(5, [6, 7]);
    const known = knownOf(7, { number: 5, length: log.bytes.length });
    const garbage = { number: 9, path: '/s/9.log', bytes: Buffer.alloc(5000, 3) };
    const cuts = [{ path: '/s/9.log', length: 0, cutBytes: 5000 }];
    expect(check([log, garbage], known)).toEqual({ cuts, lastSequence: 15 });
  });

  test('old blocks that come to light behind the confirmed part are cut', () => {
    const log = logOf(5, [6, 7]);
    const known = knownOf(7, { number: 5, length: log.bytes.length });
    const { length } = log.bytes;
    for (const stray of [batch(4), batch(7), batch(8, 10, new Uint8Array(16))]) {
      const bytes = append(log.bytes, stray);
      const cuts = [{ path: '/s/5.log', length, cutBytes: bytes.length - length }];
      expect(check([withBytes(log, bytes)], known)).toEqual({ cuts, lastSequence: 15 });
      const next = { number: 9, path: '/s/9.log', bytes: append(Buffer.alloc(0), stray) };
      const nextCuts = [{ path: '/s/9.log', length: 0, cutBytes: next.bytes.length }];
      expect(check([log, next], known)).toEqual({ cuts: nextCuts, lastSequence: 15 });
    }
  });

  const log5 = logOf(5, [6, 7]);
  const end = { number: 5, length: log5.bytes.length };
  const refused: [string, LogFile[], CheckpointState, RegExp][] = [
    ['an older log emptied', [logOf(3, []), log5], knownOf(7, end), /the log is empty/],
    ['a batch missing between logs', [logOf(3, [3, 4]), log5], knownOf(7, end), /6 follows/],
    ['logs swapped', [logOf(3, [6, 7]), logOf(5, [4, 5])], knownOf(7, end), /4 follows/],
    ['an older batch at the place', [log5], knownOf(8, end), /checkpoint 7 where/],
    ['two batches too many', [logOf(5, [6, 7, 8, 9])], knownOf(7, end), /log holds 9/],
    [
      'a gap behind an empty log',
      [logOf(9, [9])],
      knownOf(7, { number: 8, length: 0 }),
      /log holds 9/,
    ],
    [
      'a batch of another store in the confirmed part',
      [withBytes(log5, append(log5.bytes, batch(8, 10, new Uint8Array(16))))],
      knownOf(8, { number: 5, length: append(log5.bytes, batch(8)).length }),
      /another store/,
    ],
    [
      'the required batch behind a broken slot is missing',
      [log5],
      { ...knownOf(7, end), required: 8 },
      /checkpoint 8 was confirmed/,
    ],
    [
      'the required batch behind a broken slot is torn',
      [withBytes(logOf(5, [6, 7, 8]), logOf(5, [6, 7, 8]).bytes.subarray(0, -4))],
      { ...knownOf(7, end), required: 8 },
      /checkpoint 8 was confirmed.*inside a record/,
    ],
  ];

  test.each(refused)('%s is refused', (_name, logs, known, message) => {
    const result = check(logs, known);
    expect(result).toBeInstanceOf(StoreDamageError);
    expect((result as StoreDamageError).message).toMatch(message);
  });
});
