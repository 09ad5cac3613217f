/**
 * Every key the machine writes: one keyspace byte, then big-endian fields, so that rows of one queue
 * stand together and the store returns them in id order. Ids are never reused, so a key names the
 * same thing forever. Never renumber a keyspace.
 *
 *   01 header                                  07 cursor        u32 queue | u48 partition | u32 group
 *   02 tenant        u32 tenant                08 append index  u32 queue | u48 partition | u48 base
 *   03 queue         u32 queue                 09 session       u32 node
 *   04 group name    u32 group                 0a dead letter   u32 queue | u64 failedAt | 16B id
 *   05 registration  u32 queue | u32 group     0b garbage queue u32 queue
 *   06 partition     u32 queue | u48 partition 0c node-local id-index journal (reserved)
 *   0d letter of a message  u32 queue | u48 partition | 16B hash of transactionId | u48 offset | 16B id
 *   0e letter by id         u32 queue | 16B id
 *   0f letters of a group   u32 queue | u32 group
 *   28 timer, 29 due entry, 2a timers of a tenant, 2b log bytes of timers: see timer-keys.ts
 *   30…32 stream queries and their state: stream-rows.ts
 *   34 declared ephemeral queue  u32 tenant | name (UTF-8 to the end)
 *   44 garbage partition  u32 queue | u48 partition
 *   45 encryption key check (one row)
 *   20…27 key-value, switches, quotas: kv-keys.ts
 *   40 trace, 41 names of traces, 42 traced messages: see trace-keys.ts
 *   43 metadata of a cursor u32 queue | u48 partition | u32 group
 *   48 members of the raft group
 */
import { DecodeError } from '../../common/binary-reader.js';
import { keyU32, keyU48, keyU64, KeyWriter } from '../../common/key-writer.js';
import { readUtf8 } from '../../common/utf8.js';
import { letterOffsetField, readLetterOffset } from './dead-letter-row.js';

export const KEYSPACE = {
  header: 0x01,
  tenants: 0x02,
  queues: 0x03,
  groups: 0x04,
  registrations: 0x05,
  partitions: 0x06,
  cursors: 0x07,
  appends: 0x08,
  sessions: 0x09,
  deadLetters: 0x0a,
  garbageQueues: 0x0b,
  idJournal: 0x0c,
  messageLetters: 0x0d,
  letterIds: 0x0e,
  groupLetters: 0x0f,
  ephemeralQueues: 0x34,
  timers: 0x28,
  timersDue: 0x29,
  timerCounts: 0x2a,
  garbagePartitions: 0x44,
  encryption: 0x45,
  kvRows: 0x20,
  kvExpiry: 0x21,
  kvNamespaces: 0x22,
  kvTotals: 0x23,
  quotas: 0x24,
  switches: 0x25,
  kvVersion: 0x26,
  garbageTenants: 0x27,
  timerPins: 0x2b,
  streamQueries: 0x30,
  streamState: 0x31,
  garbageState: 0x32,
  traces: 0x40,
  traceNames: 0x41,
  tracedMessages: 0x42,
  cursorMetadata: 0x43,
  /** One row: who the members are. Written by the group with the entry that changed it. */
  members: 0x48,
} as const;

/** Keyspaces `loadRow` takes at a restart, in this order; the others stay in the store. */
export const COLUMN_KEYSPACES: readonly number[] = [
  KEYSPACE.tenants,
  KEYSPACE.queues,
  KEYSPACE.groups,
  KEYSPACE.registrations,
  KEYSPACE.partitions,
  KEYSPACE.cursors,
  KEYSPACE.sessions,
  KEYSPACE.garbageQueues,
  KEYSPACE.ephemeralQueues,
  KEYSPACE.encryption,
  KEYSPACE.kvTotals,
  KEYSPACE.quotas,
  KEYSPACE.switches,
  KEYSPACE.kvVersion,
  KEYSPACE.garbageTenants,
  KEYSPACE.timerCounts,
  KEYSPACE.streamQueries,
  KEYSPACE.garbageState,
];

