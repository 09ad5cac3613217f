/** Builds real commands for tests of the group: pushes with real records, registrations, claims, acks. */
import { crc32 } from 'node:zlib';
import { murmur3x128Into } from '../../src/common/murmur3-128.js';
import { consumerGroupId, offset, partitionId, queueId } from '../../src/common/ids.js';
import { AckStatus, StartMode } from '../../src/machine/commands/catalogue.js';
import type { ClaimGrant, PushOutcome, Outcome } from '../../src/machine/commands/catalogue.js';
import {
  CommandKind,
  encodeAck,
  encodeClaim,
  encodeRegister,
} from '../../src/machine/commands/index.js';
import { PushCommandBuilder } from '../../src/machine/commands/index.js';
import type { PreparedCommand } from '../../src/raft/group/group.js';

export const TENANT = Uint8Array.from(Buffer.from('00000000000000000000000000000001', 'hex'));
const DEFAULTS = { leaseTime: 60, retryLimit: 3, dedupWindowSeconds: 3600 };

const text = new TextEncoder();

function crcOf(bytes: Uint8Array, start: number, end: number): number {
  return crc32(bytes.subarray(start, end));
}

export function hashOf(transactionId: string): Uint8Array {
  const bytes = text.encode(transactionId);
  const hash = new Uint8Array(16);
  murmur3x128Into(bytes, 0, bytes.length, hash, 0);
  return hash;
}

export interface TestMessage {
  readonly transactionId: string;
  readonly payload: string | Uint8Array;
  readonly clientId?: boolean;
}

/** One append group. */
export function pushCommand(
  queue: string,
  partition: string,
  messages: readonly TestMessage[],
): PreparedCommand {
  const builder = new PushCommandBuilder({ defaults: DEFAULTS, windowMinSeconds: 900 }, crcOf);
  const group = builder.group({ queue, partition, optionsVersion: 0, encrypted: false });
  for (const message of messages) {
    const id = text.encode(message.transactionId);
    const payload =
      typeof message.payload === 'string' ? text.encode(message.payload) : message.payload;
    const hash = hashOf(message.transactionId);
    const clientId = message.clientId ?? true;
    builder.add(group, {
      ...{ id: hash, idAt: 0, hash, hashAt: 0, clientId, encrypted: false },
      transactionId: { bytes: id, start: 0, end: id.length },
      producerSub: null,
      traceId: null,
      payload: { bytes: payload, start: 0, end: payload.length },
    });
  }
  return { bytes: builder.build(TENANT) };
}

export function registerCommand(
  queue: string,
  group: string,
  defaults: Partial<typeof DEFAULTS> = {},
): PreparedCommand {
  const bytes = encodeRegister(TENANT, {
    ...{ queue, group, createQueue: true, mode: StartMode.All },
    defaults: { ...DEFAULTS, ...defaults },
    ...{ instant: 0 as never, conflation: false, namespace: '', task: '', contact: null },
  });
  return { bytes };
}

export function claimCommand(grants: readonly ClaimGrant[]): PreparedCommand {
  return { bytes: encodeClaim({ skewMicros: 500_000, grants }) };
}

export interface ClaimPlace {
  readonly queueId: number;
  readonly partitionId: number;
  readonly groupId: number;
  readonly cursorVersion: number;
  readonly first: number;
  readonly last: number;
}

export function grantOf(
  ticket: { session: number; sequence: number },
  leaseId: Uint8Array,
  place: ClaimPlace,
): ClaimGrant {
  return {
    ...{ ticket, leaseId, leaseMicros: 60_000_000, commitOnDelivery: false },
    ranges: [
      {
        queueId: queueId(place.queueId),
        partitionId: partitionId(place.partitionId),
        groupId: consumerGroupId(place.groupId),
        cursorVersion: place.cursorVersion,
        seedCommitted: -1,
        firstOffset: offset(place.first),
        lastOffset: offset(place.last),
        conflated: false,
      },
    ],
  };
}

export function ackCommand(
  group: string,
  target: { partitionId: number; leaseId: Uint8Array; first: number; last: number },
): PreparedCommand {
  const bytes = encodeAck(TENANT, {
    ...{ group, skewMicros: 500_000 },
    targets: [
      {
        partitionId: partitionId(target.partitionId),
        leaseId: target.leaseId,
        completed: [target.first, target.last],
        signals: [],
        fallbackError: null,
      },
    ],
  });
  return { bytes };
}

export { AckStatus };

export function asPush(outcome: Outcome): PushOutcome {
  if (outcome.kind !== CommandKind.Push) throw new Error(`not a push: ${JSON.stringify(outcome)}`);
  return outcome;
}

/** One message into each of many partitions, in one command. */
export function spreadCommand(
  queue: string,
  partitions: readonly string[],
  transactionId: string,
): PreparedCommand {
  const builder = new PushCommandBuilder({ defaults: DEFAULTS, windowMinSeconds: 900 }, crcOf);
  const id = text.encode(transactionId);
  const hash = hashOf(transactionId);
  for (const partition of partitions) {
    const group = builder.group({ queue, partition, optionsVersion: 0, encrypted: false });
    builder.add(group, {
      ...{ id: hash, idAt: 0, hash, hashAt: 0, clientId: true, encrypted: false },
      transactionId: { bytes: id, start: 0, end: id.length },
      ...{ producerSub: null, traceId: null },
      payload: { bytes: id, start: 0, end: id.length },
    });
  }
  return { bytes: builder.build(TENANT) };
}
