/** Timers on a machine harness in one line each: schedule, cancel, fire, fail, and what is stored. */
import { crc32 } from 'node:zlib';
import { murmur3x128Into } from '../../src/common/murmur3-128.js';
import { encodeUtf8, readUtf8 } from '../../src/common/utf8.js';
import {
  encodeFailTimers,
  encodeFireTimers,
  encodeTimers,
  PushCommandBuilder,
} from '../../src/machine/commands/index.js';
import type { FailureRules, TimerOpInput } from '../../src/machine/commands/index.js';
import type {
  FailTimersOutcome,
  FireTimersOutcome,
  TimerResult,
  TimersOutcome,
} from '../../src/machine/commands/timers.js';
import { KEYSPACE } from '../../src/machine/tables/keyspaces.js';
import { keyTimerDue, keyTimerName, timerKeyOf } from '../../src/machine/tables/timer-keys.js';
import { decodeTimerRow, timerDue } from '../../src/machine/tables/timer-row.js';
import type { TimerRow } from '../../src/machine/tables/timer-row.js';
import { DEFAULTS, MachineHarness, SECOND, TENANT } from './machine-harness.js';

export const RULES: FailureRules = {
  transientMicros: SECOND,
  backoffMinMicros: SECOND,
  backoffMaxMicros: 3 * SECOND,
  maxAttempts: 4,
};

export interface TimerSpec {
  readonly queue?: string;
  readonly partition?: string;
  readonly txn?: string;
  readonly payload?: string;
  readonly encrypted?: boolean;
  readonly optionsVersion?: number;
}

export interface Message extends TimerSpec {
  readonly id: Uint8Array;
}

export class TimerScene {
  constructor(readonly harness = new MachineHarness()) {}

  schedule(timerKey: string, delaySeconds: number, spec: TimerSpec = {}): TimerOpInput {
    const queue = spec.queue ?? 'orders';
    const push = this.pushOf([{ ...spec, queue, id: this.harness.mint() }]);
    const delayMicros = Math.round(delaySeconds * SECOND);
    return { op: 'schedule', queue, timerKey, delayMicros, push };
  }

  cancel(timerKey: string, queue = 'orders'): TimerOpInput {
    return { op: 'cancel', queue, timerKey };
  }

  run(...ops: TimerOpInput[]): readonly TimerResult[] {
    return this.outcome(...ops).results;
  }

  outcome(...ops: TimerOpInput[]): TimersOutcome {
    return this.harness.run<TimersOutcome>(encodeTimers(TENANT, ops));
  }

  /** One group per run of messages of one (queue, partition). */
  pushOf(messages: readonly Message[]): Uint8Array {
    const builder = new PushCommandBuilder(
      { defaults: DEFAULTS, windowMinSeconds: 900 },
      (bytes, start, end) => crc32(bytes.subarray(start, end)),
    );
    let last = '';
    let group = -1;
    for (const message of messages) {
      const { queue = 'orders', partition = 'p', encrypted = false, optionsVersion = 0 } = message;
      const target = `${queue}\n${partition}`;
      if (target !== last) group = builder.group({ queue, partition, encrypted, optionsVersion });
      last = target;
      const txn = encodeUtf8(message.txn ?? 'txn');
      const payload = encodeUtf8(message.payload ?? '{"a":1}');
      const hash = new Uint8Array(16);
      murmur3x128Into(txn, 0, txn.length, hash, 0);
      builder.add(group, {
        ...{ id: message.id, idAt: 0, hash, hashAt: 0, clientId: true, encrypted },
        transactionId: { bytes: txn, start: 0, end: txn.length },
        producerSub: null,
        traceId: null,
        payload: { bytes: payload, start: 0, end: payload.length },
      });
    }
    return builder.build(TENANT);
  }

  /** What the sweeper would propose for these timers, as it sees them now. */
  fireBytes(
    keys: readonly string[],
    changes: { readonly due?: number; readonly rules?: FailureRules } = {},
  ): Uint8Array {
    const rows = keys.map((key) => this.row(key)!);
    const timers = keys.map((timerKey, i) => ({
      ...{ timerKey, due: changes.due ?? timerDue(rows[i]!), deadLetterId: this.harness.mint() },
    }));
    const messages = rows.map((row, i) => ({
      ...{
        id: row.messageId,
        partition: row.partition,
        txn: txnOf(row),
        queue: this.queueOf(keys[i]!),
      },
    }));
    const rules = changes.rules ?? RULES;
    return encodeFireTimers(TENANT, { rules, timers }, this.pushOf(messages));
  }

  fire(...keys: string[]): FireTimersOutcome {
    return this.harness.run<FireTimersOutcome>(this.fireBytes(keys));
  }

  fail(timerKey: string, code: string, rules = RULES): FailTimersOutcome {
    const row = this.row(timerKey)!;
    const timer = {
      ...{ queue: this.queueOf(timerKey), timerKey, due: timerDue(row) },
      ...{ messageId: row.messageId, deadLetterId: this.harness.mint(), code, text: 'no' },
    };
    const command = { rules, defaults: DEFAULTS, timers: [timer] };
    return this.harness.run<FailTimersOutcome>(encodeFailTimers(TENANT, command));
  }

  row(timerKey: string, queue = this.queueOf(timerKey)): TimerRow | undefined {
    const tenant = this.harness.tables.names.tenant(TENANT);
    if (tenant === undefined) return undefined;
    const value = this.harness.rows.get(timerKeyOf({ tenant, queue, timerKey }));
    return value === undefined ? undefined : decodeTimerRow(value);
  }

  /** Keys in the due index, in firing order. */
  due(): [key: string, inSeconds: number][] {
    return this.stored(KEYSPACE.timersDue).map(([key]) => [
      keyTimerName(Uint8Array.from([KEYSPACE.timers, ...key.subarray(9)])).timerKey,
      (keyTimerDue(key) - this.harness.now) / SECOND,
    ]);
  }

  count(): number {
    return this.harness.tables.timers.count(this.harness.tables.names.tenant(TENANT));
  }

  timers(): number {
    return this.stored(KEYSPACE.timers).length;
  }

  /** Messages of a partition. */
  appended(queue = 'orders', partition = 'p'): number {
    const { names, queues, partitions } = this.harness.tables;
    const tenant = names.tenant(TENANT);
    const row = tenant === undefined ? undefined : queues.find(tenant, queue);
    const slot = row === undefined ? -1 : partitions.find(row.id, partition);
    return slot < 0 ? 0 : partitions.lastOffset(slot) + 1;
  }

  private queueOf(timerKey: string): string {
    for (const [key] of this.stored(KEYSPACE.timers)) {
      const name = keyTimerName(key);
      if (name.timerKey === timerKey) return name.queue;
    }
    return 'orders';
  }

  private stored(keyspace: number): (readonly [Uint8Array, Uint8Array])[] {
    return [...this.harness.rows.all()].filter(([key]) => key[0] === keyspace);
  }
}

function txnOf(row: TimerRow): string {
  const length = row.record[1]!;
  return readUtf8(row.record, 2, 2 + length);
}
