/**
 * The replicated state held in memory, as tables of typed columns. This file is the contract that
 * apply, the dispatcher and the features read; the implementations stand beside it. No JS object,
 * Map entry or string exists per partition, cursor, lease or message. A slot is node-local and may be
 * reused after its row is purged: never keep one across an await without re-checking its id.
 */
import type { ConsumerGroupId, Micros, PartitionId, QueueId, TenantId } from '../../common/ids.js';
import type { QueueOptions, StartMode } from '../commands/catalogue.js';
import type { ControlTable } from './control-table.js';
import type { KvTable } from './kv-table.js';
import type { StreamTable } from './stream-table.js';
import type { TimerTable } from './timer-table.js';

/** Queues are few: one object each. Mutated only by apply. */
export interface QueueRow {
  readonly id: QueueId;
  readonly tenant: TenantId;
  readonly name: string;
  readonly createdAt: Micros;
  options: QueueOptions;
  /** Appends stamped earlier are not recognised by transactionId any more, µs (apply/recognition). */
  recognisedSince: number;
  /** Counts configure calls; 0 never occurs. */
  optionsVersion: number;
  /** False for queues that sprang into being by a push or pop and were never configured. */
  configured: boolean;
  /** Head of the partition chain (slot), -1 when empty; follow `PartitionTable.nextInQueue`. */
  readonly firstPartition: number;
  readonly partitionCount: number;
  /** Sum over its partitions; kept by `PartitionTable.addDeadLetters`. */
  readonly deadLetters: number;
}

export interface RegistrationRow {
  readonly queueId: QueueId;
  readonly groupId: ConsumerGroupId;
  mode: StartMode;
  instant: Micros;
  readonly conflation: boolean;
  readonly registeredAt: Micros;
  readonly namespace: string;
  readonly task: string;
}

export interface QueueTable {
  find(tenant: TenantId, name: string): QueueRow | undefined;
  byId(id: QueueId): QueueRow | undefined;
  /** Live queues of a tenant in id order. */
  list(tenant: TenantId): QueueRow[];
  /** Live queues of all tenants in id order. */
  live(): QueueRow[];
  create(tenant: TenantId, name: string, createdAt: Micros, options: QueueOptions): QueueRow;
  /** Marks the row dirty after a mutation. */
  touch(queue: QueueRow): void;
  /** O(1): unlinks the name; its partitions become garbage for purge steps. */
  remove(queue: QueueRow): void;
}

export interface PartitionTable {
  /** Slot of a live partition or -1. */
  find(queueId: QueueId, name: string): number;
  byId(id: PartitionId): number;
  create(queue: QueueRow, name: string, createdAt: Micros): number;
  id(slot: number): PartitionId;
  queueId(slot: number): QueueId;
  name(slot: number): string;
  createdAt(slot: number): Micros;
  /** First retained offset. */
  logStart(slot: number): number;
  /** -1 when nothing was ever written. */
  lastOffset(slot: number): number;
  /** Stamp of the newest append, 0 when none. */
  lastAppendAt(slot: number): Micros;
  /** Payload bytes retained (sum of record lengths). */
  retainedBytes(slot: number): number;
  /** Upper bound of one record's length, bytes. */
  maxRecordBytes(slot: number): number;
  deadLetters(slot: number): number;
  /** First cursor slot on this partition, -1 when none; follow `CursorTable.nextOnPartition`. */
  firstCursor(slot: number): number;
  nextInQueue(slot: number): number;
  /** Apply only: records an append of `count` messages of `bytes` at `createdAt`. */
  append(
    slot: number,
    run: {
      readonly count: number;
      readonly bytes: number;
      readonly maxRecord: number;
      readonly createdAt: Micros;
    },
  ): void;
  /** Never moves back. `removedBytes`: record bytes cut off; ignored when nothing is left. */
  setLogStart(slot: number, offset: number, removedBytes?: number): void;
  /** Also counts on the queue. */
  addDeadLetters(slot: number, delta: number): void;
  /** Deletes a partition without cursors; the slot may be reused at once. */
  remove(slot: number): void;
  readonly count: number;
}

export interface CursorTable {
  /** Slot of (partition slot, group) or -1. */
  find(partitionSlot: number, groupId: ConsumerGroupId): number;
  create(
    partitionSlot: number,
    groupId: ConsumerGroupId,
    committed: number,
    createdAt: Micros,
  ): number;
  partitionSlot(slot: number): number;
  groupId(slot: number): ConsumerGroupId;
  /** Last settled offset, -1 = none. */
  committed(slot: number): number;
  /** Starts at 1, +1 on every change; wraps never (u32 is enough for a lane's life; saturates). */
  version(slot: number): number;
  attemptOffset(slot: number): number;
  attemptCount(slot: number): number;
  batchRetryCount(slot: number): number;
  totalConsumed(slot: number): number;
  createdAt(slot: number): Micros;
  /** Row of the live or expired, never released lease; -1 when none. */
  lease(slot: number): number;
  /** Last fully settled lease, for repeats: id equality test and offset range. */
  releasedMatches(slot: number, leaseId: Uint8Array): boolean;
  releasedFirst(slot: number): number;
  releasedLast(slot: number): number;
  /** A row of keyspace 43 belongs to it; removing the cursor removes the row first. */
  hasMetadata(slot: number): boolean;
  /**
   * Only a start (spec §2.3): an unregistered group contacted the partition and took nothing yet.
   * `createdAt` is the instant it starts at, `committed` a bound from below; a registration made since
   * rules instead. Ends with the first `setCommitted` or `place`.
   */
  isStart(slot: number): boolean;
  nextOnPartition(slot: number): number;

