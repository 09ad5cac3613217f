/**
 * Operations of a timer call as they come in JSON (state.md §2.2), checked in two passes that the
 * contract tells apart: what is checked at the edge, before the gate ladder, and what only counts for a
 * call that passed it. The first operation that is wrong refuses the call.
 */
import { StateRefusal } from '../common/state-refusal.js';
import { MAX_TRANSACTION_ID_BYTES } from '../common/name-budget.js';
import { utf8Length } from '../common/utf8.js';
import { messagePayload, unpackZstd } from './payload.js';
import { bytesOfBase64, flagOf, textOf } from './scalars.js';

const DEFAULT_PARTITION = 'Default';
const MICROS_PER_MS = 1000;
const MS_PER_SECOND = 1000;
/** Delays stand in µs and an instant in 53 bits: longer ones never come, shorter ones are due. */
const LONGEST_DELAY_MICROS = 2 ** 52;

const SERVER_OWNED = [
  ...['producerSub', 'producer_sub', 'messageId', 'message_id', 'tenant', 'tenantId'],
  ...['tenant_id', 'deliverAt', 'deliver_at', 'delaySeconds', 'delay_seconds', 'attempts'],
  ...['claimToken', 'claim_token', 'claimedUntil'],
] as const;

export interface EdgeLimits {
  /** Infinity where the limit does not apply. */
  readonly maxPayloadBytes: number;
  readonly maxHorizonSeconds: number;
}

export interface ScheduleOperation {
  readonly op: 'schedule';
  readonly queue: string;
  readonly timerKey: string;
  readonly partition: string;
  readonly delayMicros: number;
  readonly txn: string;
  /** As a message carries it. */
  readonly payload: Uint8Array;
  /** The client encrypted it. */
  readonly encrypted: boolean;
}

export interface CancelOperation {
  readonly op: 'cancel';
  readonly queue: string;
  readonly timerKey: string;
  /** Echoed when there is nothing to cancel. */
  readonly txn: string | null;
}

export type TimerOperation = ScheduleOperation | CancelOperation;

type RawOperation = Readonly<Record<string, unknown>>;

/** What passed the edge: payload bytes are decoded, nothing else is looked at yet. */
export interface EdgeOperation {
  readonly raw: RawOperation;
  readonly schedules: boolean;
  readonly payload: Uint8Array | null;
}

/** Throws StateRefusal: the first wrong operation decides; texts place it in the array `field`. */
export function checkEdge(
  operations: readonly unknown[],
  limits: EdgeLimits,
  field = 'operations',
): EdgeOperation[] {
  return operations.map((value, i) => edgeOperation(value, `${field}[${i}]`, limits));
}

function edgeOperation(value: unknown, at: string, limits: EdgeLimits): EdgeOperation {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw badRequest('timers_bad_op', `${at} is not an object`);
  }
  const raw = value as RawOperation;
  const owned = Object.keys(raw).find((name) => name.startsWith('_'));
  if (owned !== undefined) throw serverOwned(at, owned);
  const op = textOf(raw['op']);
  if (op !== 'schedule' && op !== 'reschedule') return { raw, schedules: false, payload: null };
  if ((textOf(raw['queue']) ?? '') === '') {
    throw badRequest('timers_queue_required', `${at}.queue is required`);
  }
  checkDelay(raw['delayMs'], at, limits);
  return { raw, schedules: true, payload: edgePayload(raw['payload'], at, limits) };
}

function checkDelay(delay: unknown, at: string, { maxHorizonSeconds }: EdgeLimits): void {
  if (typeof delay !== 'number') {
    throw badRequest('timers_delay_required', `${at}.delayMs must be a number of milliseconds`);
  }
  if (delay <= maxHorizonSeconds * MS_PER_SECOND) return;
  throw new StateRefusal('timer_horizon_exceeded', {
    reason: 'timers_horizon',
    detail: `${at}.delayMs is beyond ${maxHorizonSeconds} s`,
  });
}

function edgePayload(value: unknown, at: string, { maxPayloadBytes }: EdgeLimits): Uint8Array {
  if (typeof value !== 'string') {
    throw badRequest('timers_payload_required', `${at}.payload must be base64 text`);
  }
  const bytes = bytesOfBase64(value);
  if (bytes === undefined) {
    throw badRequest('timers_payload_not_base64', `${at}.payload is not standard base64`);
  }
  if (bytes.length > maxPayloadBytes) throw payloadTooLarge(at, maxPayloadBytes);
  return bytes;
}

