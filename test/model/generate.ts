/**
 * Makes a sequence from a seed: 10 to 40 operations on up to three queues of up to three partitions, a
 * few groups and a few transactionIds, so that operations meet. It knows nothing of what will happen:
 * references to deliveries are by operation number.
 */
import type {
  AckItem,
  Delivered,
  Instant,
  Op,
  PopOp,
  PushItem,
  Status,
  Step,
} from './operations.js';
import { Choices } from './random.js';

/** Dotted names give labels to discover by. */
const QUEUES = ['a', 'b.x', 'c.x'] as const;
const GROUPS = ['g', 'h'] as const;
/** Only this group conflates, and it never commits on delivery. */
const CONFLATING = 'c';
const MODES = ['all', 'new', 'New-Only ', 'newonly', 'latest', 'from_beginning'] as const;

const RESTART_CHANCE = 0.07;
const WAIT_CHANCE = 0.8;
/** What may happen while a pop waits: nothing that ends its wait empty. */
const MEANWHILE: ReadonlySet<Op['kind']> = new Set([
  ...(['push', 'ack', 'transaction', 'extend', 'seek', 'configure', 'replay'] as const),
]);

const WEIGHTS = {
  push: 20,
  pop: 30,
  ack: 30,
  advance: 8,
  transaction: 8,
  extend: 3,
  seek: 3,
  configure: 3,
  letters: 3,
  replay: 3,
  purge: 1,
  deleteMessage: 1,
  positions: 3,
  deleteGroup: 1,
  subscription: 1,
  deleteQueue: 1,
} satisfies Partial<Record<Op['kind'], number>>;

/** What is done to a sequence on top of its own operations. */
export interface Kinds {
  /** Restarts of the broker between operations. */
  readonly restarts?: boolean;
  /** Pops that wait while the next operation is done. */
  readonly waits?: boolean;
}

/** The same seed gives the same sequence, changed as it is asked for. */
export function generate(seed: number, { restarts = false, waits = false }: Kinds = {}): Step[] {
  const steps = new Generator(seed).sequence();
  const choices = new Choices(seed);
  if (waits) return withWaits(steps, choices);
  if (!restarts) return steps;
  const between = (): Step[] =>
    choices.chance(RESTART_CHANCE) ? [{ number: -1, op: { kind: 'restart' } }] : [];
  return steps.flatMap((step) => [...between(), step]);
}

function withWaits(steps: readonly Step[], choices: Choices): Step[] {
  const changed: Step[] = [];
  for (let i = 0; i < steps.length; i += 1) {
    const [step, meanwhile] = [steps[i], steps[i + 1]];
    if (step === undefined) break;
    const { number, op } = step;
    const canWait =
      op.kind === 'pop' &&
      op.scope !== 'discovery' &&
      op.conflation === undefined &&
      op.group !== CONFLATING;
    if (canWait && meanwhile !== undefined && MEANWHILE.has(meanwhile.op.kind)) {
      if (choices.chance(WAIT_CHANCE)) {
        changed.push({ number, op: { kind: 'wait', pop: op, meanwhile } });
        i += 1;
        continue;
      }
    }
    changed.push(step);
  }
  return changed;
}

class Generator {
  private readonly choices: Choices;
  private readonly queues: readonly string[];
  private readonly partitions: number;
  private readonly conflates: boolean;
  private readonly namedIds: number;
  /** Windows other than the default are set once: what a raised window recognises is left open. */
  private readonly window: number | null;
  private readonly pops: number[] = [];
  private readonly groupOf = new Map<number, string | undefined>();
  private number = 0;

  constructor(seed: number) {
    this.choices = new Choices(seed);
    const { choices } = this;
    this.queues = QUEUES.slice(0, choices.one([1, 1, 2, 3]));
    this.partitions = choices.one([1, 2, 3]);
    this.conflates = choices.chance(0.2);
    this.namedIds = choices.one([0.3, 0.8, 1]);
    this.window = choices.chance(0.3) ? choices.one([0, 5]) : null;
  }

  sequence(): Step[] {
    const steps: Step[] = [];
    const add = (op: Op): void => {
      steps.push({ number: this.number, op });
      this.number += 1;
    };
    for (const queue of this.queues) {
      if (this.window !== null || this.choices.chance(0.6)) add(this.firstConfigure(queue));
    }
    add(this.push());
    const count = 8 + Math.floor(30 * this.choices.float() ** 3);
    for (let i = 0; i < count; i += 1) add(this.next());
    add({ kind: 'letters' });
    return steps;
  }

