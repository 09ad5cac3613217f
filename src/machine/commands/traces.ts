/**
 * Commands on traces (spec messages.md §13): one event of a client, and the sweep of what is too old,
 * proposed by the leader. The sweep names the counts its traces stand in, so that they can be read
 * ahead; what they are is read from the trace itself.
 *
 *   AppendTrace: 16B row id | event                       event as in trace-row.ts
 *   SweepTraces: varint n | n x { u64 createdAt µs | 16B row id }
 *                | varint m | m x length-prefixed key of a count
 */
import { DecodeError } from '../../common/binary-reader.js';
import type { BinaryReader } from '../../common/binary-reader.js';
import { utf8Length } from '../../common/utf8.js';
import type { TracePlace } from '../tables/trace-keys.js';
import { readTraceEvent, writeTraceEvent } from '../tables/trace-row.js';
import type { TraceEvent } from '../tables/trace-row.js';
import { CommandKind } from './catalogue.js';
import { readRowCount, writeRowCount } from './consumer-groups.js';
import { readCount, readId, writeId } from './fields.js';
import { beginCommand, finishCommand } from './header.js';
import { NO_TENANT } from './session.js';

const PLACE_BYTES = 24;
/** Most names of one trace. */
export const MAX_TRACE_NAMES = 64;
/** Of a name: it stands in keys. */
export const MAX_TRACE_NAME_BYTES = 511;

export interface AppendTraceCommand {
  /** Minted: tells traces of one instant apart. */
  readonly rowId: Uint8Array;
  readonly event: TraceEvent;
}

export interface SweepTracesCommand {
  readonly traces: readonly TracePlace[];
  readonly counts: readonly Uint8Array[];
}

export interface AppendTraceOutcome {
  readonly kind: CommandKind.AppendTrace;
  /** False: the partition is not there. */
  readonly stored: boolean;
}

export interface SweepTracesOutcome {
  readonly kind: CommandKind.SweepTraces;
  readonly removed: number;
}

export function encodeAppendTrace(tenant: Uint8Array, command: AppendTraceCommand): Uint8Array {
  const writer = beginCommand(CommandKind.AppendTrace, tenant);
  writeId(writer, command.rowId);
  writeTraceEvent(writer, command.event);
  return finishCommand(writer);
}

export function decodeAppendTrace(reader: BinaryReader): AppendTraceCommand {
  const rowId = readId(reader);
  const event = readTraceEvent(reader);
  if (event.names.length > MAX_TRACE_NAMES) {
    throw new DecodeError('a trace has too many names', reader.position);
  }
  if (event.names.some((name) => utf8Length(name) > MAX_TRACE_NAME_BYTES)) {
    throw new DecodeError('name of a trace too long', reader.position);
  }
  return { rowId, event };
}

export function encodeSweepTraces(command: SweepTracesCommand): Uint8Array {
  const writer = beginCommand(CommandKind.SweepTraces, NO_TENANT);
  writeRowCount(writer, command.traces.length);
  for (const { createdAt, rowId } of command.traces) {
    writer.u64(createdAt);
    writeId(writer, rowId);
  }
  writer.varint(command.counts.length);
  for (const key of command.counts) writer.lengthPrefixed(key);
  return finishCommand(writer);
}

export function decodeSweepTraces(reader: BinaryReader): SweepTracesCommand {
  const traces = Array.from({ length: readRowCount(reader, PLACE_BYTES) }, () => ({
    createdAt: reader.u64(),
    rowId: readId(reader),
  }));
  const counts = Array.from({ length: readCount(reader, 1) }, () => reader.lengthPrefixed());
  reader.expectEnd();
  return { traces, counts };
}
