/** What a seek answers, and the name budget of the consumer-group routes (messages.md §10). */
import { QueenError } from '../common/errors.js';
import { nameRefusal } from '../common/name-budget.js';
import { QUEUE_MODE_GROUP } from '../machine/tables/tables.js';
import type { SeekRequest } from './group-changes.service.js';
import type { SeekTarget } from './seek-target.js';

export const SEEK_WITHOUT_TARGET = {
  success: false,
  error: 'Must specify toEnd=true or a timestamp',
};

export function seekAnswer(seek: SeekRequest, target: SeekTarget, moved: number): object {
  return {
    success: true,
    consumerGroup: seek.consumerGroup,
    queueName: seek.queue,
    partitionName: seek.partition,
    seekToEnd: target.instantMicros === null,
    targetTimestamp: target.text,
    partitionsUpdated: moved,
    updated: true,
  };
}

export function seekMissing(seek: SeekRequest): object {
  return {
    success: false,
    error: seek.partition === null ? 'Queue not found or has no partitions' : 'Partition not found',
    consumerGroup: seek.consumerGroup,
    queueName: seek.queue,
    partitionsUpdated: 0,
  };
}

/** 413 when the names do not fit a store key; the reserved name of queue mode is free. */
export function checkGroupNames(names: {
  readonly group: string;
  readonly queue?: string;
  readonly partition?: string;
}): void {
  const { group, queue = '', partition = '' } = names;
  const text = nameRefusal({
    queue,
    partition,
    group: group === QUEUE_MODE_GROUP ? '' : group,
  });
  if (text !== undefined) throw new QueenError('name_too_long', text);
}
