/**
 * Random clients of one group: pushes (some ids again), claims, acks of every kind, extends, unclaims,
 * configures and deletes of queues, cuts of retention. They work in phases, so that some log segments
 * hold nothing but what retention takes, or that and a few dead letters. Everything answered is written into the ledger, everything asked
 * before it is sent.
 */
import { consumerGroupId, partitionId as asPartitionId, offset } from '../../../src/common/ids.js';
import type { Prng } from '../../../src/common/prng.js';
import { implicitOptions } from '../../../src/machine/apply/queues.js';
import {
  AckStatus,
  CommandKind,
  encodeAck,
  encodeConfigure,
  encodeDeleteQueue,
  encodeExtend,
  encodeUnclaim,
} from '../../../src/machine/commands/index.js';
import type { AckSignal, Outcome } from '../../../src/machine/commands/index.js';
import type { LocalGroup } from '../../../src/raft/group/local-group.js';
import {
  claimCommand,
  grantOf,
  pushCommand,
  registerCommand,
  TENANT,
} from '../../support/group-commands.js';
import { payloadOf, type GroupFacts, type Ledger, type PartitionFacts } from './ledger.js';
import type { QueueFacts } from './ledger.js';
import { cutBefore, type Mark } from './retention.js';

export const GROUPS = ['g', 'h'];
const OPTIONS = implicitOptions('', { leaseTime: 60, retryLimit: 3, dedupWindowSeconds: 3600 });
const SKEW_MICROS = 500_000;
const PATIENCE_MS = 60_000;

export interface WorkloadShape {
  readonly queues: readonly string[];
  readonly partitions: number;
  /** Most messages of one push. */
  readonly pushCount: number;
  /** Deleted and created again by one client of its own. */
  readonly volatileQueue: string;
  /** Retention cuts it; others keep everything. */
  readonly briefQueue: string;
  /** Answers of one phase. */
  readonly phaseAnswers: number;
}

/** All queues; the brief one alone, without dead letters or with some. */
type Phase = 'all' | 'brief' | 'briefAndLetters';
const PHASES: readonly Phase[] = ['all', 'brief', 'all', 'briefAndLetters'];

/** One client; every method is one request with its answer. */
export class Client {
  private lastCut: Mark | null = null;

  constructor(
    private readonly group: LocalGroup,
    private readonly ledger: Ledger,
    private readonly prng: Prng,
    private readonly shape: WorkloadShape,
  ) {}

  async step(): Promise<void> {
    const { queues, briefQueue } = this.shape;
    const all = [...queues, briefQueue];
    const queue = this.ledger.queue(this.phase === 'all' ? this.pick(all) : briefQueue);
    const partition = `p${this.below(this.shape.partitions)}`;
    if (this.below(3) > 0) await this.push(queue, partition);
    else await this.consume(queue.partition(partition), this.pick(GROUPS));
  }

  private get phase(): Phase {
    const number = Math.floor(this.ledger.answers / this.shape.phaseAnswers);
    return PHASES[number % PHASES.length] as Phase;
  }

  /** The life of the queue that comes and goes, of the options, and retention. */
  async volatileStep(): Promise<void> {
    const queue = this.ledger.queue(this.shape.volatileQueue);
    const dice = this.below(10);
    if (dice === 0 && queue.partitions.size > 0) await this.deleteQueue(queue);
    else if (dice === 1) await this.configure(this.ledger.queue(this.pick(this.shape.queues)));
    else if (dice < 5) await this.cut(this.ledger.queue(this.shape.briefQueue));
    else if (this.phase !== 'all') await this.step();
    else await this.push(queue, `p${this.below(3)}`);
  }

  /** Retention up to now, or up to where it stood the last time, so that something stays. */
  private async cut(queue: QueueFacts): Promise<void> {
    const { group, ledger } = this;
    const now = { number: ledger.nextNumber, nowMicros: group.nowMicros() };
    const mark = this.below(2) === 0 ? now : (this.lastCut ?? now);
    this.lastCut = now;
    const answered = (outcome: Promise<Outcome>): Promise<Outcome> => this.answered(outcome);
    await cutBefore({ group, ledger, queue, answered }, mark);
  }

