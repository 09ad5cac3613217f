/** One case of the recovery table: how its cluster starts, and what is done to it. */
import type { ClusterOptions } from '../../support/cluster-processes.js';
import type { Scene } from './scene.js';
import type { LedgerOptions } from './write-ledger.js';

export interface Rehearsal {
  readonly name: string;
  readonly options?: ClusterOptions;
  readonly writes?: LedgerOptions;
  /** What was seen, one line for the table. Throws (expect) when it is not what the table promises. */
  readonly run: (scene: Scene) => Promise<string>;
}
