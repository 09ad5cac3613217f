/**
 * Bodies of `POST /raft/v1/state`, JSON with ids in hex. Whatever is not exactly a query or an answer
 * reads as null; nothing throws.
 *
 *   query:  {"nodeId":2,"directoryId":"<hex>","lastIndex":17}
 *   answer: {"nodeId":1,"kinds":6,"holdsState":true,"boundDirectoryId":"<hex>"|null,
 *            "acknowledged":17,"term":3}
 */
import { logIndex, nodeId, term } from '../../common/ids.js';
import type { StateAnswer, StateQuery } from '../group/cluster/peer-port.js';

const MAX_ID_BYTES = 64;
const MAX_NODE_ID = 0xffff_ffff;
const HEX = /^([0-9a-f]{2})*$/;

export const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

function fromHex(value: unknown): Uint8Array | null {
  if (typeof value !== 'string' || value.length > 2 * MAX_ID_BYTES || !HEX.test(value)) return null;
  return new Uint8Array(Buffer.from(value, 'hex'));
}

const isWhole = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    return value as Record<string, unknown>;
  } catch {
    // Not JSON: the caller refuses it.
    return null;
  }
}

export function encodeStateQuery(query: StateQuery): string {
  return JSON.stringify({ ...query, directoryId: toHex(query.directoryId) });
}

export function decodeStateQuery(text: string): StateQuery | null {
  const fields = parseObject(text);
  if (fields === null) return null;
  const directoryId = fromHex(fields['directoryId']);
  const { nodeId: id, lastIndex } = fields;
  if (directoryId === null || !isWhole(id) || !isWhole(lastIndex)) return null;
  if (id < 1 || id > MAX_NODE_ID) return null;
  return { nodeId: nodeId(id), directoryId, lastIndex: logIndex(lastIndex) };
}

export function encodeStateAnswer(answer: StateAnswer): string {
  const { boundDirectoryId: bound } = answer;
  return JSON.stringify({ ...answer, boundDirectoryId: bound === null ? null : toHex(bound) });
}

export function decodeStateAnswer(text: string): StateAnswer | null {
  const fields = parseObject(text);
  if (fields === null) return null;
  const { holdsState, boundDirectoryId: bound, acknowledged, term: at } = fields;
  const boundDirectoryId = bound === null ? null : fromHex(bound);
  if (typeof holdsState !== 'boolean' || (bound !== null && boundDirectoryId === null)) return null;
  const { nodeId: id, kinds } = fields;
  if (!isWhole(acknowledged) || !isWhole(at) || !isWhole(id) || !isWhole(kinds)) return null;
  return {
    ...{ nodeId: nodeId(id), kinds, holdsState, boundDirectoryId },
    acknowledged: logIndex(acknowledged),
    term: term(at),
  };
}
