/** The query of a pop (state.md §5.3). Numbers out of range are clamped, unreadable ones are the default. */
import { lenientInteger, textOrUndefined, type QueryValues } from '../../http/query.js';
import { groupName } from '../queues/ephemeral-queue.js';
import { badRequest, checkName } from './names.js';

const MAX_BATCH = 10_000;
const MAX_TIMEOUT_MS = 300_000;

export interface PopQuery {
  readonly queue: string;
  /** Null = any partition. */
  readonly partition: string | null;
  readonly group: string;
  readonly batch: number;
  readonly wait: boolean;
  readonly timeoutMs: number;
  readonly commitOnDelivery: boolean;
}

/** Throws `ephemeral_bad_request`. */
export function parsePopQuery(values: QueryValues, defaultTimeoutMs: number): PopQuery {
  const { queue } = values;
  if (queue === undefined) throw badRequest('queue is required');
  checkName('queue', queue);
  const partition = textOrUndefined(values, 'partition') ?? null;
  if (partition !== null) checkName('partition', partition);
  const group = textOrUndefined(values, 'group');
  if (group !== undefined) checkName('group', group);
  return {
    queue,
    partition,
    group: groupName(group),
    batch: lenientInteger(values, 'batch', { fallback: 1, min: 1, max: MAX_BATCH }),
    wait: isTrue(values['wait']),
    timeoutMs: lenientInteger(values, 'timeout', {
      fallback: defaultTimeoutMs,
      min: 0,
      max: MAX_TIMEOUT_MS,
    }),
    commitOnDelivery: isTrue(values['commitOnDelivery']) || isTrue(values['autoAck']),
  };
}

function isTrue(value: string | undefined): boolean {
  return value === 'true';
}
