/**
 * Thrown by a read of log bytes that nothing refers to any more: whoever named the place saw a state
 * that is past (a dead letter purged meanwhile). Not damage: missing bytes of anything live are.
 */
export class RecordGoneError extends Error {
  override readonly name = 'RecordGoneError';
}
