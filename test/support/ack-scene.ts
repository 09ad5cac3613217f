/**
 * The scene most ack specs start from: eight messages m0 … m7 of one partition, all (or the first
 * `count`) leased by one claim of group g, after `failures` acks that spent retry budget.
 */
import { encodeConfigure } from '../../src/machine/commands/index.js';
import type { QueueOptions } from '../../src/machine/commands/index.js';
import { implicitOptions } from '../../src/machine/apply/queues.js';
import { decodeDeadLetterRow } from '../../src/machine/tables/dead-letter-row.js';
import type { DeadLetterRow } from '../../src/machine/tables/dead-letter-row.js';
import { KEYSPACE } from '../../src/machine/tables/keyspaces.js';
import { MachineHarness, TENANT } from './machine-harness.js';

const DEFAULTS = implicitOptions('', { leaseTime: 60, retryLimit: 3, dedupWindowSeconds: 3600 });
export const SCENE_MESSAGES = 8;

export interface AckScene {
  readonly harness: MachineHarness;
  readonly leaseId: Uint8Array;
}

export function leased(
  options: Partial<QueueOptions> = {},
  failures = 0,
  count = SCENE_MESSAGES,
): AckScene {
  const harness = new MachineHarness();
  harness.run(
    encodeConfigure(TENANT, { queue: 'orders', replace: false, defaults: DEFAULTS, options }),
  );
  harness.push(Array.from({ length: SCENE_MESSAGES }, (_, i) => `m${i}`));
  for (let i = 0; i < failures; i++) {
    const { leaseId } = harness.claim();
    harness.ack({ leaseId, signals: [[0, 'failed']] });
  }
  return { harness, leaseId: harness.claim({ count }).leaseId };
}

export interface CursorSummary {
  readonly committed: number;
  readonly leased: boolean;
  readonly retries: number;
  readonly attempts: readonly [offset: number, count: number];
  readonly consumed: number;
}

export function cursorOf(harness: MachineHarness): CursorSummary {
  const { cursors } = harness.tables;
  const c = harness.cursor();
  return {
    committed: cursors.committed(c),
    leased: cursors.lease(c) >= 0,
    retries: cursors.batchRetryCount(c),
    attempts: [cursors.attemptOffset(c), cursors.attemptCount(c)],
    consumed: cursors.totalConsumed(c),
  };
}

/** All dead letters of the harness by offset. */
export function deadLetters(harness: MachineHarness): DeadLetterRow[] {
  return [...harness.rows.all()]
    .filter(([key]) => key[0] === KEYSPACE.deadLetters)
    .map(([, value]) => decodeDeadLetterRow(value))
    .sort((a, b) => a.offset - b.offset);
}
