/** Verdicts of one push request, item by item, as arrays; rendered straight to JSON bytes. */
import type { PushScan } from '../common/json/push-scan.js';
import { JsonWriter } from '../common/json/json-writer.js';
import type { PushGroupOutcome } from '../machine/commands/catalogue.js';
import { PushItemStatus } from '../machine/commands/catalogue.js';
import type { PushBatch } from '../machine/commands/push-batch.js';
import type { PreparedPush } from './push-preparation.js';

const QUEUED = 0;
const DUPLICATE = 1;
const ERROR = 2;
const STATUS_TEXT = ['queued', 'duplicate', 'error'] as const;

export class PushResult {
  readonly statuses: Uint8Array;
  readonly offsets: Float64Array;
  /** Message ids to show, 16 B each: the new one, or the original of a duplicate. */
  readonly ids: Uint8Array;

  constructor(private readonly prepared: PreparedPush) {
    const { batch } = prepared;
    this.statuses = new Uint8Array(batch.count).fill(ERROR);
    this.offsets = new Float64Array(batch.count);
    this.ids = batch.ids.slice();
  }

  /** Takes the outcomes of one command; `outcomeOf[g]` = number of group g's outcome in it, or -1. */
  take(outcomes: readonly PushGroupOutcome[], outcomeOf: Int32Array): void {
    const { batch } = this.prepared;
    const next = new Uint32Array(outcomes.length);
    for (let i = 0; i < batch.count; i += 1) {
      const group = batch.groups[i] ?? -1;
      const number = group < 0 ? -1 : (outcomeOf[group] ?? -1);
      const outcome = number < 0 ? undefined : outcomes[number];
      if (outcome === undefined) continue;
      const k = next[number] ?? 0;
      next[number] = k + 1;
      if (outcome.verdict !== 'applied') continue;
      const duplicate = outcome.statuses[k] === PushItemStatus.Duplicate;
      this.statuses[i] = duplicate ? DUPLICATE : QUEUED;
      this.offsets[i] = outcome.offsets[k] ?? 0;
      if (duplicate && outcome.duplicateIds !== null) {
        this.ids.set(outcome.duplicateIds.subarray(k * 16, k * 16 + 16), i * 16);
      }
    }
  }

  /** Repeats inside the request answer like a duplicate of their first, or share its error. */
  resolveRepeats(): void {
    const { firstOf } = this.prepared;
    firstOf.forEach((first, i) => {
      if (first < 0) return;
      const failed = this.statuses[first] === ERROR;
      this.statuses[i] = failed ? ERROR : DUPLICATE;
      this.offsets[i] = this.offsets[first] ?? 0;
      this.ids.copyWithin(i * 16, first * 16, first * 16 + 16);
    });
  }
}

/** The 201 array, one element per item in request order. */
export function renderPush(scan: PushScan, batch: PushBatch, result: PushResult): Uint8Array {
  const out = new JsonWriter(96 + batch.count * 176);
  const queueNames = escapedQueueNames(scan);
  out.ascii('[');
  for (let i = 0; i < batch.count; i += 1) {
    out.ascii(i === 0 ? '{"index":' : ',{"index":').integer(i);
    out.ascii(',"message_id":').uuid(result.ids, i * 16);
    out.ascii(',"transaction_id":');
    writeTransactionId(out, batch, i);
    out.ascii(',"queueName":').ascii(queueNames[scan.targetOf[i] ?? 0] ?? '""');
    const status = result.statuses[i] ?? ERROR;
    out.ascii(`,"status":"${STATUS_TEXT[status] ?? 'error'}"`);
    if (status !== ERROR) out.ascii(',"offset":').integer(result.offsets[i] ?? 0);
    out.ascii('}');
  }
  return out.ascii(']').view();
}

/** Body ranges hold no escapes, so they are JSON already; the arena may hold anything. */
function writeTransactionId(out: JsonWriter, batch: PushBatch, i: number): void {
  const start = batch.idStarts[i] ?? 0;
  const end = batch.idEnds[i] ?? 0;
  if (batch.inArena[i] === 1) out.utf8(batch.arena, start, end);
  else out.ascii('"').splice(batch.body, start, end).ascii('"');
}

/** JSON text of each target's queue name, escapes included, ASCII only. */
function escapedQueueNames(scan: PushScan): string[] {
  const names: string[] = [];
  for (let target = 0; target < scan.targets.count; target += 1) {
    names.push(asciiJson(scan.queueText(target)));
  }
  return names;
}

function asciiJson(text: string): string {
  return JSON.stringify(text).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
