/**
 * Reads of key-value rows over a view: single keys, ranges of a namespace in byte order, namespaces. A
 * reader is one instant of one tenant: only rows live then exist for it. Long walks go in slices.
 */
import { compareBytes } from '../common/byte-order.js';
import type { TenantId } from '../common/ids.js';
import {
  kvNamespaceName,
  kvNamespacesRange,
  kvRowKey,
  kvRowName,
  kvSpanRange,
} from '../machine/tables/kv-keys.js';
import type { KvPlace, KvSpan } from '../machine/tables/kv-keys.js';
import { decodeKvNamespaceRow, decodeKvRow, isKvLive } from '../machine/tables/kv-rows.js';
import type { KvRow } from '../machine/tables/kv-rows.js';
import type { GroupView } from '../raft/group/group.js';
import { Slices } from './slices.js';

/** Keys read at once. */
const KEYS_AT_ONCE = 64;

export interface KvEntry {
  readonly key: string;
  readonly row: KvRow;
}

/** A row as it was before a change of the view that the reader must not see. */
export interface KvPatch {
  readonly rowKey: Uint8Array;
  readonly before: Uint8Array | undefined;
}

export class KvReader {
  private readonly patches = new Map<string, KvPatch>();
  private readonly slices = new Slices();

  /** `tenant` undefined: it never wrote anything. Of patches for one key the first holds. */
  constructor(
    private readonly view: GroupView,
    private readonly tenant: TenantId | undefined,
    readonly now: number,
    patches: readonly KvPatch[] = [],
  ) {
    for (const patch of patches) {
      const name = nameOf(patch.rowKey);
      if (!this.patches.has(name)) this.patches.set(name, patch);
    }
  }

  /** Live or expired. */
  async stored(place: KvPlace): Promise<KvRow | null> {
    if (this.tenant === undefined) return null;
    const rowKey = kvRowKey(this.tenant, place);
    const patch = this.patches.get(nameOf(rowKey));
    const bytes = patch === undefined ? await this.view.get(rowKey) : patch.before;
    return bytes === undefined ? null : decodeKvRow(bytes);
  }

  async live(place: KvPlace): Promise<KvRow | null> {
    const row = await this.stored(place);
    return row !== null && isKvLive(row, this.now) ? row : null;
  }

  /** Live rows of the keys, in their order, a few at a time. */
  async *many(namespace: string, keys: readonly string[]): AsyncGenerator<KvRow | null> {
    for (let at = 0; at < keys.length; at += KEYS_AT_ONCE) {
      const some = keys.slice(at, at + KEYS_AT_ONCE);
      yield* await Promise.all(some.map((key) => this.live({ namespace, key })));
    }
  }

  /** Rows of the span in byte order; also the expired ones when asked. */
  async *span(span: KvSpan, includeExpired = false): AsyncGenerator<KvEntry> {
    const range = this.tenant === undefined ? undefined : kvSpanRange(this.tenant, span);
    if (range === undefined) return;
    for await (const [rowKey, bytes] of this.patched(range)) {
      const row = decodeKvRow(bytes);
      if (includeExpired || isKvLive(row, this.now)) yield { key: kvRowName(rowKey), row };
      if (this.slices.isSpent()) await this.slices.pause();
    }
  }

  /** Namespaces with stored rows, in byte order. */
  async *namespaces(): AsyncGenerator<{ readonly namespace: string; readonly keys: number }> {
    if (this.tenant === undefined) return;
    for await (const [key, bytes] of this.view.iterate(kvNamespacesRange(this.tenant))) {
      yield { namespace: kvNamespaceName(key), keys: decodeKvNamespaceRow(bytes).keys };
      if (this.slices.isSpent()) await this.slices.pause();
    }
  }

  /** Rows of the view with the patches in their places. */
  private async *patched(range: {
    readonly gte: Uint8Array;
    readonly lt: Uint8Array;
  }): AsyncGenerator<readonly [Uint8Array, Uint8Array]> {
    const patches = [...this.patches.values()]
      .filter(({ rowKey }) => isInside(rowKey, range))
      .sort((a, b) => Buffer.compare(a.rowKey, b.rowKey));
    let next = 0;
    for await (const row of this.view.iterate(range)) {
      let hidden = false;
      for (; next < patches.length; next++) {
        const patch = patches[next]!;
        const order = Buffer.compare(patch.rowKey, row[0]);
        if (order > 0) break;
        if (order === 0) hidden = true;
        if (patch.before !== undefined) yield [patch.rowKey, patch.before];
      }
      if (!hidden) yield row;
    }
    for (; next < patches.length; next++) {
      const { rowKey, before } = patches[next]!;
      if (before !== undefined) yield [rowKey, before];
    }
  }
}

/** Value bytes that one call's reads may return; the row that crosses the bound is still given. */
export class KvReadBudget {
  private left: number;

  constructor(bytes = 4 * 1024 * 1024) {
    this.left = bytes;
  }

  get isSpent(): boolean {
    return this.left <= 0;
  }

  spend(row: KvRow): void {
    this.left -= row.value.length;
  }
}

/** Distinct keys in byte order. */
export function sortedKeys(keys: readonly string[]): string[] {
  return [...new Set(keys)].sort(compareBytes);
}

function isInside(
  key: Uint8Array,
  range: { readonly gte: Uint8Array; readonly lt: Uint8Array },
): boolean {
  return Buffer.compare(key, range.gte) >= 0 && Buffer.compare(key, range.lt) < 0;
}

function nameOf(rowKey: Uint8Array): string {
  return Buffer.from(rowKey.buffer, rowKey.byteOffset, rowKey.byteLength).toString('latin1');
}
