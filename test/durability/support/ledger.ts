/**
 * What clients were told and what they only asked for. After a crash everything told must hold; what
 * was asked and never answered may have happened, once, or not at all.
 */

export interface PushFacts {
  /** Ids that no other push of this partition carries: all of them are there, or none. */
  readonly fresh: string[];
  acknowledged: boolean;
}

export interface LeaseFacts {
  readonly id: string;
  readonly first: number;
  readonly last: number;
}

export interface GroupFacts {
  /** Highest cursor an answer named, and the highest one an ack without answer may have reached. */
  committed: number;
  committedAtMost: number;
  /** Known to be held; 'unknown' while a claim, ack or unclaim has no answer. */
  lease: LeaseFacts | 'unknown' | null;
  /** Nobody else works on this cursor at the moment. */
  busy: boolean;
}

export class PartitionFacts {
  partitionId = -1;
  /** transactionId → offset. */
  readonly acknowledged = new Map<string, number>();
  readonly submitted = new Set<string>();
  readonly pushes: PushFacts[] = [];
  readonly groups = new Map<string, GroupFacts>();
  /** Dead letter ids in hex. */
  readonly filed = new Set<string>();
  readonly filedAtMost = new Set<string>();
  /** Start of the log: not below the first, at most the second, which retention was asked for. */
  trimmed = 0;
  trimmedAtMost = 0;
  /** Only messages numbered below were old enough for any of its cuts. */
  numbersCut = 0;

  constructor(
    readonly queue: string,
    readonly name: string,
  ) {}

  group(name: string): GroupFacts {
    let facts = this.groups.get(name);
    if (facts === undefined) {
      facts = { committed: -1, committedAtMost: -1, lease: null, busy: false };
      this.groups.set(name, facts);
    }
    return facts;
  }

  /** An id sent twice no longer tells whether its push arrived. */
  resent(id: string): void {
    for (const push of this.pushes) {
      const at = push.fresh.indexOf(id);
      if (at >= 0) push.fresh.splice(at, 1);
    }
  }

  confirm(id: string, offset: number): void {
    const before = this.acknowledged.get(id);
    if (before !== undefined && before !== offset) {
      throw new Error(`${this.name}: ${id} was answered with offset ${before}, now ${offset}`);
    }
    this.acknowledged.set(id, offset);
  }
}

export class QueueFacts {
  readonly partitions = new Map<string, PartitionFacts>();
  retryLimit: number | undefined;
  readonly retryLimitsAsked = new Set<number>();
  /** A delete was asked and not answered. */
  deleteAsked = false;
  /** A delete was answered and nothing was asked since. */
  deleted = false;

  constructor(readonly name: string) {}

  partition(name: string): PartitionFacts {
    let facts = this.partitions.get(name);
    if (facts === undefined) {
      facts = new PartitionFacts(this.name, name);
      this.partitions.set(name, facts);
    }
    return facts;
  }

  forget(): void {
    this.partitions.clear();
    this.retryLimit = undefined;
    this.retryLimitsAsked.clear();
    this.deleteAsked = false;
  }
}

export class Ledger {
  readonly queues = new Map<string, QueueFacts>();
  private next = 0;
  /** Answers that named success. */
  answers = 0;
  /** Messages that answered cuts took. */
  trimmedMessages = 0;

  queue(name: string): QueueFacts {
    let facts = this.queues.get(name);
    if (facts === undefined) {
      facts = new QueueFacts(name);
      this.queues.set(name, facts);
    }
    return facts;
  }

  nextId(): string {
    return `t${this.next++}`;
  }

  /** Of the next id. */
  get nextNumber(): number {
    return this.next;
  }

  *partitions(): Generator<PartitionFacts> {
    for (const queue of this.queues.values()) yield* queue.partitions.values();
  }
}

/** The ledger behind a structured clone, which keeps no classes. */
export function revivedLedger(clone: Ledger): Ledger {
  const ledger = Object.assign(new Ledger(), clone);
  for (const [name, queue] of ledger.queues) {
    const facts = Object.assign(new QueueFacts(name), queue);
    ledger.queues.set(name, facts);
    for (const [partition, one] of facts.partitions) {
      facts.partitions.set(partition, Object.assign(new PartitionFacts(name, partition), one));
    }
  }
  return ledger;
}

export function numberOf(id: string): number {
  return Number(id.slice(1));
}

/** The payload of an id, the same whoever sends it. */
export function payloadOf(id: string): string {
  const mixed = Math.imul(numberOf(id) + 1, 0x9e3779b1) >>> 0;
  const size = mixed % 11 === 0 ? 4_000 + (mixed % 12_000) : 20 + (mixed % 300);
  return `${id}:`.padEnd(size, 'abcdefgh');
}