  private next(): Op {
    const { choices } = this;
    const kind = choices.weighted(WEIGHTS);
    switch (kind) {
      case 'push':
        return this.push();
      case 'pop':
        return this.pop();
      case 'ack':
        return this.ack();
      case 'transaction':
        return this.transaction();
      case 'advance':
        return { kind, ms: choices.one([300, 900, 2500, 6000, 20_000, 61_000, 400_000]) };
      case 'extend': {
        const seconds = choices.one([undefined, 0, 1, 5, 600]);
        return { kind, pop: this.recentPop(), ...(seconds === undefined ? {} : { seconds }) };
      }
      case 'seek':
        return this.seek();
      case 'configure':
        return this.configure();
      default:
        return this.rare(kind);
    }
  }

  private rare(
    kind:
      | 'letters'
      | 'replay'
      | 'purge'
      | 'deleteMessage'
      | 'positions'
      | 'deleteGroup'
      | 'subscription'
      | 'deleteQueue',
  ): Op {
    const { choices } = this;
    const queue = choices.one(this.queues);
    const group = this.group();
    const nth = choices.below(5);
    switch (kind) {
      case 'letters':
      case 'purge': {
        const only = group !== undefined && choices.chance(0.3) ? { group } : {};
        if (kind === 'purge') return { kind, queue, ...only };
        return { kind, ...only, ...(choices.chance(0.3) ? { queue } : {}) };
      }
      case 'replay': {
        const target = choices.one(this.queues);
        const moved = choices.chance(0.3)
          ? { queue: target, partition: this.partition(target) }
          : {};
        return { kind, nth, byMessage: choices.chance(0.4), ...moved };
      }
      case 'deleteMessage':
        return { kind, nth, ...(choices.chance(0.4) ? { of: this.delivered() } : {}) };
      case 'positions':
        return { kind, group: choices.one([...GROUPS, CONFLATING]) };
      case 'deleteGroup': {
        const only = choices.chance(0.5) ? { queue } : {};
        return { kind, group: choices.one(GROUPS), ...only, keepMetadata: choices.chance(0.3) };
      }
      case 'subscription':
        return { kind, group: choices.one(GROUPS), at: this.instant() };
      case 'deleteQueue':
        return { kind, queue };
    }
  }

  private partition(queue: string): string {
    return `${queue}${this.choices.below(this.partitions)}`;
  }

  private pushItem(): PushItem {
    const { choices } = this;
    const queue = choices.one(this.queues);
    const txn = choices.chance(this.namedIds) ? { txn: `t${choices.below(9)}` } : {};
    return { queue, partition: this.partition(queue), ...txn };
  }

  private push(): Op {
    const items = this.choices.list(this.choices.one([1, 2, 3, 4, 6]), () => this.pushItem());
    return { kind: 'push', items };
  }

  private group(): string | undefined {
    const { choices } = this;
    if (this.conflates && choices.chance(0.4)) return CONFLATING;
    return choices.one([undefined, 'g', 'g', 'h']);
  }

  private pop(): PopOp {
    const { choices } = this;
    const scope = choices.weighted({ queue: 6, partition: 4, discovery: 1 });
    const queue = choices.one(this.queues);
    const group = this.group();
    const optional = <T>(chance: number, value: T): T | undefined =>
      choices.chance(chance) ? value : undefined;
    const commit =
      group === CONFLATING
        ? undefined
        : optional(0.15, choices.one(['commitOnDelivery', 'autoAck'] as const));
    const fields = {
      group,
      batch: optional(0.7, choices.one([1, 2, 3, 5, 0, -1])),
      partitions: optional(0.5, choices.one([0, 1, 2, 3, 100])),
      commit,
      leaseSeconds: optional(0.4, choices.one([1, 3, 30, -2])),
      mode: group === undefined ? undefined : optional(0.7, choices.one(MODES)),
      from: group === undefined ? undefined : optional(0.15, this.from()),
      conflation:
        group === CONFLATING
          ? choices.one([true, true, true, undefined, false])
          : optional(0.02, true),
    };
    this.pops.push(this.number);
    this.groupOf.set(this.number, group);
    return {
      ...{ kind: 'pop', scope, queue, partition: this.partition(queue) },
      labels: choices.one([{ task: 'x' }, { namespace: 'a' }, { namespace: 'b', task: 'x' }, {}]),
      ...defined(fields),
    };
  }

  private from(): Instant | 'now' {
    return this.choices.chance(0.3) ? 'now' : this.instant();
  }

  private instant(): Instant {
    const { choices } = this;
    if (choices.chance(0.1)) return { inMs: choices.one([1505, 30_005]) };
    return { before: choices.below(this.number + 1) };
  }

  /** A pop of before, mostly a late one. */
  private recentPop(): number {
    const { choices, pops } = this;
    const back = Math.floor(choices.float() ** 2.5 * pops.length);
    return pops[pops.length - 1 - back] ?? 0;
  }

