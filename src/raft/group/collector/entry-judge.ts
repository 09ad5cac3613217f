/** Whether an entry of a judged segment holds anything live: a retained message, or what a row pins. */
import type { ContentHolder, EntryContents } from '../ports.js';

export class EntryJudge implements ContentHolder {
  private index = 0;
  private isLive = false;

  constructor(
    private readonly contents: EntryContents,
    /** First live entry per partition. */
    private readonly liveFrom: ReadonlyMap<number, number>,
    private readonly pinned: ReadonlySet<number>,
  ) {}

  lives(index: number, payload: Uint8Array): boolean {
    this.index = index;
    this.isLive = this.pinned.has(index);
    if (!this.isLive) this.contents.visit(payload, this);
    return this.isLive;
  }

  messages(partitionId: number): void {
    const from = this.liveFrom.get(partitionId);
    if (from !== undefined && from <= this.index) this.isLive = true;
  }
}