/** Keyspaces of a deleted queue that the group purges by key range; see `queueRange`. */
export const RANGE_PURGED_KEYSPACES: readonly number[] = [
  KEYSPACE.appends,
  KEYSPACE.deadLetters,
  KEYSPACE.messageLetters,
  KEYSPACE.letterIds,
  KEYSPACE.groupLetters,
  KEYSPACE.garbagePartitions,
  KEYSPACE.cursorMetadata,
];

/** Keyspaces whose first field is a tenant number: purged by range when the tenant is. */
export const TENANT_PURGED_KEYSPACES: readonly number[] = [
  KEYSPACE.kvRows,
  KEYSPACE.kvNamespaces,
  KEYSPACE.timers,
  KEYSPACE.streamState,
];

/** Half-open range of keys. */
export interface KeyRange {
  readonly gte: Uint8Array;
  readonly lt: Uint8Array;
}

const MAX_U32 = 0xffff_ffff;
const MAX_U48 = 0xffff_ffff_ffff;
const HIGHEST_ID = new Uint8Array(16).fill(0xff);
const keys = new KeyWriter();

function start(keyspace: number): KeyWriter {
  return keys.clear().u8(keyspace);
}

export function headerKey(): Uint8Array {
  return start(KEYSPACE.header).toBytes();
}

export function tenantKey(tenant: number): Uint8Array {
  return start(KEYSPACE.tenants).u32(tenant).toBytes();
}

export function queueKey(queue: number): Uint8Array {
  return start(KEYSPACE.queues).u32(queue).toBytes();
}

export function groupKey(group: number): Uint8Array {
  return start(KEYSPACE.groups).u32(group).toBytes();
}

export function registrationKey(queue: number, group: number): Uint8Array {
  return start(KEYSPACE.registrations).u32(queue).u32(group).toBytes();
}

export function partitionKey(queue: number, partition: number): Uint8Array {
  return start(KEYSPACE.partitions).u32(queue).u48(partition).toBytes();
}

export function cursorKey(queue: number, partition: number, group: number): Uint8Array {
  return start(KEYSPACE.cursors).u32(queue).u48(partition).u32(group).toBytes();
}

export function cursorMetadataKey(queue: number, partition: number, group: number): Uint8Array {
  return start(KEYSPACE.cursorMetadata).u32(queue).u48(partition).u32(group).toBytes();
}

export function appendKey(queue: number, partition: number, baseOffset: number): Uint8Array {
  return start(KEYSPACE.appends).u32(queue).u48(partition).u48(baseOffset).toBytes();
}

export function sessionKey(node: number): Uint8Array {
  return start(KEYSPACE.sessions).u32(node).toBytes();
}

export function deadLetterKey(queue: number, failedAt: number, id: Uint8Array): Uint8Array {
  return start(KEYSPACE.deadLetters).u32(queue).u64(failedAt).fixed(id, 0, 16).toBytes();
}

/** Where a message stands and what its transactionId hashes to. */
export interface MessagePlace {
  readonly queueId: number;
  readonly partitionId: number;
  readonly hash: Uint8Array;
  readonly offset: number;
}

export function messageLetterKey(place: MessagePlace, deadLetterId: Uint8Array): Uint8Array {
  return startMessageLetter(place)
    .u48(letterOffsetField(place.offset))
    .fixed(deadLetterId, 0, 16)
    .toBytes();
}

/** Dead letters of all messages of a partition with one transactionId. */
export function messageLetterRange(place: Omit<MessagePlace, 'offset'>): KeyRange {
  return {
    gte: startMessageLetter(place).toBytes(),
    lt: startMessageLetter(place).u48(MAX_U48).fixed(HIGHEST_ID, 0, 16).u8(0).toBytes(),
  };
}

