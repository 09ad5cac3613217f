/**
 * Transaction (spec messages.md §8): all parts judge, then all execute, or none does. Nothing here
 * knows what a part does; see transaction-part.ts.
 */
import { CommandKind } from '../commands/catalogue.js';
import { TransactionSection } from '../commands/catalogue-transactions.js';
import type {
  TransactionOutcome,
  TransactionOutcomes,
  TransactionRollback,
} from '../commands/catalogue-transactions.js';
import { readSections } from '../commands/transaction.js';
import type { SectionBody } from '../commands/transaction.js';
import type { PrefetchSink } from '../machine.js';
import type { ApplyContext } from './context.js';
import type { PushApplier, PushBody } from './push.js';
import { AcksPart } from './transaction-acks.js';
import { KeyValuePart } from './transaction-key-value.js';
import type { PartBody, TransactionDraft, TransactionPart } from './transaction-part.js';
import { PositionsPart } from './transaction-positions.js';
import { PushesPart } from './transaction-pushes.js';
import { TimersPart } from './transaction-timers.js';

function partsOf(context: ApplyContext, push: PushApplier): readonly TransactionPart[] {
  return [
    new AcksPart(context),
    new PushesPart(push),
    new PositionsPart(context),
    new KeyValuePart(context),
    new TimersPart(context, push),
  ];
}

export class TransactionApplier {
  private readonly parts: ReadonlyMap<TransactionSection, TransactionPart>;

  constructor(context: ApplyContext, push: PushApplier) {
    this.parts = new Map(partsOf(context, push).map((part) => [part.section, part]));
  }

  prefetch(body: PushBody, sink: PrefetchSink): void {
    for (const { part, body: own } of this.work(body)) part?.prefetch(own, sink);
  }

  apply(body: PushBody): TransactionOutcome {
    const work = this.work(body);
    const draft: TransactionDraft = { newQueues: new Set() };
    for (const { section, part, body: own } of work) {
      const rollback = part === undefined ? unknownSection(section) : part.judge(own, draft);
      if (rollback !== null) return { kind: CommandKind.Transaction, rollback, outcomes: {} };
    }
    const outcomes: TransactionOutcomes = {};
    for (const { part, body: own } of work) part?.execute(own, outcomes);
    return { kind: CommandKind.Transaction, rollback: null, outcomes };
  }

  private work(body: PushBody): {
    readonly section: TransactionSection;
    readonly part: TransactionPart | undefined;
    readonly body: PartBody;
  }[] {
    const { bytes, start, end, entryOffset } = body;
    return readSections(bytes, start, end).map((own: SectionBody) => ({
      section: own.section,
      part: this.parts.get(own.section),
      body: { bytes, start: own.start, end: own.end, entryOffset },
    }));
  }
}

/** Refused before the log; tolerated here. */
function unknownSection(section: TransactionSection): TransactionRollback {
  return { section, reason: 'internal', text: 'unknown part of a transaction', detail: null };
}
