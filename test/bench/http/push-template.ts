/**
 * A push request whose partition and message numbers are patched in place: fixed width, one buffer per
 * connection, nothing built per request. Which partition a message goes to follows from its number, so
 * a verifier needs no list.
 *
 *   transactionId  "m<request, 9 digits>-<item, 4 digits>"
 *   partition      "p<number, 7 digits>"
 */

const REQUEST_DIGITS = 9;
const ITEM_DIGITS = 4;
const PARTITION_DIGITS = 7;
const ZERO = 0x30;

export interface PushShape {
  readonly queue: string;
  /** Messages of one request. */
  readonly batch: number;
  readonly payloadBytes: number;
  readonly partitions: number;
  /** Items of one request go to partitions of their own instead of one. */
  readonly spread: boolean;
  /** Requests walk over the partitions one after the other instead of scattered. */
  readonly sequential?: boolean;
}

/** Partition of one item; a scattered walk unless the shape says otherwise. */
export function partitionOf(shape: PushShape, request: number, item: number): number {
  if (shape.partitions === 1) return 0;
  if (shape.sequential === true) {
    return (shape.spread ? request * shape.batch + item : request) % shape.partitions;
  }
  const first = Math.imul(request, 0x9e3779b1) >>> 0;
  return ((first % shape.partitions) + (shape.spread ? item : 0)) % shape.partitions;
}

/** JSON text of exactly the wanted size, with the mix of an ordinary event. */
export function payloadText(bytes: number): string {
  const fields: string[] = [];
  let size = 2;
  for (let i = 0; size < bytes - 60; i += 1) {
    const field = [
      `"customer${i}":"c-${4711 + i}"`,
      `"amountCents${i}":${129_900 + i}`,
      `"paid${i}":${i % 2 === 0}`,
      `"note${i}":"left at the door, call ${i}"`,
    ][i % 4];
    if (field === undefined) continue;
    fields.push(field);
    size += field.length + 1;
  }
  const open = `{${fields.map((field) => `${field},`).join('')}"pad":"`;
  return `${open}${'x'.repeat(Math.max(0, bytes - open.length - 2))}"}`;
}

export class PushTemplate {
  readonly bytes: Buffer;
  readonly bodyBytes: number;
  private readonly requestAt: number[] = [];
  private readonly partitionAt: number[] = [];

  constructor(
    private readonly shape: PushShape,
    path = '/api/v1/push',
  ) {
    const payload = payloadText(shape.payloadBytes);
    const items: string[] = [];
    let length = '{"items":['.length;
    for (let i = 0; i < shape.batch; i += 1) {
      const before = `{"queue":"${shape.queue}","partition":"p`;
      const middle = `${'0'.repeat(PARTITION_DIGITS)}","transactionId":"m`;
      const id = `${'0'.repeat(REQUEST_DIGITS)}-${String(i).padStart(ITEM_DIGITS, '0')}`;
      const item = `${before}${middle}${id}","payload":${payload}}`;
      this.partitionAt.push(length + before.length);
      this.requestAt.push(length + before.length + middle.length);
      items.push(item);
      length += item.length + 1;
    }
    const body = `{"items":[${items.join(',')}]}`;
    const head =
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
      `content-length: ${body.length}\r\n\r\n`;
    this.bytes = Buffer.from(head + body, 'latin1');
    this.bodyBytes = body.length;
    for (let i = 0; i < shape.batch; i += 1) {
      this.partitionAt[i] = (this.partitionAt[i] ?? 0) + head.length;
      this.requestAt[i] = (this.requestAt[i] ?? 0) + head.length;
    }
  }

  /** The request with this number; the buffer is the same every time. */
  fill(request: number): Buffer {
    const { bytes, shape, requestAt, partitionAt } = this;
    for (let i = 0; i < shape.batch; i += 1) {
      putDigits(bytes, requestAt[i] ?? 0, REQUEST_DIGITS, request);
      putDigits(bytes, partitionAt[i] ?? 0, PARTITION_DIGITS, partitionOf(shape, request, i));
    }
    return bytes;
  }
}

function putDigits(bytes: Buffer, at: number, digits: number, value: number): void {
  let rest = value;
  for (let p = at + digits - 1; p >= at; p -= 1) {
    const next = Math.floor(rest / 10);
    bytes[p] = ZERO + (rest - next * 10);
    rest = next;
  }
}

/** Reads what putDigits wrote. */
export function readDigits(bytes: Buffer, at: number, digits: number): number {
  let value = 0;
  for (let p = at; p < at + digits; p += 1) value = value * 10 + (bytes[p] ?? ZERO) - ZERO;
  return value;
}

export const ID_WIDTHS = {
  request: REQUEST_DIGITS,
  item: ITEM_DIGITS,
  partition: PARTITION_DIGITS,
} as const;
