/**
 * Retention as the leader's sweeper does it, on demand: one round judged at an instant of the future, so
 * that everything up to a chosen moment has waited too long. What may be gone is noted before it is
 * asked for, what is gone for sure when it is answered.
 */
import { logIndex } from '../../../src/common/ids.js';
import {
  CommandKind,
  encodeConfigure,
  encodeTrimPartitions,
} from '../../../src/machine/commands/index.js';
import type { Outcome, TrimPartitionsCommand } from '../../../src/machine/commands/index.js';
import { implicitOptions } from '../../../src/machine/apply/queues.js';
import { RetentionSweeper } from '../../../src/coordinators/retention/retention-sweeper.js';
import type { QueueRow } from '../../../src/machine/tables/tables.js';
import type { PreparedCommand } from '../../../src/raft/group/group.js';
import type { LocalGroup, LocalGroupParts } from '../../../src/raft/group/local-group.js';
import { TENANT } from '../../support/group-commands.js';
import type { Ledger, PartitionFacts, QueueFacts } from './ledger.js';

const WAIT_SECONDS = 60;
const MICROS = 1_000_000;
/** Appends per partition and command: a round is several of them. */
const BATCH = 40;
const DEFAULTS = implicitOptions('', { leaseTime: 60, retryLimit: 3, dedupWindowSeconds: 3600 });

/** A moment: messages pushed before it carry lower numbers and lower stamps. */
export interface Mark {
  readonly number: number;
  readonly nowMicros: number;
}

export interface RetentionParts {
  readonly group: LocalGroup;
  readonly ledger: Ledger;
  readonly queue: QueueFacts;
  /** Counts an answer. */
  answered(outcome: Promise<Outcome>): Promise<Outcome>;
}

/** Cuts off everything of the queue that is older than the mark. */
export async function cutBefore(parts: RetentionParts, mark: Mark): Promise<void> {
  const { group, ledger } = parts;
  if (!(await isConfigured(parts))) return;
  let asked: TrimPartitionsCommand = { trims: [] };
  const host = {
    tables: group.tables,
    view: () => group.view(),
    nowMicros: () => mark.nowMicros + WAIT_SECONDS * MICROS,
    propose: async (command: PreparedCommand): Promise<Outcome> => {
      const outcome = await parts.answered(group.propose(command));
      if (outcome.kind !== CommandKind.TrimPartitions) return outcome;
      ledger.trimmedMessages += outcome.messages;
      if (outcome.trimmed === asked.trims.length) noteDone(parts, asked);
      return outcome;
    },
  };
  const sweeper = new RetentionSweeper(host, {
    ...{ intervalMs: 0, batchSize: BATCH, partitionsPerSecond: Infinity },
    ...{ cleanupAfterMicros: null, cleanupEveryMs: Infinity },
    encodeTrim: (command) => {
      asked = command;
      noteAsked(parts, mark, command);
      return encodeTrimPartitions(command);
    },
    encodeDrop: () => {
      throw new Error('no partition is dropped here');
    },
    sleep: () => new Promise((resolve) => setImmediate(resolve)),
    monotonicMs: () => performance.now(),
    failed: () => undefined,
  });
  await sweeper.round();
  await retire(group);
}

/** The raft log lets go of what it does now and then by itself. */
async function retire(group: LocalGroup): Promise<void> {
  const { parts } = group as unknown as { parts: Pick<LocalGroupParts, 'wal'> };
  await parts.wal.purge(logIndex(group.status().durable));
}

/** False while the queue is not there. */
async function isConfigured({ group, queue, answered }: RetentionParts): Promise<boolean> {
  const row = rowOf(group, queue);
  if (row === undefined) return false;
  if (row.options.maxWaitTimeSeconds === WAIT_SECONDS) return true;
  const options = { maxWaitTimeSeconds: WAIT_SECONDS };
  const command = { queue: queue.name, replace: false, defaults: DEFAULTS, options };
  await answered(group.propose({ bytes: encodeConfigure(TENANT, command) }));
  return true;
}

function noteAsked(parts: RetentionParts, mark: Mark, { trims }: TrimPartitionsCommand): void {
  for (const { partitionId, next } of trims) {
    const facts = factsOf(parts, partitionId);
    facts.trimmedAtMost = Math.max(facts.trimmedAtMost, next);
    facts.numbersCut = Math.max(facts.numbersCut, mark.number);
  }
}

function noteDone(parts: RetentionParts, { trims }: TrimPartitionsCommand): void {
  for (const { partitionId, next } of trims) {
    const facts = factsOf(parts, partitionId);
    facts.trimmed = Math.max(facts.trimmed, next);
  }
}

function factsOf({ group, queue }: RetentionParts, partitionId: number): PartitionFacts {
  const row = rowOf(group, queue);
  const { partitions } = group.tables;
  for (const facts of queue.partitions.values()) {
    const slot = row === undefined ? -1 : partitions.find(row.id, facts.name);
    if (slot >= 0 && partitions.id(slot) === partitionId) return facts;
  }
  throw new Error(`retention cuts partition ${partitionId}, which is not one of ${queue.name}`);
}

function rowOf(group: LocalGroup, queue: QueueFacts): QueueRow | undefined {
  const { names, queues } = group.tables;
  const tenant = names.tenant(TENANT);
  return tenant === undefined ? undefined : queues.find(tenant, queue.name);
}
