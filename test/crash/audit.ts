/**
 * What is checked while the load holds still: the whole log as a fresh group sees it, or its growth as
 * a standing group sees it; that old pushes are still recognised; that old acks may be repeated.
 */
import type { Prng } from '../../src/common/prng.js';
import { sleep } from '../bench/http/server-process.js';
import { CrashClient, type Target } from './client.js';
import { acknowledge, noteDeliveries, type AckedItem } from './consumer.js';
import type { Gate } from './gate.js';
import type { Ledger } from './ledger.js';
import { popBatches } from './pop-batches.js';
import { pushBody, type PushedItem } from './producer.js';
import { GROUPS } from './scenario.js';

const AUDIT_BATCH = 2000;
const MAX_PARTITIONS = 64;
const PROBES = 20;
const DRAIN_PAUSE_MS = 100;
/** Longer than the longest lease of a consumer. */
const DRAIN_IDLE_MS = 5000;
const DRAIN_QUERY = { batch: 2000, partitions: 64, leaseSeconds: 10, waitMs: 0 };

export class Auditor {
  private readonly standing = new Map<string, number>();
  private fresh = 0;

  constructor(
    private readonly port: Target,
    private readonly ledger: Ledger,
    private readonly random: Prng,
  ) {}

  /** The whole log through a group that nobody used before. */
  async readWhole(): Promise<void> {
    this.fresh += 1;
    await this.read(`audit-${this.fresh}`, new Map());
  }

  /** What came since the last time, through one group that survives every kill. */
  async readGrowth(): Promise<void> {
    await this.read('audit-standing', this.standing);
  }

  private async read(group: string, ends: Map<string, number>): Promise<void> {
    const { ledger } = this;
    const query = { group, batch: AUDIT_BATCH, partitions: MAX_PARTITIONS };
    await this.withClient(async (client) => {
      for (;;) {
        const batches = await popBatches(client, { ...query, leaseSeconds: 0, waitMs: 0 }, ledger);
        if (batches === null) throw new Error(`the audit ${group} had no answer`);
        if (batches.length === 0) break;
        for (const { partition, first, last } of batches) {
          const expected = ends.get(partition) ?? 0;
          if (first !== expected) {
            ledger.violations.add(`${group}/${partition}: at ${first}, expected ${expected}`);
          }
          ends.set(partition, last + 1);
          ledger.counts.auditedMessages += last - first + 1;
        }
      }
    });
    for (const log of ledger.allLogs()) log.checkWhole(ends.get(log.name) ?? 0, group);
    ledger.counts.audits += 1;
  }

  /** Old pushes sent again answer with the first id and offset. */
  async probeDedup(): Promise<void> {
    const { ledger, random } = this;
    const logs = ledger.allLogs().filter(({ acknowledged }) => acknowledged > 0);
    if (logs.length === 0) return;
    const items = Array.from({ length: PROBES }, () => {
      const log = logs[random.nextBelow(logs.length)];
      const ids = log?.acknowledgedIds() ?? [];
      return { partition: log?.name ?? '', id: ids[random.nextBelow(ids.length)] ?? '' };
    });
    const answer = await this.call('/api/v1/push', pushBody(items));
    const pushed = JSON.parse(answer) as PushedItem[];
    items.forEach(({ partition, id }, i) => {
      const item = pushed[i];
      const log = ledger.log(partition);
      ledger.counts.dedupProbes += 1;
      const isSame =
        item?.status === 'duplicate' &&
        item.offset === log.offsetOf(id) &&
        item.message_id === log.messageIdOf(id);
      if (!isSame) {
        const known = `offset ${log.offsetOf(id)}, ${log.messageIdOf(id)}`;
        ledger.violations.add(`${partition} ${id} again: ${JSON.stringify(item)}, known ${known}`);
      }
    });
  }

  /** Acks that settled a whole batch, sent again, succeed again. */
  async probeAcks(): Promise<void> {
    const { ledger } = this;
    const bodies = ledger
      .allCursors()
      .flatMap(({ released }) => (released === null ? [] : [released]));
    for (let i = 0; i < PROBES && bodies.length > 0; i += 1) {
      const [body] = bodies.splice(this.random.nextBelow(bodies.length), 1);
      if (body === undefined) continue;
      const answer = await this.call('/api/v1/ack/batch', body);
      ledger.counts.ackProbes += 1;
      if ((JSON.parse(answer) as AckedItem[]).every(({ success }) => success)) continue;
      ledger.violations.add(`ack again: ${answer.slice(0, 300)} for ${body.slice(0, 300)}`);
    }
  }

  /** At the end: every group gets everything that it has not settled, and nothing else. */
  async drain(gate: Gate): Promise<void> {
    for (const group of GROUPS) await this.drainGroup(group, gate);
    for (const log of this.ledger.allLogs()) {
      for (const group of GROUPS) {
        this.ledger.cursor(group, log.name).checkDelivered(log.acknowledgedEnd);
      }
    }
  }

  /** Ends when all is settled, or when nothing came for longer than any lease lasts. */
  private async drainGroup(group: string, gate: Gate): Promise<void> {
    const { ledger } = this;
    const isSettled = (): boolean =>
      ledger
        .allLogs()
        .every((log) => ledger.cursor(group, log.name).settled >= log.acknowledgedEnd);
    await this.withClient(async (client) => {
      let lastAt = performance.now();
      while (!isSettled() && performance.now() - lastAt < DRAIN_IDLE_MS) {
        const sentAtMs = performance.now();
        const batches = await popBatches(client, { ...DRAIN_QUERY, group }, ledger);
        if (batches === null || batches.length === 0) {
          await sleep(DRAIN_PAUSE_MS);
          continue;
        }
        const leaseMs = DRAIN_QUERY.leaseSeconds * 1000;
        noteDeliveries(batches, { group, sentAtMs, leaseMs }, { ledger });
        for (const batch of batches) {
          const held = { batch, liveUntilMs: sentAtMs + leaseMs };
          const plan = { action: 'complete', at: batch.ids.length } as const;
          await acknowledge(client, { held, plan, group }, { ledger, gate });
        }
        lastAt = performance.now();
      }
    });
    // What an ack without an answer may have settled need not come again; everything else must.
    for (const log of ledger.allLogs()) {
      ledger.cursor(group, log.name).checkAttempted(log.acknowledgedEnd);
    }
  }

  private async call(path: string, body: string): Promise<string> {
    const answer = await this.withClient((client) => client.call('POST', path, body));
    if (answer === null || answer.status >= 300) {
      throw new Error(`${path} in an audit: ${answer?.status} ${answer?.text}`);
    }
    return answer.text;
  }

  private async withClient<T>(use: (client: CrashClient) => Promise<T>): Promise<T> {
    const client = new CrashClient(this.port);
    try {
      return await use(client);
    } finally {
      client.close();
    }
  }
}