  private delivered(pop = this.recentPop()): Delivered {
    return { pop, claim: this.choices.below(3), index: this.choices.below(6) };
  }

  private ackItem(of: Delivered, common: { readonly status: Status | null }): AckItem {
    const { choices } = this;
    const { status: always } = common;
    const status = always ?? choices.weighted({ completed: 5, failed: 3, retry: 1, dlq: 1 });
    const lease = choices.weighted({ own: 30, none: 5, bogus: 1, other: 2 });
    const error =
      status !== 'completed' && choices.chance(0.4) ? { error: `e${choices.below(3)}` } : {};
    return {
      ...{ of, status, ...error },
      // Under a last-value lease other messages of the span have names too.
      ...(choices.chance(this.conflates ? 0.25 : 0.04) ? { txn: `t${choices.below(9)}` } : {}),
      lease: lease === 'other' ? { pop: this.recentPop() } : lease,
    };
  }

  private ackItems(): AckItem[] {
    const { choices } = this;
    const pop = this.recentPop();
    const common = {
      status: choices.chance(0.5)
        ? choices.one(['completed', 'completed', 'failed'] as const)
        : null,
    };
    const claim = choices.below(3);
    const count = choices.one([1, 1, 2, 3, 6]);
    const start = choices.below(3);
    return choices.list(count, (i) => {
      const index = choices.chance(0.8) ? start + i : choices.below(6);
      const of = choices.chance(0.85) ? { pop, claim, index } : this.delivered();
      return this.ackItem(of, common);
    });
  }

  private ack(): Op {
    const group = this.choices.chance(0.05) ? { group: this.group() ?? null } : {};
    return { kind: 'ack', single: this.choices.chance(0.3), items: this.ackItems(), ...group };
  }

  private transaction(): Op {
    const { choices } = this;
    const group = choices.chance(0.05) ? { group: this.group() ?? null } : {};
    const acks = choices.chance(0.7) ? this.ackItems().map((item) => ({ ...item, ...group })) : [];
    const pushes = choices.chance(0.7)
      ? choices.list(choices.one([1, 2, 3]), () => this.pushItem())
      : [];
    const positions = choices.chance(0.25) ? [this.position()] : [];
    const required = choices.chance(0.3) ? [this.recentPop()] : [];
    return { kind: 'transaction', acks, pushes, positions, required };
  }

  private position() {
    const { choices } = this;
    const queue = choices.one(this.queues);
    const offset = choices.chance(0.15) ? null : choices.below(6);
    const metadata =
      offset !== null && choices.chance(0.4) ? { metadata: `m${choices.below(3)}` } : {};
    return {
      queue,
      partition: this.partition(queue),
      group: choices.one(GROUPS),
      offset,
      ...metadata,
    };
  }

  private seek(): Op {
    const { choices } = this;
    const queue = choices.one(this.queues);
    const partition = choices.chance(0.5) ? { partition: this.partition(queue) } : {};
    const group = this.conflates && choices.chance(0.2) ? CONFLATING : choices.one(GROUPS);
    const target = choices.chance(0.4) ? { toEnd: true as const } : { at: this.instant() };
    return { kind: 'seek', group, queue, ...partition, target };
  }

  private firstConfigure(queue: string): Op {
    const window = this.window === null ? {} : { dedupWindowSeconds: this.window };
    return { kind: 'configure', queue, options: { ...this.options(queue), ...window } };
  }

  private configure(): Op {
    const queue = this.choices.one(this.queues);
    const mode =
      this.window === null && this.choices.chance(0.2) ? { mode: 'replace' as const } : {};
    return { kind: 'configure', queue, ...mode, options: this.options(queue) };
  }

  private options(queue: string): Record<string, number | boolean | string | null> {
    const { choices } = this;
    const options: Record<string, number | boolean | string | null> = {};
    const maybe = (chance: number, name: string, value: number | boolean | string | null): void => {
      if (choices.chance(chance)) options[name] = value;
    };
    maybe(0.5, 'leaseTime', choices.one([1, 5, 120, 0, null]));
    maybe(0.7, 'retryLimit', choices.one([0, 0, 1, 1, 2, -1, null]));
    maybe(0.3, 'deadLetterQueue', choices.one([true, false, null]));
    maybe(0.3, 'dlqAfterMaxRetries', choices.one([true, false, false]));
    maybe(0.1, 'delayedProcessing', choices.one([0, 1, 4]));
    maybe(0.1, 'windowBuffer', choices.one([0, 1, 4]));
    maybe(0.5, 'namespace', queue.split('.')[0] ?? '');
    maybe(0.5, 'task', queue.split('.')[1] ?? '');
    return options;
  }
}

function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
