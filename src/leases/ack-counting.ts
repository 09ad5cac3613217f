/** What acks add to the traffic counters, in all and by queue. */
import type { Traffic } from '../http/traffic.js';
import { partitionId } from '../common/ids.js';
import type { Tables } from '../machine/tables/tables.js';
import type { AckItemVerdict } from './ack-answer.js';
import type { PlannedTarget } from '../preparation/ack-plan.js';

export interface JudgedAcks {
  readonly tables: Tables;
  readonly tenant: Uint8Array;
  readonly targets: readonly PlannedTarget[];
  readonly verdicts: readonly AckItemVerdict[];
}

export function countAcks(traffic: Traffic, { tables, tenant, ...acks }: JudgedAcks): void {
  const { targets, verdicts } = acks;
  traffic.ackMessages += verdicts.length;
  for (const { success, dlq } of verdicts) {
    if (!success) traffic.ackFailed += 1;
    if (dlq) traffic.deadLettered += 1;
  }
  const asked = new Set<number>();
  for (const { partitionId: id, items } of targets) {
    const slot = Number.isSafeInteger(id) ? tables.partitions.byId(partitionId(id)) : -1;
    const queue = slot < 0 ? undefined : tables.queues.byId(tables.partitions.queueId(slot));
    if (queue === undefined || tables.names.tenant(tenant) !== queue.tenant) continue;
    const { counts } = traffic.queues.of(tenant, queue.name);
    if (!asked.has(queue.id)) counts.ackRequests += 1;
    asked.add(queue.id);
    for (const item of items) {
      if (verdicts[item]?.success === true) counts.ackSuccess += 1;
      else counts.ackFailed += 1;
    }
  }
}
