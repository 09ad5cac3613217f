/**
 * Entries for a member that repairs its log: one POST names the indexes, the answer is a stream of
 * frames that ends with a mark, so that a cut never passes for the end. Little-endian:
 *
 *   POST /raft/v1/entries  {"ranges":[[from,to],…]}
 *   200: frames of u8 kind (0 not kept, 1 normal, 2 membership, 3 empty, 9 end) | u48 index | u48 term
 *        | u32 size | u32 crc32 of the 17 bytes before and the payload | payload
 *   409 {"error":why}: this member cannot tell
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { once } from 'node:events';
import { crc32 } from 'node:zlib';
import { term } from '../../common/ids.js';
import type { PeerHandlers, SharedEntry } from '../group/cluster/peer-port.js';
import { openRequest } from './dial.js';
import { ENTRIES_PATH, judgeIdentity, ownHeaders } from './handshake.js';
import type { PeerAddress, TransportContext } from './options.js';
import { writePaced } from './paced-write.js';
import { answer } from './peer-server.js';

const HEADER_BYTES = 21;
const CRC_AT = 17;
const END = 9;
const KINDS: readonly SharedEntry['kind'][] = ['empty', 'normal', 'membership', 'empty'];
const MAX_REQUEST_BYTES = 4 * 1024 * 1024;
const MAX_INDEXES = 16 * 1024 * 1024;
const MAX_ANSWER_TEXT = 4096;
/** A member that says nothing for so long is given up. */
const SILENT_MS = 30_000;

/** The asking side. Throws when the member refuses, breaks off, is silent or sends what does not add up. */
export async function* fetchEntries(
  address: PeerAddress,
  indexes: readonly number[],
  context: TransportContext,
): AsyncGenerator<SharedEntry> {
  if (indexes.length === 0) return;
  const body = JSON.stringify({ ranges: rangesOf(indexes) });
  const { host, port } = address;
  const headers = { ...ownHeaders(context), 'content-length': Buffer.byteLength(body) };
  const request = openRequest({ host, port, method: 'POST', path: ENTRIES_PATH, headers }, context);
  request.setTimeout(SILENT_MS, () => request.destroy(new Error('it is silent')));
  const failures: Error[] = [];
  // It fails as a whole also in the middle of the answer, and later, when nobody waits for it.
  request.on('error', (error) => failures.push(error));
  const who = `node ${address.nodeId} (${host}:${port})`;
  try {
    request.end(body);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    if (response.statusCode !== 200) throw new Error(await refusalOf(response));
    yield* readFrames(response);
  } catch (error) {
    const cause = failures[0] ?? error;
    throw new Error(`${who}: ${cause instanceof Error ? cause.message : String(cause)}`);
  } finally {
    request.destroy();
  }
}

async function refusalOf(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of response) {
    text += String(piece);
    if (text.length > MAX_ANSWER_TEXT) break;
  }
  return `answered ${response.statusCode} ${text}`;
}

async function* readFrames(response: IncomingMessage): AsyncGenerator<SharedEntry> {
  let bytes: Buffer = Buffer.alloc(0);
  let pieces: Buffer[] = [];
  let held = 0;
  let needed = HEADER_BYTES;
  for await (const piece of response) {
    pieces.push(piece as Buffer);
    held += (piece as Buffer).length;
    // Gathered only when a frame is whole: a large one comes in many pieces.
    if (held < needed) continue;
    bytes = Buffer.concat(pieces);
    for (;;) {
      needed = bytes.length < HEADER_BYTES ? HEADER_BYTES : HEADER_BYTES + bytes.readUInt32LE(13);
      if (bytes.length < needed) break;
      const entry = decodeFrame(bytes.subarray(0, needed));
      if (entry === null) return;
      yield entry;
      bytes = bytes.subarray(needed);
    }
    pieces = [bytes];
    held = bytes.length;
  }
  throw new Error('the answer broke off');
}

