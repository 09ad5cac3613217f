/**
 * A dispatcher over real machine tables for specs: commands are applied one entry each, events reach
 * the dispatcher as in a group, and the clocks are the test's. Claims wait until `applyClaims` when
 * `hold` is set, so that a test can let something happen while they are on their way.
 */
import { CONFIGURE_DEFAULTS } from '../../src/queues/option-values.js';
import type {
  ClaimCommand,
  GrantOutcome,
  Outcome,
  QueueOptions,
} from '../../src/machine/commands/index.js';
import {
  encodeAck,
  encodeClaim,
  encodeConfigure,
  encodeDeleteQueue,
  encodeDropPartitions,
  encodeTrimPartitions,
  TrimRule,
} from '../../src/machine/commands/index.js';
import type { MachineEvents } from '../../src/machine/machine.js';
import type {
  GroupView,
  PopRequest,
  PreparedCommand,
  ViewRange,
} from '../../src/raft/group/group.js';
import type { Applied } from './machine-harness.js';
import { MachineHarness, TENANT } from './machine-harness.js';
import { Dispatcher } from '../../src/coordinators/dispatcher/dispatcher.js';
import type {
  DispatcherHost,
  DispatcherOptions,
} from '../../src/coordinators/dispatcher/dispatcher-host.js';
import type { DispatchAnswer } from '../../src/coordinators/dispatcher/waiting-pop.js';

export const TICK_MS = 10;
/** Of the pops here; claims the machine harness makes are somebody else's. */
const SESSION = 8;

export const REQUEST: PopRequest = {
  tenant: TENANT,
  scope: 'queue',
  queue: 'orders',
  partition: '',
  namespace: '',
  task: '',
  group: 'g',
  maxMessages: 100,
  maxPartitions: 1,
  leaseSeconds: 0,
  commitOnDelivery: false,
  wait: true,
  intent: { mode: 'all', instantMicros: 0 },
  conflation: null,
  autopilot: null,
};

/** A pop under way and what became of it. */
export interface Popped {
  readonly sequence: number;
  answer: DispatchAnswer | null;
  error: Error | null;
  /** The grant its ticket got, as the asked node would see it. */
  grant: GrantOutcome | null;
}

export class FakeHost implements DispatcherHost {
  readonly machine = new MachineHarness();
  readonly tables = this.machine.tables;
  readonly dispatcher: Dispatcher;
  readonly pops = new Map<number, Popped>();
  readonly conflicts: string[] = [];
  hold = false;
  views = 0;
  viewError: Error | null = null;
  proposeError: Error | null = null;
  readonly claims: ClaimCommand[] = [];
  private readonly held: (() => void)[] = [];
  private readonly listeners = new Set<Partial<MachineEvents>>();
  private readonly startMicros = this.machine.now;
  private readonly underWay = new Set<number>();
  private sequences = 0;

  constructor(options: Partial<DispatcherOptions> = {}) {
    this.dispatcher = new Dispatcher(this, {
      skewMicros: this.machine.skewMicros,
      replyMarginMs: 50,
      maxPopBytes: 16 * 1024 * 1024,
      autopilot: { drainMs: 200, batchMin: 100, batchMax: 1000 },
      onConflict: (queue, group) => this.conflicts.push(`${queue}/${group}`),
      tickMs: TICK_MS,
      idleLaneMs: 600_000,
      monotonicMs: () => this.monotonicMs,
      mintLeaseId: () => this.machine.mint(),
      encodeClaim: (command) => {
        this.claims.push(command);
        return encodeClaim(command);
      },
      ...options,
    });
    this.dispatcher.start();
  }

  get monotonicMs(): number {
    return (this.machine.now - this.startMicros) / 1000;
  }

  listen(events: Partial<MachineEvents>): () => void {
    this.listeners.add(events);
    return () => this.listeners.delete(events);
  }

  propose(command: PreparedCommand): Promise<Outcome> {
    const sequences = this.claims.at(-1)?.grants.map(({ ticket }) => ticket.sequence) ?? [];
    for (const sequence of sequences) this.underWay.add(sequence);
    return new Promise((resolve, reject) => {
      const apply = (): void => {
        for (const sequence of sequences) this.underWay.delete(sequence);
        if (this.proposeError !== null) reject(this.proposeError);
        else resolve(this.apply(command.bytes).outcomes[0]!.outcome);
      };
      if (this.hold) this.held.push(apply);
      else setImmediate(apply);
    });
  }

  view(): Promise<GroupView> {
    this.views += 1;
    if (this.viewError !== null) return Promise.reject(this.viewError);
    const rows = [...this.machine.rows.all()];
    return Promise.resolve({
      appliedIndex: this.machine.machine.appliedIndex,
      get: (key) => Promise.resolve(this.machine.rows.get(key)),
      iterate: (range) => iterate(rows, range),
      close: () => Promise.resolve(),
    });
  }

  nowMicros(): number {
    return this.machine.now;
  }

  term(): number {
    return this.machine.term;
  }

  /** One entry of these commands, a microsecond later; listeners hear its events. */
  apply(...commands: Uint8Array[]): Applied {
    this.machine.now += 1;
    const applied = this.machine.entry(...commands);
    for (const [name, ...args] of applied.events) {
      if (name === 'granted') this.granted(args[0] as GrantOutcome);
      for (const listener of [...this.listeners]) {
        const heard = listener[name as keyof MachineEvents] as
          ((...args: unknown[]) => void) | undefined;
        heard?.(...args);
      }
    }
    return applied;
  }

