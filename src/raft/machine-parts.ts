/** Builds the machine of a group and what the group needs of its formats. */
import { DecodeError } from '../common/binary-reader.js';
import { logIndex, type LogIndex, type QueueId, type TenantId } from '../common/ids.js';
import { checkCommand } from '../machine/commands/check.js';
import { encodeUnclaim } from '../machine/commands/claim.js';
import { commandU32 } from '../machine/commands/header.js';
import { MESSAGE_FLAG, readRecord } from '../machine/commands/push-record.js';
import {
  encodeForgetNode,
  encodeOpenSession,
  encodeRaiseVersion,
} from '../machine/commands/session.js';
import type { IdIndexPort, RowPort } from '../machine/machine.js';
import { createMachine } from '../machine/queen-machine.js';
import { AppendRowView } from '../machine/tables/append-row.js';
import { createTables, type TablesImpl } from '../machine/tables/create-tables.js';
import {
  appendRange,
  COLUMN_KEYSPACES,
  keyBaseOffset,
  keyNumber,
  keyPartition,
  KEYSPACE,
  keyspaceRange,
  membersKey,
  queueRange,
  RANGE_PURGED_KEYSPACES,
  TENANT_PURGED_KEYSPACES,
  tenantRange,
} from '../machine/tables/keyspaces.js';
import { streamGenerationRange } from '../machine/tables/stream-rows.js';
import type { GarbageState } from '../machine/tables/stream-table.js';
import { timerIndexKeys } from '../machine/tables/timer-index.js';
import { entryContents } from './entry-contents.js';
import type { StoredMessage } from './group/group.js';
import type { AppendRow, AppendRows, Garbage, GarbagePile, GroupCommands } from './group/ports.js';
import type { MachineParts } from './group/ports.js';

const MICROS_PER_SECOND = 1_000_000;
/** Above every offset a key can hold. */
const NO_OFFSET = 2 ** 48 - 1;

export interface MachineSetup {
  readonly rows: RowPort;
  readonly ids: IdIndexPort;
  /** Recognition floor, seconds (QUEEN_RAFT_TXN_WINDOW_MIN_S). */
  readonly windowMinSeconds: number;
  /** Rows of trimmed appends stay for ever (QUEEN_RAFT_ROWS_WINDOW off). */
  readonly keepRows?: boolean;
}

export function createMachineParts(setup: MachineSetup): MachineParts {
  const tables = createTables();
  const machine = createMachine({ tables, rows: setup.rows, ids: setup.ids });
  return {
    machine,
    tables,
    columnRanges: COLUMN_KEYSPACES.map(keyspaceRange),
    membersKey: membersKey(),
    membersRange: keyspaceRange(KEYSPACE.members),
    appendRange: keyspaceRange(KEYSPACE.appends),
    commands: groupCommands,
    appends: appendRows,
    garbage: garbageOf(tables),
    recognitionWindowMicros: () =>
      recognitionWindowSeconds(tables, setup.windowMinSeconds) * MICROS_PER_SECOND,
    rowWindowMicros: (queueId) => rowWindowMicros(tables, queueId, setup),
    dropped: {
      range: keyspaceRange(KEYSPACE.garbagePartitions),
      appendsOf: (key) =>
        appendRange(keyNumber(key), keyPartition(key), { first: 0, limit: NO_OFFSET }),
    },
    contents: entryContents(tables),
  };
}

function rowWindowMicros(tables: TablesImpl, queueId: QueueId, setup: MachineSetup): number {
  const options = tables.queues.byId(queueId)?.options;
  if (setup.keepRows === true || options === undefined) return Infinity;
  const { dedupWindowSeconds, completedRetentionSeconds } = options;
  return (
    Math.max(setup.windowMinSeconds, dedupWindowSeconds, completedRetentionSeconds) *
    MICROS_PER_SECOND
  );
}

/** The largest window of any queue: ids younger than this must be found. */
function recognitionWindowSeconds(tables: TablesImpl, floor: number): number {
  let seconds = floor;
  for (const { options } of tables.queues.live()) {
    seconds = Math.max(seconds, options.dedupWindowSeconds, options.completedRetentionSeconds);
  }
  return seconds;
}

