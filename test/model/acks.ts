/** Ack calls and lease extension (messages.md §6, §7): targets, verdict rows. Imports nothing from the broker. */
import { oneOf, TEXT, time, type Expected } from './answers.js';
import { placesOf, settle, type AckRequest, type AckVerdict, type Target } from './settle.js';
import { liveLease, partitionById, QUEUE_MODE, type State } from './state.js';

export interface AckEntry {
  readonly transactionId: string;
  readonly partitionId: string;
  readonly leaseId?: string;
  readonly status?: string;
  readonly error?: string;
}

export interface Settled extends AckVerdict {
  readonly error: unknown;
}

const FENCED = 'invalid or expired lease';
/** An id that stands nowhere is told so whatever the lease. */
const UNKNOWN = 'message not found in the batch, already committed, or stale';
const UNRESOLVED = {
  success: false,
  leaseReleased: false,
  dlq: false,
  noop: false,
  filed: false,
} as const;

export function statusOf(text: string | undefined): AckRequest['status'] {
  const status = (text ?? '').toLowerCase();
  return status === 'failed' || status === 'dlq' || status === 'retry' ? status : 'completed';
}

/** Items with their groups, settled target by target (§6.2); `repeats` as in `settle`. */
export function settleAll(
  state: State,
  items: readonly (AckEntry & { readonly group: string })[],
  repeats: boolean,
): Settled[] {
  const targets = new Map<string, number[]>();
  items.forEach(({ partitionId, leaseId, group }, i) => {
    const key = JSON.stringify([partitionId, leaseId ?? '', group]);
    targets.set(key, [...(targets.get(key) ?? []), i]);
  });
  const verdicts: Settled[] = [];
  const planned = [...targets.values()].map((indexes) => {
    const target = targetOf(
      state,
      indexes.flatMap((i) => items[i] ?? []),
    );
    return { indexes, target, found: target === null ? [] : placesOf(state, target) };
  });
  for (const { indexes, target, found } of planned) {
    const settled = target === null ? [] : settle(state, target, { found, repeats });
    indexes.forEach((index, n) => {
      const verdict = settled[n] ?? UNRESOLVED;
      verdicts[index] = { ...verdict, error: errorOf(verdict) };
    });
  }
  return verdicts;
}

function errorOf(verdict: AckVerdict): unknown {
  if (verdict.success) return null;
  return verdict.why === 'fenced' ? oneOf(FENCED, UNKNOWN) : TEXT;
}

/** Null: there is no such partition, or the group has no cursor on it. */
function targetOf(
  state: State,
  items: readonly (AckEntry & { readonly group: string })[],
): Target | null {
  const [{ partitionId = '', group = '' } = {}] = items;
  const partition = partitionById(state, partitionId);
  const queue = partition === undefined ? undefined : state.queues.get(partition.queue);
  const cursor = partition?.cursors.get(group);
  if (partition === undefined || queue === undefined || cursor === undefined) return null;
  const requests = items.map(({ transactionId, leaseId, status, error }) => ({
    ...{ txn: transactionId, lease: leaseId ?? '', status: statusOf(status) },
    error: error ?? null,
  }));
  return { queue, partition, group, cursor, items: requests };
}

export function ack(
  state: State,
  body: { readonly consumerGroup?: string; readonly acknowledgments: readonly AckEntry[] },
): Expected {
  const group = body.consumerGroup ?? QUEUE_MODE;
  const verdicts = settleAll(
    state,
    body.acknowledgments.map((item) => ({ ...item, group })),
    true,
  );
  const rows = verdicts.map(({ success, error, leaseReleased, dlq, noop }, index) => ({
    ...{ index, transactionId: body.acknowledgments[index]?.transactionId },
    ...{ success, error, leaseReleased, dlq, noop },
  }));
  return { status: 200, body: rows };
}

/** §7. */
export function extend(state: State, leaseId: string, seconds: number | undefined): Expected {
  const wanted = state.now + Math.max(seconds ?? 60, 1) * 1000;
  let renewed = 0;
  let earliest = Infinity;
  for (const queue of state.queues.values()) {
    for (const partition of queue.partitions.values()) {
      for (const cursor of partition.cursors.values()) {
        const lease = liveLease(state, cursor);
        if (lease?.id !== leaseId) continue;
        renewed += 1;
        lease.expiresAt = state.rules.extended(lease.expiresAt, wanted);
        earliest = Math.min(earliest, lease.expiresAt);
      }
    }
  }
  const until = renewed === 0 ? null : time(earliest);
  return {
    status: 200,
    body: {
      ...{ leaseId, success: renewed > 0, renewed },
      ...{ newExpiresAt: until, expiresAt: until, lease_expires_at: until },
    },
  };
}
