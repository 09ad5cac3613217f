/** The processes of the cluster that were seen lately, as the status and the worker metrics list them. */
import { processValues } from '../rows/row-fields.js';
import type { GatheredRows } from '../rows/row-gather.service.js';
import { secondsText } from '../rows/windows.js';
import type { WorkerDto } from './status.dto.js';
import { loopOf } from './throughput.js';

export function workerRows(
  { nodes }: GatheredRows,
  { nowMs, seenMs }: { readonly nowMs: number; readonly seenMs: number },
): WorkerDto[] {
  return nodes
    .filter(({ newestMs }) => newestMs !== null && newestMs >= nowMs - seenMs)
    .map(({ hostname, newestMs, recent }) => {
      const row = processValues(recent);
      return {
        ...{ hostname, workerId: 0, ...loopOf(row), freeSlots: null, dbConnections: null },
        ...{ jobQueueSize: null, backoffSize: null },
        messagesProcessed: row.pushMessages + row.popMessages,
        lastSeen: secondsText(newestMs ?? 0),
      };
    });
}
