/**
 * Push (spec §2.2, §2.10, §4.2): each append group becomes one append of its new messages, contiguous
 * and in input order; duplicates answer with their original. A group without a new message creates
 * nothing, neither queue nor partition. Payload bytes are never touched: the row points at them.
 */
import { micros, offset as brand, partitionId } from '../../common/ids.js';
import type { Micros, PartitionId } from '../../common/ids.js';
import { CommandKind, PushItemStatus } from '../commands/catalogue.js';
import type { PushGroupOutcome, PushOutcome } from '../commands/catalogue.js';
import { MESSAGE_FLAG } from '../commands/push-record.js';
import { PushBodyView } from '../commands/push-view.js';
import type { PrefetchSink } from '../machine.js';
import { encodeAppendRow } from '../tables/append-row.js';
import { appendKey } from '../tables/keyspaces.js';
import type { QueueRow } from '../tables/tables.js';
import type { ApplyContext } from './context.js';
import { DuplicateFinder, RepeatTable } from './dedup.js';
import { createImplicitQueue } from './queues.js';
import { oldestRecognised } from './recognition.js';

const NO_PARTITION = partitionId(0);
const NOTHING_STATUSES = new Uint8Array(0);
const NOTHING_OFFSETS = new Float64Array(0);
const NOTHING_FRESH = new Int32Array(0);

/** A push command inside its entry. */
export interface PushBody {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** Offset of `bytes[0]` in the whole entry's payload; negative never. */
  readonly entryOffset: number;
}

/** How a push differs from a client's. */
export interface PushRules {
  /** Payloads stay as they were prepared, whatever the queue wants by now. */
  readonly keepsEncryption?: boolean;
  /** Asked once per message of the body, in order; one that is not accepted leaves no trace. */
  readonly accepts?: () => boolean;
}

const ORDINARY: PushRules = {};

/** Verdict per message while a group is judged. */
interface Verdicts {
  readonly statuses: Uint8Array;
  readonly offsets: Float64Array;
  duplicateIds: Uint8Array | null;
  /** New messages, ascending; memory of the applier, valid until the next group is judged. */
  fresh: Int32Array;
}

/** What keeps a push from storing all its messages. */
export interface PushObstacle {
  readonly queue: string;
  readonly partition: string;
  /** Of a message that is stored already; null = the payloads must be prepared again. */
  readonly originalOffset: number | null;
}

interface Append {
  readonly queue: QueueRow;
  readonly slot: number;
  readonly base: number;
  readonly createdAt: Micros;
}

export class PushApplier {
  private readonly view = new PushBodyView();
  private readonly finder: DuplicateFinder;
  private readonly repeats = new RepeatTable();
  // What is told the id index, message by message: no object for each.
  private readonly added = { bytes: NOTHING_STATUSES as Uint8Array, at: 0 };
  private readonly place = { offset: brand(0), baseOffset: brand(0), createdAt: micros(0) };
  private freshMemory = new Int32Array(64);
  private rules: PushRules = ORDINARY;

  constructor(private readonly context: ApplyContext) {
    this.finder = new DuplicateFinder(context.rows, context.ids);
  }

  /** Ids of messages that may be duplicates; partitions born later have nothing stored yet. */
  prefetch(body: PushBody, sink: PrefetchSink): void {
    const { view, context } = this;
    view.open(body.bytes, body.start, body.end);
    while (view.nextGroup()) {
      const queue = this.findQueue();
      if (queue === undefined || queue.options.dedupWindowSeconds <= 0) continue;
      const slot = context.tables.partitions.find(queue.id, view.partitionName());
      if (slot < 0) continue;
      const id = context.tables.partitions.id(slot);
      for (let i = 0; i < view.count; i++) {
        if (this.isClientId(i)) sink.id(id, view.bytes, view.hashAt(i));
      }
    }
  }

  apply(body: PushBody, rules: PushRules = ORDINARY): PushOutcome {
    const { view } = this;
    const groups: PushGroupOutcome[] = [];
    this.rules = rules;
    view.open(body.bytes, body.start, body.end);
    while (view.nextGroup()) groups.push(this.applyGroup(body.entryOffset));
    this.rules = ORDINARY;
    return { kind: CommandKind.Push, groups };
  }

