/**
 * A snapshot over the raft port: one POST with the bytes of snapshot-framing.ts.
 *
 *   answer: 200 {"verdict":"staged"|"unneeded"|"refused"}; anything else counts as failed
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import type { PeerHandlers } from '../group/cluster/peer-port.js';
import type { SnapshotStream, SnapshotVerdict } from '../group/cluster/snapshot-port.js';
import { openRequest } from './dial.js';
import { ownHeaders, SNAPSHOT_PATH } from './handshake.js';
import type { PeerAddress, TransportContext } from './options.js';
import { writePaced } from './paced-write.js';
import { answer } from './peer-server.js';
import { openSnapshotFrames, snapshotFrames } from './snapshot-framing.js';

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

async function writeBody(request: Writable, stream: SnapshotStream): Promise<void> {
  for await (const piece of snapshotFrames(stream)) await writePaced(request, piece);
  request.end();
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
  try {
    const opened = await openSnapshotFrames(request as AsyncIterable<Uint8Array>);
    if (opened === null) {
      request.destroy();
      return;
    }
    const verdict = await handlers.snapshot(opened.offer, opened.bytes);
    answer(response, 200, JSON.stringify({ verdict }), { connection: 'close' });
  } catch {
    // Broken off, in the header or behind it, or not to be staged here: the sender hears nothing.
    request.destroy();
  }
}
