/** One pop as a consumer sees it: a batch per claimed partition, every message checked on the way. */
import type { CrashClient } from './client.js';
import type { Ledger } from './ledger.js';
import { isPayloadOf } from './payload.js';
import { QUEUE } from './scenario.js';

interface PoppedMessage {
  readonly transactionId: string;
  readonly partition: string;
  readonly partitionId: string;
  readonly leaseId: string;
  readonly offset: number;
  readonly data: unknown;
}

export interface PoppedBatch {
  readonly partition: string;
  readonly partitionId: string;
  readonly leaseId: string;
  readonly first: number;
  readonly last: number;
  readonly ids: readonly string[];
}

export interface PopQuery {
  /** The queue of the scenario when absent. */
  readonly queue?: string;
  readonly group: string;
  readonly batch: number;
  readonly partitions: number;
  /** 0: commit on delivery. */
  readonly leaseSeconds: number;
  readonly waitMs: number;
}

/** Empty when there was nothing; null when there was no answer. */
export async function popBatches(
  client: CrashClient,
  query: PopQuery,
  ledger: Ledger,
): Promise<readonly PoppedBatch[] | null> {
  const { group, batch, partitions, leaseSeconds, waitMs, queue = QUEUE } = query;
  const answer = await client.call(
    'GET',
    `/api/v1/pop/queue/${queue}?consumerGroup=${group}&subscriptionMode=all&batch=${batch}` +
      `&partitions=${partitions}&wait=${waitMs > 0}&timeout=${waitMs > 0 ? waitMs : 10_000}` +
      (leaseSeconds === 0 ? '&commitOnDelivery=true' : `&leaseSeconds=${leaseSeconds}`),
  );
  if (answer === null) return null;
  if (answer.status === 204) return [];
  if (answer.status !== 200) {
    if (answer.status !== 503) {
      ledger.violations.add(`pop of ${group}: ${answer.status} ${answer.text}`);
    }
    return null;
  }
  const { messages } = JSON.parse(answer.text) as { messages: PoppedMessage[] };
  return toBatches(messages, group, ledger);
}

function toBatches(
  messages: readonly PoppedMessage[],
  group: string,
  ledger: Ledger,
): readonly PoppedBatch[] {
  const batches: { partition: string; messages: PoppedMessage[] }[] = [];
  for (const message of messages) {
    const { transactionId, partition, offset, data } = message;
    ledger.log(partition).observe(transactionId, offset, group);
    if (!isPayloadOf(transactionId, data)) {
      ledger.violations.add(`${partition}@${offset} ${transactionId}: the payload was changed`);
    }
    const open = batches.at(-1);
    if (open?.partition === partition) open.messages.push(message);
    else batches.push({ partition, messages: [message] });
  }
  return batches.flatMap(({ partition, messages: own }) => {
    const [head] = own;
    if (head === undefined) return [];
    own.forEach(({ offset }, i) => {
      if (offset !== head.offset + i) {
        ledger.violations.add(
          `${group}/${partition}: offset ${offset} after ${head.offset + i - 1}`,
        );
      }
    });
    const { partitionId, leaseId, offset: first } = head;
    const ids = own.map(({ transactionId }) => transactionId);
    return [{ partition, partitionId, leaseId, first, last: first + own.length - 1, ids }];
  });
}
