/**
 * Sums over the cursors of each (group, queue) for the list of groups (messages.md §10). A time that
 * stands in append rows only is looked up if it could raise the group's largest lag.
 */
import type { ConsumerGroupId } from '../common/ids.js';
import { timestampText } from '../common/timestamp.js';
import { StartMode } from '../machine/commands/catalogue.js';
import { QUEUE_MODE_GROUP } from '../machine/tables/tables.js';
import type { QueueRow, Tables } from '../machine/tables/tables.js';
import type { Group } from '../raft/index.js';
import {
  appendedAt,
  cursorLag,
  lagSeconds,
  LAG_LOOKUPS_MS,
  MAX_LAG_LOOKUPS,
} from '../reads/lag.js';
import type { LagPlace } from '../reads/lag.js';
import { isSuperseded } from '../machine/tables/settled.js';

/** Behind this much a group counts as lagging. */
const LAGGING_SECONDS = 300;

export interface GroupOnQueue {
  readonly queue: QueueRow;
  readonly group: string;
  cursors: number;
  withLag: number;
  messages: number;
  consumed: number;
  maxLagSeconds: number;
}

interface Lookup {
  readonly sum: GroupOnQueue;
  readonly place: LagPlace;
  /** The partition is no older: no message of it is either. */
  readonly longestSeconds: number;
}

export class GroupSums {
  private readonly sums: GroupOnQueue[] = [];
  /** Of the queue that is being walked, by group id: one look-up a cursor, no text made. */
  private ofQueue = new Map<number, GroupOnQueue>();
  private byName = new Map<string, GroupOnQueue>();
  private queue: QueueRow | null = null;
  private readonly lookups: Lookup[] = [];

  constructor(
    private readonly tables: Tables,
    private readonly nowMicros: number,
  ) {}

  addPartition(queue: QueueRow, slot: number): void {
    const { cursors, partitions } = this.tables;
    if (this.queue !== queue) {
      this.queue = queue;
      this.ofQueue = new Map();
      this.byName = new Map();
    }
    for (let c = partitions.firstCursor(slot); c >= 0; c = cursors.nextOnPartition(c)) {
      if (isSuperseded(this.tables, c)) continue;
      const sum = this.sumOf(queue, cursors.groupId(c));
      const lag = cursorLag(this.tables, slot, cursors.committed(c));
      sum.cursors += 1;
      sum.consumed += cursors.totalConsumed(c);
      if (lag.messages === 0) continue;
      sum.withLag += 1;
      sum.messages += lag.messages;
      const known = lag.oldestAt ?? partitions.lastAppendAt(slot);
      sum.maxLagSeconds = Math.max(sum.maxLagSeconds, lagSeconds(this.nowMicros, known));
      if (lag.oldestAt !== null || this.lookups.length >= MAX_LAG_LOOKUPS) continue;
      const place = {
        queueId: queue.id,
        partitionId: partitions.id(slot),
        offset: lag.nextOffset,
      };
      const longestSeconds = lagSeconds(this.nowMicros, partitions.createdAt(slot));
      this.lookups.push({ sum, place, longestSeconds });
    }
  }

  async lookUpTimes(group: Pick<Group, 'view'>): Promise<void> {
    if (this.lookups.length === 0) return;
    const view = await group.view();
    const endMs = performance.now() + LAG_LOOKUPS_MS;
    try {
      for (const { sum, place, longestSeconds } of this.lookups) {
        if (longestSeconds <= sum.maxLagSeconds) continue;
        if (performance.now() >= endMs) break;
        const oldestAt = await appendedAt(view, place);
        if (oldestAt === null) continue;
        sum.maxLagSeconds = Math.max(sum.maxLagSeconds, lagSeconds(this.nowMicros, oldestAt));
      }
    } finally {
      await view.close();
    }
  }

  /** By group, then queue. */
  rows(): GroupOnQueue[] {
    return this.sums.toSorted(
      (a, b) => compare(a.group, b.group) || compare(a.queue.name, b.queue.name),
    );
  }

  private sumOf(queue: QueueRow, groupId: ConsumerGroupId): GroupOnQueue {
    const known = this.ofQueue.get(groupId);
    if (known !== undefined) return known;
    const group = this.tables.names.groupName(groupId);
    // A group deleted and made anew has another number and the same name.
    let sum = this.byName.get(group);
    if (sum === undefined) {
      sum = { queue, group, cursors: 0, withLag: 0, messages: 0, consumed: 0, maxLagSeconds: 0 };
      this.byName.set(group, sum);
      this.sums.push(sum);
    }
    this.ofQueue.set(groupId, sum);
    return sum;
  }
}

export function listRow(tables: Tables, sum: GroupOnQueue): object {
  const { queue, group } = sum;
  return {
    name: group,
    topics: [queue.name],
    queueName: queue.name,
    members: sum.cursors,
    partitionCursors: sum.cursors,
    partitionsWithLag: sum.withLag,
    totalLag: sum.messages,
    maxTimeLag: sum.maxLagSeconds,
    state: stateOf(sum),
    storage: 'segments',
    kind: 'queen',
    ...subscriptionOf(tables, sum),
  };
}

function stateOf(sum: GroupOnQueue): 'Lagging' | 'Stable' | 'Dead' {
  if (sum.maxLagSeconds > LAGGING_SECONDS) return 'Lagging';
  return sum.consumed > 0 ? 'Stable' : 'Dead';
}

const MODES = {
  [StartMode.All]: 'all',
  [StartMode.New]: 'new',
  [StartMode.Timestamp]: 'timestamp',
} as const;

/** Queue mode has no subscription to show; nor has a group that never registered. */
function subscriptionOf(tables: Tables, sum: GroupOnQueue): object {
  const { names, registrations } = tables;
  const id = names.group(sum.queue.tenant, sum.group);
  const row = id === undefined ? undefined : registrations.find(sum.queue.id, id);
  if (row === undefined || sum.group === QUEUE_MODE_GROUP) {
    return {
      subscriptionMode: null,
      subscriptionTimestamp: null,
      subscriptionCreatedAt: null,
      conflation: false,
    };
  }
  return {
    subscriptionMode: MODES[row.mode],
    subscriptionTimestamp: timestampText(row.mode === StartMode.All ? 0 : row.instant),
    subscriptionCreatedAt: timestampText(row.registeredAt),
    conflation: row.conflation,
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
