/**
 * All segments of a log in memory, ascending, mirrored by the manifest: a change is in the manifest
 * before it is here. Ranges are the effective ones and do not overlap; empty ones sort before the
 * segment that took over their indexes.
 */
import type { FilePort } from './file-port.js';
import { segmentFileName, writeManifest, type SegmentRow } from './manifest.js';
import type { DirectoryIdentity, LogPosition } from './types.js';

export interface Segment {
  readonly row: SegmentRow;
  readonly salt: number;
  /** The position before the first entry of the file. */
  readonly base: LogPosition;
}

export interface SegmentSetPlace {
  readonly files: FilePort;
  readonly directory: string;
  readonly identity: DirectoryIdentity;
}

export class SegmentSet {
  constructor(
    private readonly place: SegmentSetPlace,
    private list: readonly Segment[],
    private edit: number,
  ) {}

  get all(): readonly Segment[] {
    return this.list;
  }

  get active(): Segment {
    return this.list[this.list.length - 1] as Segment;
  }

  /** The oldest segment that is part of the raft log. */
  get oldestLive(): Segment {
    return this.list.find((s) => s.row.state === 'sealed' || s.row.state === 'active') as Segment;
  }

  path(segment: Segment): string {
    const { sequence, revision } = segment.row;
    return `${this.place.directory}/${segmentFileName(sequence, revision)}`;
  }

  /** The segment whose range may hold `index`; the range of the active one is open-ended. */
  find(index: number): Segment | undefined {
    let low = 0;
    let high = this.list.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.list[middle] as Segment).row.first <= index) low = middle;
      else high = middle - 1;
    }
    const found = this.list[low] as Segment;
    const { first, last, state } = found.row;
    if (index < first || state === 'removing') return undefined;
    return state === 'active' || index <= last ? found : undefined;
  }

  /** Writes the manifest, then shows the new list. */
  async replace(list: readonly Segment[]): Promise<void> {
    await writeManifest(this.place.files, this.place.directory, {
      identity: this.place.identity,
      edit: this.edit + 1,
      segments: list.map((segment) => segment.row),
    });
    this.edit += 1;
    this.list = list;
  }
}

/** The rows when entries above `last` are void: ranges end there, some become empty. */
export function cutRanges(list: readonly Segment[], last: number): Segment[] {
  return list.map((segment) => {
    const { row } = segment;
    if (row.last <= last && row.first <= last + 1) return segment;
    const first = Math.min(row.first, last + 1);
    return { ...segment, row: { ...row, first, last: Math.min(row.last, last) } };
  });
}