/** Null at the end mark. */
function decodeFrame(frame: Buffer): SharedEntry | null {
  const payload = Buffer.from(frame.subarray(HEADER_BYTES));
  if (crc32(payload, crc32(frame.subarray(0, CRC_AT))) !== frame.readUInt32LE(CRC_AT)) {
    throw new Error('an entry was changed on the way');
  }
  const code = frame[0] as number;
  if (code === END) return null;
  const kind = KINDS[code];
  if (kind === undefined) throw new Error(`entry of unknown kind ${code}`);
  const index = frame.readUIntLE(1, 6);
  const entryTerm = term(frame.readUIntLE(7, 6));
  return { index, term: entryTerm, kind, payload: code === 0 ? null : payload };
}

/** The answering side. */
export async function serveEntries(
  request: IncomingMessage,
  response: ServerResponse,
  { handlers, context }: { readonly handlers: PeerHandlers; readonly context: TransportContext },
): Promise<void> {
  try {
    const peer = judgeIdentity(request.headers, context);
    const objection =
      typeof peer === 'string'
        ? peer
        : handlers.objection(peer.nodeId, Buffer.from(peer.directoryId, 'hex'));
    if (objection !== null) return refuse(response, 403, objection);
    const indexes = await readIndexes(request);
    if (indexes === null) return refuse(response, 400, 'bad_body');
    const entries = handlers.entries(indexes);
    if (typeof entries === 'string') return refuse(response, 409, entries);
    response.writeHead(200, { 'content-type': 'application/octet-stream', connection: 'close' });
    for await (const entry of entries) await writePaced(response, frameOf(entry));
    response.end(frame(END, { index: 0, term: 0, payload: Buffer.alloc(0) }));
  } catch (error) {
    // The caller sees an answer that broke off; this node finds its own damage by itself.
    context.warnings.warn('raft: entries for a repair broke off', null, { why: String(error) });
    response.destroy();
  }
}

function refuse(response: ServerResponse, status: number, why: string): void {
  answer(response, status, JSON.stringify({ error: why }), { connection: 'close' });
}

function frameOf({ index, term: entryTerm, kind, payload }: SharedEntry): Buffer {
  if (payload === null) return frame(0, { index, term: entryTerm, payload: Buffer.alloc(0) });
  return frame(KINDS.lastIndexOf(kind), { index, term: entryTerm, payload });
}

function frame(
  code: number,
  entry: { readonly index: number; readonly term: number; readonly payload: Uint8Array },
): Buffer {
  const { index, term: entryTerm, payload } = entry;
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  bytes[0] = code;
  bytes.writeUIntLE(index, 1, 6);
  bytes.writeUIntLE(entryTerm, 7, 6);
  bytes.writeUInt32LE(payload.length, 13);
  bytes.writeUInt32LE(crc32(payload, crc32(bytes.subarray(0, CRC_AT))), CRC_AT);
  bytes.set(payload, HEADER_BYTES);
  return bytes;
}

function rangesOf(indexes: readonly number[]): [number, number][] {
  const ranges: [number, number][] = [];
  for (const index of indexes) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === index - 1) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges;
}

/** Null when the body is no list of ascending ranges, or names too many. */
async function readIndexes(request: IncomingMessage): Promise<number[] | null> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request) {
    pieces.push(piece as Buffer);
    size += (piece as Buffer).length;
    if (size > MAX_REQUEST_BYTES) return null;
  }
  let ranges: unknown;
  try {
    ranges = (JSON.parse(Buffer.concat(pieces).toString('utf8')) as { ranges?: unknown }).ranges;
  } catch {
    // Not JSON: refused like any other malformed body.
    return null;
  }
  return Array.isArray(ranges) ? indexesOf(ranges) : null;
}

function indexesOf(ranges: readonly unknown[]): number[] | null {
  const indexes: number[] = [];
  for (const range of ranges) {
    if (!Array.isArray(range)) return null;
    const [from, to] = range as unknown[];
    if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return null;
    const [first, last] = [from as number, to as number];
    const follows = first > (indexes.at(-1) ?? 0) && last >= first;
    if (!follows || indexes.length + (last - first) >= MAX_INDEXES) return null;
    for (let index = first; index <= last; index += 1) indexes.push(index);
  }
  return indexes;
}
