/**
 * Answers of key-value calls as JSON (state.md §1.3, "Result elements"). Values are spliced as they are
 * stored. The same elements stand in the batch route, on the path routes and inside transactions.
 */
import type { JsonWriter } from '../../common/json/json-writer.js';
import { timestampText } from '../../common/timestamp.js';
import { readUtf8 } from '../../common/utf8.js';
import type { KvRow } from '../../machine/tables/kv-rows.js';
import type {
  KvAbort,
  KvFound,
  KvGetPrefix,
  KvOperation,
  KvResult,
  KvVerdictResult,
} from './kv-operation.js';

/** Characters of a verdict's detail above which it is left out of the answer. */
const MAX_DETAIL = 4096;

export function writeKvElement(
  writer: JsonWriter,
  index: number,
  answer: { readonly operation: KvOperation; readonly result: KvResult },
): void {
  writer.ascii('{"index":').integer(index);
  writeKvFields(writer, answer);
  writer.ascii('}');
}

/** Everything behind the index, with a comma in front and without the closing brace. */
export function writeKvFields(
  writer: JsonWriter,
  { operation, result }: { readonly operation: KvOperation; readonly result: KvResult },
): void {
  writer.ascii(',"op":"').ascii(operation.op).ascii('"');
  switch (result.kind) {
    case 'planned':
      writeVerdict(writer, operation, result);
      break;
    case 'get':
      writer
        .ascii(',"found":')
        .boolean(result.row !== null)
        .ascii(',"key":')
        .string(result.key);
      if (result.row !== null) writeRowFields(writer, result.row, true);
      break;
    case 'getMany':
      writer.ascii(',"rows":');
      writeRows(writer, result.rows, true);
      writer.ascii(',"missing":');
      writeTexts(writer, result.missing);
      writer.ascii(',"truncated":').boolean(result.truncated);
      break;
    case 'getPrefix':
      writer.ascii(',"rows":');
      writeRows(writer, result.rows, !(operation as KvGetPrefix).keysOnly);
      writer.ascii(',"truncated":').boolean(result.truncated).ascii(',"nextAfter":');
      writer.stringOrNull(result.nextAfter ?? undefined);
      break;
  }
}

/** The fields behind `"ok":false`, without braces; a verdict too long to show is left out. */
export function abortFields(abort: KvAbort, failedIndex: number): string {
  const { reason, version, value, operation } = abort;
  const { namespace: ns, key } = operation.planned;
  const text = value === null ? 'null' : readUtf8(value, 0, value.length);
  const named = { index: failedIndex, op: operation.op, ns, key, reason, version };
  if (JSON.stringify(named).length + ',"value":'.length + text.length > MAX_DETAIL) return '';
  return `,"failedIndex":${failedIndex},"kvReason":"${reason}","version":${version},"value":${text}`;
}

function writeVerdict(writer: JsonWriter, operation: KvOperation, result: KvVerdictResult): void {
  const { applied, reason, key, value, version } = result;
  writer.ascii(',"applied":').boolean(applied);
  if (reason !== null) writer.ascii(',"reason":"').ascii(reason).ascii('"');
  writer.ascii(',"key":').string(key);
  // A check that held shows no value: the caller knows what it expects.
  if (!(operation.op === 'check' && applied)) {
    writer.ascii(',"value":');
    writeValue(writer, value);
  }
  writer.ascii(',"version":').integer(version);
}

function writeRows(writer: JsonWriter, rows: readonly KvFound[], withValue: boolean): void {
  writer.ascii('[');
  rows.forEach(({ key, row }, i) => {
    writer.ascii(i === 0 ? '{"key":' : ',{"key":').string(key);
    writeRowFields(writer, row, withValue);
    writer.ascii('}');
  });
  writer.ascii(']');
}

function writeRowFields(writer: JsonWriter, row: KvRow, withValue: boolean): void {
  if (withValue) {
    writer.ascii(',"value":');
    writeValue(writer, row.value);
  }
  writer.ascii(',"version":').integer(row.version).ascii(',"expiresAt":');
  writer.stringOrNull(row.expiresAt === 0 ? undefined : kvTimeText(row.expiresAt));
  writer.ascii(',"updatedAt":').string(kvTimeText(row.updatedAt));
}

function writeValue(writer: JsonWriter, value: Uint8Array | null): void {
  if (value === null) writer.null();
  else writer.splice(value, 0, value.length);
}

function writeTexts(writer: JsonWriter, texts: readonly string[]): void {
  writer.ascii('[');
  texts.forEach((text, i) => {
    if (i > 0) writer.ascii(',');
    writer.string(text);
  });
  writer.ascii(']');
}

/** `2026-03-01T10:00:00.25+00:00`: fraction without trailing zeros, none when it is zero. */
export function kvTimeText(micros: number): string {
  return `${timestampText(micros)
    .slice(0, -1)
    .replace(/\.?0+$/, '')}+00:00`;
}
