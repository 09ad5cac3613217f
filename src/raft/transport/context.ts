/** What the parts of the room are told, made of the options: ids as hex, the token without its blanks. */
import { randomBytes } from 'node:crypto';
import { DEFAULT_LIMITS, type PeerNetworkOptions, type TransportContext } from './options.js';
import { toHex } from './state-codec.js';
import { sampledWarnings } from './warnings.js';

/** Throws when the token cannot be sent in a header. */
export function contextOf(options: Omit<PeerNetworkOptions, 'peers' | 'listen'>): TransportContext {
  const token = options.token?.trim() ?? '';
  if (/[^ -~]/.test(token)) throw new Error('QUEEN_RAFT_TOKEN must be printable ASCII');
  return {
    self: options.self,
    token: token === '' ? null : token,
    clusterId: toHex(options.clusterId),
    directoryId: toHex(options.directoryId),
    advertised: options.advertised ?? '',
    kinds: options.kinds ?? 0,
    generation: options.generation ?? 0,
    bootId: randomBytes(16).toString('hex'),
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    tls: options.tls,
    warnings: sampledWarnings(options.log),
  };
}
