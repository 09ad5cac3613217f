/**
 * Errors of the write-ahead log, told apart by name: a group knows the log by its port alone, and test
 * doubles of it throw errors of their own.
 */

/** The log does not hold the entry: what it let go of has nothing live in it. */
export function isGone(error: unknown): boolean {
  return error instanceof Error && error.name === 'EntryNotFoundError';
}

/** A file of the log does not hold what was written. */
export function isDamage(error: unknown): error is Error {
  return error instanceof Error && error.name === 'WalDamageError';
}
