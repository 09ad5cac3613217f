/**
 * The machine's header: position in the log, digest, clock, cluster version and the id counters. It is
 * written with every checkpoint as the row of keyspace 01 and read first at a restart.
 *
 *   u8 version=1 | u64 appliedIndex | u64 appliedTerm | 8B digest | u32 clusterVersion
 *   | u64 lastStamp | u32 nextTenant | u32 nextQueue | u32 nextGroup | u48 nextPartition
 *   | u64 messagesAppended
 */
import { invariant } from '../../common/invariant.js';
import { beginRow, openRow } from './row-codec.js';

const VERSION = 1;
const DIGEST_BYTES = 8;

/** What the tables count by themselves and no row can give back: ids are never reused. */
export interface TableCounters {
  nextTenantId: number;
  nextQueueId: number;
  nextGroupId: number;
  nextPartitionId: number;
  messagesAppended: number;
}

export interface MachineHeader {
  readonly appliedIndex: number;
  readonly appliedTerm: number;
  /** 8 bytes. */
  readonly digest: Uint8Array;
  readonly clusterVersion: number;
  /** Last stamp given out, µs. */
  readonly lastStamp: number;
  readonly counters: Readonly<TableCounters>;
}

export function initialCounters(): TableCounters {
  return {
    nextTenantId: 1,
    nextQueueId: 1,
    nextGroupId: 1,
    nextPartitionId: 1,
    messagesAppended: 0,
  };
}

export function encodeHeader(header: MachineHeader): Uint8Array {
  invariant(header.digest.length === DIGEST_BYTES, 'digest is not 8 bytes');
  const writer = beginRow(VERSION);
  writer.u64(header.appliedIndex);
  writer.u64(header.appliedTerm);
  writer.raw(header.digest);
  writer.u32(header.clusterVersion);
  writer.u64(header.lastStamp);
  writer.u32(header.counters.nextTenantId);
  writer.u32(header.counters.nextQueueId);
  writer.u32(header.counters.nextGroupId);
  writer.u48(header.counters.nextPartitionId);
  writer.u64(header.counters.messagesAppended);
  return writer.toBytes();
}

export function decodeHeader(bytes: Uint8Array): MachineHeader {
  const reader = openRow(bytes, VERSION, 'machine header');
  const appliedIndex = reader.u64();
  const appliedTerm = reader.u64();
  const digest = reader.raw(DIGEST_BYTES).slice();
  const clusterVersion = reader.u32();
  const lastStamp = reader.u64();
  const counters: TableCounters = {
    nextTenantId: reader.u32(),
    nextQueueId: reader.u32(),
    nextGroupId: reader.u32(),
    nextPartitionId: reader.u48(),
    messagesAppended: reader.u64(),
  };
  reader.expectEnd();
  return { appliedIndex, appliedTerm, digest, clusterVersion, lastStamp, counters };
}
