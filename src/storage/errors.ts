/**
 * What the store refuses with. A StoreDamageError says where the damage is and what the operator
 * can do; it is never answered by serving less. A StoreWriteError means the disk did not take a
 * checkpoint: the store is poisoned for good, the node stops, the log replays at the next start.
 */

export const CURE_REPLACE =
  'In a cluster replace this node: stop it, remove the member, empty its data directory and let ' +
  'it join again. On a single node restore a backup.';

export interface Damage {
  /** Path of the file the damage was found in; the store directory when LevelDB does not tell. */
  file: string;
  /** Byte position of the damage in the file. */
  byteOffset?: number;
  /** Keyspace byte and whole key of a damaged row. */
  keyspace?: number;
  keyHex?: string;
  reason: string;
  /** What the operator does about it; `CURE_REPLACE` when not given. */
  cure?: string;
}

export class StoreDamageError extends Error {
  readonly code = 'store_damage';
  readonly file: string;
  readonly byteOffset: number | undefined;
  readonly keyspace: number | undefined;
  readonly keyHex: string | undefined;
  readonly reason: string;
  readonly cure: string;

  constructor(damage: Damage) {
    const cure = damage.cure ?? CURE_REPLACE;
    const at = damage.byteOffset === undefined ? '' : ` at byte ${damage.byteOffset}`;
    const row =
      damage.keyHex === undefined ? '' : `, keyspace ${damage.keyspace}, key ${damage.keyHex}`;
    super(`store damaged: ${damage.file}${at}${row}: ${damage.reason}. ${cure}`);
    this.name = 'StoreDamageError';
    this.file = damage.file;
    this.byteOffset = damage.byteOffset;
    this.keyspace = damage.keyspace;
    this.keyHex = damage.keyHex;
    this.reason = damage.reason;
    this.cure = cure;
  }
}

export class StoreWriteError extends Error {
  readonly code = 'store_write_failed';

  constructor(directory: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(
      `checkpoint of ${directory} failed, the store takes no further write: ${why}. ` +
        'Free or repair the disk and restart the node; the raft log replays what is missing.',
      { cause },
    );
    this.name = 'StoreWriteError';
  }
}
