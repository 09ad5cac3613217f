/**
 * Transactions as work for the simulated cluster: each takes one message of an inbox and with it writes a
 * key, pushes a message and schedules a timer, in one command. Some carry a part that must lose. What
 * came of them is four numbers of the machine that are equal after every entry, on every node and in every
 * life of it: acknowledged inputs, keys, results, pending timers.
 */
import { crc32 } from 'node:zlib';
import { CommandKind } from '../../../src/machine/commands/catalogue.js';
import type {
  GrantedRange,
  GrantOutcome,
  Outcome,
} from '../../../src/machine/commands/catalogue.js';
import {
  COMMAND_HEADER,
  encodeAcks,
  encodeKvCall,
  encodeTimers,
  encodeTransaction,
  KvOpKind,
  pushSection,
  PushCommandBuilder,
  sectionOf,
  TransactionSection,
} from '../../../src/machine/commands/index.js';
import type { KvPlannedOp } from '../../../src/machine/commands/index.js';
import type { SectionBody } from '../../../src/machine/commands/transaction.js';
import type { Tables } from '../../../src/machine/tables/tables.js';
import type { PreparedCommand } from '../../../src/raft/group/group.js';
import { hashOf, pushCommand, TENANT } from '../../support/group-commands.js';

export const INBOX = 'inbox';
export const OUTBOX = 'outbox';
export const LEDGER_GROUP = 'ledger';
const PARTITION = 'p';
const DEFAULTS = { leaseTime: 60, retryLimit: 3, dedupWindowSeconds: 3600 };
/** Far beyond any run: timers stay where they can be counted. */
const DELAY_MICROS = 3_600_000_000;

const text = new TextEncoder();

/** Why a transaction is meant to lose, or that it is not. */
export type Trap = 'none' | 'key' | 'duplicate';

export interface LedgerCounts {
  readonly acknowledged: number;
  readonly keys: number;
  readonly results: number;
  readonly timers: number;
}

export function ledgerCounts(tables: Tables): LedgerCounts {
  const { names, queues, partitions, cursors, kv, timers } = tables;
  const tenant = names.tenant(TENANT);
  if (tenant === undefined) return { acknowledged: 0, keys: 0, results: 0, timers: 0 };
  const slotOf = (queue: string): number => {
    const row = queues.find(tenant, queue);
    return row === undefined ? -1 : partitions.find(row.id, PARTITION);
  };
  const inbox = slotOf(INBOX);
  const outbox = slotOf(OUTBOX);
  const group = names.group(tenant, LEDGER_GROUP);
  const cursor = inbox < 0 || group === undefined ? -1 : cursors.find(inbox, group);
  return {
    acknowledged: cursor < 0 ? 0 : cursors.committed(cursor) + 1,
    keys: kv.totals(tenant).rows,
    results: outbox < 0 ? 0 : partitions.lastOffset(outbox) + 1,
    timers: timers.count(tenant),
  };
}

/** Null when all of it or nothing was done of every transaction. */
export function halfDone(tables: Tables): string | null {
  const counts = ledgerCounts(tables);
  const { acknowledged, keys, results, timers } = counts;
  const isWhole = acknowledged === keys && keys === results && results === timers;
  return isWhole ? null : JSON.stringify(counts);
}

export function inboxCommand(id: string): PreparedCommand {
  return pushCommand(INBOX, PARTITION, [{ transactionId: id, payload: `"${id}"` }]);
}

/** The transaction for one leased input; every part is named after the input's offset. */
export function ledgerCommand(
  { leaseId }: Pick<GrantOutcome, 'leaseId'>,
  { partitionId, firstOffset, lastOffset }: GrantedRange,
  trap: Trap,
): PreparedCommand {
  const name = `of-${firstOffset}`;
  const target = {
    ...{ partitionId, leaseId, signals: [], fallbackError: null },
    completed: [firstOffset, lastOffset],
  };
  const check = keyOperation(KvOpKind.Check, 'nobody', { required: true, expect: 7 });
  const operations = [keyOperation(KvOpKind.Put, name, { required: true, expect: 0 })];
  const kv = encodeKvCall(TENANT, {
    reads: false,
    operations: trap === 'key' ? [check, ...operations] : operations,
  });
  // A result that stands there already, behind one that does not.
  const results = trap === 'duplicate' && firstOffset > 0 ? [name, 'of-0'] : [name];
  const schedule = {
    ...{ op: 'schedule' as const, queue: OUTBOX, timerKey: name, delayMicros: DELAY_MICROS },
    push: pushOf(OUTBOX, [`timer-${name}`]),
  };
  const sections = [
    sectionOf(TransactionSection.Acks, encodeAcks([{ group: LEDGER_GROUP, target }])),
    pushSection(pushOf(OUTBOX, results)),
    bodySection(TransactionSection.KeyValue, kv),
    bodySection(TransactionSection.Timers, encodeTimers(TENANT, [schedule])),
  ];
  return { bytes: encodeTransaction(TENANT, sections) };
}

/** 'done', or why nothing was. */
export function verdictOf(outcome: Outcome): string {
  if (outcome.kind !== CommandKind.Transaction) throw new Error('not a transaction');
  return outcome.rollback === null ? 'done' : outcome.rollback.reason;
}

function keyOperation(
  kind: KvOpKind,
  key: string,
  terms: { readonly required: boolean; readonly expect: number },
): KvPlannedOp {
  return {
    ...{ kind, key, namespace: 'ledger', ttlMicros: 0, value: text.encode('1') },
    ...{ min: null, max: null },
    ...terms,
  };
}

function bodySection(section: TransactionSection, command: Uint8Array): SectionBody {
  return { section, bytes: command, start: COMMAND_HEADER.body, end: command.length };
}

function pushOf(queue: string, ids: readonly string[]): Uint8Array {
  const builder = new PushCommandBuilder(
    { defaults: DEFAULTS, windowMinSeconds: 900 },
    (bytes, start, end) => crc32(bytes.subarray(start, end)),
  );
  const group = builder.group({ queue, partition: PARTITION, optionsVersion: 0, encrypted: false });
  for (const one of ids) {
    const id = text.encode(one);
    const hash = hashOf(one);
    builder.add(group, {
      ...{ id: hash, idAt: 0, hash, hashAt: 0, clientId: true, encrypted: false },
      transactionId: { bytes: id, start: 0, end: id.length },
      ...{ producerSub: null, traceId: null },
      payload: { bytes: id, start: 0, end: id.length },
    });
  }
  return builder.build(TENANT);
}