function startMessageLetter(place: Omit<MessagePlace, 'offset'>): KeyWriter {
  const { queueId, partitionId, hash } = place;
  return start(KEYSPACE.messageLetters).u32(queueId).u48(partitionId).fixed(hash, 0, 16);
}

export function letterIdKey(queue: number, deadLetterId: Uint8Array): Uint8Array {
  return start(KEYSPACE.letterIds).u32(queue).fixed(deadLetterId, 0, 16).toBytes();
}

export function groupLettersKey(queue: number, group: number): Uint8Array {
  return start(KEYSPACE.groupLetters).u32(queue).u32(group).toBytes();
}

export function encryptionKey(): Uint8Array {
  return start(KEYSPACE.encryption).toBytes();
}

export function garbagePartitionKey(queue: number, partition: number): Uint8Array {
  return start(KEYSPACE.garbagePartitions).u32(queue).u48(partition).toBytes();
}

export function garbageQueueKey(queue: number): Uint8Array {
  return start(KEYSPACE.garbageQueues).u32(queue).toBytes();
}

export function ephemeralKey(tenant: number, name: string): Uint8Array {
  return start(KEYSPACE.ephemeralQueues).u32(tenant).tail(name).toBytes();
}

export function membersKey(): Uint8Array {
  return start(KEYSPACE.members).toBytes();
}

export function keyspaceRange(keyspace: number): KeyRange {
  return { gte: start(keyspace).toBytes(), lt: start(keyspace + 1).toBytes() };
}

/** Everything of one queue in a keyspace whose first field is the queue id. */
export function queueRange(keyspace: number, queue: number): KeyRange {
  return numberRange(keyspace, queue);
}

/** Everything of one tenant in a keyspace whose first field is the tenant number. */
export function tenantRange(keyspace: number, tenant: number): KeyRange {
  return numberRange(keyspace, tenant);
}

function numberRange(keyspace: number, id: number): KeyRange {
  const gte = start(keyspace).u32(id).toBytes();
  if (id === MAX_U32) return { gte, lt: start(keyspace + 1).toBytes() };
  return {
    gte,
    lt: start(keyspace)
      .u32(id + 1)
      .toBytes(),
  };
}

/** Append index rows of a partition whose base offset lies in [first, limit). */
export function appendRange(
  queue: number,
  partition: number,
  span: { readonly first: number; readonly limit: number },
): KeyRange {
  return {
    gte: appendKey(queue, partition, span.first),
    lt: appendKey(queue, partition, span.limit),
  };
}

/** Keyspace of a key; refuses an empty one. */
export function keyspaceOf(key: Uint8Array): number {
  const keyspace = key[0];
  if (keyspace === undefined) throw new DecodeError('empty key', 0);
  return keyspace;
}

/** First field of every key whose field is a u32: tenant, queue, group or node. */
export function keyNumber(key: Uint8Array): number {
  return keyU32(key, 1);
}

export function keyRegistrationGroup(key: Uint8Array): number {
  return keyU32(key, 5);
}

export function keyPartition(key: Uint8Array): number {
  return keyU48(key, 5);
}

export function keyCursorGroup(key: Uint8Array): number {
  return keyU32(key, 11);
}

export function keyBaseOffset(key: Uint8Array): number {
  return keyU48(key, 11);
}

export function keyFailedAt(key: Uint8Array): number {
  return keyU64(key, 5);
}

export function keyDeadLetterId(key: Uint8Array): Uint8Array {
  return key.subarray(13, 29);
}

export function keyLetterOffset(key: Uint8Array): number {
  return readLetterOffset(keyU48(key, 27));
}

export function keyEphemeralName(key: Uint8Array): string {
  return readUtf8(key, 5, key.length);
}

export function keyMessageLetterId(key: Uint8Array): Uint8Array {
  return key.subarray(33, 49);
}
