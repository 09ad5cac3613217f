/**
 * Renders pop answers (messages.md §5.4) as bytes: payloads are spliced raw, everything that repeats
 * within a batch is escaped once.
 */
import { JsonWriter } from '../common/json/json-writer.js';
import type { GrantedRange } from '../machine/commands/catalogue.js';
import type { PopAnswer, PopRequest, StoredMessage } from '../raft/index.js';

export interface DeliveredBatch {
  readonly range: GrantedRange;
  readonly partition: string;
  readonly messages: readonly StoredMessage[];
}

/** Fixed bytes of one rendered message, names apart. */
const MESSAGE_OVERHEAD_BYTES = 420;

export function renderPop(
  request: PopRequest,
  answer: PopAnswer,
  batches: readonly DeliveredBatch[],
): Uint8Array {
  const out = new JsonWriter(estimateBytes(batches));
  const grant = answer.grant;
  const leased = grant !== null && !grant.commitOnDelivery ? grant.leaseId : null;
  writeHead(out, request, { batch: batches[0] ?? null, leaseId: leased });
  out.ascii(',"messages":[');
  let first = true;
  for (const batch of batches) {
    const shared = sharedTail(request, batch, leased);
    for (const message of batch.messages) {
      if (!first) out.ascii(',');
      first = false;
      writeMessage(out, message, shared);
    }
  }
  out.ascii('],"partitionsClaimed":').integer(batches.length);
  return writeFlags(out, answer).ascii('}').view();
}

/** The 200 with an empty list of conflating groups. */
export function renderEmptyPop(request: PopRequest, answer: PopAnswer): Uint8Array {
  return renderPop(request, answer, []);
}

function writeHead(
  out: JsonWriter,
  request: PopRequest,
  first: { readonly batch: DeliveredBatch | null; readonly leaseId: Uint8Array | null },
): void {
  out.ascii('{"success":true,"queue":').string(request.queue);
  out.ascii(',"partition":').string(first.batch?.partition ?? '');
  out.ascii(',"partitionId":"');
  if (first.batch !== null) out.integer(first.batch.range.partitionId);
  out.ascii('","leaseId":');
  writeLeaseId(out, first.batch === null ? null : first.leaseId);
  out.ascii(',"consumerGroup":').string(request.group);
}

function writeLeaseId(out: JsonWriter, leaseId: Uint8Array | null): void {
  if (leaseId === null) out.ascii('""');
  else out.uuid(leaseId);
}

/** The members that are the same for every message of a batch, rendered once. */
function sharedTail(
  request: PopRequest,
  batch: DeliveredBatch,
  leaseId: Uint8Array | null,
): Uint8Array {
  const out = new JsonWriter(512);
  out.ascii(',"partitionId":"').integer(batch.range.partitionId);
  out.ascii('","partition":').string(batch.partition);
  out.ascii(',"leaseId":');
  writeLeaseId(out, leaseId);
  out.ascii(',"consumerGroup":').string(request.group);
  out.ascii(',"deliveryAttempt":').integer(batch.range.deliveryAttempt);
  return out.ascii(',"offset":').toBytes();
}

function writeMessage(out: JsonWriter, message: StoredMessage, shared: Uint8Array): void {
  const { transactionId, payload, producerSub } = message;
  out.ascii('{"id":').uuid(message.id);
  out.ascii(',"transactionId":').utf8(transactionId, 0, transactionId.length);
  out.ascii(',"traceId":');
  if (message.traceId === null) out.null();
  else out.uuid(message.traceId);
  out.ascii(',"data":');
  if (payload.length === 0) out.null();
  else out.fragment(payload);
  out.ascii(',"producerSub":');
  if (producerSub === null) out.null();
  else out.utf8(producerSub, 0, producerSub.length);
  out.ascii(',"createdAt":').timestamp(message.createdAtMicros);
  out.fragment(shared).integer(message.offset).ascii('}');
}

function writeFlags(out: JsonWriter, answer: PopAnswer): JsonWriter {
  if (answer.conflation) out.ascii(',"conflation":true');
  if (answer.conflationConflict) out.ascii(',"conflationConflict":true');
  if (answer.autopilot !== null) {
    out.ascii(',"autopilot":{"partitions":').integer(answer.autopilot.partitions);
    out.ascii(',"batch":').integer(answer.autopilot.batch).ascii('}');
  }
  return out;
}

function estimateBytes(batches: readonly DeliveredBatch[]): number {
  let bytes = 512;
  for (const batch of batches) {
    bytes += batch.messages.length * (MESSAGE_OVERHEAD_BYTES + batch.partition.length);
    for (const message of batch.messages) {
      bytes += message.payload.length + message.transactionId.length;
    }
  }
  return bytes;
}
