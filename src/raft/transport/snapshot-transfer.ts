/**
 * A snapshot over the raft port: one POST whose body is announced by a header and closed by a digest,
 * so that neither a cut nor a changed byte passes for a snapshot.
 *
 *   "QSNP" | u8 version = 1 | u32 LE header size | header, JSON | bytes of the files in order
 *   | SHA-256 of those bytes
 *
 *   answer: 200 {"verdict":"staged"|"unneeded"|"refused"}; anything else counts as failed
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { once } from 'node:events';
import { logIndex, nodeId, term } from '../../common/ids.js';
import type { PeerHandlers } from '../group/cluster/peer-port.js';
import type {
  SnapshotFile,
  SnapshotOffer,
  SnapshotStream,
  SnapshotVerdict,
} from '../group/cluster/snapshot-port.js';
import { openRequest } from './dial.js';
import { ownHeaders, SNAPSHOT_PATH } from './handshake.js';
import type { PeerAddress, TransportContext } from './options.js';
import { answer } from './peer-server.js';

const MAGIC = Buffer.from('QSNP', 'latin1');
const VERSION = 1;
const FRAME_BYTES = 9;
const DIGEST_BYTES = 32;
const MAX_HEADER_BYTES = 16 * 1024 * 1024;
const MAX_ANSWER_BYTES = 1024;
const VERDICTS: readonly string[] = ['staged', 'unneeded', 'refused'];

export interface SnapshotCall {
  readonly verdict: Promise<SnapshotVerdict | 'failed'>;
  cancel(): void;
}

export function sendSnapshot(
  address: PeerAddress,
  stream: SnapshotStream,
  context: TransportContext,
): SnapshotCall {
  const { snapshotBaseMs, snapshotBytesPerSecond } = context.limits;
  const timeoutMs = snapshotBaseMs + (stream.sizeBytes / snapshotBytesPerSecond) * 1000;
  let cancel = (): void => undefined;
  const verdict = new Promise<SnapshotVerdict | 'failed'>((resolve) => {
    const request = openRequest(
      {
        ...{ host: address.host, port: address.port, method: 'POST', path: SNAPSHOT_PATH },
        headers: { ...ownHeaders(context), 'content-type': 'application/octet-stream' },
      },
      context,
    );
    const finish = (found: SnapshotVerdict | 'failed'): void => {
      clearTimeout(timer);
      request.destroy();
      resolve(found);
    };
    const timer = setTimeout(() => finish('failed'), timeoutMs);
    cancel = () => finish('failed');
    request.on('error', () => finish('failed'));
    request.on('response', (response) => {
      void readVerdict(response).then(finish, () => finish('failed'));
    });
    writeBody(request, stream).catch(() => finish('failed'));
  });
  return { verdict, cancel: () => cancel() };
}

type Sink = ReturnType<typeof openRequest>;

async function writeBody(request: Sink, stream: SnapshotStream): Promise<void> {
  const header = Buffer.from(JSON.stringify(stream.offer), 'utf8');
  const frame = Buffer.alloc(FRAME_BYTES);
  MAGIC.copy(frame);
  frame.writeUInt8(VERSION, 4);
  frame.writeUInt32LE(header.length, 5);
  await write(request, Buffer.concat([frame, header]));
  const digest = createHash('sha256');
  for await (const piece of stream.bytes()) {
    digest.update(piece);
    await write(request, piece);
  }
  request.end(digest.digest());
}

async function write(request: Sink, bytes: Uint8Array): Promise<void> {
  if (request.destroyed) throw new Error('the connection is gone');
  if (request.write(bytes)) return;
  await Promise.race([once(request, 'drain'), once(request, 'close')]);
}

async function readVerdict(response: IncomingMessage): Promise<SnapshotVerdict | 'failed'> {
  let text = '';
  response.setEncoding('utf8');
  for await (const piece of response) {
    text += String(piece);
    if (text.length > MAX_ANSWER_BYTES) return 'failed';
  }
  if (response.statusCode !== 200) return 'failed';
  const { verdict } = JSON.parse(text) as { verdict?: unknown };
  return VERDICTS.includes(String(verdict)) ? (verdict as SnapshotVerdict) : 'failed';
}

/** Reads an announced snapshot and hands it on; a body that lies or breaks off makes no verdict. */
export async function receiveSnapshot(
  request: IncomingMessage,
  response: ServerResponse,
  handlers: Pick<PeerHandlers, 'snapshot'>,
): Promise<void> {
  const body = new Body(request);
  const offer = await readOffer(body);
  if (offer === null) {
    request.destroy();
    return;
  }
  const total = offer.files.reduce((sum, file) => sum + file.sizeBytes, 0);
  try {
    const verdict = await handlers.snapshot(offer, body.files(total));
    answer(response, 200, JSON.stringify({ verdict }), { connection: 'close' });
  } catch {
    request.destroy();
  }
}

