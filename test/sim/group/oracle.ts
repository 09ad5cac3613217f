/**
 * What must hold at every step, from what nodes sent, applied and answered: one leader a term, one
 * history, one state per index, a leader that holds all that was applied, log time that only grows,
 * acknowledged messages kept exactly once, leases of one holder at a time, reads that are not stale.
 */
import { createHash } from 'node:crypto';
import type { AppliedEntry, Machine } from '../../../src/machine/machine.js';
import type { Message } from '../../../src/raft/core/index.js';

export class Violation extends Error {
  override readonly name = 'Violation';
}

interface Applied {
  readonly term: number;
  readonly content: string;
  readonly digest: string;
}

interface Holder {
  readonly lease: string;
  readonly untilMs: number;
}

export class Oracle {
  readonly history: Applied[] = [];
  private readonly leaders = new Map<number, number>();
  private readonly stamps = new Map<number, number>();
  /** partition → offset → transaction id that was acknowledged there. */
  readonly acknowledged = new Map<number, Map<number, string>>();
  /** Answered transaction ids → place. */
  readonly places = new Map<string, string>();
  readonly done = new Map<number, Set<number>>();
  private readonly holders = new Map<string, Holder>();
  readonly delivered = new Set<string>();
  private readonly trace = createHash('sha256');

  constructor(
    private readonly nowMs: () => number,
    /** Term of the newest globally applied entry in a node's log; undefined: it is not there. */
    private readonly termAt: (node: number, index: number) => number | undefined,
  ) {}

  /** First violation inside callbacks of production code, which may swallow what is thrown there. */
  failure: Error | null = null;

  /** Something failed that no rule here foresees. */
  broke(error: unknown): void {
    this.failure ??= error instanceof Error ? error : new Violation(String(error));
  }

  fail(text: string): never {
    const violation = new Violation(text);
    this.failure ??= violation;
    throw violation;
  }

  note(text: string): void {
    this.trace.update(`${this.nowMs().toFixed(3)} ${text}\n`);
  }

  traceHash(): string {
    return this.trace.digest('hex');
  }

  sent(message: Message): void {
    this.note(`${message.from}>${message.to} ${message.kind} ${message.term}`);
    if (message.kind !== 'append-request' && message.kind !== 'heartbeat') return;
    const known = this.leaders.get(message.term);
    if (known === message.from) return;
    if (known !== undefined) {
      this.fail(`nodes ${known} and ${message.from} lead term ${message.term}`);
    }
    this.leaders.set(message.term, message.from);
    this.checkComplete(message.from, message.term);
  }

  get elections(): number {
    return this.leaders.size;
  }

  applied(node: number, entry: AppliedEntry, machine: Machine): void {
    const { index, term } = entry;
    const hash = createHash('sha1');
    for (const part of entry.parts) hash.update(part);
    const own: Applied = {
      term,
      content: hash.digest('hex'),
      digest: Buffer.from(machine.digest()).toString('hex'),
    };
    this.note(`${node} applied ${index} ${own.digest}`);
    const known = this.history[index];
    if (known === undefined) this.history[index] = own;
    else if (known.term !== term || known.content !== own.content) {
      this.fail(`node ${node} applied another entry at ${index} than the others`);
    } else if (known.digest !== own.digest) {
      this.fail(`node ${node} reached another state at ${index} than the others`);
    }
    const stamp = machine.lastStamp();
    if (stamp < (this.stamps.get(index - 1) ?? 0)) this.fail(`log time went back at ${index}`);
    this.stamps.set(index, stamp);
  }

  /** A push was answered: these ids stand there for ever. */
  pushed(id: string, partition: number, offset: number): void {
    const place = `${partition}/${offset}`;
    const before = this.places.get(id);
    if (before !== undefined && before !== place) {
      this.fail(`${id} was answered at ${before} and at ${place}`);
    }
    this.places.set(id, place);
    let offsets = this.acknowledged.get(partition);
    if (offsets === undefined) this.acknowledged.set(partition, (offsets = new Map()));
    const other = offsets.get(offset);
    if (other !== undefined && other !== id) this.fail(`${id} and ${other} both at ${place}`);
    offsets.set(offset, id);
  }

  /** Offsets answered so far, per partition: what a read that begins now must see. */
  floor(): Map<number, number> {
    const floor = new Map<number, number>();
    for (const [partition, offsets] of this.acknowledged) {
      floor.set(partition, Math.max(...offsets.keys()));
    }
    return floor;
  }

  granted(
    lease: string,
    range: { partition: number; group: number; first: number; last: number },
    leaseMs: number,
  ): void {
    const { partition, group, first, last } = range;
    const key = `${partition}/${group}`;
    const holder = this.holders.get(key);
    const isCurrent = leaseMs > 0;
    const isHeld = holder !== undefined && holder.untilMs > this.nowMs();
    // An answer that comes after its lease (its node was paused) takes nothing from anybody.
    if (isCurrent && isHeld && holder.lease !== lease) {
      this.fail(`partition ${partition} was granted twice at ${this.nowMs()} ms`);
    }
    const done = this.done.get(partition);
    for (let offset = first; offset <= last; offset += 1) {
      if (isCurrent && done?.has(offset) === true)
        this.fail(`${partition}/${offset} came again after its ack`);
      this.delivered.add(`${partition}/${offset}`);
    }
    if (isCurrent) this.holders.set(key, { lease, untilMs: this.nowMs() + leaseMs });
  }

  /** The holder gave the lease up: acknowledged, or its answer got lost with its node. */
  released(partition: number, group: number, lease: string): void {
    const key = `${partition}/${group}`;
    if (this.holders.get(key)?.lease === lease) this.holders.delete(key);
  }

  acked(partition: number, first: number, last: number): void {
    let done = this.done.get(partition);
    if (done === undefined) this.done.set(partition, (done = new Set()));
    for (let offset = first; offset <= last; offset += 1) done.add(offset);
  }

  private checkComplete(leader: number, term: number): void {
    const last = this.history.length - 1;
    const known = this.history[last];
    if (known === undefined || known.term > term) return;
    const own = this.termAt(leader, last);
    if (own !== known.term) {
      this.fail(`node ${leader} leads term ${term} without the applied entry ${last}`);
    }
  }
}
