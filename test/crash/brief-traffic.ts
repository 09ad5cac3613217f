/**
 * Traffic of a queue with retention, so that the collector of log segments unlinks and rewrites while
 * the broker is killed. Retention may take what is old enough, nothing else; all the rest is there, once,
 * in order; a transactionId is recognised afterwards; dead letters keep their message.
 */
import type { Prng } from '../../src/common/prng.js';
import { sleep } from '../bench/http/server-process.js';
import { CrashClient } from './client.js';
import { acknowledge, noteDeliveries } from './consumer.js';
import type { Gate } from './gate.js';
import { Ledger } from './ledger.js';
import { idOf } from './partition-log.js';
import { isPayloadOf } from './payload.js';
import { popBatches } from './pop-batches.js';
import { pushBody, pushUntilAcknowledged } from './producer.js';
import { between, chance, type WorkerParts } from './scenario.js';
import type { ViolationLog } from './violation-log.js';

export const BRIEF_QUEUE = 'crash-brief';
const GROUP = 'brief';
const PARTITIONS = 6;
const PRODUCERS = 3;
/** Names of its producers lie above those of the other queue. */
const FIRST_PRODUCER = 100;
const WAIT_SECONDS = 2;
/** What the clocks of both sides may differ by. */
const TOLERANCE_MS = 100;
const MAX_ITEMS = 80;
const THINK_MS = 30;
const PHASE_MS = 2000;
const RETRY_MS = 20;
const LEASE_SECONDS = 2;
/** Of batches, whose first message becomes a dead letter. */
const LETTER_PERCENT = 15;
const LETTERS_PER_PAGE = 1000;
const PROBES = 20;

interface Fetched {
  readonly error?: string;
  readonly logStartOffset: number;
  readonly highWatermark: number;
  readonly records: readonly {
    readonly offset: number;
    readonly transactionId: string;
    readonly payload: unknown;
  }[];
}

interface Letter {
  readonly partition: string;
  readonly transactionId: string;
  readonly data: unknown;
}

/** Other producers rest for half of the time: segments of it hold nothing that stays but dead letters. */
export function isBriefTime(): boolean {
  return Math.floor(performance.now() / PHASE_MS) % 2 === 1;
}

export class BriefTraffic {
  readonly ledger: Ledger;
  /** Messages that the last audit found cut off. */
  cutOff = 0;
  lettersSeen = 0;

  constructor(
    private readonly port: number,
    private readonly gate: Gate,
    private readonly random: Prng,
    private readonly violations: ViolationLog,
  ) {
    this.ledger = new Ledger(violations);
  }

  async configure(): Promise<void> {
    const options = { maxWaitTimeSeconds: WAIT_SECONDS, retryLimit: 2 };
    await this.call('POST', '/api/v1/configure', { queue: BRIEF_QUEUE, options });
  }

  workers(): readonly Promise<void>[] {
    const producers = Array.from({ length: PRODUCERS }, (_, i) => this.produce(FIRST_PRODUCER + i));
    return [...producers, this.consume()];
  }

  private parts(): WorkerParts {
    return { port: this.port, ledger: this.ledger, gate: this.gate, random: this.random };
  }

  private async produce(producer: number): Promise<void> {
    const { gate, random } = this;
    const client = new CrashClient(this.port);
    gate.enter();
    try {
      for (let number = 0; await gate.pass();) {
        const partition = `brief-${random.nextBelow(PARTITIONS)}`;
        const items = Array.from({ length: between(random, 1, MAX_ITEMS) }, (_, i) => ({
          ...{ partition, id: idOf({ producer, number: number + i }), queue: BRIEF_QUEUE },
        }));
        number += items.length;
        await pushUntilAcknowledged(client, items, this.parts());
        await sleep(random.nextBelow(THINK_MS));
      }
    } finally {
      gate.leave();
      client.close();
    }
  }

  private async consume(): Promise<void> {
    const { gate, ledger, random } = this;
    const client = new CrashClient(this.port);
    const query = { group: GROUP, queue: BRIEF_QUEUE, leaseSeconds: LEASE_SECONDS, waitMs: 250 };
    gate.enter();
    try {
      while (await gate.pass()) {
        const sentAtMs = performance.now();
        const sizes = { batch: between(random, 1, 60), partitions: between(random, 1, 3) };
        const batches = await popBatches(client, { ...query, ...sizes }, ledger);
        if (batches === null) {
          await sleep(RETRY_MS);
          continue;
        }
        const leaseMs = LEASE_SECONDS * 1000 - TOLERANCE_MS;
        noteDeliveries(batches, { group: GROUP, sentAtMs, leaseMs }, { ledger }, (name, span) =>
          this.mayBeGone(name, span),
        );
        for (const batch of batches) {
          const isLetter = chance(random, LETTER_PERCENT);
          const plan = isLetter
            ? ({ action: 'dlq', at: 0 } as const)
            : ({ action: 'complete', at: batch.ids.length } as const);
          const held = { batch, liveUntilMs: sentAtMs + leaseMs };
          await acknowledge(client, { held, plan, group: GROUP }, { ledger, gate });
        }
      }
    } finally {
      gate.leave();
      client.close();
    }
  }

