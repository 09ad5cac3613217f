/** What pops add to the traffic counters: deliveries with their lag, empty answers, who is parked. */
import type { QueueEntry } from '../http/queue-traffic.js';
import type { Traffic } from '../http/traffic.js';
import type { Group, PopRequest } from '../raft/index.js';
import type { DeliveredBatch } from './pop-answer.js';

export interface Delivery {
  readonly group: Pick<Group, 'tables' | 'nowMicros'>;
  readonly batches: readonly DeliveredBatch[];
}

/** Lag is from the creation of a message to its delivery. */
export function countDelivered(traffic: Traffic, tenant: Uint8Array, delivery: Delivery): void {
  const { group, batches } = delivery;
  const now = group.nowMicros();
  for (const { range, messages } of batches) {
    traffic.popMessages += messages.length;
    const queue = group.tables.queues.byId(range.queueId);
    if (queue === undefined) continue;
    const entry = traffic.queues.of(tenant, queue.name);
    let sumMs = 0;
    let maxMs = 0;
    for (const { createdAtMicros } of messages) {
      const lagMs = Math.max((now - createdAtMicros) / 1000, 0);
      sumMs += lagMs;
      maxMs = Math.max(maxMs, lagMs);
    }
    entry.delivered(messages.length, { sumMs, maxMs });
    if (range.conflated) entry.counts.conflated += range.lastOffset - range.firstOffset;
  }
}

/** Pops by namespace or task belong to no queue. */
export function countEmpty(traffic: Traffic, request: PopRequest): void {
  if (request.scope === 'discovery') return;
  traffic.queues.of(request.tenant, request.queue).counts.popEmpty += 1;
}

export function parkedAt(traffic: Traffic, request: PopRequest): QueueEntry | null {
  return request.scope === 'discovery' ? null : traffic.queues.of(request.tenant, request.queue);
}
