/**
 * Which messages of an append group are duplicates (spec §2.10): of a message of the same group
 * (whatever the window), or of one appended to the partition inside the window. The id index may name
 * too many places; the append index row decides.
 */
import { offset as brandOffset } from '../../common/ids.js';
import type { PartitionId, QueueId } from '../../common/ids.js';
import { MESSAGE_FLAG } from '../commands/push-record.js';
import type { PushBodyView } from '../commands/push-view.js';
import type { IdIndexPort, RowPort } from '../machine.js';
import { AppendRowView } from '../tables/append-row.js';
import { appendKey } from '../tables/keyspaces.js';

/** Where originals may lie. */
export interface DedupScope {
  readonly queueId: QueueId;
  readonly partitionId: PartitionId;
  /** Oldest append that still counts, µs; above `now` when the window is 0. */
  readonly oldest: number;
}

export class DuplicateFinder {
  /** The original of the last hit. */
  originalOffset = brandOffset(0);
  readonly originalId = new Uint8Array(16);

  private readonly append = new AppendRowView();
  private readonly wanted: { bytes: Uint8Array; at: number } = { bytes: this.originalId, at: 0 };
  private scope: DedupScope | undefined;
  private found = false;

  constructor(
    private readonly rows: RowPort,
    private readonly ids: IdIndexPort,
  ) {}

  /** True when the scope holds the message with the hash at `hashAt`; see `originalOffset`. */
  findStored(bytes: Uint8Array, hashAt: number, scope: DedupScope): boolean {
    this.scope = scope;
    this.wanted.bytes = bytes;
    this.wanted.at = hashAt;
    this.found = false;
    this.ids.candidates(scope.partitionId, this.wanted, this.visit);
    return this.found;
  }

  private readonly visit = (offset: number, baseOffset: number): boolean => {
    const { scope, append } = this;
    const i = offset - baseOffset;
    if (scope === undefined || i < 0) return false;
    const value = this.rows.get(appendKey(scope.queueId, scope.partitionId, baseOffset));
    if (value === undefined) return false;
    append.open(value);
    if (i >= append.count || append.createdAt < scope.oldest) return false;
    if ((append.flags(i) & MESSAGE_FLAG.clientId) === 0) return false;
    if (!sameHash(append.bytes, append.hashAt(i), this.wanted.bytes, this.wanted.at)) return false;
    this.originalOffset = brandOffset(offset);
    const idAt = append.idAt(i);
    for (let k = 0; k < 16; k++) this.originalId[k] = append.bytes[idAt + k]!;
    this.found = true;
    return true;
  };
}

/**
 * Repeats inside one group: an open-addressing table over message indexes, reused between groups.
 * Clients choose the hashes, so the probe position is seeded with the digest, which they cannot know.
 */
export class RepeatTable {
  private slots = new Int32Array(0);
  private mask = 0;
  private seed = 0;

  reset(count: number, seed: number): void {
    let size = 8;
    while (size < count * 2) size *= 2;
    if (this.slots.length < size) this.slots = new Int32Array(size);
    else this.slots.fill(0, 0, size);
    this.mask = size - 1;
    this.seed = seed;
  }

  /** Index of the first message with the same hash, or −1 after noting this one. */
  firstOrNote(view: PushBodyView, index: number): number {
    const { bytes } = view;
    const hashAt = view.hashAt(index);
    let probe = this.position(bytes, hashAt);
    for (;;) {
      const known = this.slots[probe]! - 1;
      if (known < 0) {
        this.slots[probe] = index + 1;
        return -1;
      }
      if (sameHash(bytes, view.hashAt(known), bytes, hashAt)) return known;
      probe = (probe + 1) & this.mask;
    }
  }

  private position(bytes: Uint8Array, at: number): number {
    let h = this.seed;
    for (let p = at; p < at + 16; p += 4) {
      const word = bytes[p]! | (bytes[p + 1]! << 8) | (bytes[p + 2]! << 16) | (bytes[p + 3]! << 24);
      h = Math.imul(h ^ word, 0x9e3779b1);
      h ^= h >>> 15;
    }
    return h & this.mask;
  }
}

function sameHash(a: Uint8Array, aAt: number, b: Uint8Array, bAt: number): boolean {
  for (let i = 0; i < 16; i++) if (a[aAt + i] !== b[bAt + i]) return false;
  return true;
}
