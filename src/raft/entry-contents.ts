/**
 * What log entries are kept for, as the collector asks: the partitions an entry's append groups name
 * today, and the entries that dead letters and pending timers name. A name that leads to a newer
 * partition is no harm: its log begins later, so the entry is dead for it all the same.
 */
import { isBlanked } from '../common/blank-bytes.js';
import { decodeDeadLetterRow } from '../machine/tables/dead-letter-row.js';
import { visitAppendedGroups } from '../machine/commands/contents.js';
import { KEYSPACE, keyspaceRange } from '../machine/tables/keyspaces.js';
import type { Tables } from '../machine/tables/tables.js';
import { timerLogReferences } from '../reads/timers.js';
import type { EntryContents, PinnedRange } from './group/ports.js';
import type { GroupView } from './group/group.js';

export function entryContents(tables: Tables): EntryContents {
  const { names, queues, partitions } = tables;
  return {
    visit: (payload, holder) => {
      // Only ranges that rows name are left of it.
      if (isBlanked(payload)) return;
      visitAppendedGroups(payload, ({ tenant, queue, partition, sizeBytes }) => {
        const tenantId = names.tenant(tenant);
        const row = tenantId === undefined ? undefined : queues.find(tenantId, queue);
        const slot = row === undefined ? -1 : partitions.find(row.id, partition);
        if (slot >= 0) holder.messages(partitions.id(slot), sizeBytes);
      });
    },
    pinned: pinnedRanges,
  };
}

async function* pinnedRanges(
  view: GroupView,
  first: number,
  last: number,
): AsyncGenerator<PinnedRange> {
  for await (const [, value] of view.iterate(keyspaceRange(KEYSPACE.deadLetters))) {
    const { entryIndex, blockOffset, start, length } = decodeDeadLetterRow(value);
    yield { entryIndex, start: blockOffset + start, length };
  }
  for await (const reference of timerLogReferences(view, { from: first, until: last + 1 })) {
    yield reference;
  }
}
