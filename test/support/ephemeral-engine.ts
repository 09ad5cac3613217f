/** An ephemeral engine with a clock of its own, for unit specs: no timers, no HTTP, no log. */
import { EphemeralEngine } from '../../src/ephemeral/engine/ephemeral-engine.js';
import type { PopCall } from '../../src/ephemeral/pops/waiting-pop.js';
import { groupName } from '../../src/ephemeral/queues/ephemeral-queue.js';
import type { TenantLimits } from '../../src/ephemeral/queues/queue-store.js';
import { AckBodyScan } from '../../src/ephemeral/requests/ack-body.js';
import { PushBodyScan } from '../../src/ephemeral/requests/push-body.js';

export const EPHEMERAL_TENANT = new Uint8Array(16).fill(7);
export const NO_LIMITS: TenantLimits = { maxBytes: null, maxQueues: null };

export interface Popped {
  readonly id: string;
  readonly partition: string;
  readonly attempts: number;
  readonly payload: unknown;
}

export interface EngineOptions {
  readonly maxBytes?: number;
  readonly queueMaxBytes?: number;
  readonly queueMaxLength?: number;
  readonly idleMs?: number;
  readonly incarnation?: string;
}

export class EngineHarness {
  nowMs = 1000;
  /** Declared options by queue. */
  readonly declared = new Map<string, object>();
  version = 1;
  readonly engine: EphemeralEngine;

  constructor(options: EngineOptions = {}) {
    const texts = this.declared;
    const version = (): number => this.version;
    this.engine = new EphemeralEngine({
      declarations: {
        get version() {
          return version();
        },
        find: (_tenant, queue) => {
          const found = texts.get(queue);
          return found === undefined ? null : JSON.stringify(found);
        },
        list: () => [...texts.keys()],
      },
      limits: {
        maxBytes: options.maxBytes ?? 1 << 28,
        queueMaxBytes: options.queueMaxBytes ?? 1 << 24,
        queueMaxLength: options.queueMaxLength ?? 10_000,
        leaseSeconds: 30,
        retryLimit: 5,
      },
      idleMs: options.idleMs ?? 0,
      incarnation: options.incarnation ?? 'abc',
      nowMs: () => this.nowMs,
    });
  }

  declare(queue: string, options: object): void {
    this.declared.set(queue, options);
    this.version += 1;
  }

  /** 'ok', or the code of the refusal. */
  push(queue: string, partition: string, payloads: readonly unknown[], limits = NO_LIMITS): string {
    const scan = new PushBodyScan();
    const messages = payloads.map((payload) => ({ payload }));
    scan.scan(Buffer.from(JSON.stringify({ queue, partition, messages })));
    try {
      this.engine.push(EPHEMERAL_TENANT, { queue, partition }, scan, limits);
      return 'ok';
    } catch (error) {
      return (error as { code: string }).code;
    }
  }

  async pop(queue: string, call: Partial<PopCall> = {}): Promise<Popped[]> {
    const outcome = await this.engine.pop(EPHEMERAL_TENANT, {
      queue,
      partition: null,
      batch: 1000,
      commitOnDelivery: false,
      deadlineMs: null,
      ...call,
      group: groupName(call.group),
    });
    if (outcome.kind === 'moved') throw new Error('moved');
    return (JSON.parse(Buffer.from(outcome.body).toString()) as { messages: Popped[] }).messages;
  }

  ack(queue: string, ids: readonly string[], status = 'completed', group = ''): string[] {
    const scan = new AckBodyScan();
    const acks = ids.map((id) => ({ id, status }));
    scan.scan(Buffer.from(JSON.stringify({ queue, group, acks })));
    const body = Buffer.from(this.engine.ack(EPHEMERAL_TENANT, scan)).toString();
    const { results } = JSON.parse(body) as { results: { outcome: string }[] };
    return results.map(({ outcome }) => outcome);
  }

  queue(name: string) {
    const { store } = this.engine;
    return store.find(store.share(EPHEMERAL_TENANT), name);
  }

  stop(): Promise<void> {
    return this.engine.stop();
  }
}
