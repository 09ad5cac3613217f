/**
 * Whether this build can read a row of the store: version byte and whole layout, for every table that is
 * not loaded into the columns (those are read by the load itself).
 */
import { COLUMN_KEYSPACES, KEYSPACE } from '../../machine/tables/keyspaces.js';
import { AppendRowView } from '../../machine/tables/append-row.js';
import {
  decodeDeadLetterRow,
  decodeLetterCount,
  decodeLetterPointer,
} from '../../machine/tables/dead-letter-row.js';
import { checkGarbagePartition } from '../../machine/tables/garbage-partition.js';
import {
  decodeKvExpiryRow,
  decodeKvNamespaceRow,
  decodeKvRow,
} from '../../machine/tables/kv-rows.js';
import { decodeMetadataRow } from '../../machine/tables/metadata-row.js';
import { openRow } from '../../machine/tables/row-codec.js';
import { decodeStateRow } from '../../machine/tables/stream-rows.js';
import { decodeTimerPin, decodeTimerRow } from '../../machine/tables/timer-row.js';
import { decodeTraceRow } from '../../machine/tables/trace-row.js';
import { decodeMembers } from '../group/cluster/members.js';

type Check = (value: Uint8Array) => unknown;

const append = new AppendRowView();
/** Tables whose rows are small and judged by their version. */
const versioned: Check = (value) => openRow(value, 1, 'row');

const CHECKS: ReadonlyMap<number, Check> = new Map<number, Check>([
  [KEYSPACE.header, versioned],
  [KEYSPACE.appends, (value) => append.open(value)],
  [KEYSPACE.deadLetters, decodeDeadLetterRow],
  [KEYSPACE.idJournal, versioned],
  [KEYSPACE.messageLetters, decodeLetterPointer],
  [KEYSPACE.letterIds, decodeLetterPointer],
  [KEYSPACE.groupLetters, decodeLetterCount],
  [KEYSPACE.timers, decodeTimerRow],
  [KEYSPACE.timersDue, versioned],
  [KEYSPACE.timerPins, decodeTimerPin],
  [KEYSPACE.garbagePartitions, checkGarbagePartition],
  [KEYSPACE.kvRows, decodeKvRow],
  [KEYSPACE.kvExpiry, decodeKvExpiryRow],
  [KEYSPACE.kvNamespaces, decodeKvNamespaceRow],
  [KEYSPACE.streamState, decodeStateRow],
  [KEYSPACE.traces, decodeTraceRow],
  [KEYSPACE.traceNames, versioned],
  [KEYSPACE.tracedMessages, versioned],
  [KEYSPACE.cursorMetadata, decodeMetadataRow],
  [KEYSPACE.members, decodeMembers],
]);
const COLUMNS: ReadonlySet<number> = new Set(COLUMN_KEYSPACES);

/** False for a table this build does not know. Throws DecodeError where the row cannot be read. */
export function checkRow(keyspace: number, value: Uint8Array): boolean {
  const check = CHECKS.get(keyspace);
  check?.(value);
  return check !== undefined || COLUMNS.has(keyspace);
}
