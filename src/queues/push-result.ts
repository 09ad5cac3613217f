/**
 * Verdicts of one push request, item by item, as arrays that are reused from request to request;
 * rendered straight to JSON bytes.
 */
import type { PushScan } from '../common/json/push-scan.js';
import { JsonWriter } from '../common/json/json-writer.js';
import type { PushGroupOutcome } from '../machine/commands/catalogue.js';
import { PushItemStatus } from '../machine/commands/catalogue.js';
import type { PushBatch, PushBatchGroup } from '../machine/commands/push-batch.js';
import type { FirstOf } from '../preparation/push-preparation.js';

const QUEUED = 0;
const DUPLICATE = 1;
const ERROR = 2;
const STATUS_JSON = [
  ',"status":"queued","offset":',
  ',"status":"duplicate","offset":',
  ',"status":"error"',
] as const;
/** Names of these characters stand in JSON as they are. */
const PLAIN_NAME = /^[ !#-[\]-~]*$/;

export class PushResult {
  private statuses = new Uint8Array(0);
  private offsets = new Float64Array(0);
  private batch: PushBatch | null = null;

  /** Every item is an error until an outcome says otherwise. */
  begin(batch: PushBatch): void {
    if (batch.count > this.statuses.length) {
      this.statuses = new Uint8Array(batch.count);
      this.offsets = new Float64Array(batch.count);
    }
    this.statuses.fill(ERROR, 0, batch.count);
    this.batch = batch;
  }

  /**
   * Takes the outcomes of one command; `outcomeOf[g]` = number of group g's outcome in it, or -1. The
   * ids of the batch become the ids to show: those of duplicates are replaced by the originals'.
   */
  take(outcomes: readonly PushGroupOutcome[], outcomeOf: Int32Array): void {
    const { batch } = this;
    if (batch === null) return;
    const next = outcomes.length === 1 ? null : new Uint32Array(outcomes.length);
    let nextOfOne = 0;
    for (let i = 0; i < batch.count; i += 1) {
      const group = batch.groups[i] ?? -1;
      const number = group < 0 ? -1 : (outcomeOf[group] ?? -1);
      const outcome = number < 0 ? undefined : outcomes[number];
      if (outcome === undefined) continue;
      const k = next === null ? nextOfOne++ : (next[number] ?? 0);
      if (next !== null) next[number] = k + 1;
      if (outcome.verdict === 'applied') this.takeItem(batch, i, k, outcome);
    }
  }

  /** Repeats inside the request answer like a duplicate of their first, or share its error. */
  resolveRepeats(firstOf: FirstOf): void {
    const { batch, statuses, offsets } = this;
    firstOf.forEach((first, i) => {
      if (first < 0 || batch === null) return;
      statuses[i] = statuses[first] === ERROR ? ERROR : DUPLICATE;
      offsets[i] = offsets[first] ?? 0;
      batch.ids.copyWithin(i * 16, first * 16, first * 16 + 16);
    });
  }

  /** Writes the 201 array, one element per item in request order. */
  render(out: JsonWriter, scan: PushScan, groups: readonly PushBatchGroup[]): void {
    const { batch } = this;
    if (batch === null) return;
    const names = groups.map(({ queue }) => (PLAIN_NAME.test(queue) ? `"${queue}"` : null));
    out.ascii('[');
    for (let i = 0; i < batch.count; i += 1) {
      out.ascii(i === 0 ? '{"index":' : ',{"index":').integer(i);
      out.ascii(',"message_id":').uuid(batch.ids, i * 16);
      out.ascii(',"transaction_id":');
      writeTransactionId(out, batch, i);
      const target = scan.targetOf[i] ?? 0;
      const name = names[target] ?? null;
      out.ascii(',"queueName":');
      if (name === null) out.string(groups[target]?.queue ?? '');
      else out.ascii(name);
      const status = this.statuses[i] ?? ERROR;
      out.ascii(STATUS_JSON[status] ?? STATUS_JSON[ERROR]);
      if (status !== ERROR) out.integer(this.offsets[i] ?? 0);
      out.ascii('}');
    }
    out.ascii(']');
  }

  /** Item i of the request is message k of its append group. */
  private takeItem(batch: PushBatch, i: number, k: number, outcome: PushGroupOutcome): void {
    const duplicate = outcome.statuses[k] === PushItemStatus.Duplicate;
    this.statuses[i] = duplicate ? DUPLICATE : QUEUED;
    this.offsets[i] = outcome.offsets[k] ?? 0;
    if (!duplicate || outcome.duplicateIds === null) return;
    batch.ids.set(outcome.duplicateIds.subarray(k * 16, k * 16 + 16), i * 16);
  }
}

/** Body ranges hold no escapes, so they are JSON already; the arena may hold anything. */
function writeTransactionId(out: JsonWriter, batch: PushBatch, i: number): void {
  const start = batch.idStarts[i] ?? 0;
  const end = batch.idEnds[i] ?? 0;
  if (batch.inArena[i] === 1) out.utf8(batch.arena, start, end);
  else out.ascii('"').splice(batch.body, start, end).ascii('"');
}
