/**
 * Acknowledgements of a transaction (spec messages.md §8.2, §8.3). They follow the rules of an ack,
 * with three differences: all targets or none; no repeat of a settled batch is recognised; and under a
 * lease a message that is committed already rolls back, so that a fenced ack is a gate against doing
 * the step twice. Several targets on one cursor are judged one after the other on a private copy.
 */
import { BinaryReader } from '../../common/binary-reader.js';
import type { AckTarget } from '../commands/catalogue.js';
import { TransactionSection } from '../commands/catalogue-transactions.js';
import type {
  TransactionAck,
  TransactionAckOutcome,
  TransactionOutcomes,
  TransactionRollback,
} from '../commands/catalogue-transactions.js';
import { decodeAcks } from '../commands/transaction.js';
import type { PrefetchSink } from '../machine.js';
import { ackState, findAckPlace, isFencedOff, liveLease, prefetchAckTarget } from './ack.js';
import { prepareAck, writeAck } from './ack.js';
import type { AckChange, AckPlace } from './ack.js';
import { lowestSignal } from './ack-plan.js';
import type { AckState } from './ack-plan.js';
import type { ApplyContext } from './context.js';
import type { PartBody, TransactionPart } from './transaction-part.js';

interface JudgedAck {
  readonly place: AckPlace;
  readonly change: AckChange;
}

export class AcksPart implements TransactionPart {
  readonly section = TransactionSection.Acks;
  private judged: JudgedAck[] = [];

  constructor(private readonly context: ApplyContext) {}

  prefetch(body: PartBody, sink: PrefetchSink): void {
    for (const { target } of this.decode(body)) prefetchAckTarget(this.context, target, sink);
  }

  judge(body: PartBody): TransactionRollback | null {
    this.judged = [];
    /** Newest change of a cursor by an earlier target of this transaction. */
    const changed = new Map<number, AckChange>();
    for (const ack of this.decode(body)) {
      const judged = this.judgeTarget(ack, changed);
      if (typeof judged === 'string') return rejected(ack, judged);
      changed.set(judged.place.cursor, judged.change);
      this.judged.push(judged);
    }
    return null;
  }

  execute(_body: PartBody, outcomes: TransactionOutcomes): void {
    outcomes.acks = this.judged.map(({ place, change }): TransactionAckOutcome => {
      writeAck(this.context, place, change);
      const filed = change.rows.map((row) => row.offset);
      return { filed, leaseReleased: change.plan.released };
    });
    this.judged = [];
  }

  /** A text = the reason why the target rolls everything back. */
  private judgeTarget(
    ack: TransactionAck,
    changed: ReadonlyMap<number, AckChange>,
  ): JudgedAck | string {
    const { context } = this;
    const { target } = ack;
    const place = findAckPlace(context, ack.group, target);
    if (place === 'no_partition') return `no partition ${target.partitionId}`;
    if (place === 'no_cursor') return 'the group never read this partition';
    const earlier = changed.get(place.cursor);
    const lease = earlier === undefined ? liveLease(context, place.cursor) : leaseAfter(earlier);
    if (isFencedOff(context, target, lease)) return 'invalid or expired lease';
    const state = stateAfter(ackState(context, place, lease), earlier);
    if (!isResolved(state, target)) return 'a message is not in the batch or acknowledged already';
    const change = prepareAck(context, target, { place, state, lease });
    return change === undefined ? 'a message cannot be found any more' : { place, change };
  }

  private decode(body: PartBody): TransactionAck[] {
    return decodeAcks(new BinaryReader(body.bytes, body.start, body.end));
  }
}

function leaseAfter(change: AckChange): number {
  return change.plan.released ? -1 : change.lease;
}

function stateAfter(state: AckState, earlier: AckChange | undefined): AckState {
  if (earlier === undefined) return state;
  const { committed, batchRetryCount } = earlier.plan;
  return { ...state, committed, batchRetryCount };
}

/**
 * Every item names a message it may settle. Unfenced, completed ones at or below the cursor are no-ops;
 * signals there, and anything under a fence, are not.
 */
function isResolved(state: AckState, target: AckTarget): boolean {
  const lowest = state.committed + 1;
  const { completed, signals } = target;
  const last = completed[completed.length - 1];
  if (last !== undefined && last > state.spanEnd) return false;
  const first = completed[0];
  if (target.leaseId.length > 0 && first !== undefined && first < lowest) return false;
  const lowestNamed = lowestSignal(state);
  return signals.every(({ offset }) => offset >= lowestNamed && offset <= state.spanEnd);
}

function rejected(ack: TransactionAck, why: string): TransactionRollback {
  const { group, target } = ack;
  return {
    section: TransactionSection.Acks,
    reason: 'rejected_ack',
    text: `QTXN ack of group ${group} on partition ${target.partitionId}: ${why}`,
    detail: null,
  };
}
