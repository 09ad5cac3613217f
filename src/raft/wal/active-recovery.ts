/**
 * Recovers the active segment: replays whole batches, and decides what a bad tail means.
 *
 *   batch 7 (whole) | batch 8 (whole) | batch 9, torn        -> cut at the start of batch 9
 *   batch 7 (whole) | bad record      | valid record, batch 9 -> corruption, refused
 *   bad record below the synced mark                          -> corruption, refused
 *
 * Batch k+1 is written only after batch k was synced, so a loss of un-synced pages can only touch
 * the last, never acknowledged batch (with holes in it, and valid records of the same batch after).
 */
import { logIndex, nodeId, term } from '../../common/ids.js';
import { getU64 } from './bytes.js';
import { EntryTable } from './entry-table.js';
import { REPLACE_NODE_CURE, WalDamageError } from './errors.js';
import type { OpenFile } from './file-port.js';
import { chainRecord } from './footer.js';
import { HARD_STATE_PAYLOAD_BYTES, isEntryRecord, RecordKind } from './record.js';
import { RecordScanner, type ScannedRecord } from './record-scanner.js';
import type { SegmentHeader } from './segment-header.js';
import type { SyncedMark } from './synced-mark.js';
import type { TermRuns } from './term-runs.js';
import type { HardState } from './types.js';

export interface ActiveSource {
  readonly file: OpenFile;
  readonly path: string;
  readonly header: SegmentHeader;
  readonly headerBytes: number;
  readonly sizeBytes: number;
  /** Only when it speaks about this segment. */
  readonly mark: SyncedMark | undefined;
}

export interface RecoveredActive {
  /** End of the last whole batch; everything after it is to be cut. */
  readonly keptBytes: number;
  /** Start of the last whole batch, the only one that may not have reached the disk. */
  readonly lastBatchStart: number;
  readonly lastBatch: number;
  readonly chain: number;
  readonly table: EntryTable;
  readonly hardState: HardState;
  /** Why the tail is cut; undefined when nothing is. */
  readonly tornBy: string | undefined;
}

/** Replays the segment into `terms` (which ends at the segment's base). */
export async function recoverActive(
  source: ActiveSource,
  terms: TermRuns,
): Promise<RecoveredActive> {
  const { file, path, header, headerBytes, sizeBytes, mark } = source;
  const scanner = new RecordScanner(file, header.salt, sizeBytes);
  const replay = new Replay(path, header, terms);
  let keptBytes = headerBytes;
  let lastBatchStart = headerBytes;
  let lastBatch = header.firstBatch - 1;
  let position = headerBytes;
  let tornBy: string | undefined;
  let pending: ScannedRecord[] = [];
  while (position < sizeBytes) {
    const record = await scanner.read(position);
    if (typeof record === 'string') {
      tornBy = record;
      break;
    }
    if (record.batch !== lastBatch + 1) {
      throw damage(path, position, `batch ${record.batch} where ${lastBatch + 1} was expected`);
    }
    position = record.end;
    if (record.kind === RecordKind.footer) {
      tornBy = 'a footer of a roll that was never finished';
      break;
    }
    pending.push(record.payload ? { ...record, payload: Buffer.from(record.payload) } : record);
    if (!record.batchEnd) continue;
    for (const whole of pending) replay.apply(whole);
    pending = [];
    lastBatchStart = keptBytes;
    keptBytes = position;
    lastBatch = record.batch;
  }
  if (keptBytes < sizeBytes) tornBy ??= 'the last batch is not complete';
  if (mark && keptBytes < mark.syncedBytes) {
    const reason = `${tornBy ?? 'the file ends early'}, but bytes up to ${mark.syncedBytes} were synced`;
    throw damage(path, position, reason);
  }
  if (tornBy) {
    const other = await scanner.findOtherBatch(keptBytes, lastBatch + 1);
    if (other !== undefined) {
      throw damage(path, position, `${tornBy}, followed by a valid later record at byte ${other}`);
    }
  }
  const { chain, table, hardState } = replay;
  return { keptBytes, lastBatchStart, lastBatch, chain, table, hardState, tornBy };
}

/** Applies records of whole batches; anything out of sequence with a good checksum is damage too. */
class Replay {
  readonly table: EntryTable;
  hardState: HardState;
  chain = 0;

  constructor(
    private readonly path: string,
    header: SegmentHeader,
    private readonly terms: TermRuns,
  ) {
    this.table = new EntryTable(header.base.index + 1);
    this.hardState = header.hardState;
  }

  apply(record: ScannedRecord): void {
    this.chain = chainRecord(this.chain, record.crc, record.payloadBytes);
    if (isEntryRecord(record.kind)) this.applyEntry(record);
    else if (record.kind === RecordKind.hardState) this.applyHardState(record);
    else this.applyTruncation(record);
  }

  private applyEntry(record: ScannedRecord): void {
    const { terms } = this;
    if (record.index !== terms.last + 1) {
      throw damage(this.path, record.position, `entry ${record.index} after entry ${terms.last}`);
    }
    if (record.term < terms.lastTerm) {
      throw damage(this.path, record.position, `term ${record.term} after term ${terms.lastTerm}`);
    }
    terms.push(record.index, record.term);
    this.table.push(record.position, record.payloadBytes);
  }

  private applyHardState(record: ScannedRecord): void {
    const { payload } = record;
    if (
      !payload ||
      payload.length !== HARD_STATE_PAYLOAD_BYTES ||
      record.term < this.hardState.term
    ) {
      throw damage(this.path, record.position, 'impossible hard state');
    }
    this.hardState = {
      term: term(record.term),
      vote: nodeId(getU64(payload, 0)),
      commit: logIndex(getU64(payload, 8)),
    };
  }

  private applyTruncation(record: ScannedRecord): void {
    const { terms, table } = this;
    if (record.index < table.first - 1 || record.index > terms.last) {
      throw damage(this.path, record.position, `impossible truncation to entry ${record.index}`);
    }
    terms.truncateTo(record.index);
    table.truncateTo(record.index);
  }
}

function damage(file: string, byteOffset: number, reason: string): WalDamageError {
  return new WalDamageError({ file, byteOffset, reason, cure: REPLACE_NODE_CURE });
}