  /**
   * The first group that is stale or names a stored message, in group order; null when all would be
   * stored. Changes nothing; tells the queues that would spring into being.
   */
  obstacle(body: PushBody, creates: (queue: string) => void): PushObstacle | null {
    const { view } = this;
    view.open(body.bytes, body.start, body.end);
    while (view.nextGroup()) {
      const queue = this.findQueue();
      const name = view.queueName();
      const partition = view.partitionName();
      if (queue === undefined) creates(name);
      else if (this.isStale(queue)) return { queue: name, partition, originalOffset: null };
      const slot =
        queue === undefined ? -1 : this.context.tables.partitions.find(queue.id, partition);
      const { statuses, offsets } = this.judge(queue, slot);
      const stored = statuses.findIndex(
        // Repeats of a message of the same group have no offset yet.
        (status, i) => status === PushItemStatus.Duplicate && offsets[i]! >= 0,
      );
      if (stored >= 0) return { queue: name, partition, originalOffset: offsets[stored]! };
    }
    return null;
  }

  private applyGroup(entryOffset: number): PushGroupOutcome {
    const { view } = this;
    const { partitions } = this.context.tables;
    const queue = this.findQueue();
    if (queue !== undefined && this.isStale(queue)) return REPREPARE;
    const partitionName = view.partitionName();
    const slot = queue === undefined ? -1 : partitions.find(queue.id, partitionName);
    const verdicts = this.judge(queue, slot);
    const { statuses, offsets, duplicateIds, fresh } = verdicts;
    let id = slot < 0 ? NO_PARTITION : partitions.id(slot);
    if (fresh.length > 0) {
      const append = this.placeAppend(queue, slot, partitionName);
      id = partitions.id(append.slot);
      this.writeAppend(append, fresh, entryOffset);
      settleOffsets(verdicts, append.base);
    }
    return { verdict: 'applied', refusal: null, partitionId: id, statuses, offsets, duplicateIds };
  }

  private findQueue(): QueueRow | undefined {
    const tenant = this.context.tenant();
    if (tenant === undefined) return undefined;
    return this.context.tables.queues.find(tenant, this.view.queueName());
  }

  /**
   * The options changed since the command was prepared, and in the one way that matters: whether
   * payloads are to be encrypted. A preparer without a key saw the current version and is fine.
   */
  private isStale(queue: QueueRow): boolean {
    if (this.rules.keepsEncryption === true) return false;
    const { optionsVersion, encrypted } = this.view;
    return optionsVersion !== queue.optionsVersion && encrypted !== queue.options.encryptionEnabled;
  }

  private isClientId(index: number): boolean {
    return (this.view.messageFlags(index) & MESSAGE_FLAG.clientId) !== 0;
  }

  /** Sorts the group's messages into new ones and duplicates; changes nothing. */
  private judge(queue: QueueRow | undefined, slot: number): Verdicts {
    const { view, context, finder } = this;
    const { count } = view;
    const verdicts: Verdicts = {
      statuses: new Uint8Array(count),
      offsets: new Float64Array(count),
      duplicateIds: null,
      fresh: NOTHING_FRESH,
    };
    if (this.freshMemory.length < count) this.freshMemory = new Int32Array(roomFor(count));
    const { freshMemory } = this;
    let news = 0;
    const scope = slot < 0 || queue === undefined ? undefined : this.scopeOf(queue, slot);
    if (count > 1) this.repeats.reset(count, context.digest.seed);
    const { accepts } = this.rules;
    for (let i = 0; i < count; i++) {
      if (accepts !== undefined && !accepts()) continue;
      if (!this.isClientId(i)) {
        freshMemory[news++] = i;
        continue;
      }
      const first = count > 1 ? this.repeats.firstOrNote(view, i) : -1;
      if (first >= 0) {
        this.markRepeat(verdicts, i, first);
      } else if (scope !== undefined && finder.findStored(view.bytes, view.hashAt(i), scope)) {
        this.markDuplicate(verdicts, i, finder.originalOffset);
        verdicts.duplicateIds!.set(finder.originalId, i * 16);
      } else {
        freshMemory[news++] = i;
      }
    }
    verdicts.fresh = freshMemory.subarray(0, news);
    return verdicts;
  }

  /** Undefined when the window is off. */
  private scopeOf(queue: QueueRow, slot: number) {
    if (queue.options.dedupWindowSeconds <= 0) return undefined;
    return {
      queueId: queue.id,
      partitionId: this.context.tables.partitions.id(slot),
      oldest: oldestRecognised(queue, this.context.now),
    };
  }

  private markDuplicate(verdicts: Verdicts, index: number, offset: number): void {
    verdicts.statuses[index] = PushItemStatus.Duplicate;
    verdicts.offsets[index] = offset;
    verdicts.duplicateIds ??= new Uint8Array(this.view.count * 16);
  }

