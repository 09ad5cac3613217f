/**
 * Grammar of addresses: `host:port`, the bind host, and the peer list
 * `id=raft_host:port/http_host:port,…` (cluster spec §4.1). Hosts are kept as written, IPv6 in
 * brackets loses them. Nothing is resolved and nothing is trimmed silently into another meaning.
 */
import { isIPv6 } from 'node:net';
import { shown, splitList } from './builders.js';
import { accepted, fatal, type Parsed } from './variable.js';

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** One line of QUEEN_RAFT_PEERS. */
export interface Peer {
  readonly nodeId: number;
  readonly raft: HostPort;
  readonly http: HostPort;
}

/** Node ids travel as u32. */
export const MAX_NODE_ID = 0xffff_ffff;
const MAX_PORT = 65_535;

/** `host:port` or `[v6]:port` with a port from 1; null when it is anything else. */
export function parseHostPort(value: string): HostPort | null {
  const match = /^(?:\[([^\]]+)\]|([^\s:/[\]]+)):(\d{1,5})$/.exec(value.trim());
  if (match === null) return null;
  const [, bracketed, bare = '', digits] = match;
  const port = Number(digits);
  if (port < 1 || port > MAX_PORT) return null;
  if (bracketed !== undefined && !isIPv6(bracketed)) return null;
  return { host: bracketed ?? bare, port };
}

export function formatHostPort({ host, port }: HostPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

export function parseListen(value: string): Parsed<HostPort> {
  const address = parseHostPort(value);
  return address === null ? fatal(`must be host:port, not ${shown(value)}`) : accepted(address);
}

/** A host without a port. */
export function parseBindHost(value: string): Parsed<string> {
  const host = value.trim();
  if (host === '') return fatal('must not be empty');
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  if (isIPv6(bare)) return accepted(bare);
  if (/[:/\s[\]]/.test(host)) return fatal(`must be a host without a port, not ${shown(value)}`);
  return accepted(host);
}

/** A whole node id, or null. */
export function parseNodeId(value: string): number | null {
  if (!/^\d{1,10}$/.test(value)) return null;
  const id = Number(value);
  return id >= 1 && id <= MAX_NODE_ID ? id : null;
}

function parsePeer(item: string): Peer | string {
  const match = /^([^=]*)=([^/]*)\/(.*)$/.exec(item);
  if (match === null) return `needs id=raft_host:port/http_host:port, not ${shown(item)}`;
  const [, idText = '', raftText = '', httpText = ''] = match;
  const nodeId = parseNodeId(idText.trim());
  if (nodeId === null) return `has a bad node id in ${shown(item)}: ids are whole numbers from 1`;
  const raft = parseHostPort(raftText);
  const http = parseHostPort(httpText);
  if (raft === null) return `has a bad raft address in ${shown(item)}: host:port is needed`;
  if (http === null) return `has a bad HTTP address in ${shown(item)}: host:port is needed`;
  return { nodeId, raft, http };
}

/** Peers ordered by id. A repeated id or raft address is refused. */
export function parsePeers(value: string): Parsed<readonly Peer[]> {
  const peers: Peer[] = [];
  const seen = new Set<string>();
  for (const item of splitList(value)) {
    const peer = parsePeer(item);
    if (typeof peer === 'string') return fatal(peer);
    const address = formatHostPort(peer.raft);
    if (seen.has(`id ${peer.nodeId}`)) return fatal(`names node ${peer.nodeId} twice`);
    if (seen.has(address)) return fatal(`names the raft address ${address} twice`);
    seen.add(`id ${peer.nodeId}`).add(address);
    peers.push(Object.freeze(peer));
  }
  peers.sort((a, b) => a.nodeId - b.nodeId);
  return accepted(Object.freeze(peers));
}
