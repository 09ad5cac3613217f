/**
 * Branded number types of the vocabulary. All are safe integers; they are checked where bytes come
 * in (wire, disk) and trusted inside. Never use bit operators on a Term or a LogIndex.
 */

declare const brand: unique symbol;
type Branded<T, B extends string> = T & { readonly [brand]: B };

/** Numeric id of a process in the cluster, >= 1. */
export type NodeId = Branded<number, 'NodeId'>;
/** Raft term. */
export type Term = Branded<number, 'Term'>;
/** Index of an entry in a group's log; the first entry has index 1, 0 means "before the log". */
export type LogIndex = Branded<number, 'LogIndex'>;
/** Raft group number, 0-based. */
export type GroupId = Branded<number, 'GroupId'>;
/** Replicated number of a tenant inside its raft group (u32, never reused). */
export type TenantId = Branded<number, 'TenantId'>;
/** Replicated number of a queue (u32, never reused). */
export type QueueId = Branded<number, 'QueueId'>;
/** Replicated number of a partition, creation order, never reused (below 2^48). */
export type PartitionId = Branded<number, 'PartitionId'>;
/** Replicated number of a (tenant, consumer group name) (u32, never reused). */
export type ConsumerGroupId = Branded<number, 'ConsumerGroupId'>;
/** Position of a message in its partition, from 0. */
export type Offset = Branded<number, 'Offset'>;
/** Microseconds since the Unix epoch, on the log clock. */
export type Micros = Branded<number, 'Micros'>;

/** Brands a checked number. The caller vouches that the value is a safe integer in range. */
export const nodeId = (value: number): NodeId => value as NodeId;
export const term = (value: number): Term => value as Term;
export const logIndex = (value: number): LogIndex => value as LogIndex;
export const groupId = (value: number): GroupId => value as GroupId;
export const tenantId = (value: number): TenantId => value as TenantId;
export const queueId = (value: number): QueueId => value as QueueId;
export const partitionId = (value: number): PartitionId => value as PartitionId;
export const consumerGroupId = (value: number): ConsumerGroupId => value as ConsumerGroupId;
export const offset = (value: number): Offset => value as Offset;
export const micros = (value: number): Micros => value as Micros;
