/** Dead letters: list, purge, delete, replay (messages.md §11.3, §11.4). Imports nothing from the broker. */
import { TEXT, time, unordered, type Expected } from './answers.js';
import { pushAll, pushRow } from './pushes.js';
import type { Letter, State } from './state.js';

export interface LetterFilter {
  readonly queue?: string;
  readonly group?: string;
}

function matching(state: State, { queue, group }: LetterFilter): Letter[] {
  return state.letters.filter(
    (letter) =>
      (queue === undefined || letter.queue === queue) &&
      (group === undefined || letter.group === group),
  );
}

/** Newest failure first; those of one instant in any order. */
export function letters(state: State, filter: LetterFilter): Expected {
  const found = matching(state, filter);
  const rows = found.map((letter) => ({
    ...{ id: letter.id, queue: letter.queue, partition: letter.partition },
    ...{ partitionId: letter.partitionId, consumerGroup: letter.group, offset: letter.offset },
    ...{ messageId: letter.messageId, transactionId: letter.txn, data: letter.payload },
    ...{ payload: letter.payload, errorMessage: letter.error, retryCount: letter.retryCount },
    ...{ createdAt: time(letter.failedAt), failedAt: time(letter.failedAt) },
  }));
  return {
    status: 200,
    body: { messages: unordered('letter', rows), total: found.length },
  };
}

export function purge(state: State, filter: LetterFilter & { readonly queue: string }): Expected {
  const gone = matching(state, filter);
  state.letters = state.letters.filter((letter) => !gone.includes(letter));
  const { queue, group } = filter;
  return {
    status: 200,
    body: { success: true, queue, consumerGroup: group ?? null, deleted: gone.length },
  };
}

/** All dead letters of that message, of all groups. */
export function deleteMessage(state: State, partitionId: string, txn: string): Expected {
  const gone = state.letters.filter(
    (letter) => letter.partitionId === partitionId && letter.txn === txn,
  );
  if (gone.length === 0) return { status: 404, body: { success: false } };
  state.letters = state.letters.filter((letter) => !gone.includes(letter));
  return { status: 200, body: { success: true, deleted: gone.length } };
}

/** One atomic move: a copy to the end of the target, the dead letter gone. */
export function replay(
  state: State,
  letter: Letter | undefined,
  target: { readonly queue?: string; readonly partition?: string },
): Expected {
  if (letter === undefined) return { status: 404, body: { success: false, result: 'gone' } };
  const queue = target.queue ?? letter.queue;
  const partition = target.partition ?? letter.partition;
  const transactionId = `dlq:${letter.id}`;
  const [verdict] = pushAll(state, [{ queue, partition, transactionId, payload: letter.payload }]);
  if (verdict === undefined) throw new Error('a push of one item has one verdict');
  const moved = verdict.status === 'queued';
  if (moved && state.rules.replayRemoves) {
    state.letters = state.letters.filter((other) => other !== letter);
  }
  const body = {
    ...{ success: true, result: moved ? 'moved' : 'duplicate', queue, partition },
    ...{ consumerGroup: letter.group, dlqId: letter.id, originalTransactionId: letter.txn },
    ...{ dlqRowRemoved: moved, replayedAs: moved ? pushRow(0, queue, verdict) : TEXT },
  };
  return { status: 200, body };
}
