/**
 * Drains a queue through a fresh group and holds what comes against the ledger: every acknowledged
 * message exactly once, at the offset that was acknowledged, in its partition, in order, its payload
 * unchanged; nothing that was never sent. Messages whose push had no answer may be there, once.
 */
import { Connection, requestBytes, type Answer } from './connection.js';
import { walkMessages } from './delivered-messages.js';
import type { PushLedger } from './push-ledger.js';
import { partitionOf, payloadText } from './push-template.js';

const POP_BATCH = 2000;
const MAX_EXAMPLES = 5;

export interface Verdict {
  readonly queue: string;
  readonly acknowledged: number;
  readonly delivered: number;
  readonly lost: number;
  readonly duplicated: number;
  /** Another offset than the acknowledged one, another partition, or out of order. */
  readonly misplaced: number;
  readonly changed: number;
  readonly unknown: number;
  /** Delivered although their push was not acknowledged: allowed. */
  readonly unacknowledged: number;
  readonly examples: readonly string[];
}

export const isSound = (verdict: Verdict): boolean =>
  verdict.lost + verdict.duplicated + verdict.misplaced + verdict.changed + verdict.unknown === 0;

class Audit {
  delivered = 0;
  duplicated = 0;
  misplaced = 0;
  changed = 0;
  unknown = 0;
  unacknowledged = 0;
  private matched = 0;
  private readonly examples: string[] = [];
  private readonly seen: Uint8Array;
  private readonly nextOffset: Int32Array;
  private readonly payload: Buffer;

  constructor(private readonly ledger: PushLedger) {
    const { batch, partitions, payloadBytes } = ledger.shape;
    this.seen = new Uint8Array(ledger.requests * batch);
    this.nextOffset = new Int32Array(partitions);
    this.payload = Buffer.from(payloadText(payloadBytes));
  }

  take({ bytes, start, end }: Answer): void {
    const { ledger, payload } = this;
    const { shape } = ledger;
    walkMessages(bytes, { start, end }, (message) => {
      const { request, item, partition, offset, payloadAt } = message;
      this.delivered += 1;
      if (request >= ledger.requests || item >= shape.batch) {
        this.unknown += this.report('unknown', message);
        return;
      }
      const at = request * shape.batch + item;
      if (this.seen[at] === 1) {
        this.duplicated += this.report('again', message);
        return;
      }
      this.seen[at] = 1;
      const expected = ledger.offsetOf(request, item);
      if (expected < 0) this.unacknowledged += 1;
      else this.matched += 1;
      const isInPlace =
        partition === partitionOf(shape, request, item) &&
        (expected < 0 || expected === offset) &&
        this.nextOffset[partition] === offset;
      if (!isInPlace) this.misplaced += this.report(`misplaced, acknowledged ${expected}`, message);
      this.nextOffset[partition] = offset + 1;
      if (bytes.compare(payload, 0, payload.length, payloadAt, payloadAt + payload.length) !== 0) {
        this.changed += this.report('changed', message);
      }
    });
  }

  verdict(): Verdict {
    const { ledger, delivered, duplicated, misplaced, changed } = this;
    const { unknown, unacknowledged, examples } = this;
    return {
      queue: ledger.shape.queue,
      acknowledged: ledger.acknowledgedMessages,
      lost: ledger.acknowledgedMessages - this.matched,
      ...{ delivered, duplicated, misplaced, changed, unknown, unacknowledged, examples },
    };
  }

  private report(what: string, message: object): number {
    if (this.examples.length < MAX_EXAMPLES) {
      this.examples.push(`${what}: ${JSON.stringify(message)}`);
    }
    return 1;
  }
}

/** One connection, so that the order of answers is the order of delivery. */
export async function verifyQueue(port: number, ledger: PushLedger): Promise<Verdict> {
  const audit = new Audit(ledger);
  const connection = await Connection.open(port);
  const query =
    `batch=${POP_BATCH}&partitions=64&commitOnDelivery=true` +
    `&consumerGroup=bench-verifier&subscriptionMode=all&timeout=60000`;
  const request = requestBytes('GET', `/api/v1/pop/queue/${ledger.shape.queue}?${query}`);
  try {
    await new Promise<void>((resolve, reject) => {
      connection.onLost = reject;
      connection.onAnswer = (answer): void => {
        const { status, bytes, start, end } = answer;
        if (status === 204) resolve();
        else if (status === 200) {
          audit.take(answer);
          connection.send(request);
        } else reject(new Error(`verifier: ${status} ${bytes.toString('utf8', start, end)}`));
      };
      connection.send(request);
    });
  } finally {
    connection.close();
  }
  return audit.verdict();
}
