/**
 * Acks of a transaction → targets with offsets (messages.md §8.2, §8.3), resolved like those of an ack on
 * this node's applied state. One item that names nothing rolls the whole transaction back, so it is
 * refused here, before the log; what can still change is judged when the command is applied.
 */
import { murmur3x128Into } from '../common/murmur3-128.js';
import { nameRefusal } from '../common/name-budget.js';
import { encodeUtf8 } from '../common/utf8.js';
import { parseUuid } from '../common/uuid-v7.js';
import { TransactionRefusal } from '../http/transaction-plugs.js';
import type { AckTarget } from '../machine/commands/catalogue.js';
import type { TransactionAck } from '../machine/commands/index.js';
import { buildAck } from '../preparation/ack-command.js';
import type { AckContext, AckItems, PlannedTarget } from '../preparation/ack-plan.js';
import { isResolved, planAck } from '../preparation/ack-plan.js';
import type { AckOperation } from './ack-operation.js';

const HASH_BYTES = 16;
const UNFENCED = new Uint8Array(0);

export interface ResolutionContext extends Omit<AckContext, 'consumerGroup'> {
  readonly skewMicros: number;
  readonly mintId: () => Uint8Array;
}

/** Where an ack went: number of its target in `acks`, and the message's offset. */
export interface AckPlace {
  readonly target: number;
  readonly offset: number;
}

export interface ResolvedAcks {
  readonly acks: readonly TransactionAck[];
  /** Parallel to the operations. */
  readonly places: readonly AckPlace[];
  /** Parallel to `acks`. */
  readonly planned: readonly PlannedTarget[];
}

/** Throws the refusal of the first ack that cannot be part of the transaction. */
export async function resolveAcks(
  operations: readonly AckOperation[],
  requiredLeases: readonly string[],
  context: ResolutionContext,
): Promise<ResolvedAcks> {
  const fallback = onlyLease(operations, requiredLeases);
  const targets: { readonly first: number; readonly ack: TransactionAck; readonly of: Planned }[] =
    [];
  for (const [consumerGroup, members] of byGroup(operations)) {
    const tooLong = nameRefusal({ queue: '', group: consumerGroup });
    if (tooLong !== undefined) throw new TransactionRefusal(200, 'name_too_long', tooLong);
    const items = new OperationItems(
      members.flatMap((i) => operations[i] ?? []),
      fallback,
    );
    const own = await planAck(items, { ...context, consumerGroup });
    refuseUnresolved(own, { operations, members });
    const built = buildAck(items, own, { ...context, group: consumerGroup });
    built.command.targets.forEach((target: AckTarget, i) => {
      const planned = built.planned[i];
      if (planned === undefined) return;
      const of = { target: planned, members };
      const first = members[of.target.items[0] ?? 0] ?? 0;
      targets.push({ first, ack: { group: consumerGroup, target }, of });
    });
  }
  targets.sort((a, b) => a.first - b.first);
  const places = new Array<AckPlace>(operations.length);
  targets.forEach(({ of }, number) => {
    of.target.items.forEach((item, i) => {
      places[of.members[item] ?? 0] = { target: number, offset: of.target.offsets[i] ?? 0 };
    });
  });
  const acks = targets.map(({ ack }) => ack);
  return { acks, places, planned: targets.map(({ of }) => of.target) };
}

interface Planned {
  readonly target: PlannedTarget;
  readonly members: readonly number[];
}

/** The one lease id the transaction names, which then stands for every ack without its own. */
function onlyLease(operations: readonly AckOperation[], required: readonly string[]): string {
  const named = new Set(required.map(canonical));
  for (const { leaseId } of operations) if (leaseId !== '') named.add(canonical(leaseId));
  const [only] = named;
  return named.size === 1 && only !== undefined ? only : '';
}

/** Lease ids are UUIDs of ours: their case says nothing. */
function canonical(leaseId: string): string {
  return parseUuid(leaseId) === undefined ? leaseId : leaseId.toLowerCase();
}

/** Indexes of the operations per group, in first-seen order. */
function byGroup(operations: readonly AckOperation[]): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  operations.forEach(({ consumerGroup }, i) => {
    const known = groups.get(consumerGroup);
    if (known === undefined) groups.set(consumerGroup, [i]);
    else known.push(i);
  });
  return groups;
}

function refuseUnresolved(
  planned: readonly PlannedTarget[],
  of: { readonly operations: readonly AckOperation[]; readonly members: readonly number[] },
): void {
  for (const target of planned) {
    target.items.forEach((item, i) => {
      if (isResolved(target, i)) return;
      const operation = of.operations[of.members[item] ?? 0];
      const why = target.refusal ?? 'no such message in the partition';
      throw new TransactionRefusal(
        200,
        'rejected_ack',
        `QTXN ack of ${operation?.transactionId} on partition ${operation?.partitionId}: ${why}`,
      );
    });
  }
}

class OperationItems implements AckItems {
  readonly count: number;
  readonly partitionIds: Float64Array;
  readonly statuses: Uint8Array;
  readonly hashes: Uint8Array;

  constructor(
    private readonly operations: readonly AckOperation[],
    private readonly fallbackLease: string,
  ) {
    this.count = operations.length;
    this.partitionIds = Float64Array.from(operations, ({ partitionId }) => numberOf(partitionId));
    this.statuses = Uint8Array.from(operations, ({ status }) => status);
    this.hashes = new Uint8Array(this.count * HASH_BYTES);
    operations.forEach(({ transactionId }, i) => {
      const text = encodeUtf8(transactionId);
      murmur3x128Into(text, 0, text.length, this.hashes, i * HASH_BYTES);
    });
  }

  leaseId(item: number): Uint8Array | null {
    const own = this.operations[item]?.leaseId ?? '';
    const text = own === '' ? this.fallbackLease : own;
    return text === '' ? UNFENCED : (parseUuid(text) ?? null);
  }

  error(item: number): string | null {
    return this.operations[item]?.error ?? null;
  }

  hasId(item: number): boolean {
    return this.operations[item]?.transactionId !== '';
  }

  partitionText(item: number): string {
    return this.operations[item]?.partitionId ?? '';
  }
}

/** A number no partition can have becomes Infinity: digits, but of nothing. */
function numberOf(digits: string): number {
  const value = Number(digits);
  return Number.isSafeInteger(value) && value <= 0xffff_ffff_ffff ? value : Infinity;
}
