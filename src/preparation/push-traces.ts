/** Trace ids of push items, where the route honours them (transactions do, push does not). */
import type { PushScan } from '../common/json/push-scan.js';
import { ITEM_HAS_TRACE_ID } from '../common/json/push-scan.js';
import { parseUuidInto } from '../common/uuid-v7.js';
import { MESSAGE_FLAG } from '../machine/commands/index.js';
import type { PushBatch } from '../machine/commands/push-batch.js';

const ID_BYTES = 16;

/** Gives every item of the prepared batch the trace id it brought. */
export function stampTraces(scan: PushScan, batch: PushBatch): void {
  for (let i = 0; i < scan.count; i += 1) {
    if (((scan.flags[i] ?? 0) & ITEM_HAS_TRACE_ID) === 0) continue;
    batch.traceIds ??= new Uint8Array(scan.count * ID_BYTES);
    if (!parseUuidInto(scan.body, scan.traceStarts[i] ?? 0, batch.traceIds, i * ID_BYTES)) continue;
    batch.flags[i] = (batch.flags[i] ?? 0) | MESSAGE_FLAG.traceId;
  }
}
