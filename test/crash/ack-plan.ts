/** What a consumer does with a batch it holds, drawn at random, and what that may settle. */
import type { Prng } from '../../src/common/prng.js';
import type { PoppedBatch } from './pop-batches.js';
import { between, type GroupName } from './scenario.js';

export type AckAction = 'complete' | 'prefix' | 'failed' | 'retry' | 'abandon' | 'dlq';

/** Percent, in the order of the actions below. */
const WEIGHTS: Readonly<Record<GroupName, readonly number[]>> = {
  steady: [88, 8, 0, 0, 4],
  rough: [52, 14, 16, 8, 10],
};
const ACTIONS: readonly AckAction[] = ['complete', 'prefix', 'failed', 'retry', 'abandon'];

export interface AckPlan {
  readonly action: AckAction;
  /** Items before this index are completed; a signal stands at it. */
  readonly at: number;
}

export function drawPlan(group: GroupName, batch: PoppedBatch, random: Prng): AckPlan {
  let drawn = random.nextBelow(100);
  const index = WEIGHTS[group].findIndex((weight) => (drawn -= weight) < 0);
  const action = ACTIONS[index] ?? 'complete';
  const { length } = batch.ids;
  if (action === 'complete') return { action, at: length };
  if (action === 'prefix') return { action, at: between(random, 1, length) };
  // Mostly at the head, so that the retry limit is reached now and then.
  const at = random.nextBelow(3) > 0 ? 0 : random.nextBelow(length);
  return { action, at };
}

/** A message is refused in some way. */
export function isSignal({ action }: AckPlan): boolean {
  return action === 'failed' || action === 'retry' || action === 'dlq';
}

export interface Acknowledgment {
  readonly transactionId: string;
  readonly partitionId: string;
  readonly leaseId: string;
  readonly status: string;
}

export function acknowledgmentsOf(batch: PoppedBatch, plan: AckPlan): readonly Acknowledgment[] {
  const { partitionId, leaseId, ids } = batch;
  const item = (transactionId: string, status: string): Acknowledgment => ({
    ...{ transactionId, partitionId, leaseId, status },
  });
  const completed = ids.slice(0, plan.at).map((id) => item(id, 'completed'));
  const signalled = ids[plan.at];
  return isSignal(plan) && signalled !== undefined
    ? [...completed, item(signalled, plan.action)]
    : completed;
}
