/** Transactions of acks, pushes and positions (messages.md §8). Imports nothing from the broker. */
import { settleAll, type AckEntry } from './acks.js';
import { startsWith, TEXT, type Expected } from './answers.js';
import { pushAll, type PushEntry } from './pushes.js';
import { ensurePartition, freshCursor, QUEUE_MODE, snapshot, type State } from './state.js';

export interface PositionEntry {
  readonly queue: string;
  readonly partition: string;
  readonly consumerGroup: string;
  readonly offset: number | null;
  readonly metadata?: string;
  readonly subscriptionMode?: string;
}

export interface TransactionBody {
  readonly operations: readonly (
    | ({ readonly type: 'ack'; readonly consumerGroup?: string } & AckEntry)
    | { readonly type: 'push'; readonly items: readonly PushEntry[] }
  )[];
  readonly requiredLeases: readonly string[];
  readonly positions: readonly PositionEntry[];
}

class Rollback extends Error {
  constructor(
    readonly reason: string,
    readonly text: unknown,
  ) {
    super(reason);
  }
}

export function transaction(state: State, body: TransactionBody): Expected {
  if (body.operations.length === 0 && body.positions.length === 0) {
    return rolledBack('bad_request', TEXT);
  }
  const before = snapshot(state);
  try {
    const results = commit(state, body);
    return {
      status: 200,
      body: { transactionId: TEXT, success: true, results },
    };
  } catch (error) {
    if (!(error instanceof Rollback)) throw error;
    if (state.rules.rollbackRestores) Object.assign(state, before);
    return rolledBack(error.reason, error.text);
  }
}

function rolledBack(reason: string, error: unknown): Expected {
  const body = { transactionId: TEXT, success: false, reason, error, results: [] };
  return { status: 200, body };
}

function commit(state: State, body: TransactionBody): object[] {
  const acked = commitAcks(state, body);
  const pushed = commitPushes(state, body);
  const rows: object[] = [];
  for (const operation of body.operations) {
    const next =
      operation.type === 'ack' ? acked.splice(0, 1) : pushed.splice(0, operation.items.length);
    rows.push(...next);
  }
  const placed = body.positions.map((entry, opIndex) => {
    commitPosition(state, entry);
    return { type: 'position', opIndex, success: true };
  });
  return [...rows, ...placed].map((row, index) => ({ index, ...row }));
}

/** §8.2: the lease of an ack that names none. */
function commonLease({ operations, requiredLeases }: TransactionBody): string {
  const ids = new Set(requiredLeases.filter((id) => id !== ''));
  for (const operation of operations) {
    if (operation.type === 'ack' && (operation.leaseId ?? '') !== '')
      ids.add(operation.leaseId ?? '');
  }
  const [only = ''] = ids;
  return ids.size === 1 ? only : '';
}

function commitAcks(state: State, body: TransactionBody): object[] {
  const common = commonLease(body);
  const acks = body.operations.flatMap((operation) => {
    if (operation.type !== 'ack') return [];
    const leaseId = (operation.leaseId ?? '') === '' ? common : operation.leaseId;
    const named = operation.consumerGroup ?? '';
    return [{ ...operation, leaseId, group: named === '' ? QUEUE_MODE : named }] as const;
  });
  const verdicts = settleAll(
    state,
    acks.map(({ leaseId, ...ack }) => ({ ...ack, ...(leaseId === undefined ? {} : { leaseId }) })),
    false,
  );
  return verdicts.map(({ success, noop, filed }, i) => {
    const ack = acks[i];
    if (!success || (noop && (ack?.leaseId ?? '') !== '')) {
      throw new Rollback('rejected_ack', startsWith('QTXN'));
    }
    const transactionId = ack?.transactionId;
    return { type: 'ack', success: true, transactionId, error: null, dlq: filed };
  });
}

function commitPushes(state: State, body: TransactionBody): object[] {
  const items = body.operations.flatMap((operation) =>
    operation.type === 'push' ? operation.items : [],
  );
  return pushAll(state, items).map(({ status, repeated, message }, i) => {
    if (status === 'duplicate' && !repeated) throw new Rollback('duplicate', startsWith('QDUP'));
    return {
      ...{ type: 'push', success: true, transactionId: message.txn, messageId: message.id },
      ...(repeated ? { duplicate: true } : {}),
      queueName: items[i]?.queue,
    };
  });
}

/** A position drops the group's lease on the partition and starts its counts anew. */
function commitPosition(state: State, entry: PositionEntry): void {
  const queue = state.queues.get(entry.queue);
  if (queue === undefined) throw new Rollback('queue_not_found', TEXT);
  const { consumerGroup: group, offset } = entry;
  if (offset === null) {
    queue.partitions.get(entry.partition)?.cursors.delete(group);
    return;
  }
  if (group !== QUEUE_MODE && !queue.groups.has(group)) {
    const mode = state.rules.modeIsNew(entry.subscriptionMode ?? 'new') ? 'new' : 'all';
    queue.groups.set(group, { mode, instant: state.now, conflation: false });
  }
  const partition = ensurePartition(state, queue, entry.partition);
  const cursor = partition.cursors.get(group);
  const metadata = entry.metadata ?? null;
  const isThere = cursor?.committed === offset - 1 && cursor.start === null;
  if (isThere && cursor.metadata === metadata) return;
  const released = cursor?.released ?? null;
  partition.cursors.set(group, { ...freshCursor(offset - 1), metadata, released });
}
