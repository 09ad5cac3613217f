/**
 * What the model knows: queues, partitions, messages, cursors, leases, dead letters, in plain objects.
 * Ids the broker mints are symbols here, texts that start with `$`; the driver ties each to what the
 * broker answered first. Times are milliseconds of the harness's clock. Imports nothing from the broker.
 */
import type { Rules } from './rules.js';

export interface Options {
  leaseTime: number;
  retryLimit: number;
  deadLetterQueue: boolean;
  dlqAfterMaxRetries: boolean;
  dedupWindowSeconds: number;
  delayedProcessing: number;
  windowBuffer: number;
}

export interface Message {
  readonly offset: number;
  readonly id: string;
  readonly txn: string;
  readonly payload: unknown;
  readonly createdAt: number;
}

export interface Lease {
  readonly id: string;
  readonly first: number;
  readonly end: number;
  expiresAt: number;
  readonly conflated: boolean;
  /** Broker start that granted it. */
  readonly boot: number;
}

export interface Cursor {
  committed: number;
  /** Instant an unregistered group asked to start at; null once it took or settled something. */
  start: number | null;
  lease: Lease | null;
  attemptOffset: number;
  attemptCount: number;
  retries: number;
  released: { readonly id: string; readonly first: number; readonly last: number } | null;
  metadata: string | null;
}

export interface Partition {
  readonly id: string;
  readonly queue: string;
  readonly name: string;
  readonly createdAt: number;
  readonly messages: Message[];
  readonly cursors: Map<string, Cursor>;
}

export interface Registration {
  mode: 'all' | 'new' | 'timestamp';
  instant: number;
  readonly conflation: boolean;
}

export interface Queue {
  readonly name: string;
  options: Options;
  namespace: string;
  task: string;
  readonly partitions: Map<string, Partition>;
  readonly groups: Map<string, Registration>;
}

export interface Letter {
  readonly id: string;
  readonly queue: string;
  readonly partition: string;
  readonly partitionId: string;
  readonly group: string;
  readonly offset: number;
  readonly messageId: string;
  readonly txn: string;
  readonly payload: unknown;
  readonly error: string;
  readonly retryCount: number;
  readonly failedAt: number;
}

export interface State {
  now: number;
  readonly rules: Rules;
  queues: Map<string, Queue>;
  letters: Letter[];
  /** Incarnations of each (queue, partition) so far, for symbols. */
  incarnations: Map<string, number>;
  minted: number;
  /** Starts of the broker so far. */
  boot: number;
}

/** QUEEN_RAFT_MAX_CLOCK_SKEW_MS. */
const MAX_CLOCK_SKEW_MS = 500;

export const QUEUE_MODE = '__QUEUE_MODE__';

export function emptyState(rules: Rules, now: number): State {
  return {
    ...{ now, rules, minted: 0, boot: 0 },
    ...{ queues: new Map(), letters: [], incarnations: new Map() },
  };
}

export function mint(state: State, hint: string): string {
  state.minted += 1;
  return `$${hint}${state.minted}`;
}

/** Everything a rollback has to bring back. */
export function snapshot(state: State): Pick<State, 'queues' | 'letters' | 'incarnations'> {
  const { queues, letters, incarnations } = state;
  return structuredClone({ queues, letters, incarnations });
}

/** §3: what a queue gets that nobody configured. */
export function implicitOptions(rules: Rules): Options {
  return { ...configureDefaults(), leaseTime: rules.implicitLeaseTime };
}

export function configureDefaults(): Options {
  return {
    ...{ leaseTime: 300, retryLimit: 3, deadLetterQueue: true, dlqAfterMaxRetries: true },
    ...{ dedupWindowSeconds: 3600, delayedProcessing: 0, windowBuffer: 0 },
  };
}

/** §2.2: labels of a queue made without configure come from its dotted name. */
export function ensureQueue(state: State, name: string): Queue {
  let queue = state.queues.get(name);
  if (queue === undefined) {
    const [namespace = '', task = ''] = name.split('.');
    queue = { ...bareQueue(name, implicitOptions(state.rules)), namespace, task };
    state.queues.set(name, queue);
  }
  return queue;
}

export function bareQueue(name: string, options: Options): Queue {
  return { name, options, namespace: '', task: '', partitions: new Map(), groups: new Map() };
}

export function ensurePartition(state: State, queue: Queue, name: string): Partition {
  let partition = queue.partitions.get(name);
  if (partition === undefined) {
    const key = `${queue.name}/${name}`;
    const incarnation = (state.incarnations.get(key) ?? 0) + 1;
    state.incarnations.set(key, incarnation);
    const id = `$P:${queue.name}~${name}#${incarnation}`;
    partition = {
      ...{ id, queue: queue.name, name, createdAt: state.now },
      ...{ messages: [], cursors: new Map() },
    };
    queue.partitions.set(name, partition);
  }
  return partition;
}

export function partitionById(state: State, id: string): Partition | undefined {
  for (const queue of state.queues.values()) {
    for (const partition of queue.partitions.values()) if (partition.id === id) return partition;
  }
  return undefined;
}

export function freshCursor(committed: number): Cursor {
  return {
    ...{ committed, start: null, lease: null, attemptOffset: -1, attemptCount: 0, retries: 0 },
    ...{ released: null, metadata: null },
  };
}

export function liveLease(state: State, cursor: Cursor): Lease | null {
  const { lease } = cursor;
  return lease !== null && state.now < lease.expiresAt ? lease : null;
}

/** §2.4: a pop waits longer for the end of a lease that was timed before a restart. */
export function takenUntil(state: State, { boot, expiresAt }: Lease): number {
  return boot === state.boot ? expiresAt : expiresAt + MAX_CLOCK_SKEW_MS;
}

export function lastOffset(partition: Partition): number {
  return partition.messages.length - 1;
}
