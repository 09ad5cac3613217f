/**
 * The reads of one call against one instant, in apply order, out of one budget of value bytes
 * (state.md §1.3). A `get` placed before the operation on its own key shows the row before it.
 */
import type { KvRow } from '../../machine/tables/kv-rows.js';
import { KvReadBudget, sortedKeys } from '../../reads/kv-rows.js';
import type { KvReader } from '../../reads/kv-rows.js';
import type {
  KvFound,
  KvGetMany,
  KvGetManyResult,
  KvGetPrefix,
  KvGetPrefixResult,
  KvRead,
  KvReadResult,
} from './kv-operation.js';

/** The row a `get` shows because it stands before a planned operation; undefined: the reader's. */
export type RowBefore = (read: KvRead, index: number) => KvRow | null | undefined;

/** `reads` in apply order, with their indices; answers by index. */
export async function readKv(
  reader: KvReader,
  reads: readonly { readonly index: number; readonly read: KvRead }[],
  before: RowBefore = () => undefined,
): Promise<Map<number, KvReadResult>> {
  const budget = new KvReadBudget();
  const results = new Map<number, KvReadResult>();
  for (const { index, read } of reads) {
    if (read.kind === 'getMany') results.set(index, await readMany(reader, read, budget));
    else if (read.kind === 'getPrefix') results.set(index, await readPrefix(reader, read, budget));
    else {
      const own = before(read, index);
      const row = own === undefined ? await reader.live(read) : own;
      if (row !== null) budget.spend(row);
      results.set(index, { kind: 'get', key: read.key, row });
    }
  }
  return results;
}

async function readMany(
  reader: KvReader,
  { namespace, keys }: KvGetMany,
  budget: KvReadBudget,
): Promise<KvGetManyResult> {
  const sorted = sortedKeys(keys);
  const rows: KvFound[] = [];
  const absent = new Set<string>();
  let truncated = false;
  let at = 0;
  for await (const row of reader.many(namespace, sorted)) {
    const key = sorted[at++] ?? '';
    if (row === null) absent.add(key);
    else if (budget.isSpent) truncated = true;
    else {
      rows.push({ key, row });
      budget.spend(row);
    }
  }
  const missing = [...new Set(keys)].filter((key) => absent.has(key));
  return { kind: 'getMany', rows, missing, truncated };
}

async function readPrefix(
  reader: KvReader,
  { namespace, prefix, after, limit, keysOnly }: KvGetPrefix,
  budget: KvReadBudget,
): Promise<KvGetPrefixResult> {
  const rows: KvFound[] = [];
  let truncated = false;
  for await (const { key, row } of reader.span({ namespace, prefix, after })) {
    truncated = rows.length === limit || (!keysOnly && budget.isSpent);
    if (truncated) break;
    rows.push({ key, row });
    if (!keysOnly) budget.spend(row);
  }
  const nextAfter = truncated ? (rows.at(-1)?.key ?? (after === '' ? null : after)) : null;
  return { kind: 'getPrefix', rows, truncated, nextAfter };
}