/** The second pass; `maxPayloadBytes` bounds what comes out of compressed payloads. */
export function readOperations(
  edge: readonly EdgeOperation[],
  { maxPayloadBytes }: Pick<EdgeLimits, 'maxPayloadBytes'>,
  field = 'operations',
): TimerOperation[] {
  const seen = new Set<string>();
  return edge.map((one, i) => {
    const at = `${field}[${i}]`;
    const operation = readOperation(one, at, maxPayloadBytes);
    const name = JSON.stringify([operation.queue, operation.timerKey]);
    if (seen.has(name)) throw badText(`${at} names a timer that the call names already`);
    seen.add(name);
    return operation;
  });
}

function readOperation(edge: EdgeOperation, at: string, maxPayloadBytes: number): TimerOperation {
  const { raw, schedules } = edge;
  const op = textOf(raw['op']);
  if (!schedules && op !== 'cancel') {
    throw badText(`${at}.op must be schedule, reschedule or cancel`);
  }
  const owned = SERVER_OWNED.find((name) => raw[name] !== undefined);
  if (owned !== undefined) throw new ServerOwnedRefusal(`${at}.${owned} is owned by the server`);
  const queue = requiredText(raw, 'queue', at);
  const timerKey = requiredText(raw, 'timerKey', at);
  if (!schedules) return { op: 'cancel', queue, timerKey, txn: textOf(raw['txn']) ?? null };
  return {
    op: 'schedule',
    queue,
    timerKey,
    partition: partitionOf(raw, at),
    delayMicros: delayMicros(raw['delayMs'] as number),
    txn: transactionId(raw, at),
    payload: payloadOf(edge, at, maxPayloadBytes),
    encrypted: flag(raw, 'encrypted', at),
  };
}

function partitionOf(raw: RawOperation, at: string): string {
  return raw['partition'] === undefined ? DEFAULT_PARTITION : requiredText(raw, 'partition', at);
}

/** Fractions of a millisecond count, in µs. */
export function delayMicros(delayMs: number): number {
  const micros = Math.round(delayMs * MICROS_PER_MS);
  return Math.min(Math.max(micros, -LONGEST_DELAY_MICROS), LONGEST_DELAY_MICROS);
}

function transactionId(raw: RawOperation, at: string): string {
  const txn = requiredText(raw, 'txn', at);
  if (utf8Length(txn) <= MAX_TRANSACTION_ID_BYTES) return txn;
  throw badText(`${at}.txn is longer than ${MAX_TRANSACTION_ID_BYTES} bytes`);
}

function payloadOf(
  { raw, payload }: EdgeOperation,
  at: string,
  maxPayloadBytes: number,
): Uint8Array {
  const bytes = payload ?? new Uint8Array(0);
  if (!flag(raw, 'payloadZstd', at)) return messagePayload(bytes);
  const unpacked = unpackZstd(bytes, maxPayloadBytes);
  if (unpacked === 'bad') throw badText(`${at}.payload is not zstd`);
  if (unpacked === 'too long') throw payloadTooLarge(at, maxPayloadBytes);
  return messagePayload(unpacked);
}

function requiredText(raw: RawOperation, name: string, at: string): string {
  const text = textOf(raw[name]) ?? '';
  if (text === '') throw badText(`${at}.${name} must not be empty`);
  return text;
}

function flag(raw: RawOperation, name: string, at: string): boolean {
  const value = flagOf(raw[name]);
  if (value === undefined) throw badText(`${at}.${name} must be true or false`);
  return value;
}

function payloadTooLarge(at: string, maxPayloadBytes: number): StateRefusal {
  return new StateRefusal('payload_too_large', {
    reason: 'timers_payload_too_large',
    detail: `${at}.payload has more than ${maxPayloadBytes} bytes`,
  });
}

function serverOwned(at: string, name: string): StateRefusal {
  return new ServerOwnedRefusal(
    'timers_server_owned_field',
    `${at}.${name} is owned by the server`,
  );
}

/** The operation carries a field that only the server sets; two surfaces name it differently. */
class ServerOwnedRefusal extends StateRefusal {
  constructor(reason: string, detail?: string) {
    super('timers_bad_request', { reason, ...(detail === undefined ? {} : { detail }) });
  }
}

export function isServerOwned(refusal: StateRefusal): boolean {
  return refusal instanceof ServerOwnedRefusal;
}

export function badRequest(reason: string, detail?: string): StateRefusal {
  return new StateRefusal('timers_bad_request', {
    reason,
    ...(detail === undefined ? {} : { detail }),
  });
}

/** Refusals of the second pass say in `reason` what is wrong. */
function badText(text: string): StateRefusal {
  return badRequest(text);
}
