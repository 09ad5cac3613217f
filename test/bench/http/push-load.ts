/**
 * Pushes as fast as N connections get answers (closed loop), or at a given rate whatever the answers
 * (open loop: latency counts from the moment a request was due). Every answer goes to the ledger.
 */
import type { Answer, Connection } from './connection.js';
import { LatencyRecord } from './latency-record.js';
import { openConnections, Stopwatch, type LoadFigures, type LoadTarget } from './load.js';
import type { PushLedger } from './push-ledger.js';
import { PushTemplate } from './push-template.js';

const OFFSET = Buffer.from('"offset":');
const PACE_TICK_MS = 1;

export interface PushTarget extends LoadTarget {
  readonly ledger: PushLedger;
  /** Requests per second; absent: as fast as answers come. */
  readonly rate?: number;
  /** Called once per answer inside and outside the window. */
  readonly onAnswer?: (now: number, latencyMs: number) => void;
  /** Ends the load early, e.g. when enough is stored. */
  readonly enough?: () => boolean;
}

class Producer {
  isIdle = true;
  request = -1;
  dueAt = 0;

  constructor(
    readonly connection: Connection,
    readonly template: PushTemplate,
  ) {}
}

export class PushLoad {
  private readonly latency = new LatencyRecord();
  private readonly watch: Stopwatch;
  private readonly producers: Producer[] = [];
  private readonly idle: Producer[] = [];
  private readonly backlog: number[] = [];
  private requests = 0;
  private refused = 0;
  private firstRefusal = '';
  private issued = 0;
  private stopping = false;
  private done: () => void = () => undefined;
  private failed: (error: Error) => void = () => undefined;

  private constructor(private readonly target: PushTarget) {
    this.watch = new Stopwatch(target);
  }

  static async run(target: PushTarget): Promise<LoadFigures> {
    const connections = await openConnections(target);
    const load = new PushLoad(target);
    const shape = target.ledger.shape;
    for (const connection of connections) {
      load.join(new Producer(connection, new PushTemplate(shape)));
    }
    try {
      return await load.finished();
    } finally {
      for (const connection of connections) connection.close();
    }
  }

  private join(producer: Producer): void {
    producer.connection.onAnswer = (answer): void => this.take(producer, answer);
    producer.connection.onLost = (error): void => this.failed(error);
    this.producers.push(producer);
    this.idle.push(producer);
  }

  private async finished(): Promise<LoadFigures> {
    const finished = new Promise<void>((resolve, reject) => {
      this.done = resolve;
      this.failed = reject;
    });
    const { rate } = this.target;
    let timer: ReturnType<typeof setInterval> | undefined;
    if (rate === undefined) this.startAll();
    else timer = setInterval(() => this.pace(rate), PACE_TICK_MS);
    try {
      await finished;
    } finally {
      clearInterval(timer);
    }
    const { shape } = this.target.ledger;
    return {
      requests: this.requests,
      messages: this.requests * shape.batch,
      bytes: this.requests * (this.producers[0]?.template.bodyBytes ?? 0),
      seconds: this.target.measureMs / 1000,
      latency: this.latency.summary(),
      refused: this.refused,
      ...(this.refused === 0 ? {} : { firstRefusal: this.firstRefusal }),
    };
  }

  private startAll(): void {
    const now = performance.now();
    for (const producer of this.idle.splice(0)) this.send(producer, now);
  }

  private pace(rate: number): void {
    const now = performance.now();
    const begin = this.watch.from - this.target.warmupMs;
    const due = Math.floor(((Math.min(now, this.watch.to) - begin) / 1000) * rate);
    for (; this.issued < due; this.issued += 1) this.backlog.push(now);
    this.assign();
    if (this.watch.isOver(now)) this.stop();
  }

  private assign(): void {
    let taken = 0;
    while (taken < this.backlog.length) {
      // In turn: a connection that says nothing for long is closed by the broker.
      const producer = this.idle.shift();
      if (producer === undefined) break;
      this.send(producer, this.backlog[taken] ?? 0);
      taken += 1;
    }
    this.backlog.splice(0, taken);
  }

  private send(producer: Producer, dueAt: number): void {
    producer.isIdle = false;
    producer.dueAt = dueAt;
    producer.request = this.target.ledger.begin();
    producer.connection.send(producer.template.fill(producer.request));
  }

  private take(producer: Producer, answer: Answer): void {
    const now = performance.now();
    const latency = now - producer.dueAt;
    const isGood = this.settle(producer.request, answer);
    if (isGood && this.watch.counts(now)) {
      this.requests += 1;
      this.latency.add(latency);
    }
    this.target.onAnswer?.(now, latency);
    producer.isIdle = true;
    if (this.stopping || this.watch.isOver(now) || this.target.enough?.() === true) {
      this.stop();
    } else if (this.target.rate === undefined) {
      this.send(producer, now);
    } else {
      this.idle.push(producer);
      this.assign();
    }
  }

  private stop(): void {
    this.stopping = true;
    if (this.producers.every(({ isIdle }) => isIdle)) this.done();
  }

  private settle(request: number, answer: Answer): boolean {
    const { ledger } = this.target;
    const { bytes, start, end } = answer;
    if (answer.status === 201 && takeOffsets(ledger, request, answer)) {
      ledger.acknowledgedMessages += ledger.shape.batch;
      return true;
    }
    this.refused += 1;
    ledger.refusedRequests += 1;
    if (this.firstRefusal === '') {
      this.firstRefusal = `${answer.status} ${bytes.toString('utf8', start, Math.min(end, start + 300))}`;
    }
    return false;
  }
}

/** False when the answer does not give every item an offset of its own. */
function takeOffsets(ledger: PushLedger, request: number, answer: Answer): boolean {
  const { batch, spread } = ledger.shape;
  const { bytes, end } = answer;
  if (!spread) {
    const first = bytes.indexOf(OFFSET, answer.start);
    const last = bytes.lastIndexOf(OFFSET, end);
    if (first < 0 || last < 0) return false;
    const base = numberAt(bytes, first + OFFSET.length);
    if (numberAt(bytes, last + OFFSET.length) - base !== batch - 1) return false;
    ledger.acknowledge(request, 0, base);
    return true;
  }
  let at = answer.start;
  for (let item = 0; item < batch; item += 1) {
    at = bytes.indexOf(OFFSET, at);
    if (at < 0 || at >= end) return false;
    at += OFFSET.length;
    ledger.acknowledge(request, item, numberAt(bytes, at));
  }
  return true;
}

export function numberAt(bytes: Buffer, at: number): number {
  let value = 0;
  for (let p = at; p < bytes.length; p += 1) {
    const digit = (bytes[p] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  return value;
}