async function readOffer(body: Body): Promise<SnapshotOffer | null> {
  const frame = await body.take(FRAME_BYTES);
  if (frame === null || !frame.subarray(0, 4).equals(MAGIC) || frame[4] !== VERSION) return null;
  const size = frame.readUInt32LE(5);
  if (size > MAX_HEADER_BYTES) return null;
  const header = await body.take(size);
  if (header === null) return null;
  try {
    return offerOf(JSON.parse(header.toString('utf8')));
  } catch {
    // Not JSON: refused like any other malformed header.
    return null;
  }
}

function offerOf(value: unknown): SnapshotOffer | null {
  if (typeof value !== 'object' || value === null) return null;
  const fields = value as Record<string, unknown>;
  const numbers = ['from', 'leaderTerm', 'index', 'term', 'clusterVersion'].map(
    (name) => fields[name],
  );
  if (!numbers.every(isWhole) || !Array.isArray(fields['files'])) return null;
  const files: SnapshotFile[] = [];
  for (const file of fields['files'] as { path?: unknown; sizeBytes?: unknown }[]) {
    if (typeof file?.path !== 'string' || !isWhole(file.sizeBytes)) return null;
    files.push({ path: file.path, sizeBytes: file.sizeBytes });
  }
  const [from = 0, leaderTerm = 0, index = 0, at = 0, clusterVersion = 0] = numbers;
  return {
    ...{ from: nodeId(from), leaderTerm: term(leaderTerm), index: logIndex(index) },
    ...{ term: term(at), clusterVersion, files },
  };
}

const isWhole = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

/** The body of a request, read piece by piece. */
class Body {
  private readonly pieces: AsyncIterator<Buffer>;
  private rest: Buffer = Buffer.alloc(0);

  constructor(request: IncomingMessage) {
    this.pieces = request[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** Exactly so many bytes, null when the body ends before. */
  async take(count: number): Promise<Buffer | null> {
    const parts: Buffer[] = [];
    let left = count;
    while (left > 0) {
      if (this.rest.length === 0 && !(await this.more())) return null;
      const part = this.rest.subarray(0, left);
      this.rest = this.rest.subarray(part.length);
      parts.push(part);
      left -= part.length;
    }
    return Buffer.concat(parts, count);
  }

  /** The bytes of the files; throws when the digest behind them does not fit. */
  async *files(total: number): AsyncGenerator<Uint8Array> {
    const digest = createHash('sha256');
    let left = total;
    while (left > 0) {
      if (this.rest.length === 0 && !(await this.more())) throw new Error('the snapshot is cut');
      const piece = this.rest.subarray(0, left);
      this.rest = this.rest.subarray(piece.length);
      left -= piece.length;
      digest.update(piece);
      yield piece;
    }
    const told = await this.take(DIGEST_BYTES);
    if (told === null || !told.equals(digest.digest())) {
      throw new Error('the digest of the snapshot does not fit its bytes');
    }
  }

  private async more(): Promise<boolean> {
    const next = await this.pieces.next();
    if (next.done === true) return false;
    this.rest = next.value;
    return true;
  }
}
