/** Push (messages.md §2.10, §4) in the model. Imports nothing from the broker. */
import {
  ensurePartition,
  ensureQueue,
  lastOffset,
  mint,
  type Message,
  type Partition,
  type State,
} from './state.js';

export interface PushEntry {
  readonly queue: string;
  readonly partition?: string | null;
  readonly transactionId?: string | null;
  readonly payload: unknown;
}

export interface PushVerdict {
  readonly status: 'queued' | 'duplicate';
  /** Repeats of an id inside the call are no stored duplicates. */
  readonly repeated: boolean;
  readonly message: Message;
  readonly partition: Partition;
}

/** The newest message of the id that is still recognised. */
function stored(state: State, partition: Partition | undefined, queue: string, txn: string) {
  const window = state.queues.get(queue)?.options.dedupWindowSeconds ?? 0;
  const found = partition?.messages.filter((message) => message.txn === txn).at(-1);
  if (found === undefined) return undefined;
  return state.rules.duplicate(state.now - found.createdAt, window) ? found : undefined;
}

export function pushAll(state: State, items: readonly PushEntry[]): PushVerdict[] {
  const inCall = new Map<string, PushVerdict>();
  return items.map((item) => {
    const name = item.partition === undefined || item.partition === null ? '' : item.partition;
    const place = name === '' ? 'Default' : name;
    const given = item.transactionId ?? '';
    const key = JSON.stringify([item.queue, place, given]);
    const first = given === '' ? undefined : inCall.get(key);
    if (first !== undefined) return { ...first, status: 'duplicate', repeated: true };
    const verdict = pushOne(state, item, place, given);
    inCall.set(key, verdict);
    return verdict;
  });
}

function pushOne(state: State, item: PushEntry, place: string, given: string): PushVerdict {
  const existing = state.queues.get(item.queue)?.partitions.get(place);
  const before = given === '' ? undefined : stored(state, existing, item.queue, given);
  if (existing !== undefined && before !== undefined) {
    return { status: 'duplicate', repeated: false, message: before, partition: existing };
  }
  const queue = ensureQueue(state, item.queue);
  const partition = ensurePartition(state, queue, place);
  const id = mint(state, 'M');
  const message: Message = {
    ...{ offset: lastOffset(partition) + 1, id, txn: given === '' ? id : given },
    ...{ payload: item.payload, createdAt: state.now },
  };
  partition.messages.push(message);
  return { status: 'queued', repeated: false, message, partition };
}

export function pushRow(index: number, queue: string, verdict: PushVerdict): object {
  const { status, message } = verdict;
  return {
    ...{ index, message_id: message.id, transaction_id: message.txn, queueName: queue },
    ...{ status, offset: message.offset },
  };
}
