/** Entrance of the transport room: the peers over real sockets, and what they are told at start. */
export { DEFAULT_LIMITS } from './options.js';
export type {
  PeerAddress,
  PeerNetworkOptions,
  PeerTls,
  PeerTlsSource,
  TransportLimits,
} from './options.js';
export { openSnapshotFrames, snapshotFrames } from './snapshot-framing.js';
export { peersOf, PeerNetwork, type QueueFigures } from './peer-network.js';
export { contextOf } from './context.js';
export { fetchEntries } from './entry-transfer.js';
export { TOKEN_HEADER } from './handshake.js';