  /** Whether every acknowledged message of the offsets is old enough for retention by now. */
  private mayBeGone(partition: string, span: { readonly from: number; readonly to: number }) {
    const oldest = performance.now() - WAIT_SECONDS * 1000 + TOLERANCE_MS;
    return this.ledger.log(partition).isSentBefore(span, oldest);
  }

  async audit(): Promise<void> {
    this.cutOff = 0;
    for (const log of this.ledger.allLogs()) {
      this.cutOff += await this.auditPartition(log.name);
    }
    await this.auditLetters();
    await this.probeDedup();
  }

  /** Reads what is retained; answers the offset it begins with. */
  private async auditPartition(partition: string): Promise<number> {
    const log = this.ledger.log(partition);
    let start = 0;
    let next = 0;
    let end = Infinity;
    while (next < end) {
      const entry = await this.fetch(partition, next);
      if (entry.error !== undefined) {
        if (entry.error !== 'OFFSET_OUT_OF_RANGE' || entry.logStartOffset <= next) {
          this.violations.add(`${partition}@${next}: fetch says ${JSON.stringify(entry)}`);
          return start;
        }
        // Retention goes on meanwhile.
        if (!this.mayBeGone(partition, { from: next, to: entry.logStartOffset - 1 })) {
          this.violations.add(`${partition}: cut to ${entry.logStartOffset} too early`);
        }
        start = next = entry.logStartOffset;
        end = entry.highWatermark;
        continue;
      }
      for (const { offset, transactionId, payload } of entry.records) {
        if (offset !== next) {
          this.violations.add(`${partition}: offset ${offset} where ${next} was expected`);
        }
        log.observe(transactionId, offset, 'audit');
        if (!isPayloadOf(transactionId, payload)) {
          this.violations.add(`${partition}@${offset} ${transactionId}: another payload`);
        }
        next = offset + 1;
        this.ledger.counts.auditedMessages += 1;
      }
      end = entry.highWatermark;
      if (entry.records.length === 0 && next < end) {
        this.violations.add(`${partition}@${next}: nothing, but the log ends at ${end}`);
        return start;
      }
    }
    log.checkRange({ start, end: next }, 'audit');
    return start;
  }

  private async fetch(partition: string, offset: number): Promise<Fetched> {
    const entries = [{ queue: BRIEF_QUEUE, partition, offset }];
    const answer = await this.call('POST', '/api/v1/fetch', { entries });
    const [entry] = (answer as { entries: Fetched[] }).entries;
    if (entry === undefined) throw new Error('fetch answers no entry');
    return entry;
  }

  /** Every letter whose filing was answered is listed with its message, whatever retention took. */
  private async auditLetters(): Promise<void> {
    const found = new Map<string, Letter>();
    for (let at = 0, total = 1; at < total; at += LETTERS_PER_PAGE) {
      const path = `/api/v1/dlq?queue=${BRIEF_QUEUE}&limit=${LETTERS_PER_PAGE}&offset=${at}`;
      const page = (await this.call('GET', path)) as { messages: Letter[]; total: number };
      for (const letter of page.messages) {
        const { partition, transactionId: id, data } = letter;
        if (found.has(id)) this.violations.add(`${partition} ${id}: two dead letters`);
        if (!isPayloadOf(id, data)) this.violations.add(`dead letter ${id}: another payload`);
        found.set(id, letter);
      }
      ({ total } = page);
    }
    this.lettersSeen = found.size;
    for (const id of this.ledger.letters) {
      if (!found.has(id)) this.violations.add(`dead letter ${id} is gone`);
    }
  }

  private async probeDedup(): Promise<void> {
    const logs = this.ledger.allLogs().filter(({ acknowledged }) => acknowledged > 0);
    if (logs.length === 0) return;
    const items = Array.from({ length: PROBES }, () => {
      const log = logs[this.random.nextBelow(logs.length)];
      const ids = log?.acknowledgedIds() ?? [];
      const id = ids[this.random.nextBelow(ids.length)] ?? '';
      return { partition: log?.name ?? '', id, queue: BRIEF_QUEUE };
    });
    const answer = await this.call('POST', '/api/v1/push', pushBody(items));
    (answer as { status: string; offset: number }[]).forEach(({ status, offset }, i) => {
      const { partition = '', id = '' } = items[i] ?? {};
      const known = this.ledger.log(partition).offsetOf(id);
      this.ledger.counts.dedupProbes += 1;
      if (status === 'duplicate' && offset === known) return;
      this.violations.add(`${partition} ${id} again: ${status} at ${offset}, known is ${known}`);
    });
  }

  private async call(method: string, path: string, body?: unknown): Promise<unknown> {
    const client = new CrashClient(this.port);
    try {
      const text = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body);
      const answer = await client.call(method, path, text);
      if (answer === null || answer.status >= 300) {
        throw new Error(`${path} in an audit: ${answer?.status} ${answer?.text}`);
      }
      return JSON.parse(answer.text);
    } finally {
      client.close();
    }
  }
}
