/**
 * Codec of queue options, complete or only the named ones. Field order and bit numbers are fixed for
 * ever; a new option takes the next bit.
 *
 *   u32 mask of present fields | values in bit order: int i32, bool u8, text varint length + UTF-8
 */
import { DecodeError } from '../../common/binary-reader.js';
import type { BinaryReader } from '../../common/binary-reader.js';
import type { BinaryWriter } from '../../common/binary-writer.js';
import type { QueueOptions } from './catalogue.js';

type FieldType = 'int' | 'bool' | 'text';
type Field = readonly [name: keyof QueueOptions, type: FieldType];

const FIELDS: readonly Field[] = [
  ['leaseTime', 'int'],
  ['retryLimit', 'int'],
  ['deadLetterQueue', 'bool'],
  ['dlqAfterMaxRetries', 'bool'],
  ['dedupWindowSeconds', 'int'],
  ['delayedProcessing', 'int'],
  ['windowBuffer', 'int'],
  ['retentionEnabled', 'bool'],
  ['retentionSeconds', 'int'],
  ['completedRetentionSeconds', 'int'],
  ['maxWaitTimeSeconds', 'int'],
  ['encryptionEnabled', 'bool'],
  ['retentionSinkHold', 'text'],
  ['retentionSinkHoldMaxSeconds', 'int'],
  ['namespace', 'text'],
  ['task', 'text'],
  ['priority', 'int'],
  ['retryDelay', 'int'],
  ['ttl', 'int'],
  ['maxSize', 'int'],
  ['minPopWaitTime', 'int'],
];

const ALL_FIELDS_MASK = 2 ** FIELDS.length - 1;

/** The names in bit order, for whoever walks options generically. */
export const QUEUE_OPTION_NAMES: readonly (keyof QueueOptions)[] = FIELDS.map(([name]) => name);

export function writeQueueOptions(writer: BinaryWriter, options: Partial<QueueOptions>): void {
  let mask = 0;
  FIELDS.forEach(([name], bit) => {
    if (options[name] !== undefined) mask += 2 ** bit;
  });
  writer.u32(mask);
  for (const [name] of FIELDS) {
    const value = options[name];
    if (typeof value === 'number') writer.i32(value);
    else if (typeof value === 'boolean') writer.boolean(value);
    else if (typeof value === 'string') writer.string(value);
  }
}

/** The present fields; with `complete` a missing one is malformed. */
export function readQueueOptions(reader: BinaryReader): Partial<QueueOptions> {
  const at = reader.position;
  const mask = reader.u32();
  if (mask > ALL_FIELDS_MASK) throw new DecodeError('unknown queue option', at);
  const options: Partial<Record<keyof QueueOptions, number | boolean | string>> = {};
  FIELDS.forEach(([name, type], bit) => {
    if (Math.floor(mask / 2 ** bit) % 2 === 1) options[name] = readValue(reader, type);
  });
  // The table above pairs every name with the type QueueOptions gives it.
  return options as Partial<QueueOptions>;
}

/** All fields must be present. */
export function readAllQueueOptions(reader: BinaryReader): QueueOptions {
  const at = reader.position;
  const options = readQueueOptions(reader);
  if (Object.keys(options).length !== FIELDS.length) {
    throw new DecodeError('queue options are not complete', at);
  }
  return options as QueueOptions;
}

function readValue(reader: BinaryReader, type: FieldType): number | boolean | string {
  switch (type) {
    case 'int':
      return reader.i32();
    case 'bool':
      return reader.boolean();
    case 'text':
      return reader.string();
  }
}
