/**
 * The counter-test of the checker on real histories: a read is told what an earlier write of its key had
 * written although a later one had ended before the read began. No order allows that.
 */
import { checkHistory, type Operation } from '../../support/wgl.js';
import { KV_MODEL } from '../../support/kv-model.js';
import type { KvHistory, KvInput, KvOutput } from '../../support/kv-model.js';

const MAX_VISITED = 400_000;

type Row = Operation<KvInput, KvOutput>;

/** Null when the history has no place for a stale read. */
export function rejectsStaleRead(history: KvHistory): boolean | null {
  const planted = plantStaleRead(history);
  if (planted === null) return null;
  return !checkHistory(KV_MODEL, planted, MAX_VISITED).linearizable;
}

/** The earliest read that can be made stale, so that the search for an order ends early. */
function plantStaleRead(history: KvHistory): KvHistory | null {
  const rows = [...history].sort((a, b) => a.end - b.end);
  for (const read of rows) {
    if (read.end === Infinity || read.input.kind !== 'read') continue;
    const { keys } = read.input;
    for (const [at, key] of keys.entries()) {
      const stale = staleValue(rows, read, key);
      if (stale === null) continue;
      const output = [...(read.output as readonly (number | null)[])];
      output[at] = stale;
      return rows.map((row) => (row === read ? { ...row, output } : row));
    }
  }
  return null;
}

/**
 * What the key held before a write that ended before the read: a value that no write under way or later
 * could have given back. Values of writes are unique; sums are not, so theirs must not be told again.
 */
function staleValue(rows: KvHistory, read: Row, key: string): number | null {
  const writes = rows.filter(
    (row) => row.end < read.start && row.output !== undefined && writtenBy(row, key) !== null,
  );
  for (const older of writes) {
    const value = writtenBy(older, key);
    if (!writes.some((newer) => newer.start > older.end)) continue;
    // What began after the read ended is nothing to it.
    const again = rows.some(
      (row) => row !== older && row.start < read.end && mayWrite(row, key, value),
    );
    if (value !== null && !again) return value;
  }
  return null;
}

/** The value the key surely had when the operation took effect; null when it wrote none. */
function writtenBy({ input, output }: Row, key: string): number | null {
  switch (input.kind) {
    case 'write':
      return input.keys.includes(key) ? input.value : null;
    case 'exchange':
      return input.key === key ? input.value : null;
    case 'create':
    case 'swap':
      return input.key === key && output === true ? input.value : null;
    case 'add':
      return input.key === key ? (output as number) : null;
    case 'transfer': {
      const sums = output as readonly number[];
      if (input.from === key) return sums[0] ?? null;
      return input.to === key ? (sums[1] ?? null) : null;
    }
    case 'read':
    case 'remove':
      return null;
  }
}

/** Whether the operation can have given the key this value; of unknown sums nobody knows. */
function mayWrite(row: Row, key: string, value: number | null): boolean {
  if (row.output !== undefined) return writtenBy(row, key) === value;
  if (row.input.kind === 'add' || row.input.kind === 'transfer') return true;
  return writtenBy({ ...row, output: true }, key) === value;
}
