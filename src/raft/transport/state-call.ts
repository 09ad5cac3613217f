/** The asking side of `POST /raft/v1/state`: any failure, odd answer or late answer is null. */
import type { StateAnswer, StateQuery } from '../group/cluster/peer-port.js';
import { openRequest } from './dial.js';
import { STATE_PATH, TOKEN_REFUSED, tokenHeader } from './handshake.js';
import type { PeerAddress, TransportContext } from './options.js';
import { decodeStateAnswer, encodeStateQuery } from './state-codec.js';

export const MAX_STATE_BYTES = 16 * 1024;

export interface StateCall {
  readonly answer: Promise<StateAnswer | null>;
  cancel(): void;
}

export function callState(
  { nodeId: peer, host, port }: PeerAddress,
  query: StateQuery,
  timeoutMs: number,
  context: TransportContext,
): StateCall {
  const body = encodeStateQuery(query);
  const headers = {
    ...tokenHeader(context),
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  let cancel = (): void => undefined;
  const answer = new Promise<StateAnswer | null>((resolve) => {
    const request = openRequest({ host, port, method: 'POST', path: STATE_PATH, headers }, context);
    const finish = (found: StateAnswer | null): void => {
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
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        if (text.length > MAX_STATE_BYTES) finish(null);
      });
      response.on('end', () => finish(decodeStateAnswer(text)));
      response.on('error', () => finish(null));
    });
    request.end(body);
  });
  return { answer, cancel: () => cancel() };
}
