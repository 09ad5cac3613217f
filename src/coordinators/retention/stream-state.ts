/**
 * Partitions that stay because a stream query keeps state for them (spec §2.9). Only the leader looks
 * before it proposes: a cycle that writes state later needs a lease on the partition, and the machine
 * refuses to drop one that was leased.
 */
import type { PartitionDrop } from '../../machine/commands/index.js';
import { streamStateRange } from '../../machine/tables/stream-rows.js';
import type { QueueRow, Tables } from '../../machine/tables/tables.js';
import type { GroupView } from '../../raft/index.js';

/** The drops without those of partitions that have state; one seek per query that reads the queue. */
export async function withoutState(
  host: { readonly tables: Tables; view(): Promise<GroupView> },
  queue: QueueRow,
  drops: readonly PartitionDrop[],
): Promise<PartitionDrop[]> {
  const queries = host.tables.streams.readersOf(queue.tenant, queue.name);
  if (queries.length === 0 || drops.length === 0) return [...drops];
  const view = await host.view();
  try {
    const kept: PartitionDrop[] = [];
    for (const drop of drops) {
      let hasState = false;
      for (const query of queries) {
        const range = streamStateRange({ ...query, partitionId: drop.partitionId }, '');
        for await (const _row of view.iterate({ ...range, limit: 1 })) hasState = true;
        if (hasState) break;
      }
      if (!hasState) kept.push(drop);
    }
    return kept;
  } finally {
    await view.close();
  }
}
