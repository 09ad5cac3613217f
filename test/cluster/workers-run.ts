/**
 * Many workers of three groups on three processes that are killed and restarted at random: producers
 * push numbered messages to many partitions, workers settle them, some as dead letters. Checked per
 * group and partition while it runs: strictly in order, no gap, nothing again that was acknowledged. In
 * the end everything is settled and the dead letters are exactly those that were named.
 *
 * The book of a (group, partition): everything below `settled` is acknowledged for sure; an ack on its
 * way, or without an answer, may have settled up to `doubtful`. The next delivery tells.
 */
import { Prng } from '../../src/common/prng.js';
import type { ClusterProcesses } from '../support/cluster-processes.js';
import { pause } from '../support/cluster-processes.js';

const QUEUE = 'workers';
export const GROUPS = ['first', 'second', 'third'] as const;
const WORKERS = 20;
const PRODUCERS = 4;
const POISON_EVERY = 37;
const LEASE_S = 15;
/** A worker gives an ack up well before its lease ends. */
const ACK_FOR_MS = 10_000;
const ATTEMPT_MS = 4_000;
const RETRY_MS = 50;
const READY_MS = 180_000;
const KEPT_VIOLATIONS = 50;

export interface WorkersOptions {
  readonly partitions: number;
  readonly messagesPerPartition: number;
  readonly faults: number;
  readonly seed: number;
  readonly settleMs: number;
}

export interface WorkersReport {
  readonly pushed: number;
  readonly deliveries: number;
  readonly acks: number;
  readonly faults: readonly string[];
  readonly deadLetters: number;
  readonly violations: readonly string[];
  readonly seconds: number;
}

interface Book {
  settled: number;
  doubtful: number;
  /** Of the newest delivery. */
  leaseId: string;
  start: number;
}

interface Message {
  readonly transactionId: string;
  readonly partition: string;
  readonly partitionId: string;
  readonly leaseId: string;
}

interface AckRow {
  readonly success: boolean;
}

export class WorkersRun {
  private readonly books = new Map<string, Book>();
  private readonly violations: string[] = [];
  private readonly faults: string[] = [];
  private readonly random: Prng;
  private pushed = 0;
  private deliveries = 0;
  private acks = 0;
  private done = false;
  private lastFailure = 'with another status';

  constructor(
    private readonly cluster: ClusterProcesses,
    private readonly options: WorkersOptions,
  ) {
    this.random = new Prng(options.seed);
  }

  async run(): Promise<WorkersReport> {
    const { cluster, options } = this;
    const from = performance.now();
    await cluster.leader(cluster.ids, READY_MS);
    const producing = Promise.all(
      Array.from({ length: PRODUCERS }, (_, i) => this.produce(i, new Prng(options.seed + i))),
    );
    const working = Promise.all(
      Array.from({ length: WORKERS }, (_, i) => this.work(GROUPS[i % 3] ?? 'first', i)),
    );
    await this.disturb();
    await producing;
    await this.settled();
    this.done = true;
    await working;
    const deadLetters = await this.auditLetters();
    const { pushed, deliveries, acks, faults, violations } = this;
    const seconds = (performance.now() - from) / 1000;
    return { pushed, deliveries, acks, faults, deadLetters, violations, seconds };
  }

  /** Every producer has partitions of its own, so that their order is known. */
  private async produce(producer: number, random: Prng): Promise<void> {
    const { partitions, messagesPerPartition } = this.options;
    for (let n = 0; n < messagesPerPartition; n += 1) {
      for (let first = producer; first < partitions; first += PRODUCERS * 25) {
        const items: object[] = [];
        for (let p = first; p < Math.min(partitions, first + PRODUCERS * 25); p += PRODUCERS) {
          items.push({ queue: QUEUE, partition: `p${p}`, transactionId: `${p}-${n}`, payload: n });
        }
        await this.insist(random, 201, '/api/v1/push', { items });
        this.pushed += items.length;
      }
    }
  }

