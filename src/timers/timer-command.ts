/**
 * From checked operations to what a command carries: ids are minted once, each schedule becomes a push
 * of one message, prepared like any push for the options of its queue that this node knows.
 */
import type { UuidMint } from '../common/uuid-v7.js';
import { murmur3x128Into } from '../common/murmur3-128.js';
import { nameRefusal } from '../common/name-budget.js';
import { QueenError } from '../common/errors.js';
import { StateRefusal } from '../common/state-refusal.js';
import { encodeUtf8, utf8Length } from '../common/utf8.js';
import type { PushCommandLimits } from '../machine/commands/catalogue.js';
import { PushCommandBuilder } from '../machine/commands/index.js';
import type { TimerOpInput } from '../machine/commands/index.js';
import type { CallOptions, Group } from '../raft/index.js';
import { recordCrc } from '../preparation/checksum.js';
import { sealingOf } from '../preparation/payload-sealing.js';
import type { QueueSealing } from '../preparation/payload-sealing.js';
import { findQueue } from '../reads/partition-identity.js';
import type { ScheduleOperation, TimerOperation } from './timer-operations.js';

/** Longest timer key, as that of the key-value store. */
export const MAX_TIMER_KEY_BYTES = 512;

export interface CommandScene {
  readonly tenant: Uint8Array;
  readonly group: Group;
  readonly limits: PushCommandLimits;
  /** `sub` of whoever schedules. */
  readonly producerSub: Uint8Array | null;
}

/** An operation with the id its message will have; null for a cancel. */
export interface MintedOperation {
  readonly operation: TimerOperation;
  readonly messageId: Uint8Array | null;
}

export function mintIds(operations: readonly TimerOperation[], mint: UuidMint): MintedOperation[] {
  return operations.map((operation) => ({
    operation,
    messageId: operation.op === 'schedule' ? mint.mint() : null,
  }));
}

/** 413 when a name does not fit a store key. */
export function checkNames(operations: readonly TimerOperation[]): void {
  for (const operation of operations) {
    const partition = operation.op === 'schedule' ? operation.partition : '';
    const tooLong = nameRefusal({ queue: operation.queue, partition });
    if (tooLong !== undefined) throw new QueenError('name_too_long', tooLong);
    const keyBytes = utf8Length(operation.timerKey);
    if (keyBytes <= MAX_TIMER_KEY_BYTES) continue;
    throw new QueenError(
      'name_too_long',
      `timerKey is too long: ${keyBytes} bytes; it may have ${MAX_TIMER_KEY_BYTES}`,
    );
  }
}

/** The client encrypted a payload for a queue whose payloads the broker encrypts. */
export function foreignEncryption(
  operations: readonly TimerOperation[],
  { tenant, group }: Pick<CommandScene, 'tenant' | 'group'>,
): number {
  return operations.findIndex((operation) => {
    if (operation.op !== 'schedule' || !operation.encrypted) return false;
    return findQueue(group.tables, tenant, operation.queue)?.options.encryptionEnabled === true;
  });
}

/** Ready to be encoded; again after a `reprepare`. Payloads are sealed here where the queue encrypts. */
export async function commandOps(
  minted: readonly MintedOperation[],
  scene: CommandScene,
  options: CallOptions,
): Promise<TimerOpInput[]> {
  const targets = minted.flatMap(({ operation }) =>
    operation.op === 'schedule' ? [operation.queue] : [],
  );
  const sealing = await sealingOf(scene, targets, options);
  return minted.map(({ operation, messageId }): TimerOpInput => {
    const { queue, timerKey } = operation;
    if (operation.op === 'cancel' || messageId === null) return { op: 'cancel', queue, timerKey };
    const stored = sealing.get(queue) ?? { optionsVersion: 0, cipher: null };
    const push = pushOf({ operation, messageId, stored }, scene);
    return { op: 'schedule', queue, timerKey, delayMicros: operation.delayMicros, push };
  });
}

interface Scheduled {
  readonly operation: ScheduleOperation;
  readonly messageId: Uint8Array;
  readonly stored: QueueSealing;
}

function pushOf(
  { operation, messageId, stored }: Scheduled,
  { tenant, limits, producerSub }: CommandScene,
): Uint8Array {
  const builder = new PushCommandBuilder(limits, recordCrc);
  const { queue, partition } = operation;
  const { optionsVersion, cipher } = stored;
  const number = builder.group({ queue, partition, optionsVersion, encrypted: cipher !== null });
  const payload = cipher === null ? operation.payload : cipher.seal(operation.payload);
  const encrypted = cipher !== null || operation.encrypted;
  const txn = encodeUtf8(operation.txn);
  const hash = new Uint8Array(16);
  murmur3x128Into(txn, 0, txn.length, hash, 0);
  builder.add(number, {
    ...{ id: messageId, idAt: 0, hash, hashAt: 0, clientId: true, encrypted, traceId: null },
    transactionId: { bytes: txn, start: 0, end: txn.length },
    producerSub:
      producerSub === null ? null : { bytes: producerSub, start: 0, end: producerSub.length },
    payload: { bytes: payload, start: 0, end: payload.length },
  });
  return builder.build(tenant);
}

/** 413 when the command fits no entry. */
export function checkSize(command: Uint8Array, entryMaxBytes: number): void {
  if (command.length <= entryMaxBytes) return;
  throw new StateRefusal('payload_too_large', {
    reason: 'timers_call_too_large',
    detail: `the call takes ${command.length} bytes of an entry of ${entryMaxBytes}`,
  });
}
