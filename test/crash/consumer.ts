/**
 * Pops with leases and completes, refuses or forgets what it got. An ack without an answer is sent
 * again, as a client would; what came of it decides what may be delivered again.
 */
import { sleep } from '../bench/http/server-process.js';
import { acknowledgmentsOf, drawPlan, isSignal, type AckPlan } from './ack-plan.js';
import { CrashClient } from './client.js';
import type { OffsetSpan } from './group-cursor.js';
import { popBatches, type PoppedBatch } from './pop-batches.js';
import { between, type GroupName, type WorkerParts } from './scenario.js';

const RETRY_MS = 20;
const MAX_ACK_TRIES = 4;
const WAIT_MS = 250;
const MAX_BATCH = 60;
const MAX_PARTITIONS = 4;
const MIN_LEASE_SECONDS = 1;
const MAX_LEASE_SECONDS = 3;
/** Room for the time between a lease's end and what the client sees of it. */
const LEASE_TOLERANCE_MS = 20;

export interface AckedItem {
  readonly success: boolean;
  readonly dlq: boolean;
}

/** Whether retention may have taken these offsets of a partition. */
export type MayBeGone = (partition: string, span: OffsetSpan) => boolean;

export interface Held {
  readonly batch: PoppedBatch;
  /** The lease lasts at least until then. */
  readonly liveUntilMs: number;
}

export async function runConsumer(group: GroupName, parts: WorkerParts): Promise<void> {
  const { gate, ledger, port, random } = parts;
  const client = new CrashClient(port);
  gate.enter();
  try {
    while (await gate.pass()) {
      const leaseSeconds = between(random, MIN_LEASE_SECONDS, MAX_LEASE_SECONDS);
      const query = {
        ...{ group, leaseSeconds, waitMs: WAIT_MS },
        batch: between(random, 1, MAX_BATCH),
        partitions: between(random, 1, MAX_PARTITIONS),
      };
      const sentAtMs = performance.now();
      const batches = await popBatches(client, query, ledger);
      if (batches === null) {
        await sleep(RETRY_MS);
        continue;
      }
      ledger.counts.pops += batches.length;
      const leaseMs = leaseSeconds * 1000 - LEASE_TOLERANCE_MS;
      noteDeliveries(batches, { group, sentAtMs, leaseMs }, parts);
      for (const batch of batches) {
        const held = { batch, liveUntilMs: sentAtMs + leaseMs };
        await settle(client, held, { group, parts });
      }
    }
  } finally {
    gate.leave();
    client.close();
  }
}

export function noteDeliveries(
  batches: readonly PoppedBatch[],
  pop: { readonly group: string; readonly sentAtMs: number; readonly leaseMs: number },
  { ledger }: Pick<WorkerParts, 'ledger'>,
  mayBeGone: MayBeGone = () => false,
): void {
  const answeredAtMs = performance.now();
  const { group, sentAtMs, leaseMs } = pop;
  for (const { partition, first, last, leaseId } of batches) {
    const delivery = { first, last, leaseId, sentAtMs, answeredAtMs, leaseMs };
    const isGone = (span: OffsetSpan): boolean => mayBeGone(partition, span);
    ledger.cursor(group, partition).deliver(delivery, isGone);
  }
}

function settle(
  client: CrashClient,
  held: Held,
  { group, parts }: { readonly group: GroupName; readonly parts: WorkerParts },
): Promise<void> {
  const plan = drawPlan(group, held.batch, parts.random);
  if (plan.action === 'abandon') {
    parts.ledger.counts.abandonedLeases += 1;
    return Promise.resolve();
  }
  return acknowledge(client, { held, plan, group }, parts);
}

export async function acknowledge(
  client: CrashClient,
  ack: { readonly held: Held; readonly plan: AckPlan; readonly group: string },
  { ledger, gate }: Pick<WorkerParts, 'ledger' | 'gate'>,
): Promise<void> {
  const { held, plan, group } = ack;
  const { batch } = held;
  const cursor = ledger.cursor(group, batch.partition);
  const refuses = isSignal(plan);
  const acknowledgments = acknowledgmentsOf(batch, plan);
  const isWhole = plan.at === batch.ids.length;
  const body = JSON.stringify({ consumerGroup: group, acknowledgments });
  cursor.attempt(
    batch.first + (plan.action === 'failed' || plan.action === 'dlq' ? plan.at : plan.at - 1),
    refuses || isWhole,
  );
  for (let tries = 1; tries <= MAX_ACK_TRIES; tries += 1) {
    const answer = await client.call('POST', '/api/v1/ack/batch', body);
    if (answer?.status === 200) {
      const items = JSON.parse(answer.text) as AckedItem[];
      if (items.every(({ success }) => success)) {
        const deadLettered = items.some(({ dlq }) => dlq);
        ledger.counts.acks += 1;
        if (refuses) ledger.counts.nacks += 1;
        if (deadLettered) {
          ledger.counts.deadLetters += 1;
          ledger.letters.add(batch.ids[plan.at] ?? '');
        }
        cursor.settle(batch.first + plan.at - 1 + (deadLettered ? 1 : 0));
        if (isWhole) cursor.released = body;
      } else {
        ledger.counts.staleAcks += 1;
        if (tries === 1 && performance.now() < held.liveUntilMs) {
          ledger.violations.add(
            `${group}/${batch.partition} ${batch.first}..${batch.last}: ${plan.action} refused under a live lease: ${answer.text.slice(0, 300)}`,
          );
        }
      }
      return;
    }
    if (answer !== null && answer.status !== 503) {
      ledger.violations.add(`ack refused: ${answer.status} ${answer.text}`);
    }
    ledger.counts.ackRetries += 1;
    await sleep(RETRY_MS);
    if (!(await gate.pass())) return;
  }
}