function garbageOf(tables: TablesImpl): Garbage {
  const queuePile = (queueId: QueueId): GarbagePile => ({
    ranges: RANGE_PURGED_KEYSPACES.map((keyspace) => queueRange(keyspace, queueId)),
    finish: () => tables.finishGarbage(queueId),
  });
  const tenantPile = (tenant: TenantId): GarbagePile => ({
    ranges: TENANT_PURGED_KEYSPACES.map((keyspace) => tenantRange(keyspace, tenant)),
    companions: (key, value) => (key[0] === KEYSPACE.timers ? timerIndexKeys(key, value) : []),
    finish: () => tables.names.finishTenant(tenant),
  });
  const statePile = (state: GarbageState): GarbagePile => ({
    ranges: [streamGenerationRange(state)],
    finish: () => tables.streams.finishGarbage(state),
  });
  return {
    purgeable: () => [
      ...tables
        .garbageQueues()
        .filter((queue) => queue.columnsFreed)
        .map((queue) => queuePile(queue.queueId)),
      ...tables.garbageTenants().map(tenantPile),
      ...tables.streams.garbageState().map(statePile),
    ],
  };
}

const groupCommands: GroupCommands = {
  openSession: (nodeId, directoryId, bootCount) =>
    encodeOpenSession({ nodeId, directoryId, bootCount }),
  unclaim: (grant) =>
    encodeUnclaim({
      leaseId: grant.leaseId,
      ranges: grant.ranges.map(({ partitionId, groupId, cursorVersion, firstOffset }) => ({
        ...{ partitionId, groupId, cursorVersion },
        restoreCommitted: grant.commitOnDelivery ? firstOffset - 1 : -2,
      })),
    }),
  forgetNode: (nodeId, session) => encodeForgetNode({ nodeId, session }),
  raiseVersion: (version) => encodeRaiseVersion({ version }),
  check: (bytes) => {
    try {
      checkCommand(bytes);
      return null;
    } catch (error) {
      if (error instanceof DecodeError) return error.message;
      throw error;
    }
  },
};

const appendRows: AppendRows = {
  baseOf: keyBaseOffset,
  partitionOf: keyPartition,
  range: ({ queueId, partitionId }, first, limit) =>
    appendRange(queueId, partitionId, { first, limit }),
  decode: (baseOffset, value) => new DecodedAppend(baseOffset, value),
  message: readMessage,
};

class DecodedAppend implements AppendRow {
  private readonly view: AppendRowView;

  constructor(
    readonly baseOffset: number,
    value: Uint8Array,
  ) {
    this.view = new AppendRowView().open(value);
  }

  get count(): number {
    return this.view.count;
  }

  get createdAt(): number {
    return this.view.createdAt;
  }

  get entryIndex(): LogIndex {
    return logIndex(this.view.entryIndex);
  }

  start(item: number): number {
    return this.view.blockOffset + this.view.start(item);
  }

  length(item: number): number {
    return this.view.length(item);
  }

  crc(item: number): number {
    return this.view.crc(item);
  }

  copyId(item: number): Uint8Array {
    return this.view.copyId(item);
  }

  copyHash(item: number): Uint8Array {
    const at = this.view.hashAt(item);
    return this.view.bytes.slice(at, at + 16);
  }

  isClientId(item: number): boolean {
    return (this.view.flags(item) & MESSAGE_FLAG.clientId) !== 0;
  }

  hashPlace(item: number): { bytes: Uint8Array; at: number } {
    return { bytes: this.view.bytes, at: this.view.hashAt(item) };
  }

  hashWord(item: number): number {
    return commandU32(this.view.bytes, this.view.hashAt(item));
  }

  hashEquals(item: number, other: Uint8Array, at: number): boolean {
    const { bytes } = this.view;
    const own = this.view.hashAt(item);
    for (let i = 0; i < 16; i += 1) if (bytes[own + i] !== other[at + i]) return false;
    return true;
  }

  findHash(bytes: Uint8Array, at: number): number {
    return this.view.findHash(bytes, at);
  }
}

function readMessage(row: AppendRow, item: number, record: Uint8Array): StoredMessage {
  const view = readRecord(record, 0, record.length);
  const { producerSubStart, traceIdStart } = view;
  return {
    offset: row.baseOffset + item,
    baseOffset: row.baseOffset,
    id: row.copyId(item),
    hash: row.copyHash(item),
    transactionId: record.subarray(view.transactionIdStart, view.transactionIdEnd),
    producerSub:
      producerSubStart < 0 ? null : record.subarray(producerSubStart, view.producerSubEnd),
    traceId: traceIdStart < 0 ? null : record.subarray(traceIdStart, traceIdStart + 16),
    payload: record.subarray(view.payloadStart, view.payloadEnd),
    encrypted: (view.flags & MESSAGE_FLAG.encrypted) !== 0,
    createdAtMicros: row.createdAt,
  };
}
