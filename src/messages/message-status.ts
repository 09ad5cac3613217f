/**
 * Status of a message (messages.md §11.1): dead letter, completed, processing, pending. The cursors of a
 * partition are read once and serve all its messages in a page.
 */
import { timestampMillisText } from '../common/timestamp.js';
import { isSuperseded } from '../machine/tables/settled.js';
import { QUEUE_MODE_GROUP } from '../machine/tables/tables.js';
import type { Tables } from '../machine/tables/tables.js';

export type MessageStatus = 'pending' | 'processing' | 'completed' | 'dead_letter';

/** The readers of one partition. */
export interface PartitionReaders {
  /** Committed offsets of the named groups. */
  readonly named: readonly number[];
  /** Of queue mode, null without a cursor. */
  readonly queueMode: number | null;
  readonly hasLiveLease: boolean;
  /** End of queue mode's live lease, µs; null without one. */
  readonly queueLeaseEnd: number | null;
}

export function partitionReaders(
  tables: Tables,
  slot: number,
  nowMicros: number,
): PartitionReaders {
  const { cursors, leases, names, partitions } = tables;
  const named: number[] = [];
  let queueMode: number | null = null;
  let hasLiveLease = false;
  let queueLeaseEnd: number | null = null;
  // Below 0 when it was deleted while the page was read: nobody reads it any more.
  const first = slot < 0 ? -1 : partitions.firstCursor(slot);
  for (let c = first; c >= 0; c = cursors.nextOnPartition(c)) {
    if (isSuperseded(tables, c)) continue;
    const lease = cursors.lease(c);
    const live = lease >= 0 && leases.expiresAt(lease) > nowMicros;
    if (live) hasLiveLease = true;
    if (names.groupName(cursors.groupId(c)) !== QUEUE_MODE_GROUP) {
      named.push(cursors.committed(c));
      continue;
    }
    queueMode = cursors.committed(c);
    if (live) queueLeaseEnd = leases.expiresAt(lease);
  }
  return { named, queueMode, hasLiveLease, queueLeaseEnd };
}

/** Named groups that are past the offset. */
export function consumedBy(readers: PartitionReaders, offset: number): number {
  return readers.named.filter((committed) => committed >= offset).length;
}

export function messageStatus(
  readers: PartitionReaders,
  offset: number,
  isDeadLetter: boolean,
): MessageStatus {
  if (isDeadLetter) return 'dead_letter';
  const { named, queueMode } = readers;
  const completed =
    named.length > 0
      ? consumedBy(readers, offset) === named.length
      : queueMode !== null && queueMode >= offset;
  if (completed) return 'completed';
  return readers.hasLiveLease ? 'processing' : 'pending';
}

/** Who reads the messages a listing looks at. */
export interface ConsumptionMode {
  readonly hasQueueMode: boolean;
  readonly busGroupsCount: number;
  readonly type: 'none' | 'queue' | 'bus' | 'hybrid';
}

/** Gathers the groups that have a cursor on any of the partitions. */
export class ModeSurvey {
  private readonly groups = new Set<number>();

  constructor(private readonly tables: Tables) {}

  add(slot: number): void {
    const { cursors, partitions } = this.tables;
    // Below 0 when it was deleted while the page was read: nobody reads it any more.
    const first = slot < 0 ? -1 : partitions.firstCursor(slot);
    for (let c = first; c >= 0; c = cursors.nextOnPartition(c)) {
      if (isSuperseded(this.tables, c)) continue;
      this.groups.add(cursors.groupId(c));
    }
  }

  result(): ConsumptionMode {
    const names = [...this.groups].map((id) => this.tables.names.groupName(id as never));
    const hasQueueMode = names.includes(QUEUE_MODE_GROUP);
    const busGroupsCount = names.length - (hasQueueMode ? 1 : 0);
    const bus = busGroupsCount > 0;
    const type = hasQueueMode ? (bus ? 'hybrid' : 'queue') : bus ? 'bus' : 'none';
    return { hasQueueMode, busGroupsCount, type };
  }
}

export function millisOrNull(micros: number | null): string | null {
  return micros === null ? null : timestampMillisText(micros);
}
