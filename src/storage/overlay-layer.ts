/**
 * The rows changed since one checkpoint: an open-addressing hash table over bytes in an arena, a
 * few integers per row. Entries are numbered in the order their keys first came and never move.
 *
 *   slots  [ entry+1, hash | 0, 0 | .. ]     entry:   key position, key length, newest version
 *                                            version: value position, length (-1 deleted), epoch,
 *                                                     previous version
 *
 * A view does not stop writers: taking one raises the epoch, and the next write of a key keeps the
 * version the view saw behind the new one. What a view sees is (entry count, epoch), two integers.
 * Frozen, a layer never changes again. Values are copied in; slices handed out are never
 * overwritten.
 */
import { ByteArena } from './byte-arena.js';
import { SEAL_BYTES, sealInPlace } from './sealed-row.js';

const DELETED = -1;
const NONE = -1;
const ENTRY_OVERHEAD_BYTES = 56;
const FIRST_ENTRIES_MIN = 64;
const FIRST_ENTRIES_MAX = 1 << 17;

/** A layer that is being written to the store or waits for it; made by `Overlay.freeze`. */
export type FrozenLayer = OverlayLayer;

export class OverlayLayer {
  private readonly arena = new ByteArena();
  /** Pairs of (entry + 1, hash); the hash beside it saves a look into the entry on most misses. */
  private slots: Int32Array;
  private entryKey: Int32Array;
  private entryKeyLength: Int32Array;
  private entryHead: Int32Array;
  private versionValue: Int32Array;
  private versionLength: Int32Array;
  private versionEpoch: Int32Array;
  private versionPrevious: Int32Array;
  private entries = 0;
  private versions = 0;
  private bytes = 0;
  private epoch = 0;
  private frozen = false;
  /** All entries in key order, made by the first full scan of a frozen layer. */
  sortedEntries: Int32Array | undefined;

  /** Sized for about so many entries; it grows as needed. */
  constructor(expectedEntries = 0) {
    const bounded = Math.min(Math.max(expectedEntries, FIRST_ENTRIES_MIN), FIRST_ENTRIES_MAX);
    const capacity = 2 ** Math.ceil(Math.log2(bounded));
    const column = (): Int32Array => new Int32Array(capacity);
    this.slots = new Int32Array(capacity * 4);
    [this.entryKey, this.entryKeyLength, this.entryHead] = [column(), column(), column()];
    [this.versionValue, this.versionLength] = [column(), column()];
    [this.versionEpoch, this.versionPrevious] = [column(), column()];
  }

  /** Number of distinct keys. */
  get entryCount(): number {
    return this.entries;
  }

  /** Memory held, in bytes: keys, every version of the values, bookkeeping. */
  get byteSize(): number {
    return this.bytes;
  }

  get isFrozen(): boolean {
    return this.frozen;
  }

  freeze(): void {
    this.frozen = true;
  }

  /** From now on writes keep what is there now; answers the epoch that sees exactly this. */
  closeEpoch(): number {
    return this.frozen ? this.epoch : this.epoch++;
  }

  /** Puts a value, or with null the mark of a deletion. Key and value are copied. */
  write(key: Uint8Array, value: Uint8Array | null): void {
    if (this.frozen) throw new Error('a frozen overlay layer is written');
    const hash = hashOf(key);
    let entry = this.findEntry(key, hash);
    if (entry < 0) entry = this.addEntry(key, hash);
    const head = this.entryHead[entry]!;
    const reuse = head !== NONE && this.versionEpoch[head] === this.epoch;
    const version = reuse ? head : this.addVersion(entry, head);
    if (value === null) {
      this.versionLength[version] = DELETED;
      return;
    }
    const position = this.arena.allocate(SEAL_BYTES + value.length);
    this.copyIn(position + SEAL_BYTES, value);
    this.versionValue[version] = position;
    this.versionLength[version] = value.length;
    this.bytes += SEAL_BYTES + value.length;
  }

  /** Number of the entry with this key, or -1. */
  find(key: Uint8Array): number {
    return this.findEntry(key, hashOf(key));
  }

  /** Newest value of a key: bytes, null when deleted here, undefined when this layer has no say. */
  get(key: Uint8Array): Uint8Array | null | undefined {
    const entry = this.find(key);
    return entry < 0 ? undefined : this.valueOf(entry, this.epoch);
  }

  /** Value of an entry as a view of that epoch sees it; undefined when it came later. */
  valueOf(entry: number, epoch: number): Uint8Array | null | undefined {
    let version = this.entryHead[entry]!;
    while (version !== NONE && this.versionEpoch[version]! > epoch) {
      version = this.versionPrevious[version]!;
    }
    if (version === NONE) return undefined;
    const length = this.versionLength[version]!;
    if (length === DELETED) return null;
    return this.arena.slice(this.versionValue[version]! + SEAL_BYTES, length);
  }

  keyOf(entry: number): Uint8Array {
    return this.arena.slice(this.entryKey[entry]!, this.entryKeyLength[entry]!);
  }

  /** What goes to LevelDB for an entry: the sealed value, or null for a deletion. Frozen only. */
  sealedValueOf(entry: number, key: Uint8Array): Uint8Array | null {
    const version = this.entryHead[entry]!;
    const length = this.versionLength[version]!;
    if (length === DELETED) return null;
    const sealed = this.arena.slice(this.versionValue[version]!, SEAL_BYTES + length);
    sealInPlace(key, sealed);
    return sealed;
  }

