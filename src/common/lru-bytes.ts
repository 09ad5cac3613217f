/**
 * Cache bounded by bytes: when full, what was used longest ago goes first. The caller says what an
 * entry weighs. For tens of thousands of entries, not for one per message.
 */

interface Entry<V> {
  readonly value: V;
  readonly sizeBytes: number;
}

export class LruBytes<K, V> {
  private readonly entries = new Map<K, Entry<V>>();
  private held = 0;

  constructor(
    private readonly maxBytes: number,
    private readonly onEvict: (key: K, value: V) => void = () => undefined,
  ) {}

  get count(): number {
    return this.entries.size;
  }

  get sizeBytes(): number {
    return this.held;
  }

  /** The value, which counts as used now. */
  get(key: K): V | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry.value;
  }

  /** The value, without counting as use. */
  peek(key: K): V | undefined {
    return this.entries.get(key)?.value;
  }

  /** Stores a value; false, and nothing stored under the key, when it alone is over the bound. */
  set(key: K, value: V, sizeBytes: number): boolean {
    this.delete(key);
    if (sizeBytes > this.maxBytes) return false;
    this.entries.set(key, { value, sizeBytes });
    this.held += sizeBytes;
    this.evict();
    return true;
  }

  delete(key: K): boolean {
    const entry = this.entries.get(key);
    if (entry === undefined) return false;
    this.entries.delete(key);
    this.held -= entry.sizeBytes;
    return true;
  }

  clear(): void {
    this.entries.clear();
    this.held = 0;
  }

  private evict(): void {
    for (const [key, entry] of this.entries) {
      if (this.held <= this.maxBytes) return;
      this.delete(key);
      this.onEvict(key, entry.value);
    }
  }
}
