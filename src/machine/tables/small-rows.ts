/**
 * Rows of the things that are few: tenants, queues, group names, registrations, garbage queues. Their
 * ids stand in the key.
 *
 *   02 tenant        u8 version=1 | 16B uuid
 *   03 queue         u8 version=2 | u8 flags(1 configured) | u32 tenant | u64 createdAt
 *                    | u32 optionsVersion | u64 recognisedSince (from version 2 on)
 *                    | str name | options (see commands/queue-options.ts)
 *   04 group name    u8 version=1 | u32 tenant | str name
 *   05 registration  u8 version=1 | u8 mode | u8 flags(1 conflation) | u64 instant
 *                    | u64 registeredAt | str namespace | str task
 *   0b garbage queue u8 version=1
 */
import { DecodeError } from '../../common/binary-reader.js';
import { consumerGroupId, micros, queueId, tenantId } from '../../common/ids.js';
import type { QueueOptions } from '../commands/catalogue.js';
import { StartMode } from '../commands/catalogue.js';
import { readAllQueueOptions, writeQueueOptions } from '../commands/queue-options.js';
import { beginRow, openRow } from './row-codec.js';
import type { QueueRow, RegistrationRow } from './tables.js';

const VERSION = 1;
const QUEUE_VERSION = 2;

export function encodeTenantRow(uuid: Uint8Array): Uint8Array {
  const writer = beginRow(VERSION);
  writer.raw(uuid);
  return writer.toBytes();
}

/** A copy of the tenant's uuid. */
export function decodeTenantRow(value: Uint8Array): Uint8Array {
  const reader = openRow(value, VERSION, 'tenant row');
  const uuid = reader.raw(16).slice();
  reader.expectEnd();
  return uuid;
}

export type StoredQueue = Pick<
  QueueRow,
  'tenant' | 'name' | 'createdAt' | 'optionsVersion' | 'recognisedSince' | 'configured'
> & { readonly options: QueueOptions };

export function encodeQueueRow(queue: StoredQueue): Uint8Array {
  const writer = beginRow(QUEUE_VERSION);
  writer.u8(queue.configured ? 1 : 0);
  writer.u32(queue.tenant);
  writer.u64(queue.createdAt);
  writer.u32(queue.optionsVersion);
  writer.u64(queue.recognisedSince);
  writer.string(queue.name);
  writeQueueOptions(writer, queue.options);
  return writer.toBytes();
}

export function decodeQueueRow(value: Uint8Array): StoredQueue {
  const reader = openRow(value, QUEUE_VERSION, 'queue row');
  const configured = (reader.u8() & 1) !== 0;
  const tenant = tenantId(reader.u32());
  const createdAt = micros(reader.u64());
  const optionsVersion = reader.u32();
  const recognisedSince = value[0] === 1 ? 0 : reader.u64();
  const name = reader.string();
  const options = readAllQueueOptions(reader);
  reader.expectEnd();
  return { tenant, name, createdAt, optionsVersion, recognisedSince, configured, options };
}

export interface StoredGroup {
  readonly tenant: number;
  readonly name: string;
}

export function encodeGroupRow(group: StoredGroup): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u32(group.tenant);
  writer.string(group.name);
  return writer.toBytes();
}

export function decodeGroupRow(value: Uint8Array): StoredGroup {
  const reader = openRow(value, VERSION, 'group row');
  const tenant = reader.u32();
  const name = reader.string();
  reader.expectEnd();
  return { tenant, name };
}

export function encodeRegistrationRow(row: RegistrationRow): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u8(row.mode);
  writer.u8(row.conflation ? 1 : 0);
  writer.u64(row.instant);
  writer.u64(row.registeredAt);
  writer.string(row.namespace);
  writer.string(row.task);
  return writer.toBytes();
}

export function decodeRegistrationRow(
  value: Uint8Array,
  ids: { readonly queue: number; readonly group: number },
): RegistrationRow {
  const reader = openRow(value, VERSION, 'registration row');
  const mode = startMode(reader.u8());
  const conflation = (reader.u8() & 1) !== 0;
  const instant = micros(reader.u64());
  const registeredAt = micros(reader.u64());
  const namespace = reader.string();
  const task = reader.string();
  reader.expectEnd();
  return {
    queueId: queueId(ids.queue),
    groupId: consumerGroupId(ids.group),
    mode,
    instant,
    conflation,
    registeredAt,
    namespace,
    task,
  };
}

function startMode(code: number): StartMode {
  if (code === 0) return StartMode.All;
  if (code === 1) return StartMode.New;
  if (code === 2) return StartMode.Timestamp;
  throw new DecodeError('unknown start mode', 1);
}

export function encodeGarbageRow(): Uint8Array {
  return beginRow(VERSION).toBytes();
}

export function checkGarbageRow(value: Uint8Array): void {
  openRow(value, VERSION, 'garbage queue row').expectEnd();
}
