/**
 * Keys and values of a transaction (state.md §1.9): judged with the other parts, written with them. A
 * required operation that lost rolls everything back, and the rollback shows the row in its way.
 */
import { BinaryReader } from '../../common/binary-reader.js';
import { TransactionSection } from '../commands/catalogue-transactions.js';
import type {
  TransactionOutcomes,
  TransactionRollback,
} from '../commands/catalogue-transactions.js';
import { decodeKvCall } from '../commands/kv.js';
import type { KvCallCommand, KvLostOperation } from '../commands/kv.js';
import type { PrefetchSink } from '../machine.js';
import type { ApplyContext } from './context.js';
import { judgeKvCall, kvOutcome, prefetchKvCall, writeKvCall } from './kv.js';
import type { KvJudgement } from './kv.js';
import type { PartBody, TransactionPart } from './transaction-part.js';

export class KeyValuePart implements TransactionPart {
  readonly section = TransactionSection.KeyValue;
  private judged: { readonly call: KvCallCommand; readonly judgement: KvJudgement } | null = null;

  constructor(private readonly context: ApplyContext) {}

  prefetch(body: PartBody, sink: PrefetchSink): void {
    prefetchKvCall(this.context, decode(body), sink);
  }

  judge(body: PartBody): TransactionRollback | null {
    const call = decode(body);
    const judgement = judgeKvCall(this.context, call.operations);
    this.judged = { call, judgement };
    const verdict = judgement.verdicts[judgement.failed];
    if (verdict === undefined) return null;
    const { reason, version, value } = verdict;
    const detail: KvLostOperation = {
      operation: judgement.failed,
      reason: reason ?? 'absent',
      version,
      value,
    };
    const text = 'a required key-value operation lost';
    return { section: this.section, reason: 'kv_precondition', text, detail };
  }

  execute(_body: PartBody, outcomes: TransactionOutcomes): void {
    if (this.judged === null) return;
    const { call, judgement } = this.judged;
    const results = writeKvCall(this.context, call.operations, judgement);
    outcomes.keyValue = kvOutcome(this.context, call, { failed: -1, results });
    this.judged = null;
  }
}

function decode(body: PartBody): KvCallCommand {
  return decodeKvCall(new BinaryReader(body.bytes, body.start, body.end));
}