  async push(queue: QueueFacts, partition: string): Promise<void> {
    queue.deleted = false;
    const count = 1 + this.below(this.shape.pushCount);
    const facts = queue.partition(partition);
    const push = { fresh: [] as string[], acknowledged: false };
    const ids: string[] = [];
    while (ids.length < count) {
      const again = facts.submitted.size > 0 && this.below(12) === 0;
      const id = again ? this.pick([...facts.submitted]) : this.ledger.nextId();
      if (ids.includes(id)) continue;
      ids.push(id);
      if (again) facts.resent(id);
      else push.fresh.push(id);
    }
    facts.pushes.push(push);
    for (const id of ids) facts.submitted.add(id);
    const messages = ids.map((id) => ({ transactionId: id, payload: payloadOf(id) }));
    const outcome = await this.submit(pushCommand(queue.name, partition, messages).bytes);
    if (outcome.kind !== CommandKind.Push) throw new Error(`push: ${JSON.stringify(outcome)}`);
    const [answer] = outcome.groups;
    if (answer?.verdict !== 'applied') throw new Error(`push: ${JSON.stringify(answer)}`);
    facts.partitionId = answer.partitionId;
    push.acknowledged = true;
    ids.forEach((id, i) => facts.confirm(id, answer.offsets[i] as number));
  }

  /** Claims what is next unless a lease is held, then settles the lease in one of several ways. */
  async consume(facts: PartitionFacts, groupName: string): Promise<void> {
    const cursor = facts.group(groupName);
    if (facts.partitionId < 0 || cursor.busy) return;
    cursor.busy = true;
    try {
      const lease =
        (await this.heldLease(facts, groupName)) ?? (await this.claim(facts, groupName));
      if (lease === undefined || this.below(5) === 0) return;
      if (this.below(6) === 0) await this.extend(lease.leaseId);
      await this.settle(facts, { groupName, cursor, lease });
    } finally {
      cursor.busy = false;
    }
  }

  private async heldLease(facts: PartitionFacts, groupName: string): Promise<Lease | undefined> {
    const groupId = await this.register(facts.queue, groupName);
    const { partitions, cursors, leases } = this.group.tables;
    const slot = partitions.byId(asPartitionId(facts.partitionId));
    if (slot < 0) return undefined;
    const cursor = cursors.find(slot, groupId);
    const lease = cursor < 0 ? -1 : cursors.lease(cursor);
    if (lease < 0) return undefined;
    return {
      leaseId: leases.copyId(lease),
      first: Math.max(leases.firstOffset(lease), cursors.committed(cursor) + 1),
      last: leases.batchEnd(lease),
      version: cursors.version(cursor),
      groupId,
    };
  }

  private async register(queue: string, groupName: string): Promise<GroupNumber> {
    const outcome = await this.submit(registerCommand(queue, groupName).bytes);
    if (outcome.kind !== CommandKind.Register || outcome.groupId === null) {
      throw new Error(`register: ${JSON.stringify(outcome)}`);
    }
    return outcome.groupId;
  }

  private async claim(facts: PartitionFacts, groupName: string): Promise<Lease | undefined> {
    const groupId = await this.register(facts.queue, groupName);
    const { partitions, cursors } = this.group.tables;
    const slot = partitions.byId(asPartitionId(facts.partitionId));
    if (slot < 0) return undefined;
    const cursor = cursors.find(slot, groupId);
    const committed = cursor < 0 ? -1 : cursors.committed(cursor);
    const first = Math.max(committed + 1, partitions.logStart(slot));
    const last = Math.min(partitions.lastOffset(slot), first + this.below(4));
    if (last < first) return undefined;
    const leaseId = new Uint8Array(16);
    this.prng.fill(leaseId);
    const known = facts.group(groupName);
    known.lease = 'unknown';
    const grant = grantOf({ session: 0, sequence: 1 }, leaseId, {
      ...{ queueId: partitions.queueId(slot), partitionId: facts.partitionId, groupId },
      ...{ cursorVersion: cursor < 0 ? 0 : cursors.version(cursor), first, last },
    });
    const outcome = await this.answered(this.group.propose(claimCommand([grant])));
    const range = outcome.kind === CommandKind.Claim ? outcome.grants[0]?.ranges[0] : undefined;
    if (range === undefined) return undefined;
    known.lease = { id: hex(leaseId), first, last };
    return { leaseId, first, last, version: range.cursorVersion, groupId };
  }

  private async extend(leaseId: Uint8Array): Promise<void> {
    await this.submit(encodeExtend(TENANT, { leaseId, seconds: 90 }));
  }