  /** Key order of two entries. */
  compareEntries(a: number, b: number): number {
    const keyA = this.arena.chunkOf(this.entryKey[a]!);
    const keyB = this.arena.chunkOf(this.entryKey[b]!);
    const offsetA = this.arena.offsetOf(this.entryKey[a]!);
    const offsetB = this.arena.offsetOf(this.entryKey[b]!);
    const lengthA = this.entryKeyLength[a]!;
    const lengthB = this.entryKeyLength[b]!;
    const length = lengthA < lengthB ? lengthA : lengthB;
    for (let i = 0; i < length; i++) {
      const difference = keyA[offsetA + i]! - keyB[offsetB + i]!;
      if (difference !== 0) return difference;
    }
    return lengthA - lengthB;
  }

  /** Order of an entry's key against other bytes. */
  compareKey(entry: number, other: Uint8Array): number {
    const key = this.arena.chunkOf(this.entryKey[entry]!);
    const offset = this.arena.offsetOf(this.entryKey[entry]!);
    const keyLength = this.entryKeyLength[entry]!;
    const length = keyLength < other.length ? keyLength : other.length;
    for (let i = 0; i < length; i++) {
      const difference = key[offset + i]! - other[i]!;
      if (difference !== 0) return difference;
    }
    return keyLength - other.length;
  }

  private findEntry(key: Uint8Array, hash: number): number {
    const { slots } = this;
    const mask = slots.length - 2;
    for (let slot = (hash << 1) & mask; ; slot = (slot + 2) & mask) {
      const entry = slots[slot]! - 1;
      if (entry < 0) return -1;
      if (slots[slot + 1] === hash && this.keyEquals(entry, key)) return entry;
    }
  }

  private keyEquals(entry: number, key: Uint8Array): boolean {
    if (this.entryKeyLength[entry] !== key.length) return false;
    const position = this.entryKey[entry]!;
    const chunk = this.arena.chunkOf(position);
    const offset = this.arena.offsetOf(position);
    for (let i = key.length - 1; i >= 0; i--) if (chunk[offset + i] !== key[i]) return false;
    return true;
  }

  private addEntry(key: Uint8Array, hash: number): number {
    if (this.entries === this.entryKey.length) this.growEntries();
    // At most half of the slots are taken.
    if ((this.entries + 1) * 4 > this.slots.length) this.growSlots();
    const entry = this.entries++;
    const position = this.arena.allocate(key.length);
    this.copyIn(position, key);
    this.entryKey[entry] = position;
    this.entryKeyLength[entry] = key.length;
    this.entryHead[entry] = NONE;
    this.bytes += key.length + ENTRY_OVERHEAD_BYTES;
    this.insertSlot(entry, hash);
    return entry;
  }

  private addVersion(entry: number, previous: number): number {
    if (this.versions === this.versionValue.length) {
      this.versionValue = doubled(this.versionValue);
      this.versionLength = doubled(this.versionLength);
      this.versionEpoch = doubled(this.versionEpoch);
      this.versionPrevious = doubled(this.versionPrevious);
    }
    const version = this.versions++;
    this.versionEpoch[version] = this.epoch;
    this.versionPrevious[version] = previous;
    this.entryHead[entry] = version;
    return version;
  }

  private copyIn(position: number, bytes: Uint8Array): void {
    const chunk = this.arena.chunkOf(position);
    const offset = this.arena.offsetOf(position);
    if (bytes.length > 48) {
      chunk.set(bytes, offset);
      return;
    }
    for (let i = 0; i < bytes.length; i++) chunk[offset + i] = bytes[i]!;
  }

  private growEntries(): void {
    this.entryKey = doubled(this.entryKey);
    this.entryKeyLength = doubled(this.entryKeyLength);
    this.entryHead = doubled(this.entryHead);
  }

  private growSlots(): void {
    const old = this.slots;
    this.slots = new Int32Array(old.length * 2);
    for (let slot = 0; slot < old.length; slot += 2) {
      const entry = old[slot]! - 1;
      if (entry >= 0) this.insertSlot(entry, old[slot + 1]!);
    }
  }

  private insertSlot(entry: number, hash: number): void {
    const { slots } = this;
    const mask = slots.length - 2;
    let slot = (hash << 1) & mask;
    while (slots[slot] !== 0) slot = (slot + 2) & mask;
    slots[slot] = entry + 1;
    slots[slot + 1] = hash;
  }
}

function doubled(column: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(column.length * 2);
  larger.set(column);
  return larger;
}

/** Murmur-like over four bytes at a time, with a final mix so that counting keys spread. */
function hashOf(key: Uint8Array): number {
  let hash = key.length;
  let i = 0;
  for (const stop = key.length - 3; i < stop; i += 4) {
    const word = key[i]! | (key[i + 1]! << 8) | (key[i + 2]! << 16) | (key[i + 3]! << 24);
    hash = Math.imul(hash ^ word, 0x2c1b3c6d);
    hash = (hash << 15) | (hash >>> 17);
  }
  for (; i < key.length; i++) hash = Math.imul(hash ^ key[i]!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x297a2d39);
  return hash ^ (hash >>> 13);
}
