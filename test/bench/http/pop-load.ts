/**
 * Consumes as fast as N connections can: pop, then one ack for everything the pop brought (or nothing
 * with commit on delivery). Ends with the window, or when what was stored is consumed.
 */
import { requestBytes, type Answer, type Connection } from './connection.js';
import { ackBodyOf, walkMessages } from './delivered-messages.js';
import { LatencyRecord, type LatencySummary } from './latency-record.js';
import { openConnections, Stopwatch, type LoadFigures, type LoadTarget } from './load.js';

const FAILED = Buffer.from('"success":false');
/** A pop that finds nothing is answered after this time. */
const WAIT_MS = 1000;

export interface PopTarget extends LoadTarget {
  readonly queue: string;
  readonly group: string;
  readonly batch: number;
  readonly partitions: number;
  readonly commitOnDelivery: boolean;
  /** Messages that are there to be consumed; the load ends with the last of them. */
  readonly available: number;
}

export interface PopFigures extends LoadFigures {
  readonly ack: LatencySummary;
}

interface Consumer {
  readonly connection: Connection;
  sentAt: number;
  /** Messages whose ack is in flight; 0 while a pop is. */
  acking: number;
  popBytes: number;
  isDone: boolean;
}

export class PopLoad {
  private readonly latency = new LatencyRecord();
  private readonly ackLatency = new LatencyRecord();
  private readonly watch: Stopwatch;
  private readonly popRequest: Buffer;
  private readonly consumers: Consumer[] = [];
  private requests = 0;
  private messages = 0;
  private bytes = 0;
  private consumed = 0;
  private refused = 0;
  private firstRefusal = '';
  private lastAt = 0;
  private done: () => void = () => undefined;
  private failed: (error: Error) => void = () => undefined;

  private constructor(private readonly target: PopTarget) {
    const { queue, group, batch, partitions, commitOnDelivery } = target;
    const query =
      `batch=${batch}&partitions=${partitions}&wait=true&timeout=${WAIT_MS}` +
      `&consumerGroup=${group}&subscriptionMode=all&commitOnDelivery=${commitOnDelivery}`;
    this.popRequest = requestBytes('GET', `/api/v1/pop/queue/${queue}?${query}`);
    this.watch = new Stopwatch(target);
  }

  static async run(target: PopTarget): Promise<PopFigures> {
    const connections = await openConnections(target);
    const load = new PopLoad(target);
    const finished = new Promise<void>((resolve, reject) => {
      load.done = resolve;
      load.failed = reject;
    });
    for (const connection of connections) load.join(connection);
    try {
      await finished;
    } finally {
      for (const connection of connections) connection.close();
    }
    return load.figures();
  }

  private join(connection: Connection): void {
    const consumer: Consumer = { connection, sentAt: 0, acking: 0, popBytes: 0, isDone: false };
    connection.onAnswer = (answer): void => this.take(consumer, answer);
    connection.onLost = (error): void => this.failed(error);
    this.consumers.push(consumer);
    this.pop(consumer, performance.now());
  }

  private pop(consumer: Consumer, now: number): void {
    if (this.watch.isOver(now) || this.consumed >= this.target.available) {
      consumer.isDone = true;
      if (this.consumers.every(({ isDone }) => isDone)) this.done();
      return;
    }
    consumer.acking = 0;
    consumer.sentAt = now;
    consumer.connection.send(this.popRequest);
  }

  private take(consumer: Consumer, answer: Answer): void {
    const now = performance.now();
    if (consumer.acking > 0) this.takeAck(consumer, answer, now);
    else this.takePop(consumer, answer, now);
  }

  private takePop(consumer: Consumer, answer: Answer, now: number): void {
    const { status, bytes, start, end } = answer;
    if (status !== 200) {
      if (status !== 204) this.refuse(answer);
      this.pop(consumer, now);
      return;
    }
    if (this.watch.counts(now)) {
      this.latency.add(now - consumer.sentAt);
      this.requests += 1;
    }
    consumer.popBytes = end - start;
    const { group, commitOnDelivery } = this.target;
    if (commitOnDelivery) {
      const count = walkMessages(bytes, answer, () => undefined);
      this.count(consumer, count, now);
      this.pop(consumer, now);
      return;
    }
    const ack = ackBodyOf(bytes, answer, group);
    consumer.acking = ack.messages;
    consumer.sentAt = now;
    consumer.connection.send(requestBytes('POST', ack.path, ack.body));
  }

  private takeAck(consumer: Consumer, answer: Answer, now: number): void {
    const at = answer.bytes.indexOf(FAILED, answer.start);
    if (answer.status !== 200 || (at >= 0 && at < answer.end)) this.refuse(answer);
    else {
      if (this.watch.counts(now)) {
        this.ackLatency.add(now - consumer.sentAt);
        this.requests += 1;
      }
      this.count(consumer, consumer.acking, now);
    }
    this.pop(consumer, now);
  }

  private count(consumer: Consumer, messages: number, now: number): void {
    this.consumed += messages;
    this.lastAt = now;
    if (!this.watch.counts(now)) return;
    this.messages += messages;
    this.bytes += consumer.popBytes;
  }

  private refuse({ status, bytes, start, end }: Answer): void {
    this.refused += 1;
    if (this.firstRefusal === '') {
      this.firstRefusal = `${status} ${bytes.toString('utf8', start, Math.min(end, start + 300))}`;
    }
  }

  private figures(): PopFigures {
    const { from, to } = this.watch;
    const end = this.consumed >= this.target.available ? Math.min(this.lastAt, to) : to;
    return {
      requests: this.requests,
      messages: this.messages,
      bytes: this.bytes,
      seconds: Math.max(0.001, (end - from) / 1000),
      latency: this.latency.summary(),
      ack: this.ackLatency.summary(),
      refused: this.refused,
      ...(this.refused === 0 ? {} : { firstRefusal: this.firstRefusal }),
    };
  }
}
