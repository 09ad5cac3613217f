/**
 * Pushes to a few random partitions at a time and repeats a request with the same transactionIds until
 * it is acknowledged. Only one request is in flight, so its numbers rise in every partition.
 */
import { sleep } from '../bench/http/server-process.js';
import { CrashClient } from './client.js';
import type { Ledger } from './ledger.js';
import { idOf } from './partition-log.js';
import { payloadOf } from './payload.js';
import { between, PARTITIONS, QUEUE, type WorkerParts } from './scenario.js';

const RETRY_MS = 20;
const MAX_TARGETS = 3;
const MAX_ITEMS_PER_TARGET = 8;
const THINK_MS = 8;
/** Answers after which the same request may be sent again. */
const RETRYABLE = new Set([429, 503]);

interface Item {
  readonly partition: string;
  readonly id: string;
  /** The queue of the scenario when absent. */
  readonly queue?: string;
}

export interface PushedItem {
  readonly status: string;
  readonly offset: number;
  readonly message_id: string;
}

export const partitionName = (number: number): string => `lane-${number}`;

export function pushBody(items: readonly Item[]): string {
  return JSON.stringify({
    items: items.map(({ partition, id, queue = QUEUE }) => ({
      ...{ queue, partition, transactionId: id },
      payload: payloadOf(id),
    })),
  });
}

export async function runProducer(producer: number, parts: WorkerParts): Promise<void> {
  const { gate, port } = parts;
  const client = new CrashClient(port);
  let number = 0;
  gate.enter();
  try {
    while (await gate.pass()) {
      if (parts.isResting?.() === true) {
        await sleep(RETRY_MS);
        continue;
      }
      const items = drawItems(producer, number, parts);
      number += items.length;
      await pushUntilAcknowledged(client, items, parts);
      await sleep(parts.random.nextBelow(THINK_MS));
    }
  } finally {
    gate.leave();
    client.close();
  }
}

function drawItems(producer: number, from: number, { random }: WorkerParts): readonly Item[] {
  const items: Item[] = [];
  const targets = between(random, 1, MAX_TARGETS);
  for (let target = 0; target < targets; target += 1) {
    const partition = partitionName(random.nextBelow(PARTITIONS));
    const count = between(random, 1, MAX_ITEMS_PER_TARGET);
    for (let i = 0; i < count; i += 1) {
      items.push({ partition, id: idOf({ producer, number: from + items.length }) });
    }
  }
  return items;
}

export async function pushUntilAcknowledged(
  client: CrashClient,
  items: readonly Item[],
  { gate, ledger }: WorkerParts,
): Promise<void> {
  const body = pushBody(items);
  const firstSentAtMs = performance.now();
  ledger.counts.pushRequests += 1;
  for (let tries = 1; ; tries += 1) {
    const sentAtMs = performance.now();
    const answer = await client.call('POST', '/api/v1/push', body);
    if (answer?.status === 201) {
      const answers = JSON.parse(answer.text) as PushedItem[];
      record(items, answers, { ledger, tries, sentAtMs, firstSentAtMs });
      return;
    }
    if (answer !== null && !RETRYABLE.has(answer.status)) {
      ledger.violations.add(`push refused: ${answer.status} ${answer.text}`);
    }
    ledger.counts.pushRetries += 1;
    await sleep(RETRY_MS);
    if (!(await gate.pass())) return;
  }
}

function record(
  items: readonly Item[],
  answers: readonly PushedItem[],
  sent: {
    readonly ledger: Ledger;
    readonly tries: number;
    readonly sentAtMs: number;
    readonly firstSentAtMs: number;
  },
): void {
  const { ledger, tries } = sent;
  items.forEach(({ partition, id }, i) => {
    const {
      status,
      offset,
      message_id: messageId,
    } = answers[i] ?? {
      ...{ status: 'absent', offset: -1, message_id: '' },
    };
    if (status === 'duplicate') {
      ledger.counts.duplicates += 1;
      if (tries === 1) ledger.violations.add(`${partition} ${id}: duplicate at its first try`);
    } else if (status !== 'queued') {
      ledger.violations.add(`${partition} ${id}: pushed with status ${status}`);
      return;
    }
    const log = ledger.log(partition);
    log.acknowledge(id, offset, messageId);
    log.sentAt(offset, status === 'queued' ? sent.sentAtMs : sent.firstSentAtMs);
  });
}