  private async work(group: string, worker: number): Promise<void> {
    const random = new Prng(this.options.seed * 100 + worker);
    const query =
      `batch=20&partitions=8&wait=true&timeout=1500&leaseSeconds=${LEASE_S}` +
      `&consumerGroup=${group}&subscriptionMode=all`;
    while (!this.done) {
      const path = `/api/v1/pop/queue/${QUEUE}?${query}`;
      const from = performance.now();
      const answer = await this.request(random, path);
      if (answer?.status !== 200) {
        if (answer?.status !== 204) await pause(RETRY_MS);
        continue;
      }
      const { messages } = answer.body as { messages: Message[] };
      const batches = new Map<string, Message[]>();
      for (const message of messages) {
        const batch = batches.get(message.partition);
        if (batch === undefined) batches.set(message.partition, [message]);
        else batch.push(message);
      }
      for (const batch of batches.values()) this.note(group, batch);
      await Promise.all(
        [...batches.values()].map((batch) => this.settle(group, batch, { random, from })),
      );
    }
  }

  /** A delivery begins where the group stands, and has no gap. */
  private note(group: string, batch: readonly Message[]): void {
    this.deliveries += batch.length;
    const [head] = batch;
    if (head === undefined) return;
    const start = numberOf(head);
    const book = this.bookOf(group, head.partition);
    const place = `${group} ${head.partition}`;
    if (start === book.doubtful + 1) book.settled = Math.max(book.settled, book.doubtful);
    else if (start !== book.settled + 1) {
      this.violate(`${place}: ${start} came at ${book.settled + 1} (or ${book.doubtful + 1})`);
    }
    batch.forEach((message, i) => {
      if (numberOf(message) !== start + i) this.violate(`${place}: gap in a batch at ${start + i}`);
    });
    book.leaseId = head.leaseId;
    book.start = start;
  }

  /** One ack for the whole batch of a partition, again until it is answered or the lease too old. */
  private async settle(
    group: string,
    batch: readonly Message[],
    call: { readonly random: Prng; readonly from: number },
  ): Promise<void> {
    const [head] = batch;
    if (head === undefined) return;
    const book = this.bookOf(group, head.partition);
    const end = numberOf(head) + batch.length - 1;
    book.doubtful = end;
    const acknowledgments = batch.map(({ transactionId, partitionId, leaseId }) => ({
      ...{ transactionId, partitionId, leaseId, error: 'spoiled' },
      status: isPoison(transactionId) ? 'dlq' : 'completed',
    }));
    while (performance.now() - call.from < ACK_FOR_MS) {
      const body = { consumerGroup: group, acknowledgments };
      const answer = await this.request(call.random, '/api/v1/ack/batch', body);
      if (answer?.status !== 200) {
        await pause(RETRY_MS);
        continue;
      }
      // Refused, it may be the repeat of one that was applied: the next delivery tells.
      if (!(answer.body as AckRow[]).every(({ success }) => success)) return;
      this.acks += batch.length;
      if (book.leaseId !== head.leaseId && book.start <= end) {
        this.violate(
          `${group} ${head.partition}: acknowledged up to ${end}, came from ${book.start}`,
        );
      }
      book.settled = Math.max(book.settled, end);
      return;
    }
  }

  /** Kills and graceful stops of random nodes, one after another, each back before the next. */
  private async disturb(): Promise<void> {
    const { cluster, random } = this;
    for (let n = 0; n < this.options.faults; n += 1) {
      await pause(500 + (random.nextUint32() % 1500));
      const id = cluster.ids[random.nextUint32() % cluster.ids.length] ?? 1;
      const signal = random.nextUint32() % 3 === 0 ? 'SIGTERM' : 'SIGKILL';
      const ended = cluster.node(id).ended();
      cluster.node(id).signal(signal);
      await ended;
      await pause(random.nextUint32() % 1000);
      cluster.node(id).start();
      await cluster.leader(cluster.ids, READY_MS);
      this.faults.push(`${signal} ${id}`);
    }
  }

  /** Resolves when every group is through; what never comes is a violation. */
  private async settled(): Promise<void> {
    const until = performance.now() + this.options.settleMs;
    while (this.unfinished('settled').length > 0 && performance.now() < until) {
      // An ack that was applied but refused as a repeat shows only in what is left.
      if (await this.isDrained()) break;
      await pause(500);
    }
    const isDrained = await this.isDrained();
    // Nothing is left: what no worker ever had in its hands was passed over.
    for (const line of this.unfinished(isDrained ? 'doubtful' : 'settled')) {
      this.violate(`lost: ${line}`);
    }
  }