  // Apply only. Every setter marks the row dirty; `bump` raises the version once per command.
  bump(slot: number): void;
  setCommitted(slot: number, committed: number): void;
  markStart(slot: number): void;
  /** The first delivery of a cursor that was only a start. */
  place(slot: number, committed: number, createdAt: Micros): void;
  setAttempt(slot: number, offset: number, count: number): void;
  setBatchRetryCount(slot: number, count: number): void;
  addConsumed(slot: number, count: number): void;
  setReleased(slot: number, leaseId: Uint8Array, first: number, last: number): void;
  setLease(slot: number, lease: NewLease): void;
  extendLease(slot: number, expiresAt: Micros): void;
  setHasMetadata(slot: number, has: boolean): void;
  clearLease(slot: number): void;
  /** Deletes the cursor with its lease; the slot may be reused at once. */
  remove(slot: number): void;
  readonly count: number;
}

export interface NewLease {
  readonly leaseId: Uint8Array;
  readonly firstOffset: number;
  readonly batchEnd: number;
  readonly expiresAt: Micros;
  readonly acquiredAt: Micros;
  /** Term of the entry that granted it; another term's lease is held `skew` longer. */
  readonly term: number;
  readonly conflated: boolean;
}

export interface LeaseTable {
  matches(lease: number, leaseId: Uint8Array): boolean;
  copyId(lease: number): Uint8Array;
  firstOffset(lease: number): number;
  batchEnd(lease: number): number;
  expiresAt(lease: number): Micros;
  acquiredAt(lease: number): Micros;
  term(lease: number): number;
  conflated(lease: number): boolean;
  cursorSlot(lease: number): number;
  /** First lease row with this id, -1 when none; follow `nextWithId`. One id may span partitions. */
  firstWithId(leaseId: Uint8Array): number;
  nextWithId(lease: number): number;
  readonly count: number;
}

export interface NameTable {
  /** Tenant number of a uuid or undefined; number 1.. in order of first use. */
  tenant(uuid: Uint8Array): TenantId | undefined;
  ensureTenant(uuid: Uint8Array): TenantId;
  tenantUuid(id: TenantId): Uint8Array;
  group(tenant: TenantId, name: string): ConsumerGroupId | undefined;
  ensureGroup(tenant: TenantId, name: string): ConsumerGroupId;
  groupName(id: ConsumerGroupId): string;
  /** Of every tenant that is known here; outside apply only. */
  tenantUuids(): Uint8Array[];
  /** Whether the number is in use: a purged tenant's never is again. */
  hasTenant(id: TenantId): boolean;
  /** Apply only: unlinks the number; what lies under it is garbage. */
  forgetTenant(id: TenantId): void;
}

export interface RegistrationTable {
  find(queueId: QueueId, groupId: ConsumerGroupId): RegistrationRow | undefined;
  create(row: RegistrationRow): void;
  ofQueue(queueId: QueueId): RegistrationRow[];
  /** Marks the row dirty after a mutation of `mode` or `instant`. */
  touch(row: RegistrationRow): void;
  remove(queueId: QueueId, groupId: ConsumerGroupId): void;
}

export interface SessionTable {
  open(session: number, nodeId: number, directoryId: Uint8Array, bootCount: number): void;
  /** Ends the session if it is the node's newest and unbinds the node from its directory. */
  forget(nodeId: number, session: number): boolean;
  /** Nodes with a session, ascending. */
  nodes(): number[];
  /** 'fresh' marks the sequence as seen and raises the floor; anything else means: no effect. */
  admit(session: number, sequence: number, floor: number): 'fresh' | 'seen' | 'ended';
  /** Session of a node, 0 when none. */
  ofNode(nodeId: number): number;
  /** 16-byte id of the data directory bound to the node id, undefined when it never opened one. */
  directoryOf(nodeId: number): Uint8Array | undefined;
  /** Boot count of the node's newest session, 0 when none. */
  bootCountOf(nodeId: number): number;
}

/** The encryption key of the cluster, by a check value; null before its first use. */
export interface EncryptionTable {
  readonly check: Uint8Array | null;
  /** Apply only. */
  bind(check: Uint8Array): void;
}

/** A declared ephemeral queue: only the declaration is replicated. */
export interface EphemeralDeclaration {
  readonly declaredAt: Micros;
  /** JSON object, as it was sent. */
  readonly optionsText: string;
}

export interface EphemeralTable {
  find(tenant: TenantId, name: string): EphemeralDeclaration | undefined;
  /** Names in order. */
  list(tenant: TenantId): readonly string[];
  /** Node-local: grows with every change, so that readers know when to look again. */
  readonly version: number;

  // Apply only.
  declare(tenant: TenantId, name: string, declaration: EphemeralDeclaration): void;
  /** False when there was none. */
  drop(tenant: TenantId, name: string): boolean;
}

/** Live totals, kept exact by apply and rebuilt at load. */
export interface Totals {
  readonly messagesAppended: number;
  readonly messagesRetained: number;
  readonly bytesRetained: number;
}

export interface Tables {
  readonly names: NameTable;
  readonly queues: QueueTable;
  readonly registrations: RegistrationTable;
  readonly partitions: PartitionTable;
  readonly cursors: CursorTable;
  readonly leases: LeaseTable;
  readonly sessions: SessionTable;
  readonly ephemeral: EphemeralTable;
  readonly encryption: EncryptionTable;
  readonly kv: KvTable;
  readonly controls: ControlTable;
  readonly timers: TimerTable;
  readonly streams: StreamTable;
  readonly totals: Totals;
}

/** The reserved group name of queue mode. */
export const QUEUE_MODE_GROUP = '__QUEUE_MODE__';
