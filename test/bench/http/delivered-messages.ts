/**
 * Walks over the messages of a pop answer without parsing it: the messages are our own, so fixed
 * widths and field names are known, and a payload never contains a field name of the answer.
 */
import { numberAt } from './push-load.js';
import { ID_WIDTHS, readDigits } from './push-template.js';

const TRANSACTION_ID = Buffer.from('"transactionId":"m');
const DATA = Buffer.from('"data":');
const PARTITION_ID = Buffer.from('"partitionId":"');
const PARTITION = Buffer.from('"partition":"p');
const LEASE_ID = Buffer.from('"leaseId":"');
const OFFSET = Buffer.from('"offset":');
const LEASE_ID_CHARS = 36;
export const TRANSACTION_ID_CHARS = 1 + ID_WIDTHS.request + 1 + ID_WIDTHS.item;

export interface DeliveredMessage {
  request: number;
  item: number;
  partition: number;
  offset: number;
  /** The payload begins here in the answer. */
  payloadAt: number;
}

/** Calls `visit` with one reused object per message; answers how many there were. */
export function walkMessages(
  bytes: Buffer,
  range: { readonly start: number; readonly end: number },
  visit: (message: DeliveredMessage) => void,
): number {
  const message: DeliveredMessage = { request: 0, item: 0, partition: 0, offset: 0, payloadAt: 0 };
  let count = 0;
  for (;;) {
    const id = bytes.indexOf(TRANSACTION_ID, count === 0 ? range.start : message.payloadAt);
    if (id < 0 || id >= range.end) return count;
    const digits = id + TRANSACTION_ID.length;
    message.request = readDigits(bytes, digits, ID_WIDTHS.request);
    message.item = readDigits(bytes, digits + ID_WIDTHS.request + 1, ID_WIDTHS.item);
    message.payloadAt = bytes.indexOf(DATA, digits) + DATA.length;
    const name = bytes.indexOf(PARTITION, message.payloadAt) + PARTITION.length;
    message.partition = readDigits(bytes, name, ID_WIDTHS.partition);
    message.offset = numberAt(bytes, bytes.indexOf(OFFSET, name) + OFFSET.length);
    count += 1;
    visit(message);
  }
}

const latin1 = (bytes: Buffer, from: number, to: number): string =>
  bytes.toString('latin1', from, to);

/** The leaseId of an answer, '' when there is none. */
function leaseOf(bytes: Buffer, start: number): string {
  const at = bytes.indexOf(LEASE_ID, start) + LEASE_ID.length;
  return bytes[at] === 0x22 ? '' : latin1(bytes, at, at + LEASE_ID_CHARS);
}

export interface AckBody {
  readonly messages: number;
  readonly path: string;
  readonly body: string;
}

/** The body that completes every message of a pop answer. */
export function ackBodyOf(
  bytes: Buffer,
  range: { readonly start: number; readonly end: number },
  group: string,
): AckBody {
  const leaseId = leaseOf(bytes, range.start);
  const items: string[] = [];
  let at = range.start;
  for (;;) {
    const id = bytes.indexOf(TRANSACTION_ID, at);
    if (id < 0 || id >= range.end) break;
    const idAt = id + TRANSACTION_ID.length - 1;
    const number = bytes.indexOf(PARTITION_ID, idAt) + PARTITION_ID.length;
    const numberEnd = bytes.indexOf(0x22, number);
    const transactionId = latin1(bytes, idAt, idAt + TRANSACTION_ID_CHARS);
    const partitionId = latin1(bytes, number, numberEnd);
    items.push(
      `"transactionId":"${transactionId}","partitionId":"${partitionId}","leaseId":"${leaseId}","status":"completed"`,
    );
    at = numberEnd;
  }
  if (items.length === 1) {
    const body = `{"consumerGroup":"${group}",${items[0] ?? ''}}`;
    return { messages: 1, path: '/api/v1/ack', body };
  }
  const list = items.map((item) => `{${item}}`).join(',');
  const body = `{"consumerGroup":"${group}","acknowledgments":[${list}]}`;
  return { messages: items.length, path: '/api/v1/ack/batch', body };
}
