/** Readers of a partition, also of one that was deleted while a page of its messages is read. */
import { leased } from '../../test/support/ack-scene.js';
import { partitionReaders } from './message-status.js';

it('finds the cursors of a partition', () => {
  const { harness } = leased();
  const cursor = harness.cursor();
  // The scene has one partition.
  const { named } = partitionReaders(harness.tables, 0, 0);
  expect(named).toEqual([harness.tables.cursors.committed(cursor)]);
});

it('finds nobody at a partition that is gone', () => {
  const { harness } = leased();
  expect(partitionReaders(harness.tables, -1, 0)).toEqual({
    ...{ named: [], queueMode: null, hasLiveLease: false, queueLeaseEnd: null },
  });
});
