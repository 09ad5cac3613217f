/**
 * LevelDB's MANIFEST: version edits that add up to the list of live tables and the oldest log still
 * needed. Every edit is synced before LevelDB goes on, so only the last can be torn by a power
 * loss: a broken tail with nothing whole behind it is cut. That is safe, because a prefix of the
 * edits is a complete older version as long as all its tables and logs are still there, which is
 * checked next.
 *
 *   edit = ( tag varint | field )*        tags: 1 comparator 2 log 3 next file 4 last sequence
 *                                             5 compact pointer 6 deleted 7 new file 9 previous log
 */
import { StoreDamageError } from '../errors.js';
import { ByteCursor, MalformedBytes } from './byte-cursor.js';
import { LogReader, holdsFragmentAfter } from './log-format.js';

export interface TableFact {
  level: number;
  number: number;
  sizeBytes: number;
  /** Internal keys: user key and 8 bytes of sequence and type. */
  smallest: Buffer;
  largest: Buffer;
}

export interface Version {
  tables: Map<number, TableFact>;
  logNumber: number;
  previousLogNumber: number;
  lastSequence: number;
  /** Length of the whole edits; the file is cut here when it is longer. */
  validLength: number;
}

const COMPARATOR = 'leveldb.BytewiseComparator';
const LEVEL_COUNT = 7;

interface Edits {
  tables: Map<number, TableFact>;
  logNumber?: number;
  previousLogNumber?: number;
  nextFile?: number;
  lastSequence?: number;
}

/** Adds up the edits of a manifest. Throws StoreDamageError. */
export function readManifest(file: string, bytes: Buffer): Version {
  const reader = new LogReader(bytes);
  const edits: Edits = { tables: new Map() };
  for (let record = reader.next(); record !== undefined; record = reader.next()) {
    try {
      applyEdit(edits, record.payload);
    } catch (error) {
      if (!(error instanceof MalformedBytes)) throw error;
      const reason = `a version edit is malformed: ${error.message}`;
      throw new StoreDamageError({ file, byteOffset: record.start, reason });
    }
  }
  const { failure } = reader;
  if (failure !== undefined && holdsFragmentAfter(bytes, failure.byteOffset)) {
    throw new StoreDamageError({ file, byteOffset: failure.byteOffset, reason: failure.reason });
  }
  const { tables, logNumber, nextFile, lastSequence } = edits;
  if (logNumber === undefined || nextFile === undefined || lastSequence === undefined) {
    const reason = failure?.reason ?? 'the manifest ends before its first version';
    throw new StoreDamageError({ file, byteOffset: reader.position, reason });
  }
  const previousLogNumber = edits.previousLogNumber ?? 0;
  return { tables, logNumber, previousLogNumber, lastSequence, validLength: reader.position };
}

function applyEdit(edits: Edits, payload: Buffer): void {
  const cursor = new ByteCursor(payload);
  const deleted: number[] = [];
  const added: TableFact[] = [];
  while (!cursor.atEnd) {
    const tag = cursor.varint();
    switch (tag) {
      case 1:
        if (cursor.lengthPrefixed().toString('latin1') !== COMPARATOR) {
          throw new MalformedBytes(cursor.position, 'another comparator');
        }
        break;
      case 2:
        edits.logNumber = cursor.varint();
        break;
      case 3:
        edits.nextFile = cursor.varint();
        break;
      case 4:
        edits.lastSequence = cursor.varint();
        break;
      case 5:
        readLevel(cursor);
        cursor.lengthPrefixed();
        break;
      case 6:
        readLevel(cursor);
        deleted.push(cursor.varint());
        break;
      case 7:
        added.push(readTable(cursor));
        break;
      case 9:
        edits.previousLogNumber = cursor.varint();
        break;
      default:
        throw new MalformedBytes(cursor.position, `unknown tag ${tag}`);
    }
  }
  // A moved table is deleted from one level and added to the next in the same edit.
  for (const number of deleted) edits.tables.delete(number);
  for (const table of added) edits.tables.set(table.number, table);
}

function readLevel(cursor: ByteCursor): number {
  const level = cursor.varint();
  if (level >= LEVEL_COUNT) throw new MalformedBytes(cursor.position, `no level ${level}`);
  return level;
}

function readTable(cursor: ByteCursor): TableFact {
  const level = readLevel(cursor);
  const number = cursor.varint();
  const sizeBytes = cursor.varint();
  const smallest = cursor.lengthPrefixed();
  const largest = cursor.lengthPrefixed();
  if (smallest.length < 8 || largest.length < 8) {
    throw new MalformedBytes(cursor.position, 'a key bound is too short');
  }
  return { level, number, sizeBytes, smallest, largest };
}
