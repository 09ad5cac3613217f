/**
 * Finds append index rows of a partition: recent ones in the tail index, others through a view of
 * overlay and store. Rows come in offset order and cover what exists of the asked range.
 */
import type { GroupView } from './group.js';
import type { AppendPlace, AppendRow, AppendRows } from './ports.js';
import type { TailIndex } from './tail-index.js';

export interface AppendFinderParts {
  readonly appends: AppendRows;
  readonly tailIndex: TailIndex;
  view(): Promise<GroupView>;
}

export class AppendFinder {
  constructor(private readonly parts: AppendFinderParts) {}

  /** Rows of the appends that hold offsets of [first, last], ascending. */
  async find(place: AppendPlace, first: number, last: number): Promise<AppendRow[]> {
    const rows = this.recent(place, first, last);
    const newest = rows[rows.length - 1];
    const next = newest === undefined ? first : newest.baseOffset + newest.count;
    if (next <= last) rows.push(...(await this.stored(place, next, last)));
    return rows;
  }

  /** The append whose first offset is `base`, if it still exists. */
  async byBase(place: AppendPlace, base: number): Promise<AppendRow | undefined> {
    const [row] = await this.find(place, base, base);
    return row?.baseOffset === base ? row : undefined;
  }

  private recent(place: AppendPlace, first: number, last: number): AppendRow[] {
    const { tailIndex, appends } = this.parts;
    const rows: AppendRow[] = [];
    for (let offset = first; offset <= last;) {
      const found = tailIndex.find(place.partitionId, offset);
      if (found === undefined) break;
      const row = appends.decode(found.baseOffset, found.value);
      rows.push(row);
      offset = row.baseOffset + row.count;
    }
    return rows;
  }

  private async stored(place: AppendPlace, first: number, last: number): Promise<AppendRow[]> {
    const { appends } = this.parts;
    const view = await this.parts.view();
    const rows: AppendRow[] = [];
    try {
      const before = { ...appends.range(place, 0, first + 1), reverse: true, limit: 1 };
      for await (const [key, value] of view.iterate(before)) {
        const row = appends.decode(appends.baseOf(key), value);
        if (row.baseOffset + row.count > first) rows.push(row);
      }
      if (first < last) {
        for await (const [key, value] of view.iterate(appends.range(place, first + 1, last + 1))) {
          rows.push(appends.decode(appends.baseOf(key), value));
        }
      }
    } finally {
      await view.close();
    }
    return rows;
  }
}
