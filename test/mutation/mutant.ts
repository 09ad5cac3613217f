/** Shape of a planted bug and the specs it may name. */

export interface Mutant {
  readonly name: string;
  /** Below src/raft/core. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Jest path patterns, cheapest first; the first that fails kills it. */
  readonly killedBy: readonly string[];
}

export const unit = (name: string): string => `src/raft/core/${name}.spec`;
export const SCRIPTS = 'test/conformance/interaction';
export const VECTORS = 'test/conformance/pure-vectors';
export const SIM = 'test/sim/core';
