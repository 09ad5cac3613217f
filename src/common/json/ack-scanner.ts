/**
 * Scans an acknowledgment body (spec messages.md §6.1) into an AckScan. Both routes take both forms:
 * a non-empty `acknowledgments` array makes it a batch, otherwise the top-level fields are one ack.
 * Known fields must be strings or null, else bad_body (so a JSON number as partitionId is bad_body);
 * a string that names nothing makes only its row fail. `consumerGroup` is read at the top level only.
 * Unknown fields are ignored; of a repeated field the last counts.
 */

import { readUtf8 } from '../utf8.js';
import { parseUuidInto, UUID_BYTES, UUID_TEXT_BYTES } from '../uuid-v7.js';
import {
  AckRows,
  LEASE_ABSENT,
  LEASE_FOREIGN,
  LEASE_UUID,
  PARTITION_NOT_A_NUMBER,
  PARTITION_UNKNOWN,
  PARTITION_VALID,
  STATUS_COMPLETED,
  STATUS_DLQ,
  STATUS_FAILED,
  STATUS_RETRY,
  type AckScan,
  type TextColumn,
} from './ack-scan.js';
import { badBody, fieldName, type BodyRefusal } from './body-refusal.js';
import { JsonCursor } from './json-cursor.js';
import { failureText, KIND_ARRAY, KIND_NULL, KIND_STRING } from './json-syntax.js';
import { unescapeInto } from './json-text.js';

const ACKNOWLEDGMENTS = fieldName('acknowledgments');
const CONSUMER_GROUP = fieldName('consumerGroup');
const TRANSACTION_ID = fieldName('transactionId');
const PARTITION_ID = fieldName('partitionId');
const LEASE_ID = fieldName('leaseId');
const STATUS = fieldName('status');
const ERROR = fieldName('error');

const FAILED = fieldName('failed');
const DLQ = fieldName('dlq');
const RETRY = fieldName('retry');

const EMPTY = new Uint8Array(0);
const MAX_U64_TEXT = '18446744073709551615';

/** Fields whose last value was of a wrong type, as bits: a later right one takes the bit back. */
const WRONG_GROUP = 1;
const WRONG_ID = 2;
const WRONG_PARTITION = 4;
const WRONG_LEASE = 8;
const WRONG_STATUS = 16;
const WRONG_ERROR = 32;
const WRONG_ACKS = 64;
const FIELD_OF_BIT = [
  'consumerGroup',
  'transactionId',
  'partitionId',
  'leaseId',
  'status',
  'error',
  'acknowledgments',
];

export class AckScanner {
  private readonly cursor = new JsonCursor();
  /** The text read last, escapes resolved: bytes[textStart, textEnd). */
  private text: Uint8Array = EMPTY;
  private textStart = 0;
  private textEnd = 0;
  private textInArena = false;
  private wrongTypes = 0;
  private shapeError: BodyRefusal | undefined;
  private batchError: BodyRefusal | undefined;

  /** Fills `scan` from a whole body; a refusal leaves it in no defined state. */
  scanBody(body: Uint8Array, scan: AckScan): BodyRefusal | undefined {
    const cursor = this.cursor;
    cursor.reset(body);
    scan.clear();
    scan.body = body;
    this.shapeError = undefined;
    this.batchError = undefined;
    this.wrongTypes = 0;
    const row = scan.single.add();
    if (cursor.enterObject()) {
      while (cursor.nextKey()) this.scanTopField(scan, row);
      this.refuseWrongTypes(this.wrongTypes, '');
    } else {
      cursor.skip();
      this.refuse('the body must be a JSON object');
    }
    cursor.finish();
    const failure = cursor.failure;
    cursor.release();
    this.text = EMPTY;
    if (failure !== 0) return badBody(failureText(failure));
    scan.isBatch = scan.batch.count > 0;
    return this.shapeError ?? this.batchError;
  }

  private scanTopField(scan: AckScan, row: number): void {
    const cursor = this.cursor;
    if (cursor.keyIs(ACKNOWLEDGMENTS)) {
      this.scanBatch(scan);
    } else if (cursor.keyIs(CONSUMER_GROUP)) {
      const isText = this.takeText(scan, WRONG_GROUP);
      scan.consumerGroup = isText ? readUtf8(this.text, this.textStart, this.textEnd) : '';
    } else {
      this.scanAckField(scan, scan.single, row);
    }
  }

  private scanBatch(scan: AckScan): void {
    const cursor = this.cursor;
    const topWrong = this.wrongTypes & ~WRONG_ACKS;
    const topError = this.shapeError;
    scan.batch.clear();
    this.batchError = undefined;
    this.shapeError = undefined;
    const kind = cursor.kind();
    if (kind !== KIND_ARRAY) {
      cursor.skip();
      this.wrongTypes = kind === KIND_NULL ? topWrong : topWrong | WRONG_ACKS;
    } else {
      cursor.enterArray();
      while (cursor.nextElement()) this.scanElement(scan);
      this.wrongTypes = topWrong;
    }
    this.batchError = this.shapeError;
    this.shapeError = topError;
  }

