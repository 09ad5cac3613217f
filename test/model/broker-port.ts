/**
 * The broker as the driver sees it: calls in, answers out, and a restart. Two
 * implementations: the handlers in this process, and the real application over HTTP.
 */
import type { Groups } from '../../src/raft/index.js';
import type { Answer } from './answers.js';

export interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  /** UUID; every sequence has a tenant of its own. */
  readonly tenant: string;
  readonly body?: unknown;
}

/** A pop that waits at the broker. */
export interface Waiting {
  readonly answer: Promise<Answer>;
  /** The client goes away: the answer, if there is one, reaches nobody. */
  leave(): void;
}

export interface BrokerPort {
  send(call: Call): Promise<Answer>;
  wait(call: Call): Waiting;
  /** Pops that wait at the dispatcher: registered, and found nothing. */
  parked(): number;
  /** Stops and starts on the same data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Retention and other sweeps stay out of the way: the model has none. */
export const BROKER_ENV: Readonly<Record<string, string>> = {
  PORT: '0',
  QUEEN_BIND_ADDR: '127.0.0.1',
  QUEEN_TENANCY_HEADER: 'true',
  QUEEN_KV_TRUSTED_PROXY: 'true',
  RETENTION_INTERVAL: '86400000',
};

export function parkedAt(groups: Groups): number {
  const { dispatchers } = groups as unknown as {
    readonly dispatchers: readonly { figures(): { readonly parked: number } }[];
  };
  return dispatchers.reduce((sum, dispatcher) => sum + dispatcher.figures().parked, 0);
}
