/** The asking side of a unary route of the raft port: any failure, odd or late answer is null. */
import { openRequest } from './dial.js';
import { TOKEN_REFUSED, tokenHeader } from './handshake.js';
import type { PeerAddress, TransportContext } from './options.js';

export interface UnaryCall {
  readonly answer: Promise<string | null>;
  cancel(): void;
}

export interface UnaryRequest {
  readonly path: string;
  readonly body: string;
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
}

export function callPeer(
  { nodeId: peer, host, port }: PeerAddress,
  { path, body, timeoutMs, maxAnswerBytes }: UnaryRequest,
  context: TransportContext,
): UnaryCall {
  const headers = {
    ...tokenHeader(context),
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  let cancel = (): void => undefined;
  const answer = new Promise<string | null>((resolve) => {
    const request = openRequest({ host, port, method: 'POST', path, headers }, context);
    const finish = (found: string | null): void => {
      clearTimeout(timer);
      request.destroy();
      resolve(found);
    };
    const timer = setTimeout(() => finish(null), timeoutMs);
    cancel = () => finish(null);
    request.on('error', () => finish(null));
    request.on('response', (response) => {
      if (response.statusCode === 401) context.warnings.warn(TOKEN_REFUSED, peer);
      if (response.statusCode !== 200) return finish(null);
      const parts: string[] = [];
      let size = 0;
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        size += chunk.length;
        if (size > maxAnswerBytes) finish(null);
        else parts.push(chunk);
      });
      response.on('end', () => finish(parts.join('')));
      response.on('error', () => finish(null));
    });
    request.end(body);
  });
  return { answer, cancel: () => cancel() };
}
