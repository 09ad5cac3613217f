/**
 * Whether the log holds what rows point to: every retained message, every dead letter, and the payloads
 * of timers that are too large for their row. Each is read as a client's read would and held against its
 * checksum.
 */
import { crc32 } from 'node:zlib';
import { logIndex, partitionId, queueId } from '../../common/ids.js';
import { AppendRowView } from '../../machine/tables/append-row.js';
import { decodeDeadLetterRow } from '../../machine/tables/dead-letter-row.js';
import { keyBaseOffset, keyNumber, keyPartition } from '../../machine/tables/keyspaces.js';
import { KEYSPACE, keyspaceRange } from '../../machine/tables/keyspaces.js';
import { keyTimerName } from '../../machine/tables/timer-keys.js';
import { decodeTimerRow, isInline } from '../../machine/tables/timer-row.js';
import type { Tables } from '../../machine/tables/tables.js';
import type { GroupView, RecordPlace } from '../group/group.js';
import { isGone } from '../group/log-errors.js';
import type { WalPort } from '../group/ports.js';
import { StoreDamageError } from '../../storage/index.js';
import { REPLACE_NODE_CURE, WalDamageError } from '../wal/index.js';
import type { Findings } from './finding.js';

export interface LogReads {
  readonly view: GroupView;
  readonly wal: Pick<WalPort, 'readRange' | 'describe'>;
  readonly tables: Pick<Tables, 'partitions' | 'queues'>;
  /** Directories of log and store, for what no file can be blamed for. */
  readonly directory: string;
  readonly store: string;
  readonly findings: Findings;
}

export interface ReadCounts {
  readonly messages: number;
  readonly deadLetters: number;
  readonly timers: number;
}

export async function readPointedAt(reads: LogReads): Promise<ReadCounts> {
  const messages = await readMessages(reads);
  const deadLetters = await readLetters(reads);
  return { messages, deadLetters, timers: await readTimers(reads) };
}

async function readMessages(reads: LogReads): Promise<number> {
  const { partitions, queues } = reads.tables;
  const row = new AppendRowView();
  let count = 0;
  for await (const [key, value] of reads.view.iterate(keyspaceRange(KEYSPACE.appends))) {
    const partition = keyPartition(key);
    const slot = partitions.byId(partitionId(partition));
    if (slot < 0 || queues.byId(queueId(keyNumber(key))) === undefined) continue;
    const base = keyBaseOffset(key);
    row.open(value);
    const first = Math.max(0, partitions.logStart(slot) - base);
    if (first >= row.count) continue;
    count += row.count - first;
    if (await isWhole(reads, row, first)) continue;
    // Which of them it is, and where.
    for (let item = first; item < row.count; item += 1) {
      const what = `message ${base + item} of partition ${partition}`;
      await readOne(reads, what, placeOf(row, item));
    }
  }
  return count;
}

/** Reads what is retained of one append at once. */
async function isWhole({ wal }: LogReads, row: AppendRowView, first: number): Promise<boolean> {
  const { start } = placeOf(row, first);
  const last = placeOf(row, row.count - 1);
  const range = {
    index: logIndex(row.entryIndex),
    start,
    length: last.start + last.length - start,
  };
  let bytes: Uint8Array;
  try {
    bytes = await wal.readRange(range);
  } catch {
    // Told item by item.
    return false;
  }
  for (let item = first; item < row.count; item += 1) {
    const place = placeOf(row, item);
    const at = place.start - start;
    if (crc32(bytes.subarray(at, at + place.length)) !== place.crc) return false;
  }
  return true;
}

function placeOf(row: AppendRowView, item: number): RecordPlace {
  const start = row.blockOffset + row.start(item);
  return { entryIndex: row.entryIndex, start, length: row.length(item), crc: row.crc(item) };
}

async function readLetters(reads: LogReads): Promise<number> {
  let count = 0;
  for await (const [, value] of reads.view.iterate(keyspaceRange(KEYSPACE.deadLetters))) {
    const { entryIndex, blockOffset, start, length, crc, deadLetterId } =
      decodeDeadLetterRow(value);
    const what = `dead letter ${Buffer.from(deadLetterId).toString('hex')}`;
    await readOne(reads, what, { entryIndex, start: blockOffset + start, length, crc });
    count += 1;
  }
  return count;
}

async function readTimers(reads: LogReads): Promise<number> {
  let count = 0;
  for await (const [key, value] of reads.view.iterate(keyspaceRange(KEYSPACE.timers))) {
    const row = decodeTimerRow(value);
    count += 1;
    const { queue, timerKey } = keyTimerName(key);
    const what = `timer ${JSON.stringify(timerKey)} of queue ${queue}`;
    if (!isInline(row)) await readOne(reads, what, row.place);
    else if (crc32(row.record) !== row.place.crc) {
      const reason = `the record of ${what} does not match its checksum`;
      reads.findings.damaged(new StoreDamageError({ file: reads.store, reason }));
    }
  }
  return count;
}

async function readOne(reads: LogReads, what: string, place: RecordPlace): Promise<void> {
  const { wal, findings, directory } = reads;
  const { entryIndex, start, length, crc } = place;
  const range = { index: logIndex(entryIndex), start, length };
  await findings.during(async () => {
    let bytes: Uint8Array;
    try {
      bytes = await wal.readRange(range);
    } catch (error) {
      if (!isGone(error) && !(error instanceof RangeError)) throw error;
      throw gone(directory, `${what} is in entry ${entryIndex}, which the log does not hold`);
    }
    if (bytes.length === length && crc32(bytes) === crc) return;
    const where = await wal.describe(range);
    throw new Error(`${what} does not match its record checksum: ${where}. ${REPLACE_NODE_CURE}`);
  });
}

function gone(file: string, reason: string): WalDamageError {
  return new WalDamageError({ file, byteOffset: 0, reason, cure: REPLACE_NODE_CURE });
}
