/**
 * Timers of a transaction (state.md §2.5): planned last, in the same entry. Nothing about a timer rolls
 * a transaction back, an absent one neither; only a queue whose encryption was switched does.
 */
import { BinaryReader } from '../../common/binary-reader.js';
import { TransactionSection } from '../commands/catalogue-transactions.js';
import type {
  TransactionOutcomes,
  TransactionRollback,
} from '../commands/catalogue-transactions.js';
import { decodeTimers } from '../commands/timers.js';
import type { PrefetchSink } from '../machine.js';
import type { ApplyContext } from './context.js';
import type { PushApplier } from './push.js';
import { isStale, prefetchTimers, runTimers } from './timers.js';
import type { TimerOps } from './timers.js';
import type { PartBody, TransactionPart } from './transaction-part.js';

export class TimersPart implements TransactionPart {
  readonly section = TransactionSection.Timers;

  constructor(
    private readonly context: ApplyContext,
    private readonly push: PushApplier,
  ) {}

  prefetch(body: PartBody, sink: PrefetchSink): void {
    prefetchTimers(this.context, opsOf(body), this.push, sink);
  }

  judge(body: PartBody): TransactionRollback | null {
    if (!isStale(this.context, opsOf(body))) return null;
    const { section } = this;
    return {
      section,
      reason: 'reprepare',
      text: 'encryption of a queue was switched',
      detail: null,
    };
  }

  execute(body: PartBody, outcomes: TransactionOutcomes): void {
    outcomes.timers = runTimers(this.context, opsOf(body), this.push);
  }
}

function opsOf({ bytes, start, end, entryOffset }: PartBody): TimerOps {
  return { ops: decodeTimers(new BinaryReader(bytes, start, end)), bytes, entryOffset };
}