  /**
   * A repeat of message `first` of the group. When that one is new it has no offset yet: the repeat
   * notes −1 − first and gets the offset together with it.
   */
  private markRepeat(verdicts: Verdicts, index: number, first: number): void {
    const stored = verdicts.statuses[first] === PushItemStatus.Duplicate;
    this.markDuplicate(verdicts, index, stored ? verdicts.offsets[first]! : -1 - first);
    const ids = verdicts.duplicateIds!;
    const { view } = this;
    if (stored) ids.copyWithin(index * 16, first * 16, first * 16 + 16);
    else for (let k = 0; k < 16; k++) ids[index * 16 + k] = view.bytes[view.idAt(first) + k]!;
  }

  /** Finds or creates queue and partition; the first append is stamped with the creation time. */
  private placeAppend(
    known: QueueRow | undefined,
    knownSlot: number,
    partitionName: string,
  ): Append {
    const { context } = this;
    const { partitions } = context.tables;
    const queue =
      known ?? createImplicitQueue(context, this.view.queueName(), this.view.limits().defaults);
    let slot = knownSlot;
    if (slot < 0) {
      slot = partitions.create(queue, partitionName, context.now);
      context.digest.number(partitions.id(slot));
      context.digest.text(partitionName);
    }
    const previous = partitions.lastAppendAt(slot);
    const createdAt = micros(previous === 0 ? context.now : Math.max(context.now, previous + 1));
    return { queue, slot, base: partitions.lastOffset(slot) + 1, createdAt };
  }

  private writeAppend(append: Append, fresh: Int32Array, entryOffset: number): void {
    const { context, view } = this;
    const { partitions } = context.tables;
    const { queue, slot, base, createdAt } = append;
    const id = partitions.id(slot);
    const sizes = this.foldMessages(fresh);
    partitions.append(slot, { count: fresh.length, createdAt, ...sizes });
    const row = encodeAppendRow(
      {
        createdAt,
        entryIndex: context.index,
        blockOffset: entryOffset + view.blockAt,
        blockLength: view.blockLength,
      },
      { bytes: view.bytes, at: view.idAt(0), count: view.count },
      fresh.length === view.count ? null : fresh,
    );
    context.rows.put(appendKey(queue.id, id, base), row);
    this.addIds(id, append, fresh);
    context.digest.number(id);
    context.digest.number(base);
    context.digest.number(createdAt);
    context.giveStamp(createdAt);
    context.effects.appended(slot);
  }

  private foldMessages(fresh: Int32Array): { bytes: number; maxRecord: number } {
    const { view } = this;
    const { digest } = this.context;
    let bytes = 0;
    let maxRecord = 0;
    for (let k = 0; k < fresh.length; k++) {
      const i = fresh[k]!;
      const length = view.recordLength(i);
      bytes += length;
      if (length > maxRecord) maxRecord = length;
      digest.word(length);
      digest.word(view.recordCrc(i));
      digest.words(view.bytes, view.idAt(i), view.idAt(i) + 32);
    }
    return { bytes, maxRecord };
  }

  /** Client ids are always indexed, also with window 0: acknowledgements are recognised by them. */
  private addIds(id: PartitionId, append: Append, fresh: Int32Array): void {
    const { view, added, place } = this;
    const { ids } = this.context;
    added.bytes = view.bytes;
    place.baseOffset = brand(append.base);
    place.createdAt = append.createdAt;
    for (let i = 0; i < fresh.length; i++) {
      const index = fresh[i]!;
      if (!this.isClientId(index)) continue;
      added.at = view.hashAt(index);
      place.offset = brand(append.base + i);
      ids.add(id, added, place);
    }
    added.bytes = NOTHING_STATUSES;
  }
}

function roomFor(count: number): number {
  let room = 64;
  while (room < count) room *= 2;
  return room;
}

const REPREPARE: PushGroupOutcome = {
  verdict: 'reprepare',
  refusal: null,
  partitionId: NO_PARTITION,
  statuses: NOTHING_STATUSES,
  offsets: NOTHING_OFFSETS,
  duplicateIds: null,
};

/** New messages take contiguous offsets from `base`; repeats of new ones take theirs. */
function settleOffsets(verdicts: Verdicts, base: number): void {
  const { offsets, fresh } = verdicts;
  for (let i = 0; i < fresh.length; i++) offsets[fresh[i]!] = base + i;
  if (verdicts.duplicateIds === null) return;
  for (let i = 0; i < offsets.length; i++) {
    if (offsets[i]! < 0) offsets[i] = offsets[-1 - offsets[i]!]!;
  }
}
