/**
 * From due timers to commands: one per tenant, so that every timer is appended and deleted in one
 * entry. Inside a command the messages stand in groups by (queue, partition), groups in the order of
 * their first due timer. Two timers of one transactionId never share a group: each is judged against
 * the dedup window of its own, not as a repeat inside one push.
 */
import type { Crc32, FailureRules } from '../../machine/commands/index.js';
import {
  encodeFailTimers,
  encodeFireTimers,
  MESSAGE_FLAG,
  PushCommandBuilder,
  readRecord,
} from '../../machine/commands/index.js';
import type { PushCommandLimits } from '../../machine/commands/catalogue.js';
import type { FailedTimer, FiredTimer } from '../../machine/commands/timers.js';
import { timerDue } from '../../machine/tables/timer-row.js';
import type { PendingTimer } from '../../reads/timers.js';

/** A due timer with the bytes of its record. */
export interface ReadyTimer extends PendingTimer {
  readonly record: Uint8Array;
}

export interface FireRules {
  readonly limits: PushCommandLimits;
  readonly failure: FailureRules;
  readonly crc: Crc32;
  readonly mintId: () => Uint8Array;
}

interface Run {
  readonly number: number;
  readonly transactions: Set<string>;
  readonly timers: FiredTimer[];
}

/** One command for timers of one tenant, in firing order. */
export function fireCommand(
  tenant: Uint8Array,
  ready: readonly ReadyTimer[],
  rules: FireRules,
): Uint8Array {
  const builder = new PushCommandBuilder(rules.limits, rules.crc);
  const runs = new Map<string, Run>();
  const all: Run[] = [];
  for (const timer of ready) {
    const { row, name } = timer;
    const target = `${name.queue}\0${row.partition}`;
    const transaction = Buffer.from(row.transactionHash).toString('latin1');
    let run = runs.get(target);
    if (run === undefined || run.transactions.has(transaction)) {
      const head = { queue: name.queue, partition: row.partition, optionsVersion: 0 };
      const number = builder.group({ ...head, encrypted: false });
      run = { number, transactions: new Set(), timers: [] };
      runs.set(target, run);
      all.push(run);
    }
    run.transactions.add(transaction);
    const { timerKey } = name;
    run.timers.push({ timerKey, due: timerDue(row), deadLetterId: rules.mintId() });
    addMessage(builder, run.number, timer);
  }
  const timers = all.flatMap((run) => run.timers);
  return encodeFireTimers(tenant, { rules: rules.failure, timers }, builder.build(tenant));
}

/** The timers' messages cannot stand in any command. */
export function failCommand(
  tenant: Uint8Array,
  failed: readonly { readonly timer: PendingTimer; readonly code: string; readonly text: string }[],
  rules: FireRules,
): Uint8Array {
  const timers = failed.map(({ timer: { name, row }, code, text }): FailedTimer => ({
    queue: name.queue,
    timerKey: name.timerKey,
    due: timerDue(row),
    messageId: row.messageId,
    deadLetterId: rules.mintId(),
    ...{ code, text },
  }));
  const { failure, limits } = rules;
  return encodeFailTimers(tenant, { rules: failure, defaults: limits.defaults, timers });
}

function addMessage(builder: PushCommandBuilder, group: number, { row, record }: ReadyTimer): void {
  const view = readRecord(record, 0, record.length);
  const { flags, producerSubStart } = view;
  const range = (start: number, end: number) => ({ bytes: record, start, end });
  builder.add(group, {
    id: row.messageId,
    idAt: 0,
    hash: row.transactionHash,
    hashAt: 0,
    clientId: (flags & MESSAGE_FLAG.clientId) !== 0,
    encrypted: (flags & MESSAGE_FLAG.encrypted) !== 0,
    transactionId: range(view.transactionIdStart, view.transactionIdEnd),
    producerSub: producerSubStart < 0 ? null : range(producerSubStart, view.producerSubEnd),
    traceId: null,
    payload: range(view.payloadStart, view.payloadEnd),
  });
}