  push(partition: string, count = 1, queue = 'orders'): void {
    const ids = new Array<null>(count).fill(null);
    this.apply(this.machine.pushBytes(ids, { partition, queue }));
  }

  configure(options: Partial<QueueOptions>, queue = 'orders'): void {
    const command = { queue, replace: false, defaults: CONFIGURE_DEFAULTS, options };
    this.apply(encodeConfigure(TENANT, command));
  }

  deleteQueue(queue = 'orders'): void {
    this.apply(encodeDeleteQueue(TENANT, { queue }));
  }

  /** Retention takes everything in it. */
  trimAll(name: string, queue = 'orders'): void {
    const { partitions, queues } = this.tables;
    const slot = this.machine.partition(queue, name);
    const queueId = partitions.queueId(slot);
    const { optionsVersion } = queues.byId(queueId)!;
    const [logStart, lastOffset] = [partitions.logStart(slot), partitions.lastOffset(slot)];
    const trim = {
      ...{ queueId, partitionId: partitions.id(slot), optionsVersion, rule: TrimRule.Age },
      ...{ logStart, next: lastOffset + 1, removedBytes: 0, unheldBelow: 0 },
    };
    this.apply(encodeTrimPartitions({ trims: [trim] }));
  }

  /** Everything in it is trimmed, then it goes. */
  dropPartition(name: string, queue = 'orders'): void {
    const { partitions } = this.tables;
    const slot = this.machine.partition(queue, name);
    const [queueId, partitionId] = [partitions.queueId(slot), partitions.id(slot)];
    const drops = [{ queueId, partitionId, lastOffset: partitions.lastOffset(slot) }];
    this.trimAll(name, queue);
    this.apply(encodeDropPartitions({ idleSince: Number.MAX_SAFE_INTEGER as never, drops }));
  }

  register(group = 'g', changes: Parameters<MachineHarness['register']>[1] = {}): void {
    const seen: number = this.machine.log.length;
    this.machine.register(group, changes);
    const tenant = this.tables.names.tenant(TENANT)!;
    const queue = this.tables.queues.find(tenant, changes.queue ?? 'orders')!;
    const groupId = this.tables.names.group(tenant, group)!;
    if (this.machine.log.length === seen) return;
    for (const listener of this.listeners) listener.registered?.(queue.id, groupId);
  }

  /** Acks everything a pop got. */
  ackAll(popped: Popped, group = 'g'): void {
    const { tables } = this;
    for (const range of popped.grant!.ranges) {
      const slot = tables.partitions.byId(range.partitionId);
      const queue = tables.queues.byId(range.queueId)!.name;
      const completed: number[] = [];
      for (let at = range.firstOffset as number; at <= range.lastOffset; at += 1)
        completed.push(at);
      const partition = tables.partitions.name(slot);
      const leaseId = popped.grant!.leaseId;
      const target = this.machine.target({ queue, partition, leaseId, completed });
      const command = { group, skewMicros: this.machine.skewMicros, targets: [target] };
      this.apply(encodeAck(TENANT, command));
    }
  }

  pop(
    request: Partial<PopRequest> = {},
    options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Popped {
    this.sequences += 1;
    const popped: Popped = { sequence: this.sequences, answer: null, error: null, grant: null };
    this.pops.set(popped.sequence, popped);
    const { timeoutMs = 30_000, ...rest } = options;
    this.dispatcher
      .pop(
        { ...REQUEST, ...request },
        { session: SESSION, sequence: popped.sequence },
        { deadlineMs: this.monotonicMs + timeoutMs, ...rest },
      )
      .then(
        (answer) => (popped.answer = answer),
        (error: Error) => (popped.error = error),
      );
    return popped;
  }

  /** A claim for this pop was proposed and is not applied. */
  isUnderWay(sequence: number): boolean {
    return this.underWay.has(sequence);
  }

  /** Lets claims on their way be applied. */
  applyClaims(): void {
    for (const apply of this.held.splice(0)) apply();
  }

  /** Runs the loop until nothing moves any more. */
  async settle(turns = 8): Promise<void> {
    for (let n = 0; n < turns; n += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Time passes; the dispatcher's sweep runs at its end. */
  async pass(ms: number): Promise<void> {
    this.machine.now += ms * 1000;
    (this.dispatcher as unknown as { onTick(): void }).onTick();
    await this.settle();
  }

  private granted(grant: GrantOutcome): void {
    if (grant.ranges.length === 0 || grant.ticket.session !== SESSION) return;
    const popped = this.pops.get(grant.ticket.sequence);
    if (popped === undefined) return;
    if (popped.grant !== null) throw new Error(`second grant for pop ${popped.sequence}`);
    popped.grant = grant;
  }
}

/** `partition first-last` of each range a pop got. */
export function rangesOf(host: FakeHost, popped: Popped): string[] {
  return (popped.grant?.ranges ?? []).map(({ partitionId, firstOffset, lastOffset }) => {
    const name = host.tables.partitions.name(host.tables.partitions.byId(partitionId));
    return `${name} ${firstOffset}-${lastOffset}`;
  });
}

async function* iterate(
  rows: readonly (readonly [Uint8Array, Uint8Array])[],
  range: ViewRange,
): AsyncIterableIterator<readonly [Uint8Array, Uint8Array]> {
  const inside = rows.filter(
    ([key]) => Buffer.compare(key, range.gte) >= 0 && Buffer.compare(key, range.lt) < 0,
  );
  if (range.reverse === true) inside.reverse();
  yield* await Promise.resolve(inside.slice(0, range.limit ?? inside.length));
}
