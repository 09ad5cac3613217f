/**
 * The append groups of a push: one per (queue, partition) of the scanned items, with what this node
 * knows of the queue's options. A version that is out of date when the command is applied is judged
 * there, so nothing here needs a barrier.
 */
import type { PushScan } from '../common/json/push-scan.js';
import type { PushBatchGroup } from '../machine/commands/push-batch.js';
import type { Group } from '../raft/index.js';
import { encrypts } from './payload-sealing.js';

/** Numbered as the scan's targets. */
export function appendGroups(scan: PushScan, group: Group, tenant: Uint8Array): PushBatchGroup[] {
  const tenantId = group.tables.names.tenant(tenant);
  const groups: PushBatchGroup[] = [];
  for (let target = 0; target < scan.targets.count; target += 1) {
    const queue = scan.queueText(target);
    const row = tenantId === undefined ? undefined : group.tables.queues.find(tenantId, queue);
    groups.push({
      queue,
      partition: scan.partitionText(target),
      optionsVersion: row?.optionsVersion ?? 0,
      encrypted: encrypts(group, row),
    });
  }
  return groups;
}
