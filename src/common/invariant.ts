/**
 * Broken invariants. An InvariantViolation means the process can no longer trust its own state: the
 * top of the process logs it with its dump and exits. It is never caught and turned into an answer.
 */

/** What the state looked like when the invariant broke: small, JSON-friendly. */
export type InvariantDump = Readonly<Record<string, unknown>>;

export class InvariantViolation extends Error {
  override readonly name = 'InvariantViolation';

  constructor(
    message: string,
    readonly dump: InvariantDump = {},
  ) {
    super(message);
  }
}

/**
 * Throws InvariantViolation unless `condition` holds. On a hot path pass no dump, or a function, so
 * that nothing is built while the invariant holds.
 */
export function invariant(
  condition: boolean,
  message: string,
  dump?: InvariantDump | (() => InvariantDump),
): asserts condition {
  if (condition) return;
  throw new InvariantViolation(message, typeof dump === 'function' ? dump() : dump);
}

/** The default branch of an exhaustive switch: compiles only when every case is handled. */
export function unreachable(value: never, what: string): never {
  throw new InvariantViolation(`unhandled ${what}`, { value });
}
