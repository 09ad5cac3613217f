/**
 * Pushes of a transaction: prepared like those of a push, plus trace ids. Prepared anew for every
 * attempt, because a queue's options may have changed.
 */
import type { PushScan } from '../common/json/push-scan.js';
import type { JsonWriter } from '../common/json/json-writer.js';
import type { UuidMint } from '../common/uuid-v7.js';
import { TransactionRefusal } from '../http/transaction-plugs.js';
import type { PushCommandLimits } from '../machine/commands/catalogue.js';
import { PushBatch } from '../machine/commands/push-batch.js';
import {
  encodePushBatch,
  measurePushBatch,
  pushGroupBytes,
} from '../machine/commands/push-batch-encoder.js';
import { appendGroups } from '../preparation/append-groups.js';
import { copyRange, recordCrc } from '../preparation/checksum.js';
import type { FirstOf } from '../preparation/push-preparation.js';
import { sealPayloads } from '../preparation/payload-sealing.js';
import { prepareBatch } from '../preparation/push-preparation.js';
import { stampTraces } from '../preparation/push-traces.js';
import { RepeatFinder } from '../preparation/repeat-finder.js';
import type { CallOptions, Group } from '../raft/index.js';

const EMPTY = new Uint8Array(0);

export interface PushContext {
  readonly group: Group;
  readonly tenant: Uint8Array;
  readonly mint: UuidMint;
  readonly limits: PushCommandLimits;
  readonly producerSub: Uint8Array | null;
  readonly maxBytes: number;
}

export class PushOperations {
  private readonly batch = new PushBatch(0, EMPTY, EMPTY);
  private firstOf: FirstOf = new Int32Array(0);

  constructor(
    private readonly scan: PushScan,
    private readonly context: PushContext,
  ) {}

  get count(): number {
    return this.scan.count;
  }

  /** A whole push command; throws `too_large` when one partition's share is. */
  async prepare(options: CallOptions): Promise<Uint8Array> {
    const { scan, batch, context } = this;
    const { group, tenant, mint, limits, producerSub } = context;
    const parts = { batch, repeats: new RepeatFinder() };
    this.firstOf = prepareBatch(scan, mint, parts, producerSub);
    stampTraces(scan, batch);
    const groups = appendGroups(scan, group, tenant);
    await sealPayloads(scan, batch, { group, groups, options });
    const sizes = measurePushBatch(batch, groups);
    if (sizes.some((size) => pushGroupBytes(size) > context.maxBytes)) throw tooLarge();
    return encodePushBatch(batch, groups, {
      ...{ tenant, limits, sizes, crc: recordCrc, copy: copyRange },
      chunk: Int32Array.from(groups, (_, number) => number),
      allocate: (bytes) => new Uint8Array(bytes),
    });
  }

  /** Fields of the result of item `i`: it is stored, or repeats one of this transaction. */
  writeResult(out: JsonWriter, i: number): void {
    const { batch, scan } = this;
    const first = this.firstOf[i] ?? -1;
    const source = batch.inArena[i] === 1 ? batch.arena : batch.body;
    out.ascii(',"success":true,"transactionId":');
    out.utf8(source, batch.idStarts[i] ?? 0, batch.idEnds[i] ?? 0);
    out.ascii(',"messageId":').uuid(batch.ids, (first < 0 ? i : first) * 16);
    out.ascii(',"queueName":').string(scan.queueText(scan.targetOf[i] ?? 0));
    if (first >= 0) out.ascii(',"duplicate":true');
  }
}

export function tooLarge(): TransactionRefusal {
  return new TransactionRefusal(
    200,
    'too_large',
    'the transaction is larger than one entry may be',
  );
}
