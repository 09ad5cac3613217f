/**
 * Renders a transaction's answer (messages.md §8.4, §8.5): results in one flat index space (acks and push
 * items in operation order, then key-value, timers, positions), or a rollback without results.
 */
import { JsonWriter } from '../common/json/json-writer.js';
import type { PlannedOperations, TransactionRefusal } from '../http/transaction-plugs.js';
import { AckStatus } from '../machine/commands/catalogue.js';
import type { TransactionOutcomes, TransactionRollback } from '../machine/commands/index.js';
import { TransactionSection } from '../machine/commands/index.js';
import type { ResolvedAcks } from './ack-resolution.js';
import type { PushOperations } from './push-operations.js';
import type { TransactionBody } from './transaction-body.js';

const RESULT_BYTES = 176;

/** A transaction that went into the log. */
export interface PreparedTransaction {
  readonly body: TransactionBody;
  readonly acks: ResolvedAcks;
  readonly pushes: PushOperations;
  readonly keyValue: PlannedOperations | null;
  readonly timers: PlannedOperations | null;
}

export function renderCommit(
  transactionId: Uint8Array,
  transaction: PreparedTransaction,
  outcomes: Readonly<TransactionOutcomes>,
): Uint8Array {
  const { keyValue, timers, body } = transaction;
  const out = new JsonWriter(128 + resultCount(transaction) * RESULT_BYTES);
  out.ascii('{"transactionId":').uuid(transactionId).ascii(',"success":true,"results":[');
  let index = writeOperations(out, transaction, outcomes);
  for (const [type, planned] of [
    ['kv', keyValue],
    ['timer', timers],
  ] as const) {
    for (let i = 0; i < (planned?.count ?? 0); i += 1) {
      beginResult(out, index, type);
      out.ascii(',"opIndex":').integer(i);
      planned?.writeResult(out, i, outcomes);
      out.ascii('}');
      index += 1;
    }
  }
  body.positions.forEach((_, i) => {
    beginResult(out, index, 'position');
    out.ascii(',"opIndex":').integer(i).ascii(',"success":true}');
    index += 1;
  });
  return out.ascii(']}').view();
}

/** Acks and push items; answers the next index. */
function writeOperations(
  out: JsonWriter,
  transaction: PreparedTransaction,
  outcomes: Readonly<TransactionOutcomes>,
): number {
  const { body, acks, pushes } = transaction;
  let index = 0;
  let ackNumber = 0;
  for (const operation of body.operations) {
    if (operation.type === 'push') {
      for (let i = 0; i < operation.items; i += 1) {
        beginResult(out, index, 'push');
        pushes.writeResult(out, operation.firstItem + i);
        out.ascii('}');
        index += 1;
      }
      continue;
    }
    const { transactionId, status } = operation.ack;
    const place = acks.places[ackNumber];
    const filed = place === undefined ? [] : (outcomes.acks?.[place.target]?.filed ?? []);
    const isSignal = status === AckStatus.Failed || status === AckStatus.Dlq;
    beginResult(out, index, 'ack');
    out.ascii(',"success":true,"transactionId":').string(transactionId);
    out.ascii(',"error":null,"dlq":').boolean(isSignal && filed.includes(place?.offset ?? -1));
    out.ascii('}');
    index += 1;
    ackNumber += 1;
  }
  return index;
}

function beginResult(out: JsonWriter, index: number, type: string): void {
  out.ascii(index === 0 ? '{"index":' : ',{"index":').integer(index);
  out.ascii(',"type":"').ascii(type).ascii('"');
}

/** What the machine refused. */
export function renderRollback(
  transactionId: Uint8Array,
  transaction: PreparedTransaction,
  rollback: TransactionRollback,
): Uint8Array {
  const { pushes, keyValue, timers, acks } = transaction;
  const out = beginRefusal(transactionId, rollback.reason, rollback.text);
  const operations = acks.places.length + pushes.count;
  if (rollback.section === TransactionSection.KeyValue) {
    keyValue?.writeRollback(out, rollback, operations);
  } else if (rollback.section === TransactionSection.Timers) {
    timers?.writeRollback(out, rollback, operations + (keyValue?.count ?? 0));
  }
  return out.ascii('}').view();
}

/** What was refused before the log. */
export function renderRefusal(transactionId: Uint8Array, refusal: TransactionRefusal): Uint8Array {
  return beginRefusal(transactionId, refusal.reason, refusal.message).ascii('}').view();
}

function beginRefusal(transactionId: Uint8Array, reason: string, text: string): JsonWriter {
  const out = new JsonWriter(512);
  out.ascii('{"transactionId":').uuid(transactionId);
  out.ascii(',"success":false,"reason":').string(reason);
  return out.ascii(',"error":').string(text).ascii(',"results":[]');
}

function resultCount(transaction: PreparedTransaction): number {
  const { acks, pushes, keyValue, timers, body } = transaction;
  const plugged = (keyValue?.count ?? 0) + (timers?.count ?? 0);
  return acks.places.length + pushes.count + plugged + body.positions.length;
}
