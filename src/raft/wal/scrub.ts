/**
 * Reads sealed and retired segments in the background at a bounded rate and verifies every record
 * and the footer. It only reports; whoever started it decides to stop the node. The active segment
 * is not read: it was verified at start and is written right now.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { REPLACE_NODE_CURE, WalDamageError } from './errors.js';
import { isMissing, type FilePort, type OpenFile } from './file-port.js';
import { chainRecord, readFooter } from './footer.js';
import type { LogState } from './log-state.js';
import type { SegmentRow } from './manifest.js';
import { RecordKind } from './record.js';
import { RecordScanner } from './record-scanner.js';
import { readSegmentHeader } from './segment-header.js';
import type { Segment } from './segment-set.js';

/** Bytes read between two looks at the rate. */
const PACE_BYTES = 256 * 1024;

export interface ScrubOptions {
  readonly bytesPerSecond: number;
  readonly signal?: AbortSignal;
  /** Called once per damaged segment; the pass goes on with the next one. */
  readonly onDamage: (damage: WalDamageError) => void;
  /** Waits; tests and the simulator inject their own. */
  readonly sleep?: (ms: number) => Promise<unknown>;
}

export interface ScrubReport {
  readonly segments: number;
  readonly bytes: number;
  readonly damaged: number;
}

export async function scrubSegments(
  files: FilePort,
  state: LogState,
  options: ScrubOptions,
): Promise<ScrubReport> {
  const report = { segments: 0, bytes: 0, damaged: 0 };
  const pace = new Pace(options);
  for (const segment of state.segments.all) {
    if (options.signal?.aborted) break;
    if (!counts(segment)) continue;
    try {
      await scrubSegment(files, state, { segment, pace });
    } catch (error) {
      if (!(error instanceof WalDamageError)) throw error;
      if (!state.segments.all.some((s) => counts(s) && sameFile(s, segment))) continue;
      report.damaged += 1;
      options.onDamage(error);
    }
    report.segments += 1;
    report.bytes += segment.row.sizeBytes;
  }
  return report;
}

/** The file has to be there: one marked for removal may be unlinked at any moment. */
function counts({ row }: Segment): boolean {
  return row.state === 'sealed' || row.state === 'retired';
}

/** A segment collected while it was read is not damage. */
function sameFile(left: Segment, right: Segment): boolean {
  return left.row.sequence === right.row.sequence && left.row.revision === right.row.revision;
}

function scrubSegment(
  files: FilePort,
  state: LogState,
  { segment, pace }: { segment: Segment; pace: Pace },
): Promise<void> {
  const { row, salt } = segment;
  const path = state.segments.path(segment);
  return verifySegmentFile(files, { path, row, salt }, (bytes) => pace.passed(bytes));
}

/** A sealed file as the manifest lists it; `salt` as far as it is known from elsewhere. */
export interface SealedFile {
  readonly path: string;
  readonly row: SegmentRow;
  readonly salt?: number;
}

/** Reads everything; throws WalDamageError at the first thing wrong. `passed` may end it early. */
export async function verifySegmentFile(
  files: FilePort,
  { path, row, salt: known }: SealedFile,
  passed: (bytes: number) => Promise<boolean>,
): Promise<void> {
  const { sizeBytes, checksum } = row;
  const file = await openPresent(files, path);
  try {
    const fileBytes = await file.sizeBytes();
    if (fileBytes !== sizeBytes) {
      throw damage(path, Math.min(fileBytes, sizeBytes), `the file has ${fileBytes} bytes`);
    }
    const { header, sizeBytes: headerBytes } = await readSegmentHeader(file, path);
    const { salt } = header;
    if (known !== undefined && salt !== known) throw damage(path, 20, 'the file was exchanged');
    const { summary } = await readFooter(file, path, { sizeBytes, salt });
    const scanner = new RecordScanner(file, salt, sizeBytes);
    let position = headerBytes;
    let chain = 0;
    while (position < summary.footerPosition) {
      const record = await scanner.read(position);
      if (typeof record === 'string') throw damage(path, position, record);
      if (record.kind === RecordKind.footer) throw damage(path, position, 'a footer too early');
      chain = chainRecord(chain, record.crc, record.payloadBytes);
      if (!(await passed(record.end - position))) return;
      position = record.end;
    }
    if (position !== summary.footerPosition || chain !== summary.chain) {
      throw damage(path, position, `the records do not add up to the footer (${checksum})`);
    }
  } finally {
    await file.close();
  }
}

/** Keeps the rate; the event loop gets its turn at every step. */
class Pace {
  private pending = 0;

  constructor(private readonly options: ScrubOptions) {}

  /** False when the scrub was told to stop. */
  async passed(bytes: number): Promise<boolean> {
    this.pending += bytes;
    if (this.pending >= PACE_BYTES) {
      const { sleep = delay, bytesPerSecond } = this.options;
      const ms = Math.max(1, Math.ceil((this.pending / bytesPerSecond) * 1000));
      this.pending = 0;
      await sleep(ms);
    }
    return !this.options.signal?.aborted;
  }
}

async function openPresent(files: FilePort, path: string): Promise<OpenFile> {
  try {
    return await files.open(path, 'read');
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw damage(path, 0, 'the segment file disappeared');
  }
}

function damage(file: string, byteOffset: number, reason: string): WalDamageError {
  return new WalDamageError({ file, byteOffset, reason, cure: REPLACE_NODE_CURE });
}
