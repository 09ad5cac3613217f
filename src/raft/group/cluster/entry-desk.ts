/**
 * Committed entries for a member that lost some to a damaged file. Told is only what this node has
 * applied itself, so that "not here" means that nothing in the entry is alive any more; anything that
 * cannot be read ends the answer, it never passes for dead.
 */
import type { LogIndex } from '../../../common/ids.js';
import { logIndex, term } from '../../../common/ids.js';
import type { Wal } from '../../wal/index.js';
import { isGone } from '../log-errors.js';
import type { SharedEntry } from './peer-port.js';

export interface EntryDeskParts {
  readonly wal: Pick<Wal, 'readEntry'>;
  takesPart(): boolean;
  applied(): LogIndex;
}

export function entriesFor(
  { wal, takesPart, applied }: EntryDeskParts,
  indexes: readonly number[],
): AsyncIterable<SharedEntry> | string {
  if (!takesPart()) return 'does not serve';
  const last = indexes.at(-1) ?? 0;
  if (last > applied()) return `has applied up to ${applied()} only, ${last} is asked for`;
  return read(wal, indexes);
}

async function* read(
  wal: EntryDeskParts['wal'],
  indexes: readonly number[],
): AsyncGenerator<SharedEntry> {
  for (const index of indexes) {
    try {
      const { term: entryTerm, kind, payload } = await wal.readEntry(logIndex(index));
      yield { index, term: entryTerm, kind, payload };
    } catch (error) {
      if (!isGone(error)) throw error;
      yield { index, term: term(0), kind: 'empty', payload: null };
    }
  }
}
