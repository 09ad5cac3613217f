/**
 * The one way the core fails: a broken invariant throws InvariantViolation with a dump of the state
 * it was found in. The process must stop on it; catching it to go on would turn a bug into data loss.
 */

export class InvariantViolation extends Error {
  /** Plain data, ready to be logged. */
  readonly dump: Readonly<Record<string, unknown>>;

  constructor(rule: string, dump: Readonly<Record<string, unknown>>) {
    super(`raft invariant broken: ${rule} ${JSON.stringify(dump)}`);
    this.name = 'InvariantViolation';
    this.dump = dump;
  }
}

/** Dump is a function so that the healthy path builds nothing. */
export function invariant(
  holds: boolean,
  rule: string,
  dump: () => Readonly<Record<string, unknown>>,
): asserts holds {
  if (!holds) throw new InvariantViolation(rule, dump());
}
