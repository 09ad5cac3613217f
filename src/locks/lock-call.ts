/**
 * Locks as key-value calls (state.md §3.3): one call that reads, one that writes every operation's row,
 * and rare follow-ups of one row each, all under one deadline. Exactly one contender wins a slot, for
 * `putIfAbsent` has exactly one winner.
 */
import { runKvCall } from '../preparation/kv/kv-call.js';
import type { KvCaller } from '../preparation/kv/kv-call.js';
import type {
  KvFound,
  KvOperation,
  KvPlanned,
  KvResult,
  KvVerdictResult,
} from '../preparation/kv/kv-operation.js';
import { acquired, lost, notAcquired, released, renewed, shown } from './lock-answer.js';
import type { LockAnswer } from './lock-answer.js';
import type { LockAcquire, LockGet, LockOperation, LockRenew } from './lock-operation.js';
import {
  acquireWrite,
  LOCK_NAMESPACE,
  permitOf,
  releaseWrite,
  renewWrite,
  slotKey,
  slotOfKey,
  slotRead,
} from './lock-row.js';

/** Slots tried in all before an acquire gives up. */
const MAX_TRIES = 4;
const PAGE = 1000;

export interface LockCaller {
  readonly kv: KvCaller;
  /** Uniform in [0, 1). */
  random(): number;
}

/** What is known of one operation while the call runs. */
interface Progress {
  answer: LockAnswer | null;
  /** Its write, when it has one. */
  write: KvPlanned | null;
  slot: number;
}

export class LockCall {
  private readonly progress: Progress[];

  constructor(
    private readonly caller: LockCaller,
    private readonly operations: readonly LockOperation[],
  ) {
    this.progress = operations.map(() => ({ answer: null, write: null, slot: 0 }));
  }

  async run(): Promise<LockAnswer[]> {
    await this.readFirst();
    await this.writeAll();
    return this.progress.map(({ answer }) => {
      if (answer === null) throw new Error('a lock operation has no answer');
      return answer;
    });
  }

  private async readFirst(): Promise<void> {
    const reads: KvOperation[] = [];
    const owners: number[] = [];
    this.operations.forEach((operation, i) => {
      const read = firstRead(operation);
      if (read === null) return;
      reads.push(read);
      owners.push(i);
    });
    const results = reads.length === 0 ? [] : await this.kv(reads);
    for (const [at, i] of owners.entries()) {
      await this.decide(i, results[at] as KvResult);
    }
    this.operations.forEach((operation, i) => {
      const own = this.progress[i] as Progress;
      if (operation.op === 'release') {
        own.write = releaseWrite(slotKey(operation.name, operation.slot), operation.token);
      } else if (operation.op === 'acquire' && operation.limit === 1) {
        own.write = acquireWrite({ name: operation.name, slot: 0 }, operation);
      }
    });
  }

  /** What the first read says: an answer already, or the write to try. */
  private async decide(i: number, result: KvResult): Promise<void> {
    const operation = this.operations[i] as LockOperation;
    const own = this.progress[i] as Progress;
    if (operation.op === 'get' && result.kind === 'getPrefix') {
      own.answer = shown(operation, await this.allHolders(operation, result));
    } else if (operation.op === 'renew' && result.kind === 'get') {
      const { row, key } = result;
      if (row === null || !mayRenew(operation, row)) {
        own.answer = lost(operation, row?.value ?? null);
      } else own.write = renewWrite(key, row, operation.ttlSeconds);
    } else if (operation.op === 'acquire' && result.kind === 'getMany') {
      const choice = this.choose(operation, result.rows);
      if ('answer' in choice) own.answer = choice.answer;
      else this.plan(own, operation, choice.slot);
    }
  }

  private async writeAll(): Promise<void> {
    const writing = this.progress
      .map((own, i) => ({ own, i }))
      .filter(({ own }) => own.answer === null && own.write !== null);
    if (writing.length === 0) return;
    const results = await this.kv(writing.map(({ own }) => own.write as KvPlanned));
    for (const [at, { own, i }] of writing.entries()) {
      own.answer = await this.settle(i, results[at] as KvVerdictResult);
    }
  }

  private async settle(i: number, result: KvVerdictResult): Promise<LockAnswer> {
    const operation = this.operations[i] as LockOperation;
    const own = this.progress[i] as Progress;
    switch (operation.op) {
      case 'acquire':
        return operation.limit === 1
          ? settleLock(operation, result)
          : this.settlePermit(operation, own, result);
      case 'renew':
        return result.applied ? renewed(operation, result.version) : this.renewAgain(operation);
      case 'release':
        return result.applied ? released(operation) : lost(operation, result.value);
      case 'get':
        throw new Error('a get writes nothing');
    }
  }

  /** A free slot lost to another contender is followed by another look, a few times. */
  private async settlePermit(
    operation: LockAcquire,
    own: Progress,
    first: KvVerdictResult,
  ): Promise<LockAnswer> {
    let result = first;
    for (let tries = 1; ; tries++) {
      if (result.applied) {
        return acquired(operation, { slot: own.slot, token: result.version, already: false });
      }
      const rows = await this.slots(operation);
      const choice = this.choose(operation, rows);
      if ('answer' in choice) return choice.answer;
      if (tries === MAX_TRIES)
        return notAcquired(operation, 'contended', holdersOf(operation, rows));
      this.plan(own, operation, choice.slot);
      [result] = (await this.kv([own.write as KvPlanned])) as [KvVerdictResult];
    }
  }