  /** Groups and partitions that are not through: by what is settled for sure, or by what came at all. */
  private unfinished(by: 'settled' | 'doubtful'): string[] {
    const { partitions, messagesPerPartition } = this.options;
    const last = messagesPerPartition - 1;
    const missing: string[] = [];
    for (const group of GROUPS) {
      for (let p = 0; p < partitions; p += 1) {
        const book = this.bookOf(group, `p${p}`);
        const upTo = Math.max(book.settled, book[by]);
        if (upTo < last) missing.push(`${group} p${p}: ${by} up to ${upTo} of ${last}`);
      }
    }
    return missing;
  }

  private async isDrained(): Promise<boolean> {
    for (const group of GROUPS) {
      const path = `/api/v1/resources/queues/${QUEUE}/depth?group=${group}`;
      const answer = await this.request(this.random, path);
      const body = answer?.body as { pending?: number } | undefined;
      if (answer?.status !== 200 || body?.pending !== 0) return false;
    }
    return true;
  }

  private async auditLetters(): Promise<number> {
    const seen = new Map<string, number>();
    for (const group of GROUPS) {
      for (let offset = 0; ; offset += 1000) {
        const path = `/api/v1/dlq?queue=${QUEUE}&consumerGroup=${group}&limit=1000&offset=${offset}`;
        const { body } = await this.insist(this.random, 200, path);
        const { messages } = body as { messages: { transactionId: string }[] };
        for (const { transactionId } of messages) {
          const key = `${group} ${transactionId}`;
          seen.set(key, (seen.get(key) ?? 0) + 1);
        }
        if (messages.length < 1000) break;
      }
    }
    for (const group of GROUPS) {
      for (let p = 0; p < this.options.partitions; p += 1) {
        for (let n = 0; n < this.options.messagesPerPartition; n += 1) {
          const times = seen.get(`${group} ${p}-${n}`) ?? 0;
          const wanted = isPoison(`${p}-${n}`) ? 1 : 0;
          if (times !== wanted) this.violate(`${group} ${p}-${n}: ${times} dead letters`);
        }
      }
    }
    return [...seen.values()].reduce((sum, times) => sum + times, 0);
  }

  private bookOf(group: string, partition: string): Book {
    const key = `${group} ${partition}`;
    let book = this.books.get(key);
    if (book === undefined) {
      book = { settled: -1, doubtful: -1, leaseId: '', start: -1 };
      this.books.set(key, book);
    }
    return book;
  }

  private violate(text: string): void {
    if (this.violations.length < KEPT_VIOLATIONS) this.violations.push(text);
  }

  /** At random nodes until the answer has the status. */
  private async insist(
    random: Prng,
    status: number,
    path: string,
    body?: object,
  ): Promise<{ readonly body: unknown }> {
    const until = performance.now() + this.options.settleMs;
    while (performance.now() < until) {
      const answer = await this.request(random, path, body);
      if (answer?.status === status) return answer;
      await pause(RETRY_MS);
    }
    throw new Error(`${path} was never answered with ${status}, at last ${this.lastFailure}`);
  }

  /** Null: no answer. */
  private async request(
    random: Prng,
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly body: unknown } | null> {
    const { ids } = this.cluster;
    const id = ids[random.nextUint32() % ids.length] ?? 1;
    try {
      const response = await fetch(this.cluster.url(id) + path, {
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(ATTEMPT_MS),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? null : JSON.parse(text) };
    } catch (error) {
      // Refused, reset, cut short or too late: whoever asks tries again.
      this.lastFailure = String(error);
      return null;
    }
  }
}

/** Number of a message inside its partition. */
function numberOf({ transactionId }: Message): number {
  return Number(transactionId.slice(transactionId.indexOf('-') + 1));
}

/** Settled as a dead letter by whoever gets it. */
function isPoison(transactionId: string): boolean {
  const [partition = 0, number = 0] = transactionId.split('-').map(Number);
  return (partition * 31 + number) % POISON_EVERY === 0;
}
