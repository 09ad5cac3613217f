/**
 * The bytes of an announced snapshot, on the raft port and in a backup's download: a header in front,
 * a digest behind, so that neither a cut nor a changed byte passes for a snapshot.
 *
 *   "QSNP" | u8 version = 1 | u32 LE header size | header, JSON | bytes of the files in order
 *   | SHA-256 of those bytes
 */
import { createHash } from 'node:crypto';
import { logIndex, nodeId, term } from '../../common/ids.js';
import type {
  SnapshotFile,
  SnapshotOffer,
  SnapshotStream,
} from '../group/cluster/snapshot-port.js';

const MAGIC = Buffer.from('QSNP', 'latin1');
const VERSION = 1;
const FRAME_BYTES = 9;
const DIGEST_BYTES = 32;
const MAX_HEADER_BYTES = 16 * 1024 * 1024;

export async function* snapshotFrames(
  stream: Pick<SnapshotStream, 'offer' | 'bytes'>,
): AsyncGenerator<Uint8Array> {
  const header = Buffer.from(JSON.stringify(stream.offer), 'utf8');
  const frame = Buffer.alloc(FRAME_BYTES);
  MAGIC.copy(frame);
  frame.writeUInt8(VERSION, 4);
  frame.writeUInt32LE(header.length, 5);
  yield Buffer.concat([frame, header]);
  const digest = createHash('sha256');
  for await (const piece of stream.bytes()) {
    digest.update(piece);
    yield piece;
  }
  yield digest.digest();
}

/** Null when the beginning is not that of a snapshot. `bytes` throws at its end when it was not whole. */
export async function openSnapshotFrames(
  source: AsyncIterable<Uint8Array>,
): Promise<{ readonly offer: SnapshotOffer; readonly bytes: AsyncIterable<Uint8Array> } | null> {
  const body = new Body(source);
  const offer = await readOffer(body);
  if (offer === null) return null;
  const total = offer.files.reduce((sum, file) => sum + file.sizeBytes, 0);
  return { offer, bytes: body.files(total) };
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

/** A body, read piece by piece. */
class Body {
  private readonly pieces: AsyncIterator<Uint8Array>;
  private rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.pieces = source[Symbol.asyncIterator]();
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
    this.rest = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
    return true;
  }
}
