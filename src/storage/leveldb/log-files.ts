/**
 * Checks LevelDB's `*.log` files against the checkpoint record. LevelDB would silently skip a
 * broken batch in the middle and replay what follows; here everything confirmed must be whole, in
 * an unbroken row of checkpoints, and what was never confirmed is cut at the first broken byte.
 *
 *            000005.log                 000007.log = the record's      000009.log (unconfirmed)
 *   [ cp 41 | cp 42 | cp 43 ]      [ cp 44 | cp 45 |##torn##         [ ##garbage##
 *     all must be whole              whole up to the record's length ▲ cut   ▲ cut to nothing
 *
 * A whole batch behind the confirmed length is kept: it is the one under way when the node died. One
 * that does not continue the row was never written there (old blocks of another file, come to light by
 * a power loss): it is cut like any other garbage.
 */
import type { CheckpointState } from '../checkpoint-record.js';
import { StoreDamageError } from '../errors.js';
import { MalformedBytes } from './byte-cursor.js';
import { LogReader, type LogFailure, type LogRecord } from './log-format.js';
import { readBatch, type BatchFacts } from './write-batch.js';

export interface LogFile {
  number: number;
  path: string;
  bytes: Buffer;
}

export interface LogCut {
  path: string;
  length: number;
  cutBytes: number;
}

export interface LogFacts {
  cuts: LogCut[];
  /** Highest LevelDB sequence in what stays, 0 when there is no batch. */
  lastSequence: number;
}

/** A whole batch that does not belong where it stands. */
class Stray {
  constructor(readonly reason: string) {}
}

/** Walks the live logs in the order of their numbers. Throws StoreDamageError. */
export function checkLogs(logs: LogFile[], known: CheckpointState): LogFacts {
  const walk = new LogWalk(known);
  for (const log of logs) walk.file(log);
  walk.finish(logs);
  return { cuts: walk.cuts, lastSequence: walk.lastSequence };
}

class LogWalk {
  readonly cuts: LogCut[] = [];
  lastSequence = 0;
  private lastCheckpoint: number | undefined;
  /** What stopped the unconfirmed part, for the message when more was required. */
  private stopped: { path: string; failure: LogFailure } | undefined;

  constructor(private readonly known: CheckpointState) {}

  file(log: LogFile): void {
    const { record } = this.known;
    const confirmed = this.confirmedLength(log);
    if (log.bytes.length < confirmed) {
      const reason = `the log has ${log.bytes.length} bytes, ${confirmed} were confirmed`;
      throw new StoreDamageError({ file: log.path, byteOffset: log.bytes.length, reason });
    }
    const reader = new LogReader(log.bytes);
    let endsAtConfirmed = confirmed === 0;
    let kept = 0;
    let failure: LogFailure | undefined;
    for (let found = reader.next(); found !== undefined; found = reader.next()) {
      const facts = this.batch(log, found, found.end <= confirmed);
      if (facts instanceof Stray) {
        failure = { byteOffset: found.start, reason: facts.reason };
        break;
      }
      kept = found.end;
      if (found.end !== confirmed) continue;
      endsAtConfirmed = true;
      if (log.number === record.logNumber) this.matches(log, facts);
    }
    failure ??= reader.failure;
    if (failure !== undefined && kept < confirmed) {
      throw new StoreDamageError({
        file: log.path,
        byteOffset: failure.byteOffset,
        reason: `damage in the confirmed part of the log: ${failure.reason}`,
      });
    }
    if (!endsAtConfirmed) {
      const reason = 'no batch ends where the last confirmed one ended';
      throw new StoreDamageError({ file: log.path, byteOffset: confirmed, reason });
    }
    if (log.number < record.logNumber && kept === 0) {
      // LevelDB starts a new log only when the one before has filled a memtable.
      throw new StoreDamageError({ file: log.path, byteOffset: 0, reason: 'the log is empty' });
    }
    if (failure === undefined) return;
    this.stopped ??= { path: log.path, failure };
    this.cuts.push({ path: log.path, length: kept, cutBytes: log.bytes.length - kept });
  }

  /** All of an older file, the record's length of its own, nothing of a newer one. */
  private confirmedLength(log: LogFile): number {
    const { record } = this.known;
    if (log.number < record.logNumber) return log.bytes.length;
    return log.number === record.logNumber ? record.logLength : 0;
  }

  private batch(log: LogFile, found: LogRecord, isConfirmed: boolean): BatchFacts | Stray {
    const damage = (reason: string): StoreDamageError =>
      new StoreDamageError({ file: log.path, byteOffset: found.start, reason });
    const facts = this.continued(found, isConfirmed);
    if (facts instanceof Stray) {
      if (isConfirmed) throw damage(facts.reason);
      return facts;
    }
    const { checkpoint } = facts.meta;
    const { required } = this.known;
    if (checkpoint > required + 1) {
      throw damage(`the record is of checkpoint ${required}, the log holds ${checkpoint}`);
    }
    this.lastCheckpoint = checkpoint;
    this.lastSequence = facts.lastSequence;
    return facts;
  }

  /** What a batch says when it goes on where the one before it ended. */
  private continued(found: LogRecord, isConfirmed: boolean): BatchFacts | Stray {
    let facts: BatchFacts;
    try {
      facts = readBatch(found.payload);
    } catch (error) {
      if (error instanceof MalformedBytes) return new Stray(error.message);
      throw error;
    }
    const { checkpoint, storeId } = facts.meta;
    const { record } = this.known;
    if (!Buffer.from(storeId).equals(record.storeId)) return new Stray('a batch of another store');
    // The first confirmed batch follows one that lies in a table already.
    const previous = this.lastCheckpoint ?? (isConfirmed ? undefined : record.checkpoint);
    if (previous !== undefined && checkpoint !== previous + 1) {
      // Newer than anything that can be there: a batch between was lost, this is no old block.
      if (checkpoint > this.known.required + 1) return facts;
      return new Stray(`checkpoint ${checkpoint} follows checkpoint ${previous}`);
    }
    const goesBack = facts.firstSequence <= this.lastSequence;
    return goesBack ? new Stray('sequence numbers go back') : facts;
  }

  private matches(log: LogFile, facts: BatchFacts): void {
    const { record } = this.known;
    if (
      facts.meta.checkpoint === record.checkpoint &&
      facts.lastSequence === record.levelSequence
    ) {
      return;
    }
    const reason =
      `the log holds checkpoint ${facts.meta.checkpoint} where ` +
      `checkpoint ${record.checkpoint} was confirmed`;
    throw new StoreDamageError({ file: log.path, byteOffset: record.logLength, reason });
  }

  /** The logs must reach what is required; what lies in tables is checked after opening. */
  finish(logs: LogFile[]): void {
    const { required } = this.known;
    if (this.lastCheckpoint === undefined || this.lastCheckpoint >= required) return;
    const file = this.stopped?.path ?? logs.at(-1)!.path;
    const why = this.stopped === undefined ? '' : `: ${this.stopped.failure.reason}`;
    const found = `the logs end at ${this.lastCheckpoint}${why}`;
    const reason = `checkpoint ${required} was confirmed, ${found}`;
    const byteOffset = this.stopped?.failure.byteOffset;
    throw new StoreDamageError({
      file,
      reason,
      ...(byteOffset === undefined ? {} : { byteOffset }),
    });
  }
}
