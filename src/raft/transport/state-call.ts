/** The asking side of `POST /raft/v1/state`: any failure, odd answer or late answer is null. */
import type { StateAnswer, StateQuery } from '../group/cluster/peer-port.js';
import { STATE_PATH } from './handshake.js';
import type { PeerAddress, TransportContext } from './options.js';
import { decodeStateAnswer, encodeStateQuery } from './state-codec.js';
import { callPeer } from './unary-call.js';

export const MAX_STATE_BYTES = 16 * 1024;

export interface StateCall {
  readonly answer: Promise<StateAnswer | null>;
  cancel(): void;
}

export function callState(
  peer: PeerAddress,
  query: StateQuery,
  timeoutMs: number,
  context: TransportContext,
): StateCall {
  const body = encodeStateQuery(query);
  const request = { path: STATE_PATH, body, timeoutMs, maxAnswerBytes: MAX_STATE_BYTES };
  const { answer, cancel } = callPeer(peer, request, context);
  const decoded = answer.then((text) => (text === null ? null : decodeStateAnswer(text)));
  return { answer: decoded, cancel };
}