  private scanElement(scan: AckScan): void {
    const cursor = this.cursor;
    const rows = scan.batch;
    const row = rows.add();
    this.wrongTypes = 0;
    if (!cursor.enterObject()) {
      cursor.skip();
      this.refuse(`acknowledgments[${row}] must be an object`);
      return;
    }
    while (cursor.nextKey()) this.scanAckField(scan, rows, row);
    if (this.wrongTypes !== 0) this.refuseWrongTypes(this.wrongTypes, `acknowledgments[${row}].`);
  }

  private scanAckField(scan: AckScan, rows: AckRows, row: number): void {
    const cursor = this.cursor;
    if (cursor.keyIs(TRANSACTION_ID)) {
      this.takeText(scan, WRONG_ID);
      this.note(rows.transactionIds, row);
    } else if (cursor.keyIs(PARTITION_ID)) {
      this.takeText(scan, WRONG_PARTITION);
      this.note(rows.partitionTexts, row);
      this.judgePartition(rows, row);
    } else if (cursor.keyIs(LEASE_ID)) {
      this.takeText(scan, WRONG_LEASE);
      this.judgeLease(rows, row);
    } else if (cursor.keyIs(STATUS)) {
      this.takeText(scan, WRONG_STATUS);
      rows.statuses[row] = this.judgeStatus();
    } else if (cursor.keyIs(ERROR)) {
      this.takeText(scan, WRONG_ERROR);
      this.note(rows.errors, row);
    } else {
      cursor.skip();
    }
  }

  private note(column: TextColumn, row: number): void {
    column.set(row, this.textStart, this.textEnd, this.textInArena);
  }

  /**
   * Takes the value that comes next as text; null and wrong types leave an empty text. A wrong type is
   * noted as `wrongBit`. True when it was a string.
   */
  private takeText(scan: AckScan, wrongBit: number): boolean {
    const cursor = this.cursor;
    const kind = cursor.kind();
    this.text = cursor.bytes;
    this.textStart = 0;
    this.textEnd = 0;
    this.textInArena = false;
    this.wrongTypes &= ~wrongBit;
    if (!cursor.skip()) return false;
    if (kind !== KIND_STRING) {
      if (kind !== KIND_NULL) this.wrongTypes |= wrongBit;
      return false;
    }
    this.textStart = cursor.valueStart + 1;
    this.textEnd = cursor.valueEnd - 1;
    if (cursor.valueHasEscape) this.unescape(scan, wrongBit);
    return true;
  }

  /** Moves the text to the arena with its escapes resolved. */
  private unescape(scan: AckScan, wrongBit: number): void {
    const arena = scan.arena;
    const start = arena.length;
    arena.reserve(this.textEnd - this.textStart);
    const end = unescapeInto(this.text, this.textStart, this.textEnd, arena.bytes, start);
    if (end < 0) this.wrongTypes |= wrongBit;
    arena.truncate(Math.max(start, end));
    this.text = arena.bytes;
    this.textStart = start;
    this.textEnd = arena.length;
    this.textInArena = true;
  }

  /** A string of digits within 64 bits. */
  private judgePartition(rows: AckRows, row: number): void {
    const { text, textStart: start, textEnd: end } = this;
    rows.partitionStates[row] = PARTITION_NOT_A_NUMBER;
    rows.partitionIds[row] = 0;
    if (start === end) return;
    let number = 0;
    for (let p = start; p < end; p++) {
      const digit = (text[p] ?? 0) - 0x30;
      if (digit < 0 || digit > 9) return;
      number = number * 10 + digit;
    }
    if (Number.isSafeInteger(number)) {
      rows.partitionIds[row] = number;
      rows.partitionStates[row] = PARTITION_VALID;
      return;
    }
    const digits = readUtf8(text, start, end).replace(/^0+/, '');
    const fits = digits.length < MAX_U64_TEXT.length;
    if (fits || (digits.length === MAX_U64_TEXT.length && digits <= MAX_U64_TEXT)) {
      rows.partitionStates[row] = PARTITION_UNKNOWN;
    }
  }

  private judgeLease(rows: AckRows, row: number): void {
    const size = this.textEnd - this.textStart;
    const isUuid =
      size === UUID_TEXT_BYTES &&
      parseUuidInto(this.text, this.textStart, rows.leases, row * UUID_BYTES);
    rows.leaseKinds[row] = size === 0 ? LEASE_ABSENT : isUuid ? LEASE_UUID : LEASE_FOREIGN;
  }

  private judgeStatus(): number {
    if (this.textIs(FAILED)) return STATUS_FAILED;
    if (this.textIs(DLQ)) return STATUS_DLQ;
    return this.textIs(RETRY) ? STATUS_RETRY : STATUS_COMPLETED;
  }

  /** Compares without regard to case; `word` is lowercase ASCII letters. */
  private textIs(word: Uint8Array): boolean {
    if (this.textEnd - this.textStart !== word.length) return false;
    for (let i = 0; i < word.length; i++) {
      if (((this.text[this.textStart + i] ?? 0) | 0x20) !== word[i]) return false;
    }
    return true;
  }

  private refuseWrongTypes(wrongTypes: number, where: string): void {
    for (let bit = 0; bit < FIELD_OF_BIT.length; bit++) {
      if ((wrongTypes & (1 << bit)) === 0) continue;
      const must = 1 << bit === WRONG_ACKS ? 'an array' : 'a string';
      this.refuse(`${where}${FIELD_OF_BIT[bit]} must be ${must}`);
      return;
    }
  }

  private refuse(text: string): void {
    this.shapeError ??= badBody(text);
  }
}
