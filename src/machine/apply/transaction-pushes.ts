/**
 * Pushes of a transaction (spec messages.md §2.10, §8.3): appended like those of a push command, unless
 * one message is stored already or a queue's encryption changed since the command was prepared.
 */
import { TransactionSection } from '../commands/catalogue-transactions.js';
import type {
  TransactionOutcomes,
  TransactionRollback,
} from '../commands/catalogue-transactions.js';
import type { PrefetchSink } from '../machine.js';
import type { PushApplier, PushObstacle } from './push.js';
import type { PartBody, TransactionDraft, TransactionPart } from './transaction-part.js';

export class PushesPart implements TransactionPart {
  readonly section = TransactionSection.Pushes;

  constructor(private readonly push: PushApplier) {}

  prefetch(body: PartBody, sink: PrefetchSink): void {
    this.push.prefetch(body, sink);
  }

  judge(body: PartBody, draft: TransactionDraft): TransactionRollback | null {
    const obstacle = this.push.obstacle(body, (queue) => draft.newQueues.add(queue));
    return obstacle === null ? null : rollbackOf(obstacle);
  }

  execute(body: PartBody, outcomes: TransactionOutcomes): void {
    outcomes.pushes = this.push.apply(body).groups;
  }
}

function rollbackOf(obstacle: PushObstacle): TransactionRollback {
  const { queue, partition, originalOffset } = obstacle;
  const common = { section: TransactionSection.Pushes, detail: null };
  return originalOffset === null
    ? { ...common, reason: 'reprepare', text: `encryption of queue ${queue} was switched` }
    : {
        ...common,
        reason: 'duplicate',
        text: `QDUP ${queue}/${partition}: the message is stored already at offset ${originalOffset}`,
      };
}
