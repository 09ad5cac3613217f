/**
 * The broker as the driver sees it: calls in, answers out, and a nudge after time was moved. Two
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

export interface BrokerPort {
  send(call: Call): Promise<Answer>;
  /** The clock was moved: whatever waits for time has to look at it now. */
  passed(): Promise<void>;
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

/** The dispatcher looks at its clock every 10 ms; a sequence cannot wait for that. */
export function letDispatcherLook(groups: Groups): void {
  const { dispatchers } = groups as unknown as {
    readonly dispatchers: readonly { onTick(): void }[];
  };
  for (const dispatcher of dispatchers) dispatcher.onTick();
}
