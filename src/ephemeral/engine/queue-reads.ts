/**
 * What this node shows of its queues (state.md §5.5): the listing, and the depth of one queue by partition
 * and group. Its own share only, read in slices: numbers of one answer may be a few turns apart.
 */
import type { Declarations } from '../queues/declarations.js';
import type { EphemeralQueue } from '../queues/ephemeral-queue.js';
import {
  effectiveOptions,
  parseOptions,
  shownOptions,
  type OptionLimits,
} from '../queues/options.js';
import type { QueueStore } from '../queues/queue-store.js';
import { inSlices } from '../queues/slices.js';
import { QUEUE_MODE_GROUP } from '../../machine/tables/tables.js';
import type { Ring } from '../rings/ring.js';

export interface ReadParts {
  readonly store: QueueStore;
  readonly declarations: Declarations;
  readonly limits: OptionLimits;
}

const NO_DROPS = { bounds: 0, ttl: 0, retry: 0 };

/** Declared queues and those that are here, by name. */
export async function listQueues(parts: ReadParts, tenant: Uint8Array): Promise<unknown> {
  const { store, declarations, limits } = parts;
  const share = store.share(tenant);
  const names = [...new Set([...declarations.list(tenant), ...share.queues.keys()])].sort();
  const queues: unknown[] = [];
  await inSlices(names, (name) => {
    const queue = store.find(share, name);
    const text = declarations.find(tenant, name);
    const options =
      queue?.options ?? effectiveOptions(text === null ? {} : parseOptions(text), limits);
    queues.push({
      queue: name,
      tier: text === null ? 'implicit' : 'declared',
      depth: queue?.length ?? 0,
      bytes: queue?.bytes ?? 0,
      partitions: queue?.rings.size ?? 0,
      groups: queue?.groups.size ?? 0,
      drops: { ...(queue?.drops ?? NO_DROPS) },
      options: shownOptions(options),
    });
  });
  return { queues, count: queues.length, cellBytes: store.account.bytes };
}

interface GroupSum {
  pending: number;
  skipped: number;
  /** Partitions that know the group. */
  rings: number;
  /** What those hold: the others owe the group everything. */
  length: number;
}

/** Null when the queue is unknown here. */
export async function readDepth(
  parts: ReadParts,
  tenant: Uint8Array,
  asked: { readonly queue: string; readonly group: string | null },
): Promise<unknown> {
  const queue = parts.store.find(parts.store.share(tenant), asked.queue);
  const declared = parts.declarations.find(tenant, asked.queue) !== null;
  if (queue === undefined) return declared ? emptyDepth(asked) : null;
  queue.uses += 1;
  try {
    return await depthOf(queue, asked.group);
  } finally {
    queue.uses -= 1;
  }
}

async function depthOf(queue: EphemeralQueue, asked: string | null): Promise<unknown> {
  const sums = await sumGroups(queue);
  const shown = asked ?? worstGroup(sums);
  const partitions: unknown[] = [];
  let pending = 0;
  let partitionsPending = 0;
  await inSlices(queue.rings.values(), (ring) => {
    const owed = pendingOf(ring, shown);
    pending += owed;
    if (owed > 0) partitionsPending += 1;
    partitions.push({ partition: ring.partition, pending: owed, bytes: ring.bytes });
  });
  const groups = [...sums]
    .map(([group, sum]) => ({ group, pending: sum.pending, skipped: sum.skipped }))
    .sort((a, b) => (a.group < b.group ? -1 : 1));
  return {
    queue: queue.name,
    group: asked,
    tier: queue.declared ? 'declared' : 'implicit',
    pending,
    partitionsPending,
    bytes: queue.bytes,
    partitions: partitions.sort(byPartition),
    groups,
  };
}

async function sumGroups(queue: EphemeralQueue): Promise<ReadonlyMap<string, GroupSum>> {
  const sums = new Map<string, GroupSum>();
  for (const name of queue.groups.keys()) {
    sums.set(name, { pending: 0, skipped: 0, rings: 0, length: 0 });
  }
  await inSlices(queue.rings.values(), (ring) => {
    for (const cursor of ring.cursors.values()) {
      const sum = sums.get(cursor.group);
      if (sum === undefined) continue;
      sum.pending += cursor.pending;
      sum.skipped += cursor.skipped;
      sum.rings += 1;
      sum.length += ring.length;
    }
  });
  for (const sum of sums.values()) {
    if (sum.rings < queue.rings.size) sum.pending += Math.max(0, queue.length - sum.length);
  }
  return sums;
}

/** The named group that is furthest behind, else queue mode, else nobody. */
function worstGroup(sums: ReadonlyMap<string, GroupSum>): string | null {
  let worst: string | null = null;
  let most = -1;
  for (const [group, { pending }] of sums) {
    if (group === QUEUE_MODE_GROUP || pending <= most) continue;
    worst = group;
    most = pending;
  }
  return worst ?? (sums.has(QUEUE_MODE_GROUP) ? QUEUE_MODE_GROUP : null);
}

function pendingOf(ring: Ring, group: string | null): number {
  const cursor = group === null ? undefined : ring.cursors.get(group);
  return cursor === undefined ? ring.length : cursor.pending;
}

function byPartition(a: unknown, b: unknown): number {
  return (a as { partition: string }).partition < (b as { partition: string }).partition ? -1 : 1;
}

function emptyDepth({ queue, group }: { queue: string; group: string | null }): unknown {
  const nothing = { pending: 0, partitionsPending: 0, bytes: 0, partitions: [], groups: [] };
  return { queue, group, tier: 'declared', ...nothing };
}
