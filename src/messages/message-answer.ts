/** Message list and detail as JSON bytes (messages.md §11.1, §11.2); payloads as they are stored. */
import { JsonWriter } from '../common/json/json-writer.js';
import { hexText } from '../common/uuid-v7.js';
import type { QueueRow } from '../machine/tables/tables.js';
import type { Group, StoredMessage } from '../raft/index.js';
import { partitionUuidText } from '../reads/partition-identity.js';
import { PayloadBudget, readEach, writePayload } from '../reads/stored-messages.js';
import type { ListedRow, MessageFilter, MessagePage } from './message-list.js';
import { consumedBy, millisOrNull } from './message-status.js';

export async function renderPage(
  group: Group,
  page: MessagePage,
  filter: MessageFilter,
): Promise<Uint8Array> {
  const out = new JsonWriter(1024 + page.rows.length * 1024);
  const budget = new PayloadBudget();
  let total = 0;
  out.ascii('{"messages":[');
  await readEach(group, page.rows, (row, message) => {
    if (message === null) return;
    if (total > 0) out.ascii(',');
    total += 1;
    writeRow(out, group, { row, message, shown: budget.admits(message) });
  });
  const { limit, offset } = filter;
  const rest = JSON.stringify({ total, pagination: { limit, offset }, mode: page.mode });
  return out.ascii('],').ascii(rest.slice(1)).view();
}

interface ShownMessage {
  readonly row: ListedRow;
  readonly message: StoredMessage;
  readonly shown: boolean;
}

function writeRow(out: JsonWriter, group: Group, listed: ShownMessage): void {
  const { row, message, shown } = listed;
  const { partitions, queues } = group.tables;
  const slot = partitions.byId(row.partitionId);
  const queue = queues.byId(row.queueId);
  const partition = slot < 0 ? '' : partitions.name(slot);
  out.ascii('{');
  writeMessage(out, message, shown);
  out.ascii(',"txnHash":"').ascii(hexText(row.hash)).ascii('"');
  out.ascii(',"createdAt":').timestamp(row.createdAt, 3);
  out.ascii(',"offset":').integer(row.offset);
  out.ascii(',');
  writePlace(out, { queue, partition, uuid: slot < 0 ? '' : partitionUuidText(partitions, slot) });
  out.ascii(`,"status":"${row.status}","queueStatus":"${row.status}"`);
  out.ascii(',"busStatus":{"consumedBy":').integer(consumedBy(row.readers, row.offset));
  out.ascii(',"totalGroups":').integer(row.readers.named.length).ascii('}');
  out.ascii(',"namespace":').stringOrNull(queue?.options.namespace || undefined);
  out.ascii(',"task":').stringOrNull(queue?.options.task || undefined);
  out.ascii(',"queuePriority":').integer(queue?.options.priority ?? 0);
  out.ascii(',"payloadAvailable":').boolean(shown);
  out
    .ascii(',"leaseExpiresAt":')
    .stringOrNull(millisOrNull(row.readers.queueLeaseEnd) ?? undefined);
  out.ascii(',"segment":{"seq":').integer(row.baseOffset);
  out.ascii(',"frameIdx":').integer(row.offset - row.baseOffset);
  out.ascii('},"isEncrypted":').boolean(message.encrypted).ascii('}');
}

/** The members that list and detail share, as the message itself has them. */
export function writeMessage(out: JsonWriter, message: StoredMessage, shown: boolean): void {
  const { transactionId, producerSub, traceId } = message;
  out.ascii('"id":').uuid(message.id);
  out.ascii(',"transactionId":').utf8(transactionId, 0, transactionId.length);
  out.ascii(',"data":');
  writePayload(out, message, shown);
  out.ascii(',"payload":');
  writePayload(out, message, shown);
  out.ascii(',"traceId":');
  if (traceId === null) out.null();
  else out.uuid(traceId);
  out.ascii(',"producerSub":');
  if (producerSub === null) out.null();
  else out.utf8(producerSub, 0, producerSub.length);
}

export interface MessageHome {
  readonly queue: QueueRow | undefined;
  readonly partition: string;
  readonly uuid: string;
}

export function writePlace(out: JsonWriter, home: MessageHome): void {
  const queue = home.queue?.name ?? '';
  out.ascii('"queue":').string(queue);
  out.ascii(',"partition":').string(home.partition);
  out.ascii(',"partitionId":').string(home.uuid);
  out.ascii(',"queuePath":').string(`${queue}/${home.partition}`);
}
