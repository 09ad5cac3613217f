/**
 * The handshake of a stream: an HTTP upgrade whose headers say who dials, from which start of the
 * process and in which protocol. The answer names the node that was reached, so that a wrong address
 * is noticed. The token is judged first, in constant time, before anything else is looked at.
 *
 *   GET /raft/v1/stream?kind=control|data    upgrade: queen-raft
 *   x-queen-raft-token, -cluster, -node, -directory, -protocol, -boot, -address, -kinds, -generation
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { nodeId, type NodeId } from '../../common/ids.js';
import type { TransportContext } from './options.js';

export const PROTOCOL = 1;
export const UPGRADE = 'queen-raft';
export const STREAM_PATH = '/raft/v1/stream';
export const STATE_PATH = '/raft/v1/state';
/** Followed by the name of the question. */
export const ASK_PATH = '/raft/v1/ask/';
export const SNAPSHOT_PATH = '/raft/v1/snapshot';
export const ENTRIES_PATH = '/raft/v1/entries';
export const TOKEN_HEADER = 'x-queen-raft-token';
export const TOKEN_REFUSED = "refused this node's QUEEN_RAFT_TOKEN";

const CLUSTER = 'x-queen-raft-cluster';
const NODE = 'x-queen-raft-node';
const DIRECTORY = 'x-queen-raft-directory';
const PROTOCOL_HEADER = 'x-queen-raft-protocol';
const BOOT = 'x-queen-raft-boot';
const ADDRESS = 'x-queen-raft-address';
const KINDS = 'x-queen-raft-kinds';
const GENERATION = 'x-queen-raft-generation';

const MAX_ID_CHARS = 128;
const MAX_ADDRESS_CHARS = 300;
const HEX = /^[0-9a-f]*$/;
const WHOLE = /^\d{1,15}$/;

export type StreamKind = 'control' | 'data';
export const STREAM_KINDS: readonly StreamKind[] = ['control', 'data'];

/** Who stands at the other end. */
export interface PeerIdentity {
  readonly nodeId: NodeId;
  readonly clusterId: string;
  readonly directoryId: string;
  readonly bootId: string;
  /** `host:port` of its raft port, empty when it tells none. */
  readonly address: string;
  /** Highest cluster version its build reads, 0 when it does not tell. */
  readonly kinds: number;
}

/** Hashing makes the lengths equal, so nothing about the secret shows in the time taken. */
export function sameToken(expected: string | null, given: string | undefined): boolean {
  if (expected === null) return true;
  const digest = (text: string): Buffer => createHash('sha256').update(text, 'latin1').digest();
  return timingSafeEqual(digest(expected), digest(given ?? '')) && given !== undefined;
}

export function tokenOf(headers: IncomingHttpHeaders): string | undefined {
  const value = headers[TOKEN_HEADER];
  return Array.isArray(value) ? undefined : value;
}

export function ownHeaders(context: TransportContext): Record<string, string> {
  return { ...identityHeaders(context), ...tokenHeader(context) };
}

export function tokenHeader({ token }: TransportContext): Record<string, string> {
  return token === null ? {} : { [TOKEN_HEADER]: token };
}

/** Without the token: an answer never carries it. */
export function identityHeaders(context: TransportContext): Record<string, string> {
  return {
    [CLUSTER]: context.clusterId,
    [NODE]: String(context.self),
    [DIRECTORY]: context.directoryId,
    [PROTOCOL_HEADER]: String(PROTOCOL),
    [BOOT]: context.bootId,
    [ADDRESS]: context.advertised,
    [KINDS]: String(context.kinds),
    [GENERATION]: String(context.generation),
  };
}

/** What is wrong with the other end, or who it is. */
export function judgeIdentity(
  headers: IncomingHttpHeaders,
  context: TransportContext,
): PeerIdentity | string {
  const text = (name: string): string => {
    const value = headers[name];
    return typeof value === 'string' ? value : '';
  };
  if (text(PROTOCOL_HEADER) !== String(PROTOCOL)) return 'speaks another version of the protocol';
  const id = Number(text(NODE));
  if (!/^\d{1,10}$/.test(text(NODE)) || id < 1 || id > 0xffff_ffff) return 'has no valid node id';
  const ids = [text(CLUSTER), text(DIRECTORY), text(BOOT)];
  if (ids.some((hex) => hex.length > MAX_ID_CHARS || !HEX.test(hex))) return 'has malformed ids';
  const [clusterId = '', directoryId = '', bootId = ''] = ids;
  if (bootId === '') return 'has no boot id';
  if (clusterId !== '' && context.clusterId !== '' && clusterId !== context.clusterId) {
    return 'belongs to another cluster';
  }
  if (id === context.self) return 'has the node id of this node';
  const address = text(ADDRESS);
  if (address.length > MAX_ADDRESS_CHARS || /[^!-~]/.test(address))
    return 'has a malformed address';
  const generation = wholeOf(text(GENERATION));
  if (generation > 0 && context.generation > 0 && generation !== context.generation) {
    return `is of recovery generation ${generation}, this node is of ${context.generation}`;
  }
  const kinds = wholeOf(text(KINDS));
  return { nodeId: nodeId(id), clusterId, directoryId, bootId, address, kinds };
}

function wholeOf(text: string): number {
  return WHOLE.test(text) ? Number(text) : 0;
}

export function streamKindOf(url: string): StreamKind | null {
  const [path, query = ''] = url.split('?', 2);
  if (path !== STREAM_PATH) return null;
  return STREAM_KINDS.find((kind) => query === `kind=${kind}`) ?? null;
}
