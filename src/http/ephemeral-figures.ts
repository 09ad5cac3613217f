/**
 * Numbers of this node's ephemeral queues, for the metrics: counted where they happen, read when somebody
 * scrapes. The feature fills the source in when it starts; until then everything is 0.
 */
export interface EphemeralNumbers {
  readonly bytes: number;
  readonly queues: number;
  readonly parked: number;
  readonly pushed: number;
  readonly popped: number;
  readonly acked: number;
  readonly dropped: { readonly bounds: number; readonly ttl: number; readonly retry: number };
  /** Requests sent on to another node. */
  readonly forwarded: number;
  /** Partitions whose contents were lost: not handed over, or their node died. */
  readonly wipes: number;
  /** Members that the leader hears and that do not answer this node's probes. */
  readonly silentPeers: number;
}

const NOTHING: EphemeralNumbers = {
  ...{ bytes: 0, queues: 0, parked: 0, pushed: 0, popped: 0, acked: 0 },
  ...{ forwarded: 0, wipes: 0, silentPeers: 0 },
  dropped: { bounds: 0, ttl: 0, retry: 0 },
};

export class EphemeralFigures {
  source: () => EphemeralNumbers = () => NOTHING;
}
