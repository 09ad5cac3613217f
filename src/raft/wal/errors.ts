/**
 * The failures of the write-ahead log. Damage names the file, the byte and what the operator can do;
 * a poisoned log never writes again in this process. Neither is ever swallowed or retried here.
 */

/** What is wrong with a file, where, and what to do about it. */
export interface WalDamage {
  readonly file: string;
  readonly byteOffset: number;
  readonly reason: string;
  readonly cure: string;
  /** A member that could not be asked, or could not tell, may mend it later. */
  readonly maybeLater?: boolean;
}

/** The cure when bytes that were promised are gone: only another copy of the data has them. */
export const REPLACE_NODE_CURE =
  'Do not edit the file. In a cluster: start this node again while its peers run, it rebuilds sealed ' +
  'segments from them (as `queen repair` does); if it still refuses, remove this member, empty its ' +
  'data directory and add it again. On a single node: restore a backup.';

/** The cure when files of another directory were mixed into this one. */
export const FOREIGN_FILE_CURE =
  'Put back the files that belong to this data directory, or start with the directory that ' +
  'belongs to this node; never copy single files between directories. ' +
  'If they are lost: remove this member, empty its data directory and add it again.';

/** A file is damaged, missing, or belongs elsewhere. Serving anything would serve less than promised. */
export class WalDamageError extends Error implements WalDamage {
  readonly file: string;
  readonly byteOffset: number;
  readonly reason: string;
  readonly cure: string;
  readonly maybeLater: boolean;

  constructor(damage: WalDamage) {
    super(
      `damaged write-ahead log: ${damage.file}: ${damage.reason} (at byte ${damage.byteOffset}). ` +
        damage.cure,
    );
    this.name = 'WalDamageError';
    this.file = damage.file;
    this.byteOffset = damage.byteOffset;
    this.reason = damage.reason;
    this.cure = damage.cure;
    this.maybeLater = damage.maybeLater ?? false;
  }
}

/** A write or sync failed earlier; the disk may hold anything of it, so nothing is written any more. */
export class WalPoisonedError extends Error {
  constructor(cause: unknown) {
    super(
      'the write-ahead log stopped after a failed write: ' +
        (cause instanceof Error ? cause.message : String(cause)),
      { cause },
    );
    this.name = 'WalPoisonedError';
  }
}

/** The log was closed, or its bounded queue of waiting batches is full; nothing was written. */
export class WalUnavailableError extends Error {
  constructor(readonly reason: 'closed' | 'queue-full') {
    super(`the write-ahead log takes no batch: ${reason}`);
    this.name = 'WalUnavailableError';
  }
}

/** Builds the refusal for a format written by a newer build. */
export function newerFormat(file: string, found: number, supported: number): WalDamageError {
  return new WalDamageError({
    file,
    byteOffset: 0,
    reason: `format version ${found} is newer than version ${supported}, the newest this build reads`,
    cure: `Start the release that wrote version ${found}, or a later one.`,
  });
}

/** No such entry here: above the last index, released and collected, or truncated. */
export class EntryNotFoundError extends RangeError {
  constructor(readonly index: number) {
    super(`entry ${index} is not in the write-ahead log`);
    this.name = 'EntryNotFoundError';
  }
}
