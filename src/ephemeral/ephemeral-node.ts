/**
 * The ephemeral queues of this process, as its routes use them: the engine, the gate, the neighbours.
 * Starts with the application and stops while the HTTP port still serves, so that what is here can be
 * handed over.
 */
import type { EphemeralNumbers } from '../http/ephemeral-figures.js';
import type { EphemeralEngine } from './engine/ephemeral-engine.js';
import type { EphemeralGate } from './gate.js';
import type { Neighbours } from './cluster/neighbours.js';

/** How long another node may take for a push or an ack. */
export const OWNER_TIMEOUT_MS = 10_000;

export class EphemeralNode {
  constructor(
    readonly engine: EphemeralEngine,
    readonly gate: EphemeralGate,
    readonly neighbours: Neighbours,
  ) {}

  /** For the metrics. */
  numbers(): EphemeralNumbers {
    const { store, desk } = this.engine;
    const { forwarded, wipes } = this.neighbours;
    return {
      bytes: store.account.bytes,
      queues: store.queues,
      parked: desk.parked,
      ...store.counts,
      dropped: store.drops,
      ...{ forwarded, wipes },
    };
  }
}
