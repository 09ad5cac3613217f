/**
 * Positions of a transaction as they were sent (messages.md §8.1). All of a position is a value: what
 * is wrong with it answers 200, but more than 16,384 of them, or one that is no object, 400.
 */
import { utf8Length } from '../common/utf8.js';
import type { JsonObject } from '../http/json-body.js';
import { TransactionRefusal } from '../http/transaction-plugs.js';

const MAX_POSITIONS = 16_384;
const MAX_METADATA_BYTES = 4_096;
/** Offsets are 48 bits wide in every format. */
const MAX_OFFSET = 0xffff_ffff_fffe;

export interface PositionOperation {
  readonly queue: string;
  readonly consumerGroup: string;
  readonly partition: string;
  /** Next offset to read; null forgets the cursor. */
  readonly offset: number | null;
  readonly metadata: string | null;
  readonly subscriptionMode: string | null;
}

/** Adds what is wrong with the first wrong one to `wrong`. */
export function parsePositions(
  values: readonly unknown[],
  wrong: TransactionRefusal[],
): PositionOperation[] {
  if (values.length > MAX_POSITIONS) {
    throw new TransactionRefusal(
      400,
      'bad_request',
      `a transaction may have at most ${MAX_POSITIONS} positions`,
    );
  }
  const positions: PositionOperation[] = [];
  values.forEach((value, i) => {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) {
      throw new TransactionRefusal(400, 'bad_request', `positions[${i}] must be an object`);
    }
    const position = parsePosition(value as JsonObject, `positions[${i}]`);
    if (position instanceof TransactionRefusal) wrong.push(position);
    else positions.push(position);
  });
  return positions;
}

function parsePosition(fields: JsonObject, at: string): PositionOperation | TransactionRefusal {
  const { queue, consumerGroup, partition, offset, metadata, subscriptionMode } = fields;
  const wrong = (text: string, reason = 'bad_request'): TransactionRefusal =>
    new TransactionRefusal(200, reason, `${at}: ${text}`);
  if (typeof queue !== 'string' || queue === '') return wrong('queue is required');
  if (typeof consumerGroup !== 'string' || consumerGroup === '') {
    return wrong('consumerGroup is required');
  }
  if (!isOptionalText(partition)) return wrong('partition must be a string');
  if (!isOptionalText(metadata)) return wrong('metadata must be a string');
  if (!isOptionalText(subscriptionMode)) return wrong('subscriptionMode must be a string');
  if (offset !== null && !isOffset(offset)) {
    return wrong('offset must be a non-negative integer, or null');
  }
  if (metadata !== undefined && metadata !== null && utf8Length(metadata) > MAX_METADATA_BYTES) {
    return wrong(`metadata is longer than ${MAX_METADATA_BYTES} bytes`, 'too_large');
  }
  return {
    queue,
    consumerGroup,
    partition:
      partition === undefined || partition === null || partition === '' ? 'Default' : partition,
    offset,
    metadata: metadata ?? null,
    subscriptionMode: subscriptionMode ?? null,
  };
}

function isOptionalText(value: unknown): value is string | null | undefined {
  return value === undefined || value === null || typeof value === 'string';
}

function isOffset(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_OFFSET;
}
