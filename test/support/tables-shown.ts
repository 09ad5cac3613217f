/**
 * What the tables show through their public interface, and what the model of plain Maps says they
 * must show, in one shape: chains in order, leases by id, sums and counts.
 */
import type { TablesImpl } from '../../src/machine/tables/create-tables.js';
import type { CursorModel, World } from './tables-world.js';
import { leaseId } from './tables-world.js';

export function shownByModel(world: World): unknown {
  const queues = [...world.model.queues.values()].sort((a, b) => a.id - b.id);
  const partitions = queues.flatMap((queue) => [...queue.partitions.values()]);
  const cursors = partitions.flatMap((partition) => [...partition.cursors.values()]);
  const sum = (numbers: number[]): number => numbers.reduce((a, b) => a + b, 0);
  const leases = [0, 1, 2, 3].map((id) =>
    partitions
      .sort((a, b) => a.id - b.id)
      .flatMap((p) => [...p.cursors.values()].filter((c) => c.lease?.id === id).map(() => p.id)),
  );
  return {
    appended: world.model.appended,
    retained: sum(partitions.map((p) => p.lastOffset + 1 - p.logStart)),
    bytes: sum(partitions.map((p) => p.retainedBytes)),
    counts: [partitions.length, cursors.length, cursors.filter((c) => c.lease !== null).length],
    leases,
    queues: queues.map((queue) => ({
      ...queue,
      deadLetters: sum([...queue.partitions.values()].map((p) => p.deadLetters)),
      registrations: [...queue.registrations].sort(([a], [b]) => a - b),
      partitions: [...queue.partitions.values()]
        .sort((a, b) => a.id - b.id)
        .map((p) => ({ ...p, cursors: [...p.cursors].sort(([a], [b]) => b - a) })),
    })),
  };
}

export function shownByTables(tables: TablesImpl): unknown {
  const { partitions, cursors, leases, registrations, totals } = tables;
  const cursorOf = (slot: number): CursorModel => {
    const lease = cursors.lease(slot);
    const releasedId = [0, 1, 2, 3].find((n) => cursors.releasedMatches(slot, leaseId(n)));
    const span = { first: cursors.releasedFirst(slot), last: cursors.releasedLast(slot) };
    if (lease >= 0) expect(leases.cursorSlot(lease)).toBe(slot);
    return {
      committed: cursors.committed(slot),
      createdAt: cursors.createdAt(slot),
      version: cursors.version(slot),
      attemptOffset: cursors.attemptOffset(slot),
      attemptCount: cursors.attemptCount(slot),
      batchRetryCount: cursors.batchRetryCount(slot),
      totalConsumed: cursors.totalConsumed(slot),
      released: releasedId === undefined ? null : { id: releasedId, ...span },
      lease:
        lease < 0
          ? null
          : {
              id: leases.copyId(lease)[15]!,
              first: leases.firstOffset(lease),
              end: leases.batchEnd(lease),
              expiresAt: leases.expiresAt(lease),
              acquiredAt: leases.acquiredAt(lease),
              term: leases.term(lease),
              conflated: leases.conflated(lease),
            },
    };
  };
  const chain = (first: number, next: (slot: number) => number): number[] => {
    const slots: number[] = [];
    for (let slot = first; slot >= 0; slot = next(slot)) slots.push(slot);
    return slots;
  };
  const cursorsOf = (slot: number): number[] =>
    chain(partitions.firstCursor(slot), (c) => cursors.nextOnPartition(c));
  return {
    appended: totals.messagesAppended,
    retained: totals.messagesRetained,
    bytes: totals.bytesRetained,
    counts: [partitions.count, cursors.count, leases.count],
    leases: [0, 1, 2, 3].map((id) =>
      chain(leases.firstWithId(leaseId(id)), (l) => leases.nextWithId(l)).map((lease) =>
        partitions.id(cursors.partitionSlot(leases.cursorSlot(lease))),
      ),
    ),
    queues: tables.queues.live().map((queue) => {
      const slots = chain(queue.firstPartition, (p) => partitions.nextInQueue(p));
      expect(queue.partitionCount).toBe(slots.length);
      return {
        id: queue.id,
        tenant: queue.tenant,
        name: queue.name,
        createdAt: queue.createdAt,
        optionsVersion: queue.optionsVersion,
        retryLimit: queue.options.retryLimit,
        configured: queue.configured,
        deadLetters: queue.deadLetters,
        registrations: registrations
          .ofQueue(queue.id)
          .map(({ groupId, mode, instant, conflation }) => [
            groupId,
            { mode, instant, conflation },
          ]),
        partitions: slots.map((slot) => {
          expect(partitions.byId(partitions.id(slot))).toBe(slot);
          expect(partitions.find(queue.id, partitions.name(slot))).toBe(slot);
          return {
            id: partitions.id(slot),
            name: partitions.name(slot),
            createdAt: partitions.createdAt(slot),
            logStart: partitions.logStart(slot),
            lastOffset: partitions.lastOffset(slot),
            lastAppendAt: partitions.lastAppendAt(slot),
            retainedBytes: partitions.retainedBytes(slot),
            maxRecordBytes: partitions.maxRecordBytes(slot),
            deadLetters: partitions.deadLetters(slot),
            cursors: cursorsOf(slot).map((c) => [cursors.groupId(c), cursorOf(c)]),
          };
        }),
      };
    }),
  };
}