  /** The row changed since it was read: once more, then the permit is lost. */
  private async renewAgain(operation: LockRenew): Promise<LockAnswer> {
    const key = slotKey(operation.name, operation.slot);
    const [read] = await this.kv([slotRead(key)]);
    const row = read?.kind === 'get' ? read.row : null;
    if (row === null || !mayRenew(operation, row)) return lost(operation, row?.value ?? null);
    const [again] = (await this.kv([renewWrite(key, row, operation.ttlSeconds)])) as [
      KvVerdictResult,
    ];
    return again.applied ? renewed(operation, again.version) : lost(operation, again.value);
  }

  /** The owner's own slot, a free one at random, or the answer that none is free. */
  private choose(
    operation: LockAcquire,
    rows: readonly KvFound[],
  ): { readonly slot: number } | { readonly answer: LockAnswer } {
    const taken = new Map(rows.map(({ key, row }) => [slotOfKey(operation.name, key), row]));
    const free: number[] = [];
    for (let slot = 0; slot < operation.limit; slot++) {
      const row = taken.get(slot);
      if (row === undefined) free.push(slot);
      else if (isOwn(operation.owner, row.value)) {
        return { answer: acquired(operation, { slot, token: row.version, already: true }) };
      }
    }
    const slot = free[Math.floor(this.caller.random() * free.length)];
    if (slot !== undefined) return { slot };
    return { answer: notAcquired(operation, 'held', holdersOf(operation, rows)) };
  }

  private plan(own: Progress, operation: LockAcquire, slot: number): void {
    own.slot = slot;
    own.write = acquireWrite({ name: operation.name, slot }, operation);
  }

  private async slots(operation: LockAcquire): Promise<readonly KvFound[]> {
    const [result] = await this.kv([slotsRead(operation)]);
    return result?.kind === 'getMany' ? result.rows : [];
  }

  /** Further pages of a lock with more rows than one read takes. */
  private async allHolders(
    operation: LockGet,
    first: Extract<KvResult, { kind: 'getPrefix' }>,
  ): Promise<KvFound[]> {
    const rows = [...first.rows];
    for (let page = first; page.truncated;) {
      // A page without a row, because earlier reads of the call spent the budget, is asked for again.
      const [next] = await this.kv([holdersRead(operation, page.nextAfter ?? '')]);
      if (next?.kind !== 'getPrefix') break;
      rows.push(...next.rows);
      page = next;
    }
    return rows;
  }

  private async kv(operations: readonly KvOperation[]): Promise<readonly KvResult[]> {
    const answer = await runKvCall(this.caller.kv, operations);
    // Nothing a lock writes is required, so nothing undoes the call.
    return answer.results ?? [];
  }
}

function firstRead(operation: LockOperation): KvOperation | null {
  switch (operation.op) {
    case 'acquire':
      return operation.limit === 1 ? null : slotsRead(operation);
    case 'renew':
      return slotRead(slotKey(operation.name, operation.slot));
    case 'get':
      return holdersRead(operation, '');
    case 'release':
      return null;
  }
}

function slotsRead({ name, limit }: LockAcquire): KvOperation {
  const keys = Array.from({ length: limit }, (_, slot) => slotKey(name, slot));
  return { kind: 'getMany', op: 'getMany', namespace: LOCK_NAMESPACE, keys };
}

function holdersRead({ name }: LockGet, after: string): KvOperation {
  return {
    ...{ kind: 'getPrefix', op: 'getPrefix', namespace: LOCK_NAMESPACE, prefix: `${name}#` },
    ...{ after, limit: PAGE, keysOnly: false },
  };
}

/** A lock of one slot: won, already the caller's, or held. */
function settleLock(operation: LockAcquire, result: KvVerdictResult): LockAnswer {
  const { applied, value, version } = result;
  if (applied) return acquired(operation, { slot: 0, token: version, already: false });
  if (isOwn(operation.owner, value)) {
    return acquired(operation, { slot: 0, token: version, already: true });
  }
  return notAcquired(operation, 'held', [{ slot: 0, owner: permitOf(value).owner }]);
}

/** Nobody is nobody's own: a permit without an owner cannot be recognised. */
function isOwn(owner: string | null, value: Uint8Array | null): boolean {
  return owner !== null && permitOf(value).owner === owner;
}

function mayRenew(
  operation: LockRenew,
  row: { readonly version: number; readonly value: Uint8Array },
): boolean {
  return row.version === operation.token || isOwn(operation.owner, row.value);
}

function holdersOf(
  { name, limit }: LockAcquire,
  rows: readonly KvFound[],
): { slot: number; owner: string | null }[] {
  return rows
    .map(({ key, row }) => ({ slot: slotOfKey(name, key), owner: permitOf(row.value).owner }))
    .filter(({ slot }) => slot >= 0 && slot < limit)
    .sort((a, b) => a.slot - b.slot);
}
