/**
 * What the transport is told at start, and its bounds. Every queue, buffer, wait and number of
 * connections of this room has its bound here.
 */
import type { NodeId } from '../../common/ids.js';
import type { GroupLog } from '../group/ports.js';

export interface PeerAddress {
  readonly nodeId: NodeId;
  /** A name or an address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

/** PEM texts; with them both sides prove a certificate of the same authority. */
export interface PeerTls {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  readonly ca: string | Buffer;
}

/** Where these come from; they may be replaced while the port is open. */
export interface PeerTlsSource {
  readonly current: PeerTls;
  /** Calls back with what replaced them; the returned function ends that. */
  watch(changed: (tls: PeerTls) => void): () => void;
}

export interface PeerNetworkOptions {
  readonly self: NodeId;
  /** This node may be among them. */
  readonly peers: readonly PeerAddress[];
  readonly listen: { readonly host: string; readonly port: number };
  /** QUEEN_RAFT_TOKEN; null or blank = none is asked for. */
  readonly token: string | null;
  /** Empty = not known yet; compared only when both sides know theirs. */
  readonly clusterId: Uint8Array;
  readonly directoryId: Uint8Array;
  /** Own raft address as others reach it, `host:port`; they answer a node they do not know yet. */
  readonly advertised?: string | null;
  /** Highest cluster version this build reads. */
  readonly kinds?: number;
  /** Recovery generation; nodes of different ones never talk. 0 = not known yet. */
  readonly generation?: number;
  readonly limits?: Partial<TransportLimits>;
  readonly log: GroupLog;
  readonly tls?: PeerTlsSource;
}

export interface TransportLimits {
  /** 2 x QUEEN_MAX_BODY_BYTES + 1 MiB. */
  readonly maxFrameBytes: number;
  /** QUEEN_RAFT_FWD_INFLIGHT_MB: forwarded commands and pops waiting for the socket, per peer. */
  readonly commandQueueBytes: number;
  /** Appends waiting for the socket, per peer; one append always fits. */
  readonly appendQueueBytes: number;
  /** Everything else on the data stream: answers, replies, views, digests. */
  readonly answerQueueBytes: number;
  readonly controlQueueBytes: number;
  /** Pops of a peer that arrived before it counts as connected. */
  readonly heldPops: number;
  /** Nodes that are no members and have dialled this one. */
  readonly guests: number;
  /** Slowest snapshot: a base plus its size at this rate. */
  readonly snapshotBaseMs: number;
  readonly snapshotBytesPerSecond: number;
  readonly maxConnections: number;
  /** Dial and upgrade, and on the server the time for a whole head. */
  readonly handshakeMs: number;
  readonly aliveEveryMs: number;
  /** A stream that says nothing for so long is dead. */
  readonly silentMs: number;
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_LIMITS: TransportLimits = {
  maxFrameBytes: 129 * MIB,
  commandQueueBytes: 64 * MIB,
  appendQueueBytes: 64 * MIB,
  answerQueueBytes: 16 * MIB,
  controlQueueBytes: MIB,
  heldPops: 4096,
  guests: 16,
  snapshotBaseMs: 60_000,
  snapshotBytesPerSecond: 10 * MIB,
  maxConnections: 256,
  handshakeMs: 2000,
  aliveEveryMs: 500,
  silentMs: 2000,
  backoffMinMs: 50,
  backoffMaxMs: 2000,
};

/** The options as the parts of the room see them. */
export interface TransportContext {
  readonly self: NodeId;
  readonly token: string | null;
  readonly clusterId: string;
  readonly directoryId: string;
  readonly advertised: string;
  readonly kinds: number;
  generation: number;
  /** Random, new with every start of the process. */
  readonly bootId: string;
  readonly limits: TransportLimits;
  readonly tls: PeerTlsSource | undefined;
  readonly warnings: Warnings;
}

/** Log lines that a broken peer could repeat for ever. */
export interface Warnings {
  /** At most one line per event and peer in ten seconds. */
  warn(event: string, peer: NodeId | null, fields?: Readonly<Record<string, unknown>>): void;
}

/** `host:port` or `[v6]:port`, as members write their addresses; null when it is neither. */
export function splitAddress(
  text: string,
): { readonly host: string; readonly port: number } | null {
  const match = /^(?:\[([^\]]+)\]|([^\s:/[\]]+)):(\d{1,5})$/.exec(text);
  if (match === null) return null;
  const [, bracketed, bare = '', digits] = match;
  const port = Number(digits);
  return port < 1 || port > 65_535 ? null : { host: bracketed ?? bare, port };
}