  private async settle(facts: PartitionFacts, work: Settlement): Promise<void> {
    const { cursor, lease, groupName } = work;
    cursor.lease = 'unknown';
    const dice = this.below(10);
    if (dice === 0) return this.unclaim(facts, work);
    cursor.committedAtMost = Math.max(cursor.committedAtMost, lease.last);
    const isDead = dice === 1 || (dice < 4 && this.phase === 'briefAndLetters');
    const signals =
      dice < 4 && this.phase !== 'brief' ? await this.signals(facts, lease, isDead) : [];
    const [signal] = signals;
    const end = signal === undefined ? lease.last - (dice === 9 ? 1 : 0) : signal.offset - 1;
    const target = {
      ...{ partitionId: asPartitionId(facts.partitionId), leaseId: lease.leaseId },
      ...{ completed: end >= lease.first ? [lease.first, end] : [], signals, fallbackError: null },
    };
    if (target.completed.length === 0 && signals.length === 0) return;
    for (const { deadLetterId } of signals) facts.filedAtMost.add(hex(deadLetterId));
    const command = { group: groupName, skewMicros: SKEW_MICROS, targets: [target] };
    const outcome = await this.submit(encodeAck(TENANT, command));
    const answer = outcome.kind === CommandKind.Ack ? outcome.targets[0] : undefined;
    if (answer?.verdict !== 'applied') return;
    cursor.committed = Math.max(cursor.committed, answer.committedAfter);
    if (answer.filed > 0 && signal !== undefined) facts.filed.add(hex(signal.deadLetterId));
    if (answer.leaseReleased) cursor.lease = null;
    else cursor.lease = { id: hex(lease.leaseId), first: lease.first, last: lease.last };
  }

  /** One signal about a message of the lease: failed, or straight to the dead letters. */
  private async signals(
    facts: PartitionFacts,
    lease: Lease,
    dead: boolean,
  ): Promise<readonly AckSignal[]> {
    const at = lease.first + this.below(lease.last - lease.first + 1);
    const [message] = await this.group.readMessages(facts.partitionId, at, at);
    if (message === undefined && at < facts.trimmedAtMost) return [];
    if (message === undefined) throw new Error(`${facts.name}: leased message ${at} is not there`);
    const deadLetterId = new Uint8Array(16);
    this.prng.fill(deadLetterId);
    const status = dead ? AckStatus.Dlq : AckStatus.Failed;
    const baseOffset = offset(message.baseOffset);
    return [{ offset: offset(at), baseOffset, status, error: 'no', deadLetterId }];
  }

  private async unclaim(facts: PartitionFacts, { lease, cursor }: Settlement): Promise<void> {
    const range = {
      ...{ partitionId: asPartitionId(facts.partitionId), groupId: lease.groupId },
      ...{ cursorVersion: lease.version, restoreCommitted: -2 },
    };
    const bytes = encodeUnclaim({ leaseId: lease.leaseId, ranges: [range] });
    const outcome = await this.answered(this.group.propose({ bytes }));
    if (outcome.kind === CommandKind.Unclaim && outcome.restored === 1) cursor.lease = null;
  }

  private async configure(queue: QueueFacts): Promise<void> {
    const retryLimit = 1 + this.below(1000);
    queue.retryLimitsAsked.add(retryLimit);
    const command = { queue: queue.name, replace: false, defaults: OPTIONS };
    await this.submit(encodeConfigure(TENANT, { ...command, options: { retryLimit } }));
    queue.retryLimit = retryLimit;
    queue.retryLimitsAsked.clear();
  }

  private async deleteQueue(queue: QueueFacts): Promise<void> {
    queue.deleteAsked = true;
    await this.submit(encodeDeleteQueue(TENANT, { queue: queue.name }));
    queue.forget();
    queue.deleted = true;
  }

  private submit(bytes: Uint8Array): Promise<Outcome> {
    const deadlineMs = performance.now() + PATIENCE_MS;
    return this.answered(this.group.submit({ bytes }, { deadlineMs }));
  }

  private async answered(outcome: Promise<Outcome>): Promise<Outcome> {
    const answer = await outcome;
    this.ledger.answers += 1;
    return answer;
  }

  private pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  private below(bound: number): number {
    return this.prng.nextBelow(bound);
  }
}

type GroupNumber = ReturnType<typeof consumerGroupId>;

interface Lease {
  readonly leaseId: Uint8Array;
  readonly first: number;
  readonly last: number;
  readonly version: number;
  readonly groupId: GroupNumber;
}

interface Settlement {
  readonly groupName: string;
  readonly cursor: GroupFacts;
  readonly lease: Lease;
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
