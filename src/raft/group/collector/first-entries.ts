/**
 * The entry that holds the first retained append of a partition: older entries hold nothing live of it,
 * for appends of a partition lie in log order. Remembered as long as the partition's log starts there.
 */
import { partitionId as asPartitionId } from '../../../common/ids.js';
import type { Tables } from '../../../machine/tables/tables.js';
import type { GroupView } from '../group.js';
import type { AppendRows } from '../ports.js';
import { SlotColumns } from './slot-columns.js';

export class FirstEntries {
  private readonly known = new SlotColumns();

  constructor(
    private readonly tables: Tables,
    private readonly appends: AppendRows,
  ) {}

  /** Infinity when nothing of the partition is retained, or it is gone. */
  async of(id: number, view: GroupView): Promise<number> {
    const { partitions } = this.tables;
    const slot = partitions.byId(asPartitionId(id));
    if (slot < 0) return Infinity;
    const logStart = partitions.logStart(slot);
    const last = partitions.lastOffset(slot);
    if (logStart > last) return Infinity;
    const known = this.known.get(slot, id, logStart);
    if (known !== undefined) return known;
    const place = { queueId: partitions.queueId(slot), partitionId: id };
    const range = { ...this.appends.range(place, logStart, last + 1), limit: 1 };
    for await (const [key, value] of view.iterate(range)) {
      const first = this.appends.decode(this.appends.baseOf(key), value).entryIndex;
      // Another partition may have taken the slot while this was read.
      if (partitions.byId(asPartitionId(id)) === slot) {
        this.known.set(slot, { id, mark: logStart, value: first });
      }
      return first;
    }
    // The view is older than the partition's first append: everything of it lives.
    return 0;
  }
}
