/**
 * The ephemeral queues of this process, as its routes use them: the engine, the gate, the neighbours.
 * Starts with the application and stops while the HTTP port still serves, so that what is here can be
 * handed over.
 */
import type { EphemeralNumbers } from '../http/ephemeral-figures.js';
import type { EphemeralEngine } from './engine/ephemeral-engine.js';
import type { EphemeralGate } from './gate.js';
import type { ClusterNeighbours } from './cluster/cluster-neighbours.js';
import { ALONE, type Neighbours } from './cluster/neighbours.js';

/** How long another node may take for a push or an ack. */
export const OWNER_TIMEOUT_MS = 10_000;

export class EphemeralNode {
  readonly neighbours: Neighbours;

  constructor(
    readonly engine: EphemeralEngine,
    readonly gate: EphemeralGate,
    /** Null on a single node. */
    private readonly cluster: ClusterNeighbours | null,
  ) {
    this.neighbours = cluster ?? ALONE;
  }

  start(): void {
    this.engine.start();
    this.cluster?.start();
  }

  /** Hands over what is here; nothing to do without others. */
  async drain(): Promise<void> {
    await this.cluster?.drain();
  }

  async stop(): Promise<void> {
    this.cluster?.stop();
    await this.engine.stop();
  }

  /** For the metrics. */
  numbers(): EphemeralNumbers {
    const { store, desk } = this.engine;
    const { forwarded, wipes, silentPeers } = this.neighbours;
    return {
      bytes: store.account.bytes,
      queues: store.queues,
      parked: desk.parked,
      ...store.counts,
      dropped: store.drops,
      ...{ forwarded, wipes, silentPeers },
    };
  }
}
